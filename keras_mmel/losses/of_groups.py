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

from keras_mmel import groups
from keras_mmel.losses import checks
from keras_mmel.losses import per_view
from keras_mmel.losses import soft_targets
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
    checks.check_labels(label, x)
    outputs = per_view.pair_outputs(
        loss,
        loss_weights,
        label,
        prediction,
        output_names,
        extra=(teacher, soft_loss),
    )
    found = []
    for output in outputs:
        checks.check_label_shape(output, views)
        losses, original, compiled = _losses(output, objective, x)
        weight = 1.0 if output.weight is None else output.weight
        if weight != 1.0:
            losses, original = losses * weight, original * weight
        found.append((losses, original))
    losses, original = (
        functools.reduce(operator.add, parts)
        for parts in zip(*found, strict=True)
    )
    return GroupLosses(
        losses,
        original,
        per_view.reduction_of(outputs),
        compiled.elements,
        compiled.kept,
    )


def _losses(output, objective, x):
    """What the objective takes, and the compiled loss of view 0."""
    teacher, soft_loss = output.extra
    views = groups.num_views(x)
    prediction = output.prediction

    def grouped(rows):
        return ops.reshape(rows, (groups.batch_size(x), views))

    def of_all_views():
        compiled = per_view.rows(
            output.loss,
            groups.repeat_for_views(output.label, views),
            prediction,
            views,
        )
        if compiled.kept is not None:
            compiled = compiled._replace(kept=grouped(compiled.kept)[:, 0])
        return compiled, grouped(compiled.losses)

    if teacher is None and not objective.soft_targets:
        compiled, losses = of_all_views()
        return losses, losses[:, 0], compiled
    twin = soft_targets.twin_for(output, soft_loss)
    if twin.from_logits:
        compiled = per_view.rows(
            output.loss, output.label, groups.original_rows(prediction, views)
        )
        original = compiled.losses
    else:
        # Keras looks for logits in the operation behind a softmax, which a
        # slice would hide.
        compiled, losses = of_all_views()
        original = losses[:, 0]
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
    augmented = per_view.rows(twin.loss, target, prediction, views).losses
    losses = ops.concatenate(
        [original[:, None], grouped(augmented)[:, 1:]], axis=1
    )
    return losses, original, compiled
