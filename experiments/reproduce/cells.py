"""What a cell of a table is: a command for each seed, and the paper's value."""

import dataclasses
import shlex

from experiments.reproduce.paper import PaperValue


@dataclasses.dataclass(frozen=True)
class Cell:
    """One number of a table.

    Attributes:
        table: for example `"table1"`.
        name: unique in its table; `--only` also matches parts of it.
        module: the script that makes it, for example `"examples.cifar"`.
        arguments: its command line without the seed.
        seeds: one run for each.
        scores: what the number is called in a record: one name, or two where
            the table has two numbers in the cell.
        paper: the paper's value; None for what the paper does not have.
        reference: the column that it is compared with, in its row.
        first: commands that must have run before, each once for all cells
            that name it.
        row, column: the cell's place in the table of the report.
    """

    table: str
    name: str
    module: str
    arguments: tuple[str, ...]
    seeds: tuple[int, ...]
    scores: tuple[str, ...]
    row: str
    column: str
    paper: PaperValue | None = None
    reference: str = "uniform"
    first: tuple[tuple[str, ...], ...] = ()

    @property
    def method(self) -> str:
        """Its `--method`."""
        return self.arguments[self.arguments.index("--method") + 1]

    def run_arguments(self, seed: int) -> tuple[str, ...]:
        """The command line of one run, without the name of the script."""
        return (*self.arguments, "--seeds", str(seed))


@dataclasses.dataclass(frozen=True)
class Places:
    """Where things are, the same for all cells.

    Attributes:
        data_dir: TFDS folder; None downloads.
        out: folder of the records.
        work_dir: folder of checkpoints and augmented files.
        masked_lm, teacher, student: presets of the text cells; None leaves
            the choice to the scale.
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


def command(module: str, arguments: tuple[str, ...]) -> str:
    """A line for a shell."""
    return shlex.join(["python", "-m", module, *arguments])
