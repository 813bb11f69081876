"""Models, losses and optimizers of the replica cases."""

import keras

from tests.scripts.replica_cases import CLASSES
from tests.scripts.replica_cases import FEATURES

layers = keras.layers


def mlp(**options):
    return keras.Sequential(
        [
            keras.Input((FEATURES,)),
            layers.Dense(6, activation="tanh", **options),
            layers.Dense(CLASSES),
        ]
    )


def regularized():
    return mlp(
        kernel_regularizer=keras.regularizers.L2(0.1),
        activity_regularizer=keras.regularizers.L2(0.1),
    )


def half():
    policy = "mixed_float16"
    inputs = keras.Input((FEATURES,))
    x = layers.Dense(6, activation="tanh", dtype=policy)(inputs)
    outputs = layers.Dense(CLASSES, dtype=policy)(x)
    model = keras.Model(inputs, outputs)
    model.dtype_policy = keras.DTypePolicy(policy)
    return model


def batch_norm():
    return keras.Sequential(
        [
            keras.Input((FEATURES,)),
            layers.BatchNormalization(synchronized=True, momentum=0.5),
            layers.Dense(CLASSES),
        ]
    )


def unbuilt():
    return keras.Sequential([layers.Dense(6, "tanh"), layers.Dense(CLASSES)])


def two_outputs():
    inputs = keras.Input((FEATURES,))
    x = layers.Dense(6, activation="tanh")(inputs)
    return keras.Model(
        inputs,
        {
            "first": layers.Dense(CLASSES, name="first")(x),
            "second": layers.Dense(2, name="second")(x),
        },
    )


class _Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = layers.Dense(6, activation="tanh")
        self.head = layers.Dense(CLASSES)

    def call(self, inputs):
        return self.head(self.hidden(inputs))


class _WithAddLoss(_Subclassed):
    def call(self, inputs):
        hidden = self.hidden(inputs)
        self.add_loss(0.1 * keras.ops.mean(hidden**2))
        return self.head(hidden)


def subclassed():
    return _Subclassed()


def with_add_loss():
    return _WithAddLoss()


def sgd():
    return keras.optimizers.SGD(0.3, momentum=0.9)


def small_sgd():
    return keras.optimizers.SGD(0.01, momentum=0.9)


def adamw():
    return keras.optimizers.AdamW(
        0.01, weight_decay=0.1, use_ema=True, ema_momentum=0.5
    )


def settings(case):
    """Arguments of `compile`: loss and metrics."""
    loss = keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, reduction=case.reduction
    )
    found = {
        "loss": loss,
        "metrics": ["accuracy"],
        "weighted_metrics": [keras.metrics.SparseCategoricalAccuracy("acc_w")],
    }
    if case.model == "two_outputs":
        found = {
            "loss": {"first": loss, "second": "mse"},
            "loss_weights": {"first": 1.0, "second": 0.3},
        }
    return {**found, **case.compile}
