r"""Numbers that describe the view weights of a set of groups, in NumPy.

The weights of a group are compared with equal ones: the relative weight of a
view is $w_j k$ for the $k$ views that share the weight, 1 where all weigh the
same. Padding takes no part, and neither does the original in the soft
objective, whose weight is always 0.
"""

import dataclasses
import functools

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class StepWeights:
    """Weights and losses of the views of some groups at one step.

    Attributes:
        weights: View weights `(groups, num_views)`.
        losses: View losses of the same shape.
        counted: Bool of the same shape: which views share the weight.
    """

    weights: np.ndarray
    losses: np.ndarray
    counted: np.ndarray

    @functools.cached_property
    def relative(self) -> np.ndarray:
        """Weights in equal shares, NaN for views that share no weight."""
        size = self.counted.sum(axis=1, keepdims=True)
        return np.where(self.counted, self.weights * size, np.nan)

    @functools.cached_property
    def effective(self) -> np.ndarray:
        r"""Effective number of views of each group, NaN where not finite.

        $\exp(-\sum_j w_j \log w_j)$, as `objectives.effective_views` has it in
        float32 on the backend; here in float64, beside the other statistics.
        """
        weights = np.asarray(self.weights, dtype="float64")
        logs = np.log(np.where(weights == 0, 1.0, weights))
        return np.exp(-np.sum(weights * logs, axis=1))

    @functools.cached_property
    def uneven(self) -> np.ndarray:
        """Groups from the most uneven weights to the most even.

        Those with weights that are not finite come last.
        """
        finite = np.where(np.isfinite(self.relative), self.relative, -1)
        return np.argsort(-finite.max(axis=1), kind="stable")

    @functools.cached_property
    def hardest(self) -> np.ndarray:
        """Views from the largest loss to the smallest: int `(views, 2)`.

        Group and view index of those that share the weight and have a finite
        loss.
        """
        places = np.argwhere(self.counted & np.isfinite(self.losses))
        losses = self.losses[tuple(places.T)]
        return places[np.argsort(-losses, kind="stable")]

    @functools.cached_property
    def summary(self) -> dict:
        """The record in few numbers, as `Run.summaries` has them."""
        losses = np.where(self.counted, self.losses, np.nan).astype("float64")
        # A view that is not finite makes all weights of its group NaN: the
        # group is left out as a whole.
        good = np.isfinite(self.weights).all(axis=1) & self.counted.any(axis=1)
        good &= (np.isfinite(losses) | ~self.counted).all(axis=1)
        losses = losses[good]
        mean_loss = _mean(losses, axis=1)
        variance = _mean((losses - mean_loss[:, None]) ** 2, axis=1)
        of_groups = {
            "effective_views": self.effective[good],
            "heaviest_share": self.weights[good].max(axis=1),
            "loss": mean_loss,
            "spread": np.sqrt(variance),
        }
        return {
            **{name: float(_mean(value)) for name, value in of_groups.items()},
            "relative_weight": _mean(self.relative[good], axis=0).tolist(),
            "view_loss": _mean(losses, axis=0).tolist(),
            "groups": len(self.weights),
            "not_finite": int((~good).sum()),
        }


def _mean(values, axis=None):
    """Mean of the finite values, NaN where there is none.

    Unlike `np.nanmean` it leaves out infinite values and never warns.
    """
    finite = np.ma.masked_invalid(np.asarray(values, dtype="float64"))
    return np.ma.filled(finite.mean(axis=axis), np.nan)
