"""Runs a module of this folder in a process of its own."""

import os
import pathlib
import subprocess
import sys
import tempfile
import types

NO_PARAMETERS = types.SimpleNamespace(params={})
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Child:
    """A running process; `finish` waits for it.

    Args:
        script: Name of a module of this folder.
        *args: Its arguments.
        **environ: Variables added to the environment.
    """

    def __init__(self, script, *args, **environ):
        self._output = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"tests.scripts.{script}", *map(str, args)],
            cwd=ROOT,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environ},
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    def finish(self, code=0):
        """Output of the process, which must exit with `code`."""
        found = self._process.wait()
        with self._output:
            self._output.seek(0)
            output = self._output.read()
        if found != code:
            raise RuntimeError(
                f"{self._process.args} exited with {found}, not {code}:\n"
                f"{output[-6000:]}"
            )
        return output


def run(script, *args, **environ):
    """Runs a module to its end and returns its output."""
    return Child(script, *args, **environ).finish()


def selected(request, argument):
    """Values of a parameter in those tests of a module that will run.

    Args:
        request: Of a fixture of the module.
        argument: Name of the parameter.
    """
    found = [
        item.callspec.params[argument]
        for item in request.session.items
        if item.path == request.path
        and argument in getattr(item, "callspec", NO_PARAMETERS).params
    ]
    return list(dict.fromkeys(found))
