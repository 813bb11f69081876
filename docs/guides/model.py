"""Title: Wrap a model of your own.

Several inputs and outputs, arrays, masks, sample weights, a loss of your own.
"""

# --8<-- [start:model]
import keras
import numpy as np
from keras import ops

import keras_mmel

keras.utils.set_random_seed(0)
pixels = keras.Input((8, 8, 1), name="pixels")
context = keras.Input((4,), name="context")
features = keras.layers.Concatenate()([keras.layers.Flatten()(pixels), context])
features = keras.layers.Dense(32, activation="relu")(features)
features = keras.layers.Dropout(0.1)(features)
model = keras.Model(
    {"pixels": pixels, "context": context},
    {
        "kind": keras.layers.Dense(3, name="kind")(features),
        "size": keras.layers.Dense(1, name="size")(features),
    },
)
# --8<-- [end:model]

# --8<-- [start:data]
random = np.random.default_rng(0)
num_examples, num_views = 96, 4
views = {
    "pixels": random.random((num_examples, num_views, 8, 8, 1), "float32"),
    "context": random.random((num_examples, num_views, 4), "float32"),
}
labels = {
    "kind": random.integers(0, 3, num_examples),
    "size": random.random((num_examples, 1), "float32"),
}
# --8<-- [end:data]

# --8<-- [start:fit]
mmel = keras_mmel.MMELModel(model, "hard")
mmel.compile(
    "adam",
    loss={
        "kind": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        "size": "mse",
    },
    loss_weights={"kind": 1.0, "size": 0.5},
    metrics={"kind": "accuracy"},
)
mmel.fit({"views": views}, labels, epochs=2, verbose=2)
# --8<-- [end:fit]

# --8<-- [start:plain]
originals = {name: values[:, 0] for name, values in views.items()}
mmel.evaluate(originals, labels, verbose=0)
found = mmel.predict(originals, verbose=0)
print({name: values.shape for name, values in found.items()})
# --8<-- [end:plain]

# --8<-- [start:mask]
mask = np.ones((num_examples, num_views), bool)
mask[::2, 3] = False  # every second group has only three views
importance = random.random(num_examples, "float32")
mmel.fit(
    {"views": views, "mask": mask},
    labels,
    sample_weight=importance,
    epochs=1,
    verbose=2,
)
# --8<-- [end:mask]


# --8<-- [start:subclass]
class Regressor(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.hidden = keras.layers.Dense(16, activation="relu")
        self.out = keras.layers.Dense(1)

    def call(self, inputs):
        return self.out(self.hidden(inputs))


def log_cosh(y_true, y_pred):
    """One loss for each example, `(batch,)`."""
    error = ops.abs(ops.squeeze(y_pred - y_true, axis=-1))
    return error + ops.log1p(ops.exp(-2 * error)) - np.log(2)


regressor = keras_mmel.MMELModel(
    Regressor(),
    keras_mmel.objectives.Soft(lambda_p=1.0, lambda_t=0.5),
    soft_loss=log_cosh,  # (prediction for the original, for a view)
)
regressor.compile("adam", log_cosh)
regressor.fit({"views": views["context"]}, labels["size"], epochs=2, verbose=2)
# --8<-- [end:subclass]

# --8<-- [start:teacher]
teacher = random.random((num_examples, num_views, 1), "float32")
regressor = keras_mmel.MMELModel(Regressor(), "hard")
regressor.compile("adam", "mse")
regressor.fit(
    {"views": views["context"]},
    {"label": labels["size"], "teacher": teacher},
    epochs=1,
    verbose=2,
)
# --8<-- [end:teacher]

# --8<-- [start:schedule]
warm_up = keras_mmel.callbacks.LambdaSchedule(
    lambda epoch: np.inf if epoch < 1 else 1.0
)
mmel.fit({"views": views}, labels, epochs=2, callbacks=[warm_up], verbose=2)
# --8<-- [end:schedule]

# --8<-- [start:formulas]
losses = ops.array([[0.1, 0.2, 3.0], [1.0, 1.0, 1.0]])  # (batch, num_views)
print(keras_mmel.objectives.view_weights(losses, lambda_p=1.0))
print(keras_mmel.objectives.maximal_expected_loss(losses, lambda_p=1.0))
# --8<-- [end:formulas]
