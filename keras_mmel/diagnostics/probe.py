"""The probe: fixed groups whose weights are measured during training."""

import dataclasses
import operator
from typing import Any

import keras
import numpy as np

from keras_mmel import contract
from keras_mmel import counts
from keras_mmel.arrays import to_numpy
from keras_mmel.losses import checks
from keras_mmel.mmel_model import MMELModel
from keras_mmel.scores import held_out

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
    try:
        whole_batches = iter(held_out.batches_of(data))
    except TypeError:
        raise ValueError(
            "`probe` must be `(x, y)` with groups in x, or an iterable of such "
            f"batches. Received: a {type(data).__name__}"
        ) from None
    batches: list = []
    for batch in whole_batches:
        first_rows = operator.itemgetter(slice(left))
        arrays = keras.tree.map_structure(first_rows, _checked(batch))
        batches.extend(held_out.batches_of(arrays, _AT_ONCE))
        left -= len(keras.tree.flatten(arrays)[0])
        if not left:
            break
    if not batches:
        raise ValueError(
            "`probe` must hold at least one group. "
            f"Received: probe of type {type(data).__name__} without groups"
        )
    masks = [_mask(x) for x, _ in batches]
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
            arrays = to_numpy(weights), to_numpy(losses)
            of_batches.append(arrays)
    weights, losses = map(np.concatenate, zip(*of_batches, strict=True))
    return weights, np.where(probe.mask, losses, np.float32(np.nan))


def _checked(batch):
    """Features and labels of a batch, as arrays."""
    x, *y = batch if isinstance(batch, (tuple, list)) else (batch,)
    contract.check_groups(x)
    if not y or y[0] is None:
        raise ValueError(
            "`probe` needs labels: the weights come from the view losses. "
            "Give `(x, y)`. Received: x alone"
        )
    x = {name: value for name, value in x.items() if value is not None}
    x, y = keras.tree.map_structure(np.asarray, (x, y[0]))
    checks.check_labels(contract.split_labels(y).label, contract.sizes_of(x))
    return x, y


def _mask(x):
    sizes = contract.sizes_of(x)
    if sizes.mask is not None:
        return np.asarray(sizes.mask, dtype=bool)
    return np.ones((sizes.batch, sizes.views), dtype=bool)
