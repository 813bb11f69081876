"""The probe: fixed groups whose weights are measured during training.

Below it is what the groups hold to look at: their classes, images and texts.
"""

import dataclasses
from typing import Any

import keras
import numpy as np

from keras_mmel import contract
from keras_mmel import counts
from keras_mmel.arrays import to_numpy
from keras_mmel.losses import checks
from keras_mmel.mmel_model import MMELModel
from keras_mmel.pages import pictures
from keras_mmel.scores import held_out
from keras_mmel.tasks.nests import take
from keras_mmel.tasks.preprocessing import DECODED

# Groups that go through the model at once, at most.
_AT_ONCE = 32


@dataclasses.dataclass(frozen=True)
class Probe:
    """Groups in batches, as NumPy arrays.

    Attributes:
        batches: Pairs `(x, y)` in the data contract. Batches may differ in
            what `fit` lets differ, such as the length of texts.
        mask: Bool `(groups, num_views)`, `False` for padding.
    """

    batches: list[tuple[Any, Any]]
    mask: np.ndarray


def make_probe(data: Any, num_groups: int) -> Probe:
    """The first groups of some data.

    Args:
        data: `(x, y)` in the data contract, also with sample weights, or an
            iterable of such batches, for example a `tf.data.Dataset`. It is
            read now, and only as far as needed.
        num_groups: How many groups to keep at most.

    Returns:
        A `Probe`.

    Raises:
        ValueError: If the data hold no group, no labels, or another structure
            than the contract's, or `num_groups` is below 1.
    """
    left = counts.check_count("num_groups", num_groups, minimum=1)
    batches: list = []
    for batch in held_out.batches_of(data):
        first = take(_checked(batch), slice(left))
        batches.extend(held_out.batches_of(first, _AT_ONCE))
        left -= len(keras.tree.flatten(first)[0])
        if not left:
            break
    if not batches:
        raise ValueError(
            "`probe` must hold at least one group. "
            f"Received: probe of type {type(data).__name__} without groups"
        )
    masks = [contract.mask_of(x) for x, _ in batches]
    return Probe(batches, np.concatenate(masks))


def measure(mmel: MMELModel, probe: Probe) -> tuple[np.ndarray, np.ndarray]:
    """Weights and losses of the views of a probe, in inference mode.

    Nothing that the model keeps is changed: not its weights, nor the states
    of its random generators or those of Keras.

    Args:
        mmel: A compiled and built model.
        probe: From `make_probe`.

    Returns:
        Float32 `(groups, num_views)` each: what `mmel.view_weights` gives, and
        the view losses that the objective takes, NaN for padding.
    """
    of_batches = []
    for x, y in probe.batches:
        # Variables that the model would assign are put aside and forgotten.
        with keras.StatelessScope():
            losses, weights = mmel._losses_and_weights(x, y)
            of_batches.append((to_numpy(weights), to_numpy(losses)))
    weights, losses = map(np.concatenate, zip(*of_batches, strict=True))
    return weights, np.where(probe.mask, losses, np.float32(np.nan))


def _checked(batch):
    """Features and labels of a batch, as arrays."""
    x, y, _ = keras.utils.unpack_x_y_sample_weight(batch)
    contract.check_groups(x)
    if y is None:
        raise ValueError(
            "`probe` needs labels: the weights come from the view losses. "
            "Give `(x, y)`. Received: x alone"
        )
    x = {name: value for name, value in x.items() if value is not None}
    x, y = keras.tree.map_structure(np.asarray, (x, y))
    checks.check_labels(contract.split_labels(y), contract.sizes_of(x))
    return x, y


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


def images_of(batches: list) -> np.ndarray | None:
    """Small pictures of the views.

    Args:
        batches: The `"views"` of each batch.

    Returns:
        Uint8 `(groups, num_views, height, width, channels)`; None where there
        are no images, or of sizes that have no common grid.
    """
    images: list = [pictures.find_images(views) for views in batches]
    shapes = {None if i is None else i.shape[1:] for i in images}
    if None in shapes or len(shapes) > 1:
        return None
    return pictures.thumbnails(np.concatenate(images))


def texts_of(batches: list, tokenizer: Any = None) -> list[list[str]] | None:
    """The views of each group as text.

    Args:
        batches: The `"views"` of each batch.
        tokenizer: None, or something with a `vocabulary` that tells the pieces
            of the token ids among the inputs.

    Returns:
        For each group a list of texts, the sentences of a pair with `‖`
        between them; None without a tokenizer, unless the inputs are texts.

    Raises:
        ValueError: If there is a tokenizer, and no token ids, or such that it
            does not have.
    """
    if tokenizer is None:
        return _strings(batches)
    return sum((_decoded(views, tokenizer) for views in batches), [])


def _strings(batches):
    """The views that are strings, or None."""
    texts: list = []
    for views in batches:
        leaves = keras.tree.flatten(views)
        if any(t.dtype.kind not in "OSU" or t.ndim != 2 for t in leaves):
            return None
        sentences = np.stack([DECODED(leaf) for leaf in leaves], axis=-1)
        texts += [[" ‖ ".join(view) for view in group] for group in sentences]
    return texts


def _decoded(views, tokenizer):
    """The views of a batch as text, from their token ids."""
    vocabulary = tokenizer.vocabulary
    ids = views.get("token_ids") if isinstance(views, dict) else None
    if getattr(ids, "ndim", 0) != 3 or ids.dtype.kind not in "iu":
        raise ValueError(
            '`tokenizer` needs "token_ids" (batch, num_views, length). '
            f"Received: {len(keras.tree.flatten(views))} inputs without them"
        )
    if ids.size and not 0 <= ids.min() <= ids.max() < len(vocabulary):
        raise ValueError(
            f"Token ids must be from 0 to below {len(vocabulary)}, the size of "
            f"the vocabulary. Received: {ids.min()} to {ids.max()}"
        )
    is_token = np.asarray(views.get("padding_mask", np.ones_like(ids)), bool)
    pieces = np.where(is_token, np.array(vocabulary, object)[ids], "[PAD]")
    return [[_joined(view) for view in group] for group in pieces]


def _joined(pieces):
    """Pieces of words as text, without special tokens and padding."""
    text = " ".join(p for p in pieces if p not in ("[CLS]", "[PAD]"))
    sentences = text.replace(" ##", "").split("[SEP]")
    return " ‖ ".join(filter(None, (s.strip() for s in sentences[:2])))
