"""What a run did to the weights of a probe: in memory and in a file."""

import dataclasses
import json
import os
from typing import Any

import numpy as np

from keras_mmel import whole_files
from keras_mmel.diagnostics.weight_statistics import StepWeights
from keras_mmel.pages import page
from keras_mmel.scores.by_view import names_of_views


@dataclasses.dataclass(repr=False)
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
        classes: None or int `(groups,)`, from 0.
        class_names: Names of the classes, where given.
        images: None or uint8 `(groups, num_views, height, width, channels)`:
            small pictures.
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

    def __post_init__(self) -> None:
        self.mask = np.asarray(self.mask, dtype=bool)
        num_views = self.mask.shape[1]
        self.view_names = self.view_names or names_of_views((), num_views)
        if len(self.view_names) != num_views:
            raise ValueError(
                f"`view_names` must have one name for each of the {num_views} "
                f"views. Received: view_names={self.view_names}"
            )

    def __repr__(self) -> str:
        groups, views = self.mask.shape
        records = len(self.weights)
        return f"<Run: {records} records of {groups} groups, {views} views>"

    def _repr_html_(self) -> str:
        rows = [["step", "epoch", "effective views", "spread of view losses"]]
        columns = self.steps, self.epochs, self.summaries
        for step, epoch, summary in zip(*columns, strict=True):
            numbers = summary["effective_views"], summary["spread"]
            rows.append([str(step), str(epoch), *map("{:.3g}".format, numbers)])
        return page.escape(repr(self)) + page.table(rows)

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
        """
        self.weights.append(np.asarray(weights, dtype="float32"))
        self.losses.append(np.asarray(losses, dtype="float32"))
        self.steps.append(int(step))
        self.epochs.append(int(epoch))
        self.lambda_p.append(float(lambda_p))

    @property
    def counted(self) -> np.ndarray:
        """Bool `(groups, num_views)`: which views share the weight."""
        counted = self.mask.copy()
        if not self.original_counts:
            counted[:, 0] = False
        return counted

    @property
    def records(self) -> list[StepWeights]:
        """The records, with what their numbers say."""
        counted = self.counted
        return [
            StepWeights(weights, losses, counted)
            for weights, losses in zip(self.weights, self.losses, strict=True)
        ]

    @property
    def summaries(self) -> list[dict]:
        """Each record in few numbers.

        Means over the groups: `effective_views`, `heaviest_share` (the largest
        weight), `loss` (of the views that count), `spread` (standard deviation
        of their losses within the group). Lists with one entry per view index:
        `relative_weight` (1 is an equal share), `view_loss`. `groups` and
        `not_finite` count groups; those with a weight or loss that is not
        finite are left out of all other numbers.
        """
        return [record.summary for record in self.records]

    def group_name(self, group: int) -> str:
        """Name of a group: its number, and its class where it has one."""
        if self.classes is None:
            return f"group {group}"
        index, names = self.classes[group], self.class_names or []
        name = names[index] if index < len(names) else f"class {index}"
        return f"group {group}, {name}"

    def save(self, path: str | os.PathLike) -> None:
        """Writes the run to a file, whole or not at all.

        Args:
            path: The `.npz` file.
        """
        fields = dict(vars(self))
        arrays: dict[str, Any] = {}
        for name in ("weights", "losses", "mask", "classes", "images"):
            if (value := fields.pop(name)) is not None:
                arrays[name] = np.asarray(value)
        text = json.dumps(fields, default=str)
        arrays["fields"] = np.frombuffer(text.encode("utf-8"), "uint8")
        # By the open file: for a path of another suffix NumPy would add one.
        with whole_files.replacing(path) as half, half.open("wb") as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Run":
        """Reads what `save` wrote.

        Args:
            path: The file.

        Raises:
            ValueError: If it holds no run.
        """
        try:
            # A file that is no archive would stay open inside `np.load`.
            with open(path, "rb") as file, np.load(file) as archive:
                arrays: dict[str, Any] = dict(archive)
            fields = json.loads(arrays.pop("fields").tobytes())
            for name in ("weights", "losses"):
                arrays[name] = list(arrays[name])
            return cls(**fields | arrays)
        except Exception as error:  # of zip files, JSON and NumPy
            if getattr(error, "filename", None) is not None:
                raise  # such as one that is not there
            raise ValueError(
                "The file must be one that `Run.save` wrote. "
                f"Received: path={str(path)!r}, which cannot be read: {error}"
            ) from error
