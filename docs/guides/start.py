"""Title: Start in five minutes.

Trains a small network on 200 of scikit-learn's digits, in groups of six views.
"""

# --8<-- [start:data]
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import keras_mmel

keras.utils.set_random_seed(0)
digits = load_digits()
images, test_images, labels, test_labels = train_test_split(
    digits.images[..., None].astype("uint8"),  # (n, 8, 8, 1), 0 to 16
    digits.target,
    train_size=200,
    stratify=digits.target,
    random_state=0,
)
# --8<-- [end:data]

# --8<-- [start:model]
model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        keras.layers.Rescaling(1 / 16),
        keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
        keras.layers.Conv2D(32, 3, 2, padding="same", activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(10),
    ]
)
# --8<-- [end:model]

# --8<-- [start:groups]
examples = tf.data.Dataset.from_tensor_slices((images, labels))
groups = keras_mmel.data.group_views(
    examples,
    keras_mmel.data.crop_and_flip(padding=1, flip=False),
    num_views=6,
    batch_size=20,
    seed=0,
)
print(groups.element_spec[0]["views"].shape)  # (20, 6, 8, 8, 1)
# --8<-- [end:groups]

# --8<-- [start:fit]
mmel = keras_mmel.MMELModel(model, "hard")
mmel.compile(
    keras.optimizers.Adam(2e-3),
    keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
history = mmel.fit(
    groups, epochs=30, validation_data=(test_images, test_labels), verbose=2
)
# --8<-- [end:fit]

# --8<-- [start:look]
x, y = next(iter(groups))
weights = mmel.view_weights(x, y)  # (20, 6), rows sum to 1
hardest = np.argmax(weights, axis=1)
print(weights[0].round(2), "the heaviest is view", hardest[0])
# --8<-- [end:look]

# --8<-- [start:save]
model.save("digits.keras")  # plain Keras, as if it had been trained without us
reloaded = keras.saving.load_model("digits.keras")
print(reloaded.predict(test_images[:2], verbose=0).argmax(axis=1))
# --8<-- [end:save]
