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
    outputs = []

    def walk(path, names, loss, weight, label, prediction, extra):
        """Adds what is trained in a part of the model's output, by its path."""
        if loss is None:
            return
        if not _is_nest(prediction):
            output = _single(path, loss, weight, label, prediction, extra)
            if output is not None:
                outputs.append(output)
            return
        places = _places(prediction, names)
        if isinstance(loss, dict):
            known = {word: place for place in places for word in place.words}
            for key in loss.keys() - known.keys():
                raise _no_entry((*path, key), "the model's output", known)
            # An output that the dict leaves out is not trained.
            places = [place for place in places if loss.keys() & place.words]
        elif _is_nest(loss) and not isinstance(prediction, dict):
            label = _expand_partial(label, loss, len(places))
        for place in places:
            loss_here = _pick(loss, place, path, "loss", shared=True)
            # Before labels are picked, which such an output need not have.
            if loss_here is None:
                continue
            walk(
                (*path, place.words[-1]),
                None,
                loss_here,
                _pick(weight, place, path, "loss_weights", shared=True),
                _pick(label, place, path, "y"),
                prediction[place.key],
                tuple(
                    None if nest is None else _pick(nest, place, path, "y")
                    for nest in extra
                ),
            )

    walk((), output_names, loss, loss_weights, label, prediction, extra)
    if not outputs:
        raise ValueError(
            "No output of the model has a loss. Provide a `loss` argument in "
            f"`compile()`. Received: loss={loss!r}"
        )
    return outputs


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

    Args:
        outputs: From `pair_outputs`.

    Returns:
        `"mean"`, `"sum"`, `"mean_with_sample_weight"` or None (not reduced).

    Raises:
        ValueError: If the outputs differ: the sum over outputs is taken before
            the views are weighted, the reduction over the batch after.
    """
    by_output = {output.name: output.loss.reduction for output in outputs}
    same_as = {**dict.fromkeys(MEANS, "mean"), "none": None}
    kinds = {same_as.get(kind, kind) for kind in by_output.values()}
    if len(kinds) > 1:
        raise ValueError(
            "All compiled losses must have the same `reduction`. "
            f"Received: {by_output}"
        )
    return kinds.pop()


def _crossentropy_for(label, prediction):
    """Keras's own reading of "crossentropy", from the shapes."""
    if prediction.shape[-1] == 1:
        return keras.losses.binary_crossentropy
    if len(label.shape) < len(prediction.shape) or label.shape[-1] == 1:
        return keras.losses.sparse_categorical_crossentropy
    return keras.losses.categorical_crossentropy


def _is_nest(value):
    return isinstance(value, (dict, list, tuple))


class _Place(NamedTuple):
    """An output among its siblings, in all the ways to refer to it.

    Attributes:
        key: In the model's output.
        words: What a dict may call it: its key or the name of its layer.
        number: Its place in a list. Where the model's output is a dict, Keras
            takes its keys in sorted order.
        siblings: How many there are, itself included.
    """

    key: Any
    words: tuple
    number: int
    siblings: int


def _places(prediction, names):
    """The outputs in a nest of predictions."""
    count = len(prediction)
    if isinstance(prediction, dict):
        in_order = sorted(prediction)
        return [
            _Place(key, (key,), in_order.index(key), count)
            for key in prediction
        ]
    # Names of layers are of the outermost nest, if they are of it at all.
    if names is None or len(names) != count:
        names = range(count)
    return [_Place(i, (i, names[i]), i, count) for i in range(count)]


def _pick(nest, place, path, argument, shared=False):
    """The entry of a nest for one output; a single entry may be for all."""
    if shared and not _is_nest(nest):
        return nest
    if isinstance(nest, dict):
        for word in place.words:
            if word in nest:
                return nest[word]
    elif _is_nest(nest) and len(nest) == place.siblings:
        return nest[place.number]
    raise _no_entry((*path, place.words[-1]), argument, nest)


def _no_entry(path, argument, nest):
    name, received = "/".join(map(str, path)), type(nest).__name__
    if isinstance(nest, dict):
        received = list(nest)
    elif _is_nest(nest):
        received = len(nest)
    return ValueError(
        f"No entry for the output {name!r} in {argument}. Received: {received}"
    )


def _single(path, loss, weight, label, prediction, extra):
    """The `Output` for one tensor, or None where it has no loss."""
    name = "/".join(map(str, path)) or "the output"
    loss, weight, label = (_only(v, name) for v in (loss, weight, label))
    extra = tuple(_only(value, name) for value in extra)
    if not (weight is None or isinstance(weight, numbers.Real)):
        raise ValueError(
            f"`loss_weights` must hold numbers. Received: {weight!r} for {name}"
        )
    if loss is None:
        return None
    loss = resolve(loss, label, prediction)
    return Output(name, loss, weight, label, prediction, extra)


def _only(nest, name):
    """The single element of a nest around one output."""
    if not _is_nest(nest):
        return nest
    entries = list(nest.values()) if isinstance(nest, dict) else list(nest)
    if len(entries) != 1:
        raise ValueError(
            f"{name} is one tensor, and its loss, weight and labels must be "
            f"single too. Received: {nest!r}"
        )
    return _only(entries[0], name)


def _expand_partial(label, loss, count):
    """Labels for only those outputs that have a loss, put in their places."""
    if len(loss) != count:
        raise ValueError(
            f"The model has {count} outputs and needs a loss (or None) for "
            f"each. Received: {len(loss)} losses"
        )
    trained = [i for i, entry in enumerate(loss) if entry is not None]
    if len(trained) == count:
        return label
    if not isinstance(label, (list, tuple)):
        label = [label]
    # Labels for all outputs: those without a loss are not looked at.
    if len(label) != len(trained):
        return label
    by_number = dict(zip(trained, label, strict=True))
    return [by_number.get(i) for i in range(count)]
