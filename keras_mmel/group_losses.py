"""The view losses of a batch of groups, for every objective and teacher.

objective   teacher   original      augmented views
hard        no        l(f(x), y)    l(f(z), y)
hard        yes       l(f(x), y)    l(f(z), teacher(z))
soft        no        l(f(x), y)    l(f(z), f(x))
soft        yes       l(f(x), y)    l(f(z), teacher(z) if it disagrees,
                                          else f(x))
"""

import functools
import operator
from typing import Any
from typing import NamedTuple

from keras import ops

from keras_mmel import batch_checks
from keras_mmel import groups
from keras_mmel import soft_targets
from keras_mmel import view_losses
from keras_mmel.objectives import Objective


class GroupLosses(NamedTuple):
    """View losses of a batch.

    Attributes:
        losses: Float32 `(batch, num_views)`, what the objective takes.
        original: Float32 `(batch,)`: the compiled loss of view 0.
        reduction: How the compiled losses reduce the batch.
        elements: Values of the loss for one example.
        kept: None, or `(batch,)`: how much of view 0 a Keras mask keeps.
    """

    losses: Any
    original: Any
    reduction: str | None
    elements: Any
    kept: Any


def group_losses(
    objective: Objective,
    x: Any,
    y: Any,
    prediction: Any,
    *,
    loss: Any,
    loss_weights: Any = None,
    soft_loss: Any = None,
    output_names: list[str] | None = None,
) -> GroupLosses:
    """View losses of a batch of groups, summed over the model's outputs.

    Args:
        objective: Decides what augmented views are compared with.
        x: A batch of groups.
        y: Labels, or labels and teacher predictions.
        prediction: Output of the model on the flat batch.
        loss: What was compiled.
        loss_weights: What was compiled.
        soft_loss: What was given to `MMELModel`.
        output_names: Names of the model's outputs, where it has them.

    Returns:
        `GroupLosses`.

    Raises:
        ValueError: Where shapes or structures do not match, or a loss cannot
            be had per view.
    """
    label, teacher = groups.split_labels(y)
    views = groups.num_views(x)
    batch_checks.check_labels(label, x)
    outputs = view_losses.pair_outputs(
        loss,
        loss_weights,
        label,
        prediction,
        output_names,
        extra=(teacher, soft_loss),
    )
    found = []
    for output in outputs:
        batch_checks.check_label_shape(output, views)
        losses, compiled = _rows(output, objective, x)
        weight = output.weight
        if weight is None:
            found.append((losses, compiled.losses))
        else:
            found.append((losses * weight, compiled.losses * weight))
    total, original = (
        functools.reduce(operator.add, parts)
        for parts in zip(*found, strict=True)
    )
    batch = groups.batch_size(x)

    def grouped(rows):
        return ops.reshape(rows, (batch, views))

    return GroupLosses(
        grouped(total),
        grouped(original)[:, 0],
        view_losses.reduction_of(outputs),
        compiled.elements,
        None if compiled.kept is None else grouped(compiled.kept)[:, 0],
    )


def _rows(output, objective, x):
    """Losses of the flat batch: what the objective takes, and compiled."""
    teacher, soft_loss = output.extra
    views = groups.num_views(x)
    prediction = output.prediction
    compiled = view_losses.rows(
        output.loss,
        groups.repeat_for_views(output.label, views),
        prediction,
        views,
    )
    if teacher is None and not objective.soft_targets:
        return compiled.losses, compiled
    twin = soft_targets.twin_for(output, soft_loss)
    if teacher is not None:
        teacher = soft_targets.teacher_rows(teacher, prediction, output.name, x)
        if twin.kind in ("categorical", "binary"):
            teacher = soft_targets.check_probabilities(teacher)
    target = teacher
    if objective.soft_targets:
        target = soft_targets.soft_target(
            twin,
            prediction,
            views,
            teacher,
            getattr(objective, "stop_gradient", True),
        )
    augmented = view_losses.rows(twin.loss, target, prediction, views).losses
    is_original = ops.arange(ops.shape(augmented)[0]) % views == 0
    return ops.where(is_original, compiled.losses, augmented), compiled
