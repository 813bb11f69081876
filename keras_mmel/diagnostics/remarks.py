"""What the numbers of a run suggest to look at, in sentences."""

import math

from keras_mmel.diagnostics.run import Run

# Where weights count as nearly equal, or nearly all on one view: the share
# of the way from 1 effective view to all of them.
_NEARLY_EQUAL = 0.98
_NEARLY_ONE = 0.25
_HEAVY = 1.5
_MOST_NAMES = 4


def remarks(run: Run) -> list[str]:
    """Remarks on the last record of a run.

    They are rules of thumb, and each says what it saw.

    Args:
        run: With or without records.

    Returns:
        Sentences; empty where nothing stands out.

    Example:

    ```python
    for remark in remarks(watch.run):
        print(remark)
    ```
    """
    if not run.weights:
        return []
    found = run.summaries[-1]
    said = []
    if found["not_finite"]:
        said.append(
            f"{found['not_finite']} of {found['groups']} groups have a view "
            "loss that is not finite. They are left out of all numbers here."
        )
    counted = run.counted.sum(axis=1)
    most = float(counted[counted > 0].mean()) if (counted > 0).any() else 0.0
    effective, spread = found["effective_views"], found["spread"]
    if not math.isfinite(effective) or most <= 1:
        return said
    way = (effective - 1) / (most - 1)
    lambda_p = run.lambda_p[-1]
    if not math.isnan(lambda_p):
        beside = (
            f"lambda_p is {lambda_p:.3g}, and the view losses of a group "
            f"spread by {spread:.3g} (standard deviation)."
        )
        numbers = f"{effective:.2f} of {most:.3g} views count"
        if way > _NEARLY_EQUAL:
            said.append(
                f"The weights are nearly equal: {numbers}. {beside} A smaller "
                "lambda_p, or views that differ more, would make a difference "
                "to the plain mean."
            )
        elif way < _NEARLY_ONE:
            said.append(
                f"Nearly all the weight is on one view of a group: {numbers}. "
                f"{beside} If training is unsteady, raise lambda_p."
            )
        heavy = [
            f"{run.view_names[index]} ({weight:.2f})"
            for index, weight in enumerate(found["relative_weight"])
            if weight > _HEAVY
        ]
        if heavy:
            more = len(heavy) - _MOST_NAMES
            names = ", ".join(heavy[:_MOST_NAMES])
            names += f" and {more} more" if more > 0 else ""
            said.append(
                f"Some views weigh far more than an equal share of 1: {names}. "
                "Look at them: views that have lost their label are hard as "
                "well, and the weights drive the model towards them."
            )
    return said
