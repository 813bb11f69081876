r"""Numbers that describe the view weights of a set of groups, in NumPy.

The weights of a group are compared with equal ones: the relative weight of a
view is $w_j k$ for the $k$ views that share the weight, 1 where all weigh the
same. Padding takes no part, and neither does the original in the soft
objective, whose weight is always 0.
"""

from typing import Any

import numpy as np


def counted_views(mask: Any, original_counts: bool) -> np.ndarray:
    """Which views share the weight of their group.

    Args:
        mask: Bool `(groups, num_views)`, `False` for padding.
        original_counts: `False` in the soft objective, which weighs augmented
            views alone.

    Returns:
        Bool `(groups, num_views)`.

    Example:

    >>> counted_views([[True, True, False]], original_counts=False)
    array([[False,  True, False]])
    """
    counted = np.array(mask, dtype=bool)
    if not original_counts:
        counted[:, 0] = False
    return counted


def entropy(weights: Any) -> np.ndarray:
    r"""Entropy of the weights of each group, $-\sum_j w_j \log w_j$, in nats.

    Args:
        weights: Shape `(groups, num_views)`.

    Returns:
        Float64 `(groups,)`; its exponential is the number of views that
        count, `effective_views` in the log.

    Example:

    >>> np.exp(entropy([[0.5, 0.5], [1.0, 0.0]]))
    array([2., 1.])
    """
    weights = np.asarray(weights, dtype="float64")
    logs = np.log(np.where(weights == 0, 1.0, weights))
    # Adding 0 turns -0 into 0.
    return -np.sum(weights * logs, axis=1) + 0.0


def relative_weights(weights: Any, counted: Any) -> np.ndarray:
    """Weights in units of an equal share.

    Args:
        weights: Shape `(groups, num_views)`.
        counted: From `counted_views`.

    Returns:
        Float64 `(groups, num_views)`: weight times the number of views that
        count, NaN for those that do not.

    Example:

    >>> relative_weights([[0.75, 0.25]], [[True, True]])
    array([[1.5, 0.5]])
    """
    weights = np.asarray(weights, dtype="float64")
    counted = np.asarray(counted, dtype=bool)
    size = counted.sum(axis=1, keepdims=True)
    return np.where(counted, weights * size, np.nan)


def mean(values: Any, axis: int | None = None) -> Any:
    """Mean of the finite values, NaN where there is none.

    Unlike `np.nanmean` it leaves out infinite values and never warns.

    Args:
        values: Array of any shape.
        axis: Axis to average over, or None for all.

    Returns:
        Float64 array or number.

    Example:

    >>> mean([1.0, np.nan, 3.0])
    2.0
    """
    values = np.asarray(values, dtype="float64")
    finite = np.isfinite(values)
    total = np.sum(np.where(finite, values, 0.0), axis=axis)
    count = np.sum(finite, axis=axis)
    found = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return float(found) if found.ndim == 0 else found


def spread(losses: Any, counted: Any) -> np.ndarray:
    """Standard deviation of the view losses within each group.

    `lambda_p` is in the unit of the losses: where it is far above the spread,
    the weights are nearly equal, and far below it one view takes them all.

    Args:
        losses: Shape `(groups, num_views)`.
        counted: From `counted_views`.

    Returns:
        Float64 `(groups,)`; NaN for a group without a view that counts.

    Example:

    >>> spread([[1.0, 3.0, 9.0]], [[True, True, False]])
    array([1.])
    """
    losses = np.asarray(losses, dtype="float64")
    losses = np.where(counted, losses, np.nan)
    squares = (losses - mean(losses, axis=1)[:, None]) ** 2
    return np.sqrt(mean(squares, axis=1))


def summarize(
    weights: Any, losses: Any, counted: Any, classes: Any = None
) -> dict:
    """What a record says in few numbers.

    Groups with a weight or loss that is not finite are counted and left out.

    Args:
        weights: Shape `(groups, num_views)`.
        losses: View losses of the same shape.
        counted: From `counted_views`.
        classes: None or int `(groups,)`, negative where unknown.

    Returns:
        A dict. Means over the groups: `effective_views`, `entropy` (nats),
        `heaviest_share` (the largest weight), `loss` (of the views that
        count), `spread` (of their losses within the group). Lists with one
        entry per view index: `relative_weight` (1 is an equal share),
        `view_loss`, `heaviest` (in which share of the groups the view has the
        largest weight; ties share it). `per_class` maps each class to its
        `groups`, `effective_views`, `heaviest_share` and `loss`. `groups` and
        `not_finite` count groups.

    Example:

    >>> found = summarize([[0.75, 0.25]], [[2.0, 1.0]], [[True, True]])
    >>> found["heaviest_share"], found["relative_weight"]
    (0.75, [1.5, 0.5])
    """
    weights = np.asarray(weights, dtype="float64")
    counted = np.asarray(counted, dtype=bool)
    losses = np.where(counted, np.asarray(losses, dtype="float64"), np.nan)
    good = np.isfinite(weights).all(axis=1) & counted.any(axis=1)
    good &= (np.isfinite(losses) | ~counted).all(axis=1)
    bad = ~good
    weights = np.where(bad[:, None], np.nan, weights)
    losses = np.where(bad[:, None], np.nan, losses)
    largest = np.max(weights, axis=1)
    is_largest = (weights == largest[:, None]) & counted
    ties = np.maximum(is_largest.sum(axis=1, keepdims=True), 1)
    entropies = entropy(weights)
    values = {
        "effective_views": np.exp(entropies),
        "entropy": entropies,
        "heaviest_share": largest,
        "loss": mean(losses, axis=1),
        "spread": spread(losses, counted),
    }
    found: dict = {name: mean(value) for name, value in values.items()}
    found["groups"] = len(weights)
    found["not_finite"] = int(bad.sum())
    per_view = {
        "relative_weight": relative_weights(weights, counted),
        "view_loss": losses,
        "heaviest": np.where(
            counted & good[:, None], is_largest / ties, np.nan
        ),
    }
    for name, value in per_view.items():
        found[name] = mean(value, axis=0).tolist()
    found["per_class"] = {}
    if classes is not None:
        classes = np.asarray(classes)
        for index in np.unique(classes[classes >= 0]).tolist():
            rows = classes == index
            found["per_class"][index] = {
                "groups": int(rows.sum()),
                **{
                    name: mean(values[name][rows])
                    for name in ("effective_views", "heaviest_share", "loss")
                },
            }
    return found
