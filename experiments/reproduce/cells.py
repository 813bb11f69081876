"""Cells of tables, and the runs that fill them."""

import dataclasses
import importlib
import pathlib
import shlex
from collections.abc import Iterable

from experiments import records
from experiments.reproduce.paper import PaperValue


@dataclasses.dataclass(frozen=True)
class Cell:
    """One number of a table.

    Attributes:
        table: For example `"table1"`.
        row: Its row in the table of the report.
        column: Its column there; begins with the method.
        name: Unique in its table; `--only` also matches parts of it.
        module: The script that makes it, such as
            `"experiments.training.cifar"`.
        arguments: Its command line without the seed.
        seeds: One run for each.
        scores: What the number is called in a record: one name, or two where
            the table has two numbers in the cell.
        paper: The paper's value; None for what the paper does not have.
        reference: The column that it is compared with, in its row.
        first: A command that must have run before, once for all cells that
            name it.
    """

    table: str
    row: str
    column: str
    name: str
    module: str
    arguments: tuple[str, ...]
    seeds: tuple[int, ...]
    scores: tuple[str, ...]
    paper: PaperValue | None = None
    reference: str = "uniform"
    first: tuple[str, ...] | None = None

    @property
    def method(self) -> str:
        """Its `--method`."""
        return self.arguments[self.arguments.index("--method") + 1]

    def run_arguments(self, seed: int) -> tuple[str, ...]:
        """The command line of one run, without the name of the script."""
        return (*self.arguments, "--seeds", str(seed))

    def record_path(self, seed: int) -> pathlib.Path:
        """Where the record of a run goes."""
        script = importlib.import_module(self.module)
        return script.record_path(self.run_arguments(seed))


@dataclasses.dataclass(frozen=True)
class Places:
    """Where things are, the same for all cells.

    Attributes:
        data_dir: TFDS folder; None downloads.
        out: Folder of the records.
        work_dir: Folder of checkpoints and augmented files.
        masked_lm: Preset of the text cells; None leaves the choice to the
            scale. So with `teacher` and `student`.
        threads: CPU threads of one run; None is one for each core.
    """

    data_dir: str | None = None
    out: str = "runs/reproduce/records"
    work_dir: str = "runs/reproduce"
    masked_lm: str | None = None
    teacher: str | None = None
    student: str | None = None
    threads: int | None = None

    def options(self, folder: str) -> list[str]:
        """Options of a script that writes below `folder` of `out`."""
        words = ["--out", f"{self.out}/{folder}"]
        words += ["--work_dir", f"{self.work_dir}/{folder}"]
        if self.data_dir is not None:
            words += ["--data_dir", self.data_dir]
        if self.threads is not None:
            words += ["--threads", str(self.threads)]
        return words


@dataclasses.dataclass(frozen=True)
class Run:
    """One seed of a cell: its command, and the record that it leaves."""

    cell: Cell
    words: tuple[str, ...]
    record: pathlib.Path


def runs_of(cells: Iterable[Cell]) -> list[Run]:
    """All runs of `cells`; one that several cells share comes once."""
    found = {}
    for cell in cells:
        for seed in cell.seeds:
            path = cell.record_path(seed)
            words = (cell.module, *cell.run_arguments(seed))
            found.setdefault(path, Run(cell, words, path))
    return list(found.values())


def without_record(runs: Iterable[Run]) -> list[Run]:
    """The runs that are left.

    Raises:
        ValueError: If a file of a record does not hold one.
    """
    return [run for run in runs if not records.is_recorded(run.record)]


def command(words: tuple[str, ...]) -> str:
    """A line for a shell."""
    return shlex.join(["python", "-m", *words])
