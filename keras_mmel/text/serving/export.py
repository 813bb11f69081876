"""A fine-tuned classifier as a SavedModel that takes raw strings."""

import os
import pathlib
import shutil
import tempfile
from collections.abc import Sequence

import keras
import tensorflow as tf

from keras_mmel.mmel_model import MMELModel
from keras_mmel.text.bert.tokenizer import Tokenizer
from keras_mmel.text.serving import export_checks
from keras_mmel.text.serving.graph_tokenizer import GraphTokenizer

# What tokenizers disagree about: the graph is held against the tokenizer on
# these before it is written.
_HARD = (
    "",
    "It's a na\u00efve caf\u00e9, isn't it?",
    "[MASK] and [SEP] are text\tand so\u00a0is [UNK].",
    "\u6f22\u5b57 \ud55c\uad6d\uc5b4 \u0130\u01c5 \ufb01 \u00bd m\u00b2 \u2026",
    "a\u200db \U0001f469\u200d\U0001f4bb x\x00y \ufeffz\ufffd",
    "a\u302e\U0001d165\u09cb \u0e33\u0301",
    "x" * 100 + " " + "y" * 101,
)


def export_text_classifier(
    model: keras.Model,
    path: str | os.PathLike,
    *,
    pairs: bool = False,
    max_length: int | None = None,
    label_names: Sequence[str] | None = None,
    tokenizer: Tokenizer | None = None,
) -> None:
    """Write a SavedModel that takes strings and returns probabilities.

    The tokenizer is part of the graph, as operations of TensorFlow itself, so
    that `tf.saved_model.load` and TensorFlow Serving need no other library.
    Its ids equal those of `Tokenizer.encode` for every string; bytes that are
    not UTF-8 are read as `bytes.decode("utf-8", errors="replace")` reads them.

    Signatures:

    - `serving_default`: takes `text`, or `text_a` and `text_b` where `pairs`,
      each `(batch,)` strings. Returns `probabilities`, `(batch, num_classes)`
      float32, and `label`, `(batch,)` strings, where `label_names` are given;
      for regression `value`, `(batch,)` float32.
    - `tokenize`: the same input; returns `token_ids`, `segment_ids` and
      `padding_mask` as the model sees them.
    - `label_names`: nothing; returns `label_names`, `(num_classes,)`.

    Args:
        model: a classifier that returns logits, as `load_text_classifier`
            makes it, or an `MMELModel` around one. With one output it is a
            regression.
        path: folder of the SavedModel; it must not exist.
        pairs: whether the model takes pairs of sentences.
        max_length: longest input in tokens, special ones included; what is
            longer is cut as in `Tokenizer.encode`. Give what was used in
            training. By default the longest that the model can take.
        label_names: a name for each class, in the order of the classes.
        tokenizer: by default the model's own.

    Raises:
        FileExistsError: if `path` exists.
        RuntimeError: if Keras runs on another backend than TensorFlow.
        TypeError: if there is no tokenizer of this package.
        ValueError: if the tokenizer cannot be written into a graph with the
            same ids, or an argument does not fit the model.

    Example:

    ```python
    import tensorflow as tf
    from keras_mmel.text import export_text_classifier, load_text_classifier

    model = load_text_classifier("hf://google-bert/bert-base-uncased", 2)
    export_text_classifier(model, "served", label_names=["bad", "good"])
    serve = tf.saved_model.load("served").signatures["serving_default"]
    serve(text=tf.constant(["A fine film."]))["probabilities"]
    ```
    """
    path = pathlib.Path(path)
    if path.exists():
        raise FileExistsError(f"`path` must not exist. Received: {path}")
    if keras.config.backend() != "tensorflow":
        raise RuntimeError(
            "a SavedModel is written with Keras on TensorFlow (environment "
            "variable KERAS_BACKEND=tensorflow). Received: Keras on "
            f"{keras.config.backend()}"
        )
    if isinstance(model, MMELModel):
        model = model.model
    names = export_checks.check_output(model, label_names)
    tokenizer = export_checks.find_tokenizer(model, tokenizer)
    max_length = export_checks.find_max_length(model, max_length)
    inputs = ("text_a", "text_b") if pairs else ("text",)
    graph = GraphTokenizer(tokenizer, max_length)
    served = _Served(model, graph, inputs, names)
    _compare(served, tokenizer, inputs, max_length)
    write(served, path)


class _Served(tf.Module):
    """The functions of the SavedModel and what they use."""

    def __init__(self, model, tokenize, inputs, label_names):
        super().__init__()
        self._tokenizer = tokenize
        # The model itself stays out: loading it would need Keras.
        self._weights = [variable.value for variable in model.variables]

        def encode(**texts):
            # Strings live on the CPU.
            with tf.device("/CPU:0"):
                return tokenize(*(texts[name] for name in inputs))

        specs = {name: tf.TensorSpec([None], tf.string) for name in inputs}
        encode = _traced(encode, specs)

        def serve(**texts):
            outputs = model(encode(**texts), training=False)
            return _results(tf.cast(outputs, tf.float32), label_names)

        def names():
            return {"label_names": tf.constant(label_names)}

        self.functions = {
            "serving_default": _traced(serve, specs),
            "tokenize": encode,
        }
        if label_names:
            self.functions["label_names"] = _traced(names, {})


def _traced(function, specs):
    return tf.function(function, autograph=False).get_concrete_function(**specs)


def _results(outputs, label_names):
    if outputs.shape[-1] == 1:
        return {"value": outputs[:, 0]}
    results = {"probabilities": tf.nn.softmax(outputs)}
    if label_names:
        best = tf.argmax(outputs, axis=-1)
        results["label"] = tf.gather(tf.constant(label_names), best)
    return results


def _compare(served, tokenizer, inputs, max_length):
    """Hold the graph against the tokenizer; they must agree."""
    sides = [_HARD, _HARD[::-1]][: len(inputs)]
    found = served.functions["tokenize"](
        **{
            name: tf.constant(side)
            for name, side in zip(inputs, sides, strict=True)
        }
    )
    texts = list(zip(*sides, strict=True)) if len(inputs) == 2 else _HARD
    ids = tf.ragged.boolean_mask(found["token_ids"], found["padding_mask"])
    wanted = tokenizer.encode(texts, max_length)
    for text, one, other in zip(texts, ids.to_list(), wanted, strict=True):
        if one != list(other.token_ids):
            raise ValueError(
                "`tokenizer` must give the same ids in the graph as outside. "
                f"Received: one that differs for {text!a}"
            )


def write(served: tf.Module, path: pathlib.Path) -> None:
    """The folder appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        tf.saved_model.save(served, temporary, signatures=served.functions)
        os.chmod(temporary, 0o755)
        os.rename(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
