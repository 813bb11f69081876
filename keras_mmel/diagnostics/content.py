"""What the groups of a probe hold: their classes, images and texts."""

from typing import Any

import keras
import numpy as np

from keras_mmel import contract
from keras_mmel.diagnostics.probe import Probe
from keras_mmel.pages import pictures


def classes_of(probe: Probe) -> np.ndarray | None:
    """The class of each group.

    Args:
        probe: The groups.

    Returns:
        Int64 `(groups,)`, from labels that are whole numbers or one-hot; None
        where they are anything else.
    """
    labels = (contract.split_labels(y).label for _, y in probe.batches)
    of_batches: list = [_whole_numbers(label) for label in labels]
    if any(classes is None for classes in of_batches):
        return None
    return np.concatenate(of_batches)


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


def images_of(probe: Probe) -> np.ndarray | None:
    """Small pictures of the views.

    Args:
        probe: The groups.

    Returns:
        Uint8 `(groups, num_views, height, width, channels)`; None where there
        are no images, or of sizes that have no common grid.
    """
    of_batches: list = [
        pictures.find_images(x["views"]) for x, _ in probe.batches
    ]
    if any(images is None for images in of_batches):
        return None
    if len({images.shape[1:] for images in of_batches}) > 1:
        return None
    return pictures.thumbnails(np.concatenate(of_batches))


def texts_of(probe: Probe, tokenizer: Any = None) -> list[list[str]] | None:
    """The views of each group as text.

    Args:
        probe: The groups.
        tokenizer: None, or something with a `vocabulary` that tells the pieces
            of the token ids among the inputs.

    Returns:
        For each group a list of texts, the sentences of a pair with `‖`
        between them; None without a tokenizer.

    Raises:
        ValueError: If there is a tokenizer without a vocabulary, or no token
            ids, or such that it does not have.
    """
    if tokenizer is None:
        return None
    if not hasattr(tokenizer, "vocabulary"):
        raise ValueError(
            "`tokenizer` must have a `vocabulary`, a list of the pieces. "
            f"Received: a {type(tokenizer).__name__}"
        )
    texts: list = []
    for x, _ in probe.batches:
        texts += _decoded(x["views"], tokenizer.vocabulary)
    return texts


def _decoded(views, vocabulary):
    """The views of a batch as text, from their token ids."""
    ids = views.get("token_ids") if isinstance(views, dict) else None
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
    is_token = np.asarray(views.get("padding_mask", np.ones_like(ids)), bool)
    return [
        [
            _joined([vocabulary[token] for token in view_ids[view_is_token]])
            for view_ids, view_is_token in zip(*of_group, strict=True)
        ]
        for of_group in zip(ids, is_token, strict=True)
    ]


def _joined(pieces):
    """Pieces of words as text, without special tokens and padding."""
    text = " ".join(p for p in pieces if p not in ("[CLS]", "[PAD]"))
    sentences = text.replace(" ##", "").split("[SEP]")
    return " ‖ ".join(filter(None, (s.strip() for s in sentences[:2])))
