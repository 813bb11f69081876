"""The view losses of a batch of groups, for every objective and teacher.

y is the label of the example, or of each view by itself where labels move.

objective   teacher   original      augmented views
hard        no        l(f(x), y)    l(f(z), y)
hard        yes       l(f(x), y)    l(f(z), teacher(z))
soft        no        l(f(x), y)    l(f(z), f(x))
soft        yes       l(f(x), y)    l(f(z), teacher(z) if it disagrees,
                                          else f(x))
"""

from collections.abc import Callable
from typing import Any
from typing import NamedTuple

from keras import ops

from keras_mmel import contract
from keras_mmel.losses import checks
from keras_mmel.losses import compiled
from keras_mmel.losses import per_view
from keras_mmel.losses import soft_targets
from keras_mmel.objectives import Objective


class GroupLosses(NamedTuple):
    """View losses of a batch, and how the batch becomes one number.

    Attributes:
        losses: Float32 `(batch, num_views)`, what the objective takes.
        original: Float32 `(batch,)`: the compiled loss of view 0.
        sample_weight: None or float32 `(batch,)`: of each group, times what a
            Keras mask leaves of its original, 1 being the mean.
        logged_weight: The user's for each output of a nest, as Keras's own loss
            broadcasts it for the log.
        reduction: How the compiled losses reduce the batch.
        by_output: Names of the trained outputs, and the compiled loss of their
            view 0, a `per_view.Rows` of `batch` rows.
    """

    losses: Any
    original: Any
    sample_weight: Any
    logged_weight: Any
    reduction: str | None
    by_output: dict[str, per_view.Rows]

    def reduce(self, values: Any) -> tuple[Any, Any]:
        """Numerator and denominator of the loss of the batch.

        Kept apart so that replicas with batches of different sizes can divide
        by the size of the whole batch.

        Args:
            values: Loss of each group, `(batch,)`.

        Returns:
            A scalar and the number to divide it by, or None. For a loss without
            reduction, what Keras would train on: a tensor whose sum has the
            gradient and whose mean is logged.

        Raises:
            ValueError: If the outputs need denominators of their own.
        """
        weight = self.sample_weight
        weighted = values if weight is None else values * weight
        if self.reduction is None:
            elements = self._alike().elements
            if isinstance(elements, int) and elements == 1:
                return weighted, None
            # As many values as Keras would log the mean of.
            share = ops.ones((1, elements), values.dtype)
            # A tensor of integers where it is not static.
            share /= ops.cast(elements, values.dtype)
            return weighted[:, None] * share, None
        total = ops.sum(weighted)
        if self.reduction == "sum":
            return total, None
        if self.reduction == "mean_with_sample_weight" and weight is not None:
            # Keras counts a weight once, however many elements it weighs; with
            # a mask, once for each element that is left.
            rows, size = self._alike(), ops.sum(weight)
            if rows.unmasked_share is None:
                size /= ops.cast(rows.elements, values.dtype)
            return total, size
        batch = ops.shape(values)[0]
        if isinstance(batch, int):
            return total, float(batch)
        return total, ops.cast(batch, "float32")

    def _alike(self):
        """The `per_view.Rows` of any output, where all count alike."""
        rows, *others = self.by_output.values()
        counts = {}
        for name, of_output in self.by_output.items():
            is_static = isinstance(of_output.elements, int)
            # Two numbers that only the step knows are taken on trust.
            counts[name] = of_output.elements if is_static else None
        is_masked = any(r.unmasked_share is not None for r in (rows, *others))
        if others and (is_masked or len(set(counts.values())) > 1):
            raise ValueError(
                f"Losses with the reduction {self.reduction!r} must give as "
                "many values for an example as each other, and mask none: "
                'compile `reduction="sum_over_batch_size"`, or give `fit` no '
                "`sample_weight` if it is a mean. "
                f"Received: values for an example by output {counts}"
            )
        return rows


def group_losses(
    objective: Objective,
    sizes: contract.Sizes,
    y: Any,
    prediction: Any,
    sample_weight: Any = None,
    *,
    loss: Any,
    loss_weights: Any = None,
    soft_loss: Any = None,
    output_names: list[str] | None = None,
    total: Callable[[Any], Any] = lambda value: value,
) -> GroupLosses:
    """View losses of a batch of groups, summed over the model's outputs.

    What a Keras mask hides (padding tokens, an `ignore_class`) has no part in
    the loss of a view, which is the mean over the rest. As in Keras, an example
    counts by what is left of it; a group, by what is left of its original.

    Args:
        objective: Decides what augmented views are compared with.
        sizes: Of the batch.
        y: Labels, of examples or of views, or labels and teacher predictions.
        prediction: Output of the model on the flat batch.
        sample_weight: None, or one weight per example, or a nest of them with
            an entry for each output.
        loss: What was compiled.
        loss_weights: What was compiled.
        soft_loss: What was given to `MMELModel`.
        output_names: Names of the model's outputs, where it has them.
        total: Sums a number over the replicas that share the batch.

    Returns:
        `GroupLosses`.

    Raises:
        ValueError: If shapes or structures do not match, or a loss cannot be
            had per view.
    """
    labels = contract.split_labels(y)
    names = prediction if isinstance(prediction, dict) else output_names
    names = list(names or ())
    if (labels.teacher is not None and {"label", "teacher"} <= set(names)) or (
        labels.of_views is not None and {"views"} == set(names)
    ):
        raise ValueError(
            'Labels for outputs named "label" and "teacher", or "views", '
            "cannot be told from labels with teacher predictions, or of views. "
            f"Give the outputs other names. Received: outputs {names}"
        )
    checks.check_labels(labels, sizes)
    if labels.of_views is not None and objective.soft_targets:
        raise ValueError(
            "A soft objective compares views with the prediction for the "
            'original, which does not move as labels in {"views": y} do: take '
            f"a hard one. Received: objective={objective!r}"
        )
    outputs = compiled.pair_outputs(
        loss,
        loss_weights,
        labels.rows(sizes),
        prediction,
        output_names,
        labels.teacher,
        soft_loss,
        contract.split_weights(sample_weight),
    )
    reduction = compiled.reduction_of(outputs)
    losses, originals, by_output, logged, weights = [], [], {}, {}, []
    for output in outputs:
        checks.check_label_shape(output, sizes.views, labels.of_views)
        of_views, original = _losses(output, objective, sizes)
        losses.append(of_views * output.weight)
        originals.append(original.losses * output.weight)
        by_output[output.name] = original
        weight = output.sample_weight
        if weight is not None:
            of_examples = checks.per_example(weight)
            shape = (-1,) + (1,) * original.axes
            logged[id(output.prediction)] = ops.reshape(of_examples, shape)
        weights.append(_with_mask(weight, original.unmasked_share, total))
    if reduction == "mean_with_sample_weight" and not logged:
        # Which is then a mean, also under a mask.
        reduction = "mean"
    sample_weight, shares = checks.of_outputs(weights, reduction)
    if shares is not None:
        for place in range(len(outputs)):
            losses[place] *= shares[:, place, None]
            originals[place] *= shares[:, place]
    return GroupLosses(
        losses=sum(losses),
        original=sum(originals),
        sample_weight=sample_weight,
        logged_weight=(
            compiled.by_every_word(prediction, output_names, logged)
            if logged
            else None
        ),
        reduction=reduction,
        by_output=by_output,
    )


def _with_mask(weight, share, total):
    """A sample weight times what a mask leaves, 1 being the batch's mean."""
    if share is None:
        return weight
    size = total(ops.sum(ops.ones_like(share)))
    share = ops.divide_no_nan(share * size, total(ops.sum(share)))
    return share if weight is None else checks.per_example(weight) * share


def _losses(output, objective, sizes):
    """What the objective takes, and the compiled loss of view 0."""
    teacher, prediction = output.teacher, output.prediction

    def of_all_views():
        flat = per_view.rows(output.loss, output.label, prediction)
        losses, share = sizes.group(flat.losses), flat.unmasked_share
        if share is not None:
            share = sizes.group(share)[:, 0]
        return losses, flat._replace(losses=losses[:, 0], unmasked_share=share)

    if teacher is None and not objective.soft_targets:
        return of_all_views()
    twin = soft_targets.twin_for(output, output.soft_loss)
    if twin.from_logits:
        of_originals = sizes.originals((output.label, prediction))
        original = per_view.rows(output.loss, *of_originals)
    else:
        # Keras looks for logits in the operation behind a softmax, which a
        # slice would hide.
        original = of_all_views()[1]
    if teacher is not None:
        teacher = soft_targets.teacher_rows(teacher, output, twin, sizes)
    target = teacher
    if objective.soft_targets:
        # An objective of the user's own need not have this setting.
        is_constant = getattr(objective, "stop_gradient", True)
        target = soft_targets.soft_target(
            twin, prediction, sizes, teacher, is_constant
        )
    # With the original's row, which is not used: a slice would hide logits.
    flat = per_view.rows(twin.loss, target, prediction)
    augmented = sizes.group(flat.losses)[:, 1:]
    losses = ops.concatenate([original.losses[:, None], augmented], axis=1)
    return losses, original
