"""What a run did to the weights of a probe: in memory and in a file."""

import dataclasses
import os
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_mmel.diagnostics import run_files
from keras_mmel.diagnostics import statistics


@dataclasses.dataclass
class Run:
    """Weights of the views of some groups, seen again and again in training.

    `ViewWeights` makes it. All lists that hold records have one entry per
    record.

    Attributes:
        objective: Name and settings of the objective, as it was at the start.
        original_counts: Whether the original takes part in the weights; not so
            in the soft objective.
        mask: Bool `(groups, num_views)`, `False` for padding.
        view_names: A name for each view index.
        classes: None or int `(groups,)`, -1 where unknown.
        class_names: Names of the classes, where given.
        images: None or uint8 `(n, num_views, height, width, channels)`: small
            pictures of the first `n` groups.
        texts: None or the views of each group as text.
        steps: Optimizer steps before each record.
        epochs: Epoch of each record, from 1.
        lambda_p: The coefficient at each record, NaN where there is none.
        weights: View weights `(groups, num_views)` of each record.
        losses: View losses of each record.
        logs: The log of each epoch, with its number from 1 under `epoch` and
            the steps done under `step`.

    Example:

    ```python
    run = keras_mmel.diagnostics.Run.load("run.npz")
    run.summaries[-1]["effective_views"]
    ```
    """

    mask: np.ndarray
    objective: dict = dataclasses.field(default_factory=dict)
    original_counts: bool = True
    view_names: list[str] = dataclasses.field(default_factory=list)
    classes: np.ndarray | None = None
    class_names: list[str] | None = None
    images: np.ndarray | None = None
    texts: list[list[str]] | None = None
    steps: list[int] = dataclasses.field(default_factory=list)
    epochs: list[int] = dataclasses.field(default_factory=list)
    lambda_p: list[float] = dataclasses.field(default_factory=list)
    weights: list[np.ndarray] = dataclasses.field(default_factory=list)
    losses: list[np.ndarray] = dataclasses.field(default_factory=list)
    logs: list[dict] = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.mask = np.asarray(self.mask, dtype=bool)
        self._summaries: list[dict] = []
        if not self.view_names:
            self.view_names = default_view_names(self.mask.shape[1])

    def add(
        self,
        weights: Any,
        losses: Any,
        *,
        step: int,
        epoch: int,
        lambda_p: float = float("nan"),
    ) -> None:
        """Adds a record.

        Args:
            weights: Shape `(groups, num_views)`.
            losses: Shape `(groups, num_views)`.
            step: Optimizer steps so far.
            epoch: From 1.
            lambda_p: The current coefficient.

        Raises:
            ValueError: If the shapes are not those of the probe.
        """
        weights = np.asarray(weights, dtype="float32")
        losses = np.asarray(losses, dtype="float32")
        for name, value in (("weights", weights), ("losses", losses)):
            if value.shape != self.mask.shape:
                raise ValueError(
                    f"`{name}` must have the shape (groups, num_views) of the "
                    f"probe, {self.mask.shape}. "
                    f"Received: {name}.shape={value.shape}"
                )
        self.weights.append(weights)
        self.losses.append(losses)
        self.steps.append(int(step))
        self.epochs.append(int(epoch))
        self.lambda_p.append(float(lambda_p))

    @property
    def counted(self) -> np.ndarray:
        """Bool `(groups, num_views)`: which views share the weight."""
        return statistics.counted_views(self.mask, self.original_counts)

    @property
    def summaries(self) -> list[dict]:
        """`keras_mmel.diagnostics.statistics.summarize` of each record."""
        for index in range(len(self._summaries), len(self.weights)):
            self._summaries.append(
                statistics.summarize(
                    self.weights[index],
                    self.losses[index],
                    self.counted,
                    self.classes,
                )
            )
        return self._summaries[: len(self.weights)]

    def class_name(self, index: int) -> str:
        """Name of a class: its number where it has none."""
        if index < 0:
            return "unknown"
        names = self.class_names or []
        return str(names[index]) if index < len(names) else str(index)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the run to a file, whole or not at all.

        Args:
            path: Ends in `.npz` (small) or `.json` (for other programs: lists,
                with `null` for what is not finite).

        Raises:
            ValueError: If the ending is another.
        """
        values = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
        }
        run_files.write(pathlib.Path(path), values)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Run":
        """Reads what `save` wrote.

        Args:
            path: The file.

        Raises:
            ValueError: If it holds no run.
        """
        values = run_files.read(pathlib.Path(path))
        known = {field.name for field in dataclasses.fields(cls)}
        if not known.issuperset(values) or "mask" not in values:
            raise ValueError(
                "The file must be one that `Run.save` wrote. "
                f"Received: path={str(path)!r} with {sorted(values)}"
            )
        return cls(**values)


def as_run(run: Any) -> Run:
    """What `plot_run` and `write_report` take, as a `Run`.

    Args:
        run: A `Run`, the path of a saved one, the `History` that `fit` returns,
            or a dict of curves, one number per epoch.

    Raises:
        TypeError: If it is none of these.
        ValueError: If the file holds no run.
    """
    if isinstance(run, (str, os.PathLike)):
        return Run.load(run)
    run = getattr(run, "history", run)
    if isinstance(run, Run):
        return run
    if not isinstance(run, Mapping):
        raise TypeError(
            "`run` must be a `Run`, the path of one, a `History` or a dict of "
            f"curves. Received: a {type(run).__name__}"
        )
    epochs = max((len(values) for values in run.values()), default=0)
    logs = [
        {
            "epoch": epoch + 1,
            **{
                name: float(values[epoch])
                for name, values in run.items()
                if len(values) == epochs
            },
        }
        for epoch in range(epochs)
    ]
    return Run(mask=np.zeros((0, 1), dtype=bool), logs=logs)


def default_view_names(num_views: int) -> list[str]:
    """`original`, `view 1`, `view 2`, ..."""
    return ["original", *(f"view {i}" for i in range(1, num_views))]
