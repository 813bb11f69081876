"""The numbers that the paper reports, as they stand in its tables.

`paper.json` holds a line for every number: what it is of, the mean (for
`mnli` two: matched and mismatched), the deviation where the paper has one, and
the hours on its V100. Scores are in percent.
"""

import dataclasses
import json
import pathlib

_FILE = pathlib.Path(__file__).with_name("paper.json")
# What is not a description of the cell.
_NUMBERS = ("mean", "std", "hours")


@dataclasses.dataclass(frozen=True)
class PaperValue:
    """One number of the paper.

    Attributes:
        mean: In percent; two numbers for MNLI, matched and mismatched.
        std: The same for the deviation; None where the paper has none.
        hours: Training time; None where the paper has none.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...] | None = None
    hours: float | None = None

    def __str__(self):
        stds = self.std or (None,) * len(self.mean)
        return " / ".join(
            f"{mean:.2f}" + (f" ± {std:.2f}" if std is not None else "")
            for mean, std in zip(self.mean, stds, strict=True)
        )


def read(table: str) -> list[tuple[dict, PaperValue]]:
    """The numbers of one table, in its order.

    Args:
        table: `"table1"` to `"table6"`.

    Returns:
        Pairs of what the number is of, for example `{"dataset": "cifar10",
        "depth": 20, "method": "da"}`, and the number.
    """
    return [
        (
            {k: v for k, v in line.items() if k not in _NUMBERS},
            PaperValue(
                _tuple(line["mean"]), _tuple(line.get("std")), line.get("hours")
            ),
        )
        for line in json.loads(_FILE.read_text(encoding="utf-8"))[table]
    ]


def _tuple(value):
    if value is None:
        return None
    return tuple(value) if isinstance(value, list) else (value,)
