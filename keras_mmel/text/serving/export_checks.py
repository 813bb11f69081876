"""What a model must be to be exported with its tokenizer."""

import keras

from keras_mmel.text.bert.tokenizer import Tokenizer


def check_output(model, label_names):
    """Refuse what is not logits; label names as a list or `None`."""
    activation = getattr(model, "activation", None)
    if activation not in (None, keras.activations.linear):
        raise ValueError(
            "`model` must return logits, or a value where it is a regression. "
            f"Received: a model with the activation {activation.__name__!r}"
        )
    classes = model.output_shape[-1]
    if label_names is None:
        return None
    names = list(label_names)
    if classes == 1:
        raise ValueError(
            "`label_names` must be None for a model with one output, a "
            f"regression. Received: label_names={names}"
        )
    if (
        isinstance(label_names, str)
        or not all(isinstance(name, str) for name in names)
        or len(set(names)) != len(names)
        or len(names) != classes
    ):
        raise ValueError(
            "`label_names` must be different strings, one for each of the "
            f"model's {classes} classes. Received: label_names={label_names!r}"
        )
    return names


def find_tokenizer(model, tokenizer):
    """The model's own tokenizer where none is given."""
    if tokenizer is None:
        tokenizer = getattr(model, "tokenizer", None)
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(
            "`tokenizer` must be a `keras_mmel.text.Tokenizer`, as the models "
            "of `load_text_classifier` have one: only of this one it is known "
            "that the graph gives the same ids. Received: "
            f"{type(tokenizer).__name__}"
        )
    backbone = getattr(model, "backbone", None)
    size = getattr(backbone, "vocabulary_size", None)
    if size is not None and len(tokenizer.vocabulary) > size:
        raise ValueError(
            "`tokenizer` must have no more pieces than the model has "
            f"embeddings, {size}. Received: {len(tokenizer.vocabulary)} pieces"
        )
    return tokenizer


def find_max_length(model, max_length):
    """The longest that the model can take where none is given."""
    backbone = getattr(model, "backbone", None)
    longest = getattr(backbone, "max_sequence_length", None)
    if max_length is None:
        max_length = longest
    if max_length is None or (longest is not None and max_length > longest):
        raise ValueError(
            "`max_length` must be given and at most what the model can take, "
            f"{longest or 'which it does not say'}. Received: "
            f"max_length={max_length}"
        )
    return max_length
