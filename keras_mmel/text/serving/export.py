"""A fine-tuned classifier as a SavedModel that takes raw strings."""

import os
import pathlib
import tempfile
from collections.abc import Sequence

import keras
import tensorflow as tf

from keras_mmel.mmel_model import MMELModel
from keras_mmel.text.bert.networks import BertTextClassifier
from keras_mmel.text.bert.networks import need_tensorflow
from keras_mmel.text.bert.tokenizer import check_max_length
from keras_mmel.text.serving.graph_tokenizer import GraphTokenizer
from keras_mmel.text.sources.records import check_names


def export_text_classifier(
    model: keras.Model,
    path: str | os.PathLike,
    *,
    pairs: bool = False,
    max_length: int | None = None,
    label_names: Sequence[str] | None = None,
    overwrite: bool = False,
) -> None:
    """Writes a SavedModel that takes strings and returns probabilities.

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
      `padding_mask`, `(batch, length)` int32, as `MMELModel.export` wants
      them.
    - `label_names`: nothing; returns `label_names`, `(num_classes,)`.

    Args:
        model: A classifier as `load_text_classifier` makes it, or an
            `MMELModel` around one. With one output it is a regression.
        path: Folder of the SavedModel, which appears whole or not at all.
        pairs: Whether the model takes pairs of sentences.
        max_length: Longest input in tokens, special ones included; what is
            longer is cut as in `Tokenizer.encode`. Give what was used in
            training. By default the longest that the model can take.
        label_names: A name for each class, in the order of the classes.
        overwrite: Whether a SavedModel at `path` is replaced.

    Raises:
        FileExistsError: If `path` exists and is not to be replaced, or is no
            SavedModel.
        RuntimeError: If Keras runs on another backend than TensorFlow.
        TypeError: If the model is no text classifier with a tokenizer.
        ValueError: If the tokenizer cannot be written into a graph with the
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
    is_saved_model = (path / "saved_model.pb").is_file()
    if path.exists() and not (overwrite and is_saved_model):
        raise FileExistsError(
            "`path` must not exist, or be a SavedModel with `overwrite=True`. "
            f"Received: {path}"
        )
    need_tensorflow("a SavedModel")
    classifier = _classifier_of(model)
    label_names = check_names(label_names)
    if label_names is not None:
        _check_count(label_names, classifier.num_classes)
    longest = classifier.backbone.max_sequence_length
    max_length = check_max_length(max_length, longest)
    inputs = ["text_a", "text_b"] if pairs else ["text"]
    tokenize = GraphTokenizer(classifier.tokenizer, max_length)
    archive = _archive(classifier, tokenize, inputs, label_names)
    _write(archive, path)


def _classifier_of(model):
    """The classifier that a model is, or that is wrapped in it."""
    if isinstance(model, MMELModel):
        model = model.model
    is_classifier = isinstance(model, BertTextClassifier)
    if not is_classifier or model.tokenizer is None:
        raise TypeError(
            "`model` must be a text classifier with its tokenizer, as "
            "`load_text_classifier` makes it: only of these it is known that "
            f"the graph gives the same ids. Received: {type(model).__name__}"
        )
    return model


def _write(archive, path):
    """Writes a SavedModel beside its path, and puts it there when it is whole.

    One that is replaced goes with the folder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=path.parent) as folder:
        written = pathlib.Path(folder, "written")
        archive.write_out(written, verbose=False)
        if path.exists():
            path.rename(pathlib.Path(folder, "before"))
        written.rename(path)


def _check_count(label_names, classes):
    # One output is a regression, and its value has no name.
    if classes == 1 or classes != len(label_names):
        raise ValueError(
            "`label_names` must be one for each class of the model, and None "
            f"for a regression. Received: label_names={label_names!r} for a "
            f"model with {classes} outputs"
        )


def _archive(classifier, tokenize, inputs, label_names):
    """The signatures and what they use."""

    def encode(*texts):
        # Strings live on the CPU.
        with tf.device("/CPU:0"):
            return tokenize(*texts)

    def serve(*texts):
        outputs = classifier(encode(*texts), training=False)
        outputs = tf.cast(outputs, tf.float32)
        if outputs.shape[-1] == 1:
            return {"value": outputs[:, 0]}
        results = {"probabilities": tf.nn.softmax(outputs)}
        if label_names:
            best = tf.argmax(outputs, axis=-1)
            results["label"] = tf.gather(tf.constant(label_names), best)
        return results

    def names():
        return {"label_names": tf.constant(label_names)}

    specs = [tf.TensorSpec([None], tf.string, name) for name in inputs]
    archive = keras.export.ExportArchive()
    # Its table of pieces is a resource, which the SavedModel has to hold.
    archive.track(tokenize)
    archive.add_endpoint("serving_default", serve, specs)
    archive.add_endpoint("tokenize", encode, specs)
    if label_names:
        archive.add_endpoint("label_names", names, [])
    return archive
