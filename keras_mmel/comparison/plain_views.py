"""Plain training at equal cost: batches of single views of groups."""

import keras
import tensorflow as tf

from keras_mmel import contract


def plain_batches(groups: tf.data.Dataset, seed: int) -> tf.data.Dataset:
    """Makes batches of single views that cost what batches of groups cost.

    A batch of b groups of k views becomes b * k plain examples: one view of
    each of b groups, from k passes, each with new views. Padding views are not
    chosen.

    Args:
        groups: Batches of b groups of k views, which makes new views in every
            pass.
        seed: Of the choice of the view of each group.

    Returns:
        Endless batches of b * k plain examples.

    Raises:
        ValueError: If b or k is not known.

    Example:

    ```python
    x, y = next(iter(plain_batches(groups, seed=0)))  # groups: 16 of 5 views
    x.shape  # (80, ...)
    ```
    """
    x = groups.element_spec[0]
    size, views = keras.tree.flatten(x["views"])[0].shape[:2]
    if size is None or views is None:
        raise ValueError(
            "Plain training needs batches of a known size: make the groups "
            "with `drop_remainder=True`, or give `plain=False`. "
            f"Received: {x}"
        )

    # TensorFlow's operations, whatever the backend: it runs in tf.data.
    def choose(number, batch):
        x, y, weight = keras.utils.unpack_x_y_sample_weight(batch)
        key = tf.stack([tf.constant(seed, tf.int64), number])
        chance = tf.random.stateless_uniform((size, views), key)
        if x.get("mask") is not None:
            chance = tf.where(tf.cast(x["mask"], tf.bool), chance, -1.0)
        chosen = tf.argmax(chance, axis=1)
        single_views = tf.nest.map_structure(
            lambda leaf: tf.gather(leaf, chosen, axis=1, batch_dims=1),
            x["views"],
        )
        label = contract.split_labels(y).label
        if weight is None:
            return single_views, label
        return single_views, label, weight

    examples = groups.repeat().enumerate().map(choose).unbatch()
    # Padded, since texts of several batches differ in length.
    plain = examples.padded_batch(size * views, drop_remainder=True)
    return plain.prefetch(2)
