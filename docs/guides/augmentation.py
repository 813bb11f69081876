"""Title: An augmentation of your own.

Keras layers, functions of one image, functions of a batch, and views that were
made elsewhere.
"""

# --8<-- [start:data]
import keras
import numpy as np
import tensorflow as tf

import keras_mmel

keras.utils.set_random_seed(0)
random = np.random.default_rng(0)
images = random.integers(0, 256, (64, 16, 16, 3), "uint8")
labels = random.integers(0, 3, 64)
examples = tf.data.Dataset.from_tensor_slices((images, labels))
# --8<-- [end:data]

# --8<-- [start:layer]
rotate = keras_mmel.data.per_view(keras.layers.RandomRotation(0.05))
groups = keras_mmel.data.group_views(
    examples, rotate, num_views=4, batch_size=16, seed=0
)
# --8<-- [end:layer]


# --8<-- [start:image]
def darker(image, seed):
    """One image (height, width, channels) to one view of it."""
    factor = tf.random.stateless_uniform((), seed, 0.5, 1.0)
    return tf.cast(tf.cast(image, tf.float32) * factor, image.dtype)


groups = keras_mmel.data.group_views(
    examples,
    keras_mmel.data.per_view(darker),
    num_views=4,
    batch_size=16,
    seed=0,
)
# --8<-- [end:image]

# --8<-- [start:batch]
shift = keras_mmel.data.crop_and_flip(padding=2)


def shift_and_darken(images, seeds):
    """(batch, ...) and seeds (batch, views, 2) to (batch, views, ...)."""
    views = tf.cast(shift(images, seeds), tf.float32)
    batch, count = seeds.shape[:2]
    drawn = tf.map_fn(
        lambda seed: tf.random.stateless_uniform((), seed, 0.5, 1.0),
        tf.reshape(seeds, (-1, 2)) + [0, 1],  # not the numbers of `shift`
        fn_output_signature=tf.float32,
    )
    factors = tf.reshape(drawn, (-1, count, 1, 1, 1))
    return tf.cast(views * factors, images.dtype)


groups = keras_mmel.data.group_views(
    examples,
    shift_and_darken,
    num_views=4,
    batch_size=16,
    seed=0,
    postprocess=keras_mmel.data.standardize(mean=0.5, std=0.25),
)
# --8<-- [end:batch]

# --8<-- [start:fit]
model = keras.Sequential(
    [
        keras.Input((16, 16, 3)),
        keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(3),
    ]
)
mmel = keras_mmel.MMELModel(model, "hard")
mmel.compile(
    "adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True)
)
mmel.fit(groups, epochs=2, verbose=2)
# --8<-- [end:fit]

# --8<-- [start:look]
x, y = next(iter(groups))
weights = mmel.view_weights(x, y)
shown = x["views"].numpy() * 0.25 + 0.5  # to the range 0 to 1 again
figure = keras_mmel.diagnostics.plot_groups(shown, weights, rows=3)
figure.savefig("groups.png")
# --8<-- [end:look]


# --8<-- [start:arrays]
class StoredGroups(keras.utils.PyDataset):
    """Views that were made elsewhere, `(n, num_views, ...)` on disk."""

    def __init__(self, views, labels, batch_size, **kwargs):
        super().__init__(**kwargs)
        self.views, self.labels = views, labels
        self.batch_size = batch_size

    def __len__(self):
        return len(self.labels) // self.batch_size

    def __getitem__(self, index):
        rows = slice(index * self.batch_size, (index + 1) * self.batch_size)
        return {"views": self.views[rows] / 255.0}, self.labels[rows]


views = np.repeat(images[:, None], 4, axis=1)  # the original first
views[:, 1:] = views[:, 1:, :, ::-1]
mmel.fit(StoredGroups(views, labels, batch_size=16), epochs=1, verbose=2)
# --8<-- [end:arrays]
