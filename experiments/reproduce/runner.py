"""Run cells side by side; what has a record is not run again."""

import concurrent.futures
import dataclasses
import importlib
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable
from collections.abc import Iterable

from examples import records
from experiments.reproduce.cells import Cell
from experiments.reproduce.cells import command


@dataclasses.dataclass(frozen=True)
class Run:
    """One seed of a cell.

    Attributes:
        cell: What it belongs to.
        seed: Its seed.
        record: The file that it leaves.
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

    What comes first for some cells runs before all of them, one after the
    other. What fails does not stop the others; its output stays in its log.
    What was stopped goes on where it was when the same command is given again,
    as far as its script does.

    Args:
        logs: Folder of one file for each run.
        jobs: How many at a time.
        say: Prints a line.
    """

    def __init__(
        self, logs: pathlib.Path, jobs: int = 1, say: Callable = print
    ):
        self.logs, self.jobs, self.say = logs, jobs, say
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
        self.logs.mkdir(parents=True, exist_ok=True)
        pool = concurrent.futures.ThreadPoolExecutor(self.jobs)
        try:
            return self._run_all(missing, pool)
        except BaseException:
            self._stopped = True
            for process in list(self._processes):
                process.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _run_all(self, missing, pool):
        first = dict.fromkeys(one for run in missing for one in run.cell.first)
        for number, words in enumerate(first):
            self.say(f"first: {command(words[0], words[1:])}")
            first[words] = self._execute(words, f"first-{number}")
        waiting = {pool.submit(self._run, run, first): run for run in missing}
        failed = []
        finished = concurrent.futures.as_completed(waiting)
        for number, future in enumerate(finished, start=1):
            run, (error, seconds) = waiting[future], future.result()
            text = f"[{number}/{len(missing)}] {run.name}: "
            if error is None:
                self.say(f"{text}done in {seconds / 60:.1f} min")
            else:
                failed.append(run)
                self.say(f"{text}FAILED: {error}")
        return failed

    def _run(self, run, first):
        """The error, if there was one, and the seconds."""
        start = time.monotonic()
        for words in run.cell.first:
            if first[words]:
                return f"what comes first failed: {first[words]}", 0.0
        name = run.name.replace("/", "-").replace(" ", "-")
        words = (run.cell.module, *run.cell.run_arguments(run.seed))
        error = self._execute(words, name)
        if error is None and not records.is_recorded(run.record):
            error = f"it ended without its record; see {name}.log"
        return error, time.monotonic() - start

    def _execute(self, words, name):
        if self._stopped:
            return "stopped"
        log = self.logs / f"{name}.log"
        # Scripts where Python finds them; paths of the command line are
        # relative to where it was given.
        path = [str(records.ROOT), os.environ.get("PYTHONPATH", "")]
        path = os.pathsep.join(filter(None, path))
        with log.open("w", encoding="utf-8") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", *words],
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": path},
            )
            self._processes.add(process)
            code = process.wait()
            self._processes.discard(process)
        if not code:
            return None
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
        last = [line for line in lines if line.strip()][-1:] or ["no output"]
        return f"exit code {code}, {log.name}: {last[0].strip()[:200]}"
