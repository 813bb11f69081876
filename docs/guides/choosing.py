"""Title: Choosing lambda_p, the number of views, hard or soft.

Tries settings on digits, several seeds each, on held-out training digits.
"""

# --8<-- [start:setup]
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import keras_mmel
from keras_mmel.objectives import Hard
from keras_mmel.objectives import Soft

digits = load_digits()
images = digits.images[..., None].astype("uint8")
train_x, held_out_x, train_y, held_out_y = train_test_split(
    images[:600],
    digits.target[:600],
    train_size=200,
    stratify=digits.target[:600],
    random_state=0,
)  # the digits from 600 on stay unseen, for one test at the end


def run(objective, num_views, seed, epochs=30):
    """Accuracy on held-out digits; fewest views that shared the weight."""
    keras.utils.set_random_seed(seed)
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Rescaling(1 / 16),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(10),
        ]
    )
    groups = keras_mmel.data.group_views(
        tf.data.Dataset.from_tensor_slices((train_x, train_y)),
        keras_mmel.data.crop_and_flip(padding=1, flip=False),
        num_views,
        batch_size=20,
        seed=seed,
    )
    mmel = keras_mmel.MMELModel(model, objective)
    mmel.compile(
        keras.optimizers.Adam(2e-3),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    history = mmel.fit(groups, epochs=epochs, verbose=0)
    scores = mmel.evaluate(held_out_x, held_out_y, verbose=0, return_dict=True)
    return scores["accuracy"], min(history.history["effective_views"])


# --8<-- [end:setup]

# --8<-- [start:sweep]
settings = {
    "mean": (Hard(np.inf), 6),
    "lambda_p 3": (Hard(3.0), 6),
    "lambda_p 1": (Hard(1.0), 6),
    "lambda_p 0.3": (Hard(0.3), 6),
    "hardest": (Hard(0.0), 6),
    "soft": (Soft(lambda_p=1.0, lambda_t=1.0), 6),
    "3 views": (Hard(1.0), 3),
}
for name, (objective, num_views) in settings.items():
    found = [run(objective, num_views, seed) for seed in (0, 1, 2)]
    accuracy, effective = np.mean(found, axis=0)
    spread = np.std(found, axis=0, ddof=1)[0]
    print(f"{name:14}{accuracy:.4f} +- {spread:.4f}  views: {effective:.2f}")
# --8<-- [end:sweep]
