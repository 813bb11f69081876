"""What the groups of a probe hold: their classes, images and texts."""

import functools
from typing import Any

import keras
import numpy as np

from keras_mmel import groups
from keras_mmel.diagnostics.probe import Probe
from keras_mmel.pages import pictures

# What stands between the sentences of a pair where they are shown as one.
_BETWEEN = "‖"


def classes_of(probe: Probe, given: Any = None) -> np.ndarray | None:
    """The class of each group.

    Args:
        probe: The groups.
        given: One whole number per group, `False` for none, or None: taken
            from labels that are whole numbers or one-hot.

    Returns:
        Int64 `(groups,)`; None where the labels are anything else.

    Raises:
        ValueError: If the given classes do not fit the probe.
    """
    if given is False:
        return None
    if given is None:
        labels = (groups.split_labels(y).label for _, y in probe.batches)
        parts = [_whole_numbers(label) for label in labels]
        return None if any(p is None for p in parts) else np.concatenate(parts)
    found, size = np.asarray(given), len(probe.mask)
    if found.dtype.kind not in "iu" or found.ndim != 1 or len(found) < size:
        raise ValueError(
            "`classes` must be None, False or whole numbers, one for each of "
            f"the {size} groups. Received: an array of {found.dtype} of "
            f"shape {found.shape}"
        )
    return found[:size].astype("int64")


def _whole_numbers(label):
    if not isinstance(label, np.ndarray) or label.dtype.kind not in "biuf":
        return None
    if label.ndim == 2 and label.shape[1] == 1:
        label = label[:, 0]
    if label.ndim == 2:
        one_hot = np.eye(label.shape[1])[label.argmax(axis=1)]
        label = label.argmax(axis=1) if (label == one_hot).all() else label
    if label.ndim != 1:
        return None
    whole = label.astype("int64")
    return whole if (whole == label).all() and (whole >= 0).all() else None


def images_of(probe: Probe, given: Any = None) -> np.ndarray | None:
    """Small pictures of the views.

    Args:
        probe: The groups.
        given: A function from the views of a batch to images of shape `(batch,
            num_views, height, width, channels)`, `False` for none, or None:
            the inputs of such a shape.

    Returns:
        Uint8 of the same rank; None where there are no images, or of sizes
        that have no common grid.

    Raises:
        ValueError: If `given` is something else.
    """
    if given is False:
        return None
    find = pictures.find_images if given is None else given
    if not callable(find):
        raise ValueError(
            "`images` must be None, False or a function of the views of a "
            f"batch. Received: images={given!r}"
        )
    found = probe.map_views(find)
    shapes = {None if images is None else images.shape[1:] for images in found}
    if len(shapes) != 1 or None in shapes:
        return None
    return pictures.thumbnails(np.concatenate(found))


def texts_of(
    probe: Probe, given: Any = None, tokenizer: Any = None
) -> list[list[str]] | None:
    """The views of each group as text.

    Args:
        probe: The groups.
        given: None, a list of views for each group, or a function from the
            views of a batch to such lists.
        tokenizer: None, or something with a `vocabulary` that tells the pieces
            of the token ids among the inputs.

    Returns:
        For each group a list of texts; None where neither argument is given.

    Raises:
        ValueError: If there is a tokenizer but no token ids.
    """
    if given is None and tokenizer is None:
        return None
    if given is None:
        if not hasattr(tokenizer, "vocabulary"):
            raise ValueError(
                "`tokenizer` must have a `vocabulary`, a list of the pieces. "
                f"Received: a {type(tokenizer).__name__}"
            )
        given = functools.partial(_decoded, vocabulary=tokenizer.vocabulary)
    found = probe.map_views(given) if callable(given) else [given]
    rows = [row for batch in found for row in batch]
    return [[as_text(view) for view in row] for row in rows[: len(probe.mask)]]


def as_text(view: Any) -> str:
    """A view as one line.

    Args:
        view: `str`, `bytes`, a pair of these, or an object such as
            `keras_mmel.text.Augmented`.

    Returns:
        The text; the sentences of a pair have `‖` between them.

    Raises:
        TypeError: If it is none of these.

    Example:

    ```python
    as_text(("a film", "a movie"))  # 'a film ‖ a movie'
    ```
    """
    view = getattr(view, "text", view)
    if isinstance(view, bytes):
        return view.decode("utf-8", errors="replace")
    if isinstance(view, str):
        return str(view)
    if isinstance(view, (tuple, list)) and len(view) <= 2:
        return f" {_BETWEEN} ".join(as_text(part) for part in view if part)
    raise TypeError(
        "A view of a text must be a string or a pair of strings. "
        f"Received: a {type(view).__name__}"
    )


def _decoded(views, vocabulary):
    """The views of a batch as text, from their token ids."""
    if not isinstance(views, dict):
        views = {"token_ids": views}
    ids = views.get("token_ids")
    if getattr(ids, "ndim", 0) != 3 or ids.dtype.kind not in "iu":
        raise ValueError(
            '`tokenizer` needs inputs with "token_ids" of shape (batch, '
            "num_views, length). "
            f"Received: {len(keras.tree.flatten(views))} inputs without them"
        )
    if ids.size and not 0 <= ids.min() <= ids.max() < len(vocabulary):
        raise ValueError(
            f"Token ids must be from 0 to below {len(vocabulary)}, the size of "
            f"the vocabulary. Received: {ids.min()} to {ids.max()}"
        )
    keep = np.asarray(views.get("padding_mask", np.ones_like(ids)), bool)
    return [
        [
            _joined([vocabulary[token] for token in row[real]])
            for row, real in zip(of_group, kept, strict=True)
        ]
        for of_group, kept in zip(ids, keep, strict=True)
    ]


def _joined(pieces):
    """Pieces of words as text, without special tokens and padding."""
    text = " ".join(p for p in pieces if p not in ("[CLS]", "[PAD]"))
    sentences = text.replace(" ##", "").split("[SEP]")
    return as_text([sentence.strip() for sentence in sentences][:2])
