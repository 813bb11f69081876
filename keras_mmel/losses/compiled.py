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

    def walk(path, names, loss, weight, label, prediction, extra):
        if loss is None:
            return
        if not _is_nest(prediction):
            found.extend(_single(path, loss, weight, label, prediction, extra))
            return
        places = _places(prediction, names)
        if isinstance(loss, dict):
            known = {word: place for place in places for word in place.words}
            for key in loss.keys() - known.keys():
                raise _no_entry((*path, key), "the model's output", known)
            places = [place for place in places if loss.keys() & place.words]
        elif _is_nest(loss) and not isinstance(prediction, dict):
            label = _expand_partial(label, loss, len(places))
        for place in places:
            picked = _pick(loss, place, path, "loss", shared=True)
            if picked is None:
                continue
            walk(
                (*path, place.words[-1]),
                None,
                picked,
                _pick(weight, place, path, "loss_weights", shared=True),
                _pick(label, place, path, "y"),
                prediction[place.key],
                tuple(
                    None if part is None else _pick(part, place, path, "y")
                    for part in extra
                ),
            )

    walk((), output_names, loss, loss_weights, label, prediction, extra)
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


def _is_nest(part):
    return isinstance(part, (dict, list, tuple))


class _Place(NamedTuple):
    """An output among its siblings, in all the ways to refer to it.

    Attributes:
        key: In the model's output.
        words: Keys of a dict: its key and the name of its layer.
        number: In a list: Keras takes the keys of a dict in their flat order.
        siblings: How many there are, itself included.
    """

    key: Any
    words: tuple
    number: int
    siblings: int


def _places(prediction, names):
    count = len(prediction)
    if isinstance(prediction, dict):
        order = sorted(prediction)
        return [_Place(k, (k,), order.index(k), count) for k in prediction]
    if names is None or len(names) != count:
        names = range(count)
    return [_Place(i, (i, names[i]), i, count) for i in range(count)]


def _pick(part, place, path, what, shared=False):
    """The entry of a nest for one output; a single entry may be for all."""
    if shared and not _is_nest(part):
        return part
    if isinstance(part, dict):
        for word in place.words:
            if word in part:
                return part[word]
    elif _is_nest(part) and len(part) == place.siblings:
        return part[place.number]
    raise _no_entry((*path, place.words[-1]), what, part)


def _no_entry(path, what, part):
    where, given = "/".join(map(str, path)), type(part).__name__
    if _is_nest(part):
        given = list(part) if isinstance(part, dict) else len(part)
    return ValueError(
        f"No entry for the output {where!r} in {what}. Received: {given}"
    )


def _single(path, loss, weight, label, prediction, extra):
    """The `Output` for one tensor, in a list; empty where it has no loss."""
    name = "/".join(map(str, path)) or "the output"
    loss, weight, label, *extra = (
        _only(part, name) for part in (loss, weight, label, *extra)
    )
    if not (weight is None or isinstance(weight, numbers.Real)):
        raise ValueError(
            f"`loss_weights` must hold numbers. Received: {weight!r} for {name}"
        )
    if loss is None:
        return []
    loss = resolve(loss, label, prediction)
    return [Output(name, loss, weight, label, prediction, tuple(extra))]


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


def _expand_partial(label, loss, count):
    """Labels for only those outputs that have a loss, put in their places."""
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
