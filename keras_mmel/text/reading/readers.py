"""From files of augmented text to batches of groups, and of plain examples."""

import functools
import os
import warnings

import numpy as np
import tensorflow as tf

from keras_mmel.counts import check_count
from keras_mmel.data.epochs import EpochCounter
from keras_mmel.text.bert.tokenizer import Tokenizer
from keras_mmel.text.reading import batches
from keras_mmel.text.reading import table_loading
from keras_mmel.text.reading import view_choice
from keras_mmel.text.reading.gathering import gather
from keras_mmel.text.reading.token_table import TokenTable
from keras_mmel.text.sources.records import Source

# Batches among which examples are sorted by length.
WINDOW = 32


def read_augmented(
    directory: str | os.PathLike | TokenTable,
    *,
    tokenizer: Tokenizer | None = None,
    num_views: int = 5,
    batch_size: int = 32,
    seed: int = 0,
    shuffle: bool = True,
    teacher: bool | str = "auto",
    max_length: int = 128,
    window: int = WINDOW,
    drop_remainder: bool = True,
    epoch_counter: EpochCounter | None = None,
    as_text: bool = False,
) -> tf.data.Dataset:
    """Reads groups of views of text, what `MMELModel.fit` takes.

    Yields `({"views": x}, y)` with `x` a dict of int32 `"token_ids"`,
    `"segment_ids"` and `"padding_mask"`, each (batch, num_views, length), view
    0 the original. Where some example has fewer views there is also `"mask"`,
    bool (batch, num_views). With a teacher `y` is `{"label": labels,
    "teacher": predictions}`, (batch,) and (batch, num_views, classes) (values
    (batch, num_views, 1) in regression), else the labels.

    Where the files have more views than a group, every epoch draws others of
    them. The draw depends on the seed, the epoch and the example's id; the
    order on the seed and the epoch. Batches are of examples of like length:
    among `window` batches they are sorted by the longest view, and padded to
    a multiple of 4 tokens. Every pass that is read to its end is one epoch,
    as with `keras_mmel.data.group_views`. The token ids are held in memory
    once, four bytes each, and twelve more for each view; those of a table that
    was saved are read from its files as they are needed.

    Args:
        directory: What `write_augmented` wrote, or a `TokenTable` of it.
        tokenizer: The tokenizer of the model to train; `None` takes the ids in
            the files. Where its fingerprint is that of the files their ids
            are taken as well, unless the augmenter cut them to a smaller
            `max_length`; else their texts are encoded.
        num_views: Size of a group, the original included.
        batch_size: Groups per batch.
        seed: The seed of the run.
        shuffle: Whether to shuffle; else the order of the examples is that of
            the files, and nothing is sorted by length. Which sample stands
            where in its group is drawn all the same.
        teacher: Whether to give the teacher's predictions; `"auto"` gives
            them where the files have them.
        max_length: Longest text or pair, special tokens included; the longer
            sentence of a pair is cut first.
        window: Batches among which lengths are sorted; 1 for none.
        drop_remainder: Whether to leave out a last batch that is not full.
        epoch_counter: Counts the epochs; `MMELModel.fit` finds it by itself.
            `EpochCounter(n)` continues a run after n epochs.
        as_text: Whether to give texts in place of token ids, to a model that
            takes texts, such as a task of keras-hub with its preprocessor: `x`
            is strings (batch, num_views), of pairs a tuple of two. `tokenizer`,
            `max_length` and the sorting by lengths are then not needed.

    Returns:
        A `tf.data.Dataset` of batches with a known size.

    Raises:
        FileNotFoundError: If there are no such files.
        ValueError: If a count, the labels, or the teacher do not fit, or no
            example has a view.

    Example:

    ```python
    model = keras_mmel.text.load_text_classifier(preset, num_classes=2)
    groups = keras_mmel.text.read_augmented(
        "rte", tokenizer=model.tokenizer, num_views=5, batch_size=32
    )
    mmel = keras_mmel.MMELModel(model, "hard")
    ```

    Any classifier of keras-hub:

    ```python
    model = keras_hub.models.TextClassifier.from_preset(
        "roberta_base_en", num_classes=2
    )
    groups = keras_mmel.text.read_augmented("rte", as_text=True)
    mmel = keras_mmel.MMELModel(model, "hard")
    ```
    """
    num_views = check_count("num_views", num_views, 1)
    batching = batches.Batching(
        batch_size, seed, shuffle, window, drop_remainder, epoch_counter
    )
    table = table_loading.load_table(
        directory, tokenizer, max_length=max_length, as_text=as_text
    )
    _check_views("num_views", num_views, table)
    labels = _labels(table)
    predictions = _teacher(table, teacher)
    # All batches have one structure: where any group is short, each has a mask.
    needs_mask = bool((table.views < num_views).any())
    choose = functools.partial(
        view_choice.choose_groups, table, num_views, batching.seed
    )

    def finish(inputs, examples, rows, real):
        x = {"views": inputs}
        if needs_mask:
            x["mask"] = real
        y = gather(labels, examples)
        if predictions is None:
            return x, y
        return x, {"label": y, "teacher": gather(predictions, rows)}

    return batches.make_batches(table, choose, finish, batching)


def read_plain(
    data: str | os.PathLike | TokenTable | Source,
    *,
    tokenizer: Tokenizer | None = None,
    views: int = 1,
    batch_size: int = 32,
    seed: int = 0,
    shuffle: bool = False,
    labels: bool = True,
    teacher: bool | str = False,
    max_length: int = 128,
    window: int = WINDOW,
    drop_remainder: bool = False,
    epoch_counter: EpochCounter | None = None,
    as_text: bool = False,
) -> tf.data.Dataset:
    """Reads plain examples of text, for baselines and for evaluation.

    Yields `(x, y)` with `x` a dict of int32 `"token_ids"`, `"segment_ids"` and
    `"padding_mask"`, each (batch, length). By default they are the originals,
    in order. With `views` above 1 every epoch shows one of that many views of
    each example, and each of them once in `views` epochs: training on single
    augmented examples. So `views` epochs of them show the views that one epoch
    of `read_augmented` with `num_views=views` shows, each exactly once, which
    only a reader that knows the files can promise. (The baseline of
    `keras_mmel.compare` is for any dataset of groups, of which it sees no more
    than a batch: it draws a view of each group, and over the epochs some come
    twice and some never.)

    Args:
        data: A directory that `write_augmented` wrote, a source of examples
            (`keras_mmel.text.files.from_tfds` and others), or a `TokenTable`.
        tokenizer: As of `read_augmented`; a source of texts alone needs one.
        views: 1 for the originals; else how many views, the original among
            them, take turns.
        batch_size: Examples per batch.
        seed: As of `read_augmented`.
        shuffle: As of `read_augmented`.
        labels: Whether to yield labels. Give `False` where they are hidden, -1
            in the data; `from_tfds`, which refuses such labels, reads a test
            split with `label=None`.
        teacher: As of `read_augmented`. Augmented views then have the
            teacher's prediction as their label and originals, in
            classification, the distribution that is 1 at their class: `y` is
            float32 (batch, classes).
        max_length: As of `read_augmented`.
        window: As of `read_augmented`.
        drop_remainder: As of `read_augmented`.
        epoch_counter: As of `read_augmented`.
        as_text: As of `read_augmented`; `x` is strings (batch,), or a tuple.

    Returns:
        A `tf.data.Dataset` of batches with a known size.

    Raises:
        FileNotFoundError: If there are no such files.
        ValueError: If a count, the labels or the teacher do not fit, or
            `views` is above 1 where no example has a view; a label of -1 is
            one that is hidden.

    Example:

    ```python
    source = keras_mmel.text.files.from_tfds(
        "glue/rte", "validation", ["sentence1", "sentence2"], "label", "idx"
    )
    examples = keras_mmel.text.read_plain(source, tokenizer=model.tokenizer)
    ```
    """
    views = check_count("views", views, 1)
    batching = batches.Batching(
        batch_size, seed, shuffle, window, drop_remainder, epoch_counter
    )
    table = table_loading.load_table(
        data, tokenizer, max_length=max_length, as_text=as_text
    )
    _check_views("views", views, table)
    targets = _labels(table) if labels else None
    if teacher is True and not labels:
        raise ValueError(
            "`teacher` gives labels, so that `labels` must be True. "
            "Received: teacher=True, labels=False"
        )
    predictions = _teacher(table, teacher)
    if labels and predictions is not None:
        targets = _own_targets(table, predictions)

    choose = functools.partial(
        view_choice.choose_one, table, views, batching.seed
    )

    def finish(inputs, examples, rows, real):
        x = tf.nest.map_structure(lambda views_of: views_of[:, 0], inputs)
        if targets is None:
            return (x,)
        y = gather(targets, examples)
        if predictions is not None:
            # Augmented views keep the teacher's word.
            is_own = rows == gather(table.first, examples)[:, None]
            y = tf.where(is_own, y, gather(predictions, rows[:, 0]))
        return x, y

    return batches.make_batches(table, choose, finish, batching)


def _check_views(name, count, table):
    """Raises where there is no augmented view, and warns where few are."""
    largest = table.views.max()
    if largest == 1 < count:
        raise ValueError(
            f"`{name}` above 1 needs augmented views, which "
            "`write_augmented(directory, source, augmenter)` writes. "
            f"Received: {name}={count} for {len(table)} examples without one"
        )
    if largest < count:
        warnings.warn(
            f"{name}={count}: the largest group has {largest}.", stacklevel=3
        )


def _labels(table):
    """The labels, or an error where one is not there."""
    if table.labels is None:
        raise ValueError(
            "Labels must be there; `read_plain(labels=False)` reads texts "
            "alone. Received: data without labels"
        )
    if table.labels.dtype == np.int64:
        hidden = np.flatnonzero(table.labels < 0)
        if len(hidden):
            raise ValueError(
                "Labels must be class numbers from 0 on; -1 stands for one "
                f"that is hidden. Received: label {table.labels[hidden[0]]} of "
                f"{table.example_ids[hidden[0]]!r} (and {len(hidden) - 1} more)"
            )
    return table.labels


def _teacher(table, wanted):
    """The predictions of the rows, or None where they are not to be given."""
    if wanted not in (True, False, "auto"):
        raise ValueError(
            f'`teacher` must be True, False or "auto". Received: {wanted!r}'
        )
    if wanted is True and table.teacher is None:
        raise ValueError(
            "`teacher` needs files that `keras-mmel label` or "
            "`label_augmented` made. Received: teacher=True"
        )
    return table.teacher if wanted else None


def _own_targets(table, predictions):
    """What originals are trained against, float32 (examples, classes or 1)."""
    if table.labels.dtype == np.int64:
        return np.eye(predictions.shape[1], dtype="float32")[table.labels]
    return table.labels[:, None]
