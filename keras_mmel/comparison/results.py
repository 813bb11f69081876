"""What a comparison found: paired differences, as a table and a picture."""

import dataclasses
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_mmel.comparison import paired
from keras_mmel.pages import figures
from keras_mmel.pages import page

# Ends of the names of scores that are shown as percentages.
_PERCENT = ("accuracy", "acc", "_ece")
# Fewer seeds make an interval, and no test that means something.
_SEEDS_OF_A_TEST = 5


@dataclasses.dataclass(frozen=True, repr=False)
class Comparison:
    """Runs of several methods over the same seeds.

    `print` shows a table, and so does a notebook: the scores of the baseline,
    and for each other method its difference to it, with the p of a paired
    t-test.

    Attributes:
        runs: For each run a dict with `"method"`, `"seed"`, `"scores"` (on the
            test data) and `"log"` (of the last epoch of training).
        baseline: Name of the method that the others are compared with.
    """

    runs: list[dict[str, Any]]
    baseline: str

    @property
    def methods(self) -> list[str]:
        """Names of the methods, the baseline first."""
        names = list(dict.fromkeys(run["method"] for run in self.runs))
        return [self.baseline, *(n for n in names if n != self.baseline)]

    @property
    def score_names(self) -> list[str]:
        """Names of the scores on the test data."""
        return list(dict.fromkeys(n for r in self.runs for n in r["scores"]))

    def values(self, method: str, score: str) -> np.ndarray:
        """Returns a score of every seed, in the order of the seeds.

        Args:
            method: Name of a method.
            score: Name of a score, or of an entry of the log of training with
                `"train_"` before it.

        Returns:
            Array `(seeds,)`; NaN where the method has no such entry.

        Raises:
            ValueError: If there is no such method or score.
        """
        return np.array(list(self._by_seed(method, score).values()))

    def _by_seed(self, method, score):
        of_method = [run for run in self.runs if run["method"] == method]
        if not of_method:
            raise ValueError(
                f"`method` must be one of {self.methods}. Received: {method!r}"
            )
        part, name = "scores", score
        if score.startswith("train_"):
            part, name = "log", score.removeprefix("train_")
        if not any(name in run[part] for run in self.runs):
            raise ValueError(
                f"`score` must be one of {self.score_names} or an entry of "
                f"the log of training, as 'train_loss'. Received: {score!r}"
            )
        of_method.sort(key=lambda run: run["seed"])
        return {run["seed"]: run[part].get(name, math.nan) for run in of_method}

    def difference(
        self, method: str, score: str, baseline: str | None = None
    ) -> paired.Difference:
        """Compares a method with another one, by default with the baseline.

        Seeds that only one of them has do not count.

        Args:
            method: Name of the method.
            score: Name of the score.
            baseline: Name of the other method.

        Returns:
            A `Difference`: its mean, 95 % interval and p.

        Example:

        ```python
        difference = comparison.difference("hard", "worst_accuracy")
        difference.mean, difference.p
        ```
        """
        other = self.baseline if baseline is None else baseline
        values = self._by_seed(method, score)
        of_baseline = self._by_seed(other, score)
        shared = [seed for seed in values if seed in of_baseline]
        return paired.paired_difference(
            [values[seed] for seed in shared],
            [of_baseline[seed] for seed in shared],
        )

    def table(self, scores: Sequence[str] | None = None) -> list[list[str]]:
        """Makes the rows of a table, the heading first.

        Args:
            scores: Names of the scores; all where it is None.

        Returns:
            Rows of cells. The baseline has mean and standard deviation, others
            the mean difference and in brackets its p, adjusted for the number
            of differences in the table (Holm); below five seeds its 95 %
            interval. Accuracies and ECE are in percent.
        """
        scores = self.score_names if scores is None else list(scores)
        others = self.methods[1:]
        pairs = [(method, score) for method in others for score in scores]
        differences = [self.difference(*pair) for pair in pairs]
        p_values = paired.holm([difference.p for difference in differences])
        baseline_row = [self.baseline]
        for score in scores:
            values = self.values(self.baseline, score) * _scale(score)
            cell = _number(values.mean())
            if len(values) > 1:  # one has no spread, and no interval below
                cell += f" ± {_number(values.std(ddof=1))}"
            baseline_row.append(cell)
        rows = {method: [f"{method} - {self.baseline}"] for method in others}
        tested = zip(pairs, differences, p_values, strict=True)
        for (method, score), difference, p in tested:
            mean, low, high = np.array(difference[:3]) * _scale(score)
            cell = _number(mean, "+")
            if difference.seeds >= _SEEDS_OF_A_TEST:
                cell += f" ({_p(p)})"
            elif difference.seeds > 1:
                cell += f" ({_number(low, '+')} to {_number(high, '+')})"
            rows[method].append(cell)
        return [["method", *scores], baseline_row, *rows.values()]

    def __str__(self) -> str:
        return f"{page.printed(self._lines())}\n{self._note()}"

    def __repr__(self) -> str:
        return f"Comparison({len(self.runs)} runs of {', '.join(self.methods)})"

    def _repr_html_(self) -> str:
        return page.table(self._lines()) + page.escape(self._note())

    def _lines(self):
        # One line a score: there may be more scores than a terminal is wide.
        return [*zip(*self.table(self._distinct_scores()), strict=True)]

    def _distinct_scores(self):
        """Names of the scores without those that repeat a loss."""
        names = []
        for name in self.score_names:
            loss = name.removesuffix("nll") + "loss"
            if name.endswith("nll") and loss in self.score_names:
                of_runs = (run["scores"] for run in self.runs)
                if all(math.isclose(s[name], s[loss]) for s in of_runs):
                    continue
            names.append(name)
        return names

    def _note(self):
        names = self._distinct_scores()
        seeds = len(self.values(self.baseline, names[0]))
        note = f"{seeds} seed{'s' * (seeds > 1)}; accuracies and ECE in percent"
        if seeds >= _SEEDS_OF_A_TEST:
            tests = len(names) * (len(self.methods) - 1)
            note += (
                "; differences, in brackets the p of paired t-tests, adjusted "
                f"for all {tests} of the table (Holm)"
            )
        elif seeds > 1:
            note += "; differences, in brackets their 95 % intervals"
        return note

    def plot(
        self,
        scores: Sequence[str] | None = None,
        path: str | os.PathLike | None = None,
    ) -> Any:
        """Draws the differences with their 95 % intervals.

        Args:
            scores: Names of the scores; all where it is None.
            path: Where to save the picture; not at all where it is None.

        Returns:
            A Matplotlib figure, a panel for each score.

        Raises:
            ImportError: If Matplotlib is not installed.
        """
        scores = self.score_names if scores is None else list(scores)
        others = self.methods[1:]
        size = (3.2 * len(scores), 1.0 + 0.35 * len(others))
        figure = figures.new_figure(size)
        panels = figure.subplots(1, len(scores), sharey=True, squeeze=False)[0]
        for panel, score in zip(panels, scores, strict=True):
            for place, method in enumerate(others):
                difference = np.array(self.difference(method, score))
                mean, low, high = _scale(score) * difference[:3]
                # NaN, where the interval is not known, draws none.
                reach = [[mean - low], [high - mean]]
                panel.errorbar(mean, place, xerr=reach, fmt="C0o", capsize=3)
            panel.axvline(0, color="0.6", linewidth=1)
            percent = ", points" if _scale(score) != 1 else ""
            panel.set_xlabel(f"{score}{percent}")
            panel.set_yticks(range(len(others)), others)
            panel.invert_yaxis()
        figure.suptitle(f"difference to {self.baseline}", fontsize="medium")
        if path is not None:
            figure.savefig(path, dpi=150)
        return figure


def _scale(score):
    return 100.0 if score.endswith(_PERCENT) else 1.0


def _number(value, sign=""):
    digits = 3 - (abs(value) >= 0.1) - (abs(value) >= 10)
    return f"{value:{sign}.{digits}f}"


def _p(p):
    if math.isnan(p):
        return "p ?"
    return "p <0.0001" if p < 1e-4 else f"p {p:.2g}"
