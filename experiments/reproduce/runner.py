"""Run cells side by side; what has a record is not run again."""

import concurrent.futures
import dataclasses
import importlib
import os
import pathlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterable

from examples import records
from experiments.reproduce.cells import Cell
from experiments.reproduce.cells import command


@dataclasses.dataclass(frozen=True)
class Run:
    """One seed of a cell.

    Attributes:
        cell: what it belongs to.
        seed: its seed.
        record: the file that it leaves.
    """

    cell: Cell
    seed: int
    record: pathlib.Path

    @property
    def name(self) -> str:
        return f"{self.cell.table}/{self.cell.name} seed {self.seed}"

    @property
    def command(self) -> str:
        return command(self.cell.module, self.cell.run_arguments(self.seed))


def runs_of(cells: Iterable[Cell]) -> list[Run]:
    """All runs of `cells`; one that several cells share comes once."""
    found = {}
    for cell in cells:
        script = importlib.import_module(cell.module)
        for seed in cell.seeds:
            record = script.record_path(cell.run_arguments(seed))
            found.setdefault(record, Run(cell, seed, record))
    return list(found.values())


def without_record(runs: Iterable[Run]) -> list[Run]:
    """The runs that are left.

    Raises:
        ValueError: If a file of a record does not hold one.
    """
    return [run for run in runs if not records.is_recorded(run.record)]


class Runner:
    """Runs commands in processes of their own, a few at a time.

    A run that fails does not stop the others; its output stays in its log.
    Runs and preparations that were stopped go on where they were when the same
    command is given again, as far as their scripts do.

    Args:
        logs: folder of one file for each run.
        jobs: how many at a time.
        say: prints a line.
    """

    def __init__(self, logs: pathlib.Path, jobs: int = 1, say=print):
        self.logs, self.jobs, self.say = logs, jobs, say
        self._first = {}
        self._lock = threading.Lock()
        self._processes = set()
        self._stopped = False

    def run(self, runs: Iterable[Run]) -> list[Run]:
        """Run what has no record yet; return what failed.

        Raises:
            ValueError: If a record cannot be read, before anything runs.
        """
        runs = list(runs)
        missing = without_record(runs)
        self.say(f"{len(runs) - len(missing)} of {len(runs)} runs are done")
        failed = []
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            waiting = {pool.submit(self._run, run): run for run in missing}
            try:
                finished = concurrent.futures.as_completed(waiting)
                for number, future in enumerate(finished, start=1):
                    run, (error, seconds) = waiting[future], future.result()
                    text = f"[{number}/{len(missing)}] {run.name}: "
                    if error is None:
                        self.say(f"{text}done in {seconds / 60:.1f} min")
                    else:
                        failed.append(run)
                        self.say(f"{text}FAILED: {error}")
            except BaseException:
                self._stop()
                for future in waiting:
                    future.cancel()
                raise
        return failed

    def _run(self, run):
        start = time.monotonic()
        for arguments in run.cell.first:
            error = self._once(arguments)
            if error:
                return f"what comes first failed: {error}", 0.0
        log = self.logs / f"{run.name.replace('/', '-').replace(' ', '-')}.log"
        words = [run.cell.module, *run.cell.run_arguments(run.seed)]
        error = self._execute(words, log)
        if error is None and not records.is_recorded(run.record):
            error = f"it ended without its record; see {log.name}"
        return error, time.monotonic() - start

    def _once(self, arguments):
        """The error of a preparation, which runs once for all that need it."""
        with self._lock:
            mine = arguments not in self._first
            if mine:
                self._first[arguments] = concurrent.futures.Future()
        future = self._first[arguments]
        if mine:
            name = "first-" + "-".join(arguments[:3]).replace("/", "-")
            log = self.logs / f"{name}-{len(self._first)}.log"
            future.set_result(self._execute(list(arguments), log))
        return future.result()

    def _execute(self, words, log):
        if self._stopped:
            return "stopped"
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            file = log.open("w", encoding="utf-8")
        except OSError as error:
            return f"its log cannot be written: {error}"
        with file:
            process = subprocess.Popen(
                [sys.executable, "-m", *words],
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=_environment(),
            )
            self._processes.add(process)
            code = process.wait()
            self._processes.discard(process)
        if not code:
            return None
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
        last = [line for line in lines if line.strip()][-1:] or ["no output"]
        return f"exit code {code}, {log.name}: {last[0].strip()[:200]}"

    def _stop(self):
        self._stopped = True
        for process in list(self._processes):
            process.terminate()


def _environment():
    """This process's, with the scripts where Python finds them.

    Paths of the command line are relative to where it was given.
    """
    known = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(records.ROOT), *([known] if known else [])])
    return {**os.environ, "PYTHONPATH": path}
