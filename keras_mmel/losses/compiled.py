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
# Arguments of which a single one may stand for all outputs.
_FOR_ALL = ("loss", "loss_weights", "sample_weight")


class Output(NamedTuple):
    """One output of the model with what it is trained for.

    Attributes:
        name: Path of the output, for messages.
        loss: A `keras.Loss`, the user's own where one was compiled.
        weight: The output's entry in `loss_weights`; 1 where there is none.
        label: The label of each row of `prediction`.
        prediction: Predictions of the flat batch, untouched: a reshape would
            lose Keras's recovery of the logits behind a softmax.
        teacher: Teacher predictions, or None.
        soft_loss: What was given to `MMELModel` for the output, or None.
        sample_weight: Of the examples, in the loss of this output, or None.
    """

    name: str
    loss: keras.Loss
    weight: float
    label: Any
    prediction: Any
    teacher: Any = None
    soft_loss: Any = None
    sample_weight: Any = None


def pair_outputs(
    loss: Any,
    loss_weights: Any,
    label: Any,
    prediction: Any,
    output_names: list[str] | None = None,
    teacher: Any = None,
    soft_loss: Any = None,
    sample_weight: Any = None,
) -> list[Output]:
    """Matches losses, weights, labels and predictions of every output.

    Follows what `compile` accepts: one loss for all outputs, or a list or dict
    of them, by position or by output name, with `None` for an output that is
    not trained.

    Args:
        loss: What was compiled: a name, function, `Loss` or a nest of them.
        loss_weights: None, a number, or a nest like `loss`.
        label: Labels of the flat batch, a nest like `prediction`.
        prediction: Output of the model on the flat batch.
        output_names: Names of the outputs, where the model has them.
        teacher: None, or teacher predictions, a nest like `label`.
        soft_loss: None, or a nest like `label`.
        sample_weight: None, weights for all outputs, or a nest like `label`.

    Returns:
        A list of `Output`, one for each output that has a loss.

    Raises:
        ValueError: If the structures do not match.
    """
    outputs = []

    def walk(path, names, prediction, nests):
        """Adds what is trained in a part of the model's output, by its path."""
        loss = nests["loss"]
        if not keras.tree.is_nested(prediction):
            outputs.extend(_single(path, prediction, nests))
            return
        places = _places(prediction, names)
        if isinstance(loss, dict):
            known = {word for place in places for word in place.words}
            for key in loss.keys() - known:
                by_name = {place.words[-1]: place for place in places}
                raise _no_entry((*path, key), "the model's output", by_name)
            # An output that the dict leaves out is not trained.
            places = [place for place in places if loss.keys() & place.words]
        elif keras.tree.is_nested(loss) and not isinstance(prediction, dict):
            for name in ("y", "sample_weight"):
                nests[name] = _expand_partial(nests[name], loss, len(places))
        for place in places:
            # Before labels are picked, which such an output need not have.
            if _pick("loss", loss, place, path) is None:
                continue
            nests_here = {
                argument: _pick(argument, nest, place, path)
                for argument, nest in nests.items()
            }
            path_here = (*path, place.words[-1])
            walk(path_here, None, prediction[place.key], nests_here)

    nests = {
        "loss": loss,
        "loss_weights": loss_weights,
        "y": label,
        'y["teacher"]': teacher,
        "soft_loss": soft_loss,
        "sample_weight": sample_weight,
    }
    walk((), output_names, prediction, nests)
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
            f"The loss {resolved.name!r} overrides `__call__`. MMEL needs one "
            "loss per view: override `call(y_true, y_pred)` and return a value "
            f"per example. Received: loss={resolved!r}"
        )
    if getattr(resolved, "fn", None) is keras.losses.circle:
        raise ValueError(
            "The circle loss of one row depends on all rows of the batch; MMEL "
            f"needs one loss per view. Received: loss={resolved!r}"
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


def by_every_word(
    prediction: Any, names: list[str] | None, values: dict[int, Any]
) -> Any:
    """Values of outputs, where Keras's `CompileLoss` looks for them.

    Args:
        prediction: Output of the model.
        names: Names of its outputs, where the model has them.
        values: By the `id` of a tensor of the prediction.

    Returns:
        The value of a single tensor, or dicts with an entry for every word by
        which Keras may call an output; None for an output without a value.
    """
    if not keras.tree.is_nested(prediction):
        return values.get(id(prediction))
    by_word = {}
    for place in _places(prediction, names):
        inner = by_every_word(prediction[place.key], None, values)
        by_word.update(dict.fromkeys(place.words, inner))
    return by_word


def _crossentropy_for(label, prediction):
    """Keras's own reading of "crossentropy", from the shapes."""
    if prediction.shape[-1] == 1:
        return keras.losses.binary_crossentropy
    if len(label.shape) < len(prediction.shape) or label.shape[-1] == 1:
        return keras.losses.sparse_categorical_crossentropy
    return keras.losses.categorical_crossentropy


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
        keys = names = sorted(prediction)
    else:
        keys = range(count)
        # Names of layers are of the outermost nest, if they are of it at all.
        if names is None or len(names) != count:
            names = keys
    return [
        _Place(key, (key, name), number, count)
        for number, (key, name) in enumerate(zip(keys, names, strict=True))
    ]


def _pick(argument, nest, place, path):
    """The entry of a nest for one output; a single entry may be for all."""
    if isinstance(nest, dict):
        for word in place.words:
            if word in nest:
                return nest[word]
    elif keras.tree.is_nested(nest):
        if len(nest) == place.siblings:
            return nest[place.number]
    elif nest is None or argument in _FOR_ALL:
        return nest
    raise _no_entry((*path, place.words[-1]), argument, nest)


def _no_entry(path, argument, nest):
    name, received = "/".join(map(str, path)), type(nest).__name__
    if isinstance(nest, dict):
        received = list(nest)
    elif keras.tree.is_nested(nest):
        received = len(nest)
    return ValueError(
        f"No entry for the output {name!r} in {argument}. Received: {received}"
    )


def _single(path, prediction, nests):
    """The `Output` for one tensor in a list, which is empty without a loss."""
    name = "/".join(map(str, path)) or "the output"
    loss, weight, label, *rest = (_only(nest, name) for nest in nests.values())
    if loss is None:
        return []
    weight = 1.0 if weight is None else weight
    if not isinstance(weight, numbers.Real):
        raise ValueError(
            f"`loss_weights` must hold numbers. Received: {weight!r} for {name}"
        )
    loss = resolve(loss, label, prediction)
    return [Output(name, loss, weight, label, prediction, *rest)]


def _only(nest, name):
    """The single element of a nest around one output."""
    leaves = keras.tree.flatten(nest)
    if len(leaves) != 1:
        raise ValueError(
            f"{name} is one tensor, and its loss, weight and labels must be "
            f"single too. Received: {nest!r}"
        )
    return leaves[0]


def _expand_partial(label, loss, count):
    """Labels for only those outputs that have a loss, put in their places."""
    if len(loss) != count:
        raise ValueError(
            f"The model has {count} outputs and needs a loss (or None) for "
            f"each. Received: {len(loss)} losses"
        )
    trained = [i for i, entry in enumerate(loss) if entry is not None]
    entries = label if isinstance(label, (list, tuple)) else [label]
    # Labels for all outputs: those without a loss are not looked at.
    if len(entries) != len(trained):
        return label
    by_number = dict(zip(trained, entries, strict=True))
    return [by_number.get(i) for i in range(count)]
