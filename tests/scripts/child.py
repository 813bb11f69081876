"""Runs a module of this folder in a process of its own, or in several."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import traceback
import types

NO_PARAMETERS = types.SimpleNamespace(params={})
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Child:
    """A process that runs a module of this folder, or a program where it lies.

    Args:
        script: Name of the module, or path of the program.
        *args: Its arguments.
        **environ: Variables added to the environment.
    """

    def __init__(self, script, *args, **environ):
        self._output = tempfile.TemporaryFile("w+")
        path = f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        is_path = isinstance(script, pathlib.Path)
        program = [script] if is_path else ["-m", f"tests.scripts.{script}"]
        self._process = subprocess.Popen(
            [sys.executable, *program, *map(str, args)],
            cwd=script.parent if is_path else ROOT,
            env=os.environ
            | {"PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"}
            | environ,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    def finish(self, code=0, timeout=None):
        """Output of the process, which must exit with `code`."""
        found = self._process.wait(timeout)
        with self._output:
            self._output.seek(0)
            output = self._output.read()
        if found != code:
            raise RuntimeError(
                f"{self._process.args} exited with {found}, not {code}:\n"
                f"{output[-6000:]}"
            )
        return output

    def kill(self):
        """Ends it where it still runs."""
        self._process.kill()
        self._process.wait()


def run_together(script, *args, codes=(0, 0), environs):
    """Outputs of processes that wait for each other, one for each exit code.

    `environs` makes of the index of a process and of an unused address for
    each what its environment has besides.
    """
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in codes]
    hosts = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    children = [
        Child(script, *args, **environs(index, hosts))
        for index in range(len(codes))
    ]
    try:
        return [
            child.finish(code, timeout=900)
            for child, code in zip(children, codes, strict=True)
        ]
    finally:
        for child in children:
            child.kill()


def tf_config(index, hosts):
    """What tells TensorFlow which worker a process is."""
    task = {"type": "worker", "index": index}
    return {
        "TF_CONFIG": json.dumps({"cluster": {"worker": hosts}, "task": task})
    }


def run(script, *args, **environ):
    """Runs a module to its end and returns its output."""
    return Child(script, *args, **environ).finish()


def attempted(train, names):
    """What `train` finds for each name, or why it failed, by "name:key"."""
    results = {}
    for name in names:
        try:
            found = train(name)
        except Exception:
            found = {"error": traceback.format_exc()}
        results |= {f"{name}:{key}": value for key, value in found.items()}
    return results


def selected(request, argument):
    """Values of a parameter in those tests of a fixture's module that run."""
    found = [
        item.callspec.params[argument]
        for item in request.session.items
        if item.path == request.path
        and argument in getattr(item, "callspec", NO_PARAMETERS).params
    ]
    return list(dict.fromkeys(found))
