"""What the user compiled, matched with the outputs of the model.

The compiled losses are neither copied nor changed.
"""

import numbers
from typing import Any
from typing import NamedTuple

import keras

# Keras's adapter from a function to a Loss has no public name of its own.
LossFunctionWrapper = keras.losses.MeanSquaredError.__base__

MEANS = ("sum_over_batch_size", "mean")


class Output(NamedTuple):
    """One output of the model with what it is trained for.

    Attributes:
        name: Path of the output, for messages.
        loss: A `keras.Loss`, the user's own where one was compiled.
        weight: The output's entry in `loss_weights`, or None.
        label: Labels, `(batch, ...)`, or what stands in their place.
        prediction: Predictions of the flat batch, untouched: a reshape would
            lose Keras's recovery of the logits behind a softmax.
        extra: Further tensors given to `pair_outputs`, picked for this output.
    """

    name: str
    loss: keras.Loss
    weight: float | None
    label: Any
    prediction: Any
    extra: tuple


def pair_outputs(
    loss: Any,
    loss_weights: Any,
    label: Any,
    prediction: Any,
    output_names: list[str] | None = None,
    extra: tuple = (),
) -> list[Output]:
    """Matches losses, weights, labels and predictions of every output.

    Follows what `compile` accepts: one loss for all outputs, or a list or dict
    of them, by position or by output name, with `None` for an output that is
    not trained.

    Args:
        loss: What was compiled: a name, function, `Loss` or a nest of them.
        loss_weights: None, a number, or a nest like `loss`.
        label: Labels, a nest like `prediction`.
        prediction: Output of the model on the flat batch.
        output_names: Names of the outputs, where the model has them.
        extra: More structures that are picked apart like `label`, each a nest
            or None.

    Returns:
        A list of `Output`, one for each output that has a loss.

    Raises:
        ValueError: If the structures do not match.
    """
    found = []
    if isinstance(prediction, dict):
        loss, label, *extra = (
            _in_order(part, prediction) for part in (loss, label, *extra)
        )
    if isinstance(loss, dict):
        loss_weights = _in_order(loss_weights, loss)
    by_name = any(
        isinstance(part, dict) for part in (loss, loss_weights, label, *extra)
    )
    if by_name and not isinstance(prediction, dict) and output_names:
        listed = isinstance(prediction, (list, tuple))
        if (len(prediction) if listed else 1) == len(output_names):

            def named(part):
                if isinstance(part, (list, tuple)):
                    return dict(zip(output_names, part, strict=True))
                if listed or isinstance(part, dict):
                    return part
                return {output_names[0]: part}

            label, prediction = named(label), named(prediction)
            extra = tuple(named(part) for part in extra)
            if isinstance(loss, (list, tuple)):
                loss = named(loss)
            if isinstance(loss_weights, (list, tuple)):
                loss_weights = named(loss_weights)

    def walk(path, loss, weight, label, prediction, extra):
        if loss is None:
            return
        if isinstance(prediction, dict):
            keys = loss if isinstance(loss, dict) else prediction
        elif isinstance(prediction, (list, tuple)):
            keys = range(len(prediction))
            label = _expand_partial(label, loss, len(prediction))
        else:
            name = "/".join(map(str, path)) or "the output"
            loss, weight, label, *extra = (
                _only(part, name) for part in (loss, weight, label, *extra)
            )
            if not (weight is None or isinstance(weight, numbers.Real)):
                raise ValueError(
                    f"`loss_weights` must hold numbers. Received: {weight!r} "
                    f"for {name}"
                )
            if loss is not None:
                loss = resolve(loss, label, prediction)
                found.append(
                    Output(name, loss, weight, label, prediction, tuple(extra))
                )
            return
        for key in keys:
            picked_loss = _pick(loss, key, path, "loss", broadcast=True)
            if picked_loss is None:
                continue
            walk(
                (*path, key),
                picked_loss,
                _pick(weight, key, path, "loss_weights", broadcast=True),
                _pick(label, key, path, "y"),
                _pick(prediction, key, path, "the model's output"),
                tuple(
                    None if part is None else _pick(part, key, path, "y")
                    for part in extra
                ),
            )

    walk((), loss, loss_weights, label, prediction, extra)
    if not found:
        raise ValueError(
            "No output of the model has a loss. Provide a `loss` argument in "
            f"`compile()`. Received: loss={loss!r}"
        )
    return found


def resolve(loss: Any, label: Any, prediction: Any) -> keras.Loss:
    """The `keras.Loss` behind a name, function or `Loss`.

    Args:
        loss: What the user compiled for one output.
        label: Labels of the output; their shape decides what `"crossentropy"`
            means.
        prediction: Predictions of the output.

    Returns:
        The user's own object where it is a `keras.Loss`.

    Raises:
        ValueError: If Keras knows no such loss, or it overrides `__call__`,
            where its values per example cannot be had.
    """
    if isinstance(loss, str) and loss.lower() in ("crossentropy", "ce"):
        loss = _crossentropy_for(label, prediction)
    resolved = keras.losses.get(loss)
    if not isinstance(resolved, keras.Loss):
        name = getattr(resolved, "__name__", type(resolved).__name__)
        resolved = LossFunctionWrapper(resolved, name=name)
    if type(resolved).__call__ is not keras.Loss.__call__:
        raise ValueError(
            f"The loss {resolved.name!r} overrides `__call__`, which gives one "
            "number for the batch. MMEL needs one loss per view: override "
            "`call(y_true, y_pred)` and return a value per example. "
            f"Received: loss={resolved!r}"
        )
    if getattr(resolved, "fn", None) is keras.losses.circle:
        raise ValueError(
            "The circle loss of one row depends on all rows of the batch, and "
            "MMEL needs one loss per view, by itself. "
            f"Received: loss={resolved!r}"
        )
    return resolved


def reduction_of(outputs: list[Output]) -> str | None:
    """How the compiled losses reduce the batch, the same for all outputs.

    Returns:
        `"mean"`, `"sum"`, `"mean_with_sample_weight"` or None (not reduced).

    Raises:
        ValueError: If the outputs differ: the sum over outputs is taken before
            the views are weighted, the reduction over the batch after.
    """
    kinds = {output.loss.reduction for output in outputs}
    kinds = {"mean" if kind in MEANS else kind for kind in kinds}
    kinds = {None if kind == "none" else kind for kind in kinds}
    if len(kinds) > 1:
        raise ValueError(
            "All compiled losses must have the same `reduction`. Received: "
            f"{ {output.name: output.loss.reduction for output in outputs} }"
        )
    return kinds.pop()


def _crossentropy_for(label, prediction):
    """Keras's own reading of "crossentropy", from the shapes."""
    rank, classes = len(prediction.shape), prediction.shape[-1]
    if classes == 1:
        return keras.losses.binary_crossentropy
    if len(label.shape) < rank or (
        len(label.shape) == rank and label.shape[-1] == 1
    ):
        return keras.losses.sparse_categorical_crossentropy
    return keras.losses.categorical_crossentropy


def _in_order(part, names):
    """A list for a dict: Keras matches them in the dict's flat order."""
    if not isinstance(part, (list, tuple)) or len(part) != len(names):
        return part
    return dict(zip(sorted(names), part, strict=True))


def _is_nest(part):
    return isinstance(part, (dict, list, tuple))


def _only(part, name):
    """The single element of a nest around one output."""
    if not _is_nest(part):
        return part
    leaves = list(part.values()) if isinstance(part, dict) else list(part)
    if len(leaves) != 1:
        raise ValueError(
            f"{name} is one tensor, and its loss, weight and labels must be "
            f"single too. Received: {part!r}"
        )
    return _only(leaves[0], name)


def _pick(part, key, path, what, broadcast=False):
    if broadcast and not _is_nest(part):
        return part
    missing = (
        key not in part if isinstance(part, dict) else not _is_nest(part)
    ) or (isinstance(part, (list, tuple)) and key not in range(len(part)))
    if missing:
        where = "/".join(map(str, (*path, key)))
        given = type(part).__name__
        if _is_nest(part):
            given = list(part) if isinstance(part, dict) else len(part)
        raise ValueError(
            f"No entry for the output {where!r} in {what}. Received: {given}"
        )
    return part[key]


def _expand_partial(label, loss, count):
    """Labels for only those outputs that have a loss, put in their places."""
    if not isinstance(loss, (list, tuple)):
        return label
    if len(loss) != count:
        raise ValueError(
            f"The model has {count} outputs and needs a loss (or None) for "
            f"each. Received: {len(loss)} losses"
        )
    trained = [i for i, part in enumerate(loss) if part is not None]
    if len(trained) == count:
        return label
    if not isinstance(label, (list, tuple)):
        label = [label]
    if len(label) != len(trained):
        return label
    places = dict(zip(trained, label, strict=True))
    return [places.get(i) for i in range(count)]
