"""Small networks, and examples that they take.

`MODELS` has the networks of the tests by name: for each a function of the
number of outputs that builds it, anew at every call, and a function `(rng,
leading)` that draws examples for it, arrays `(*leading, ...)`. `leading` is
`(examples,)` for plain examples and `(examples, num_views)` for groups.

Each one stands for something that a wrapper can get wrong: what layers add to
the loss ("regularized", "add_loss"), statistics and chance ("batch_norm",
"dropout"), nests of inputs or outputs ("functional", "two_outputs"), other
ways to be built or called ("unbuilt", "without_training"). To add one, write
the two functions, or take them from here, and give them a name.
"""

import keras
import numpy as np

from tests.scripts import user_objects

# Sizes of the inputs and outputs: different, so that none passes for another.
FEATURES, CLASSES, IMAGE, TOKENS, WORDS = 5, 4, (5, 5, 2), 4, 20

ON_TENSORFLOW = keras.backend.backend() == "tensorflow"

layers = keras.layers


def features(rng, leading):
    return rng.normal(0, 1.5, (*leading, FEATURES)).astype("float32")


def images(rng, leading):
    return rng.integers(0, 256, (*leading, *IMAGE)).astype("uint8")


def mixed(rng, leading):
    tokens = rng.integers(1, WORDS, (*leading, TOKENS)).astype("int32")
    return {"numbers": {"features": features(rng, leading)}, "tokens": tokens}


def sentences(rng, leading):
    lengths = rng.integers(2, TOKENS + 1, (*leading, 1))
    return {
        "token_ids": rng.integers(1, WORDS, (*leading, TOKENS)).astype("int32"),
        "segment_ids": np.zeros((*leading, TOKENS), "int32"),
        "padding_mask": np.arange(TOKENS) < lengths,
    }


def series(rng, leading):
    """From 1 to TOKENS steps, the rest zeros."""
    values = rng.normal(0, 1.5, (*leading, TOKENS, 2)).astype("float32")
    lengths = rng.integers(1, TOKENS + 1, (*leading, 1))
    return values * (np.arange(TOKENS) < lengths)[..., None]


def mlp(*between, built=True, **options):
    """A function that builds an MLP.

    Args:
        *between: Functions that make the layers between its two dense ones.
        built: Whether it has an `Input`, and with it weights at once.
        **options: Of the first dense layer.
    """

    def build(units=CLASSES):
        middle = [make_layer() for make_layer in between]
        first = layers.Dense(6, activation="tanh", **options)
        all_layers = [first, *middle, layers.Dense(units)]
        if built:
            all_layers.insert(0, keras.Input((FEATURES,)))
        return keras.Sequential(all_layers)

    return build


def functional(units=CLASSES):
    """Nested dict inputs of different types."""
    inputs = {
        "numbers": {"features": keras.Input((FEATURES,), name="features")},
        "tokens": keras.Input((TOKENS,), dtype="int32", name="tokens"),
    }
    embedded = layers.Flatten()(layers.Embedding(WORDS, 4)(inputs["tokens"]))
    dense = layers.Dense(4)(inputs["numbers"]["features"])
    hidden = layers.Activation("tanh")(layers.Concatenate()([embedded, dense]))
    return keras.Model(inputs, layers.Dense(units)(hidden))


def convolutional(units=CLASSES):
    return keras.Sequential(
        [
            keras.Input(IMAGE, dtype="uint8"),
            layers.Rescaling(1 / 128, -1),
            layers.Conv2D(4, 3, use_bias=False),
            layers.BatchNormalization(momentum=0.9),
            layers.ReLU(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(units),
        ]
    )


def two_outputs(units=CLASSES):
    inputs = keras.Input((FEATURES,))
    hidden = layers.Dense(6, activation="tanh")(inputs)
    outputs = {
        "first": layers.Dense(units, name="first")(hidden),
        "second": layers.Dense(2, name="second")(hidden),
    }
    return keras.Model(inputs, outputs)


def masked(units=1):
    """A value for each step of a series; those of zeros are masked."""
    return keras.Sequential(
        [keras.Input((TOKENS, 2)), layers.Masking(), layers.Dense(units)]
    )


def compiled_before(units=CLASSES):
    model = mlp(lambda: layers.Dropout(0.4))(units)
    model.compile("rmsprop", "mse")
    model.fit(np.ones((4, FEATURES)), np.ones((4, units)), verbose=0)
    return model


def bert(units=CLASSES):
    """A task of keras-hub; its inputs are a dict, too."""
    import keras_hub

    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=WORDS,
        num_layers=1,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=12,
        dropout=0.1,
        max_sequence_length=TOKENS,
    )
    return keras_hub.models.BertTextClassifier(
        backbone, num_classes=units, dropout=0.1, preprocessor=None
    )


L2 = keras.regularizers.L2(0.1)
MODELS = {
    "mlp": (mlp(), features),
    "regularized": (
        mlp(kernel_regularizer=L2, activity_regularizer=L2),
        features,
    ),
    "l2": (mlp(kernel_regularizer=L2), features),
    "add_loss": (mlp(user_objects.AddsLoss), features),
    "batch_norm": (
        mlp(
            lambda: layers.BatchNormalization(momentum=0.5),
            lambda: layers.Dropout(0.4),
        ),
        features,
    ),
    "synchronized": (
        mlp(
            lambda: layers.BatchNormalization(
                momentum=0.5, synchronized=ON_TENSORFLOW
            )
        ),
        features,
    ),
    "dropout": (
        mlp(lambda: layers.Dropout(0.4), lambda: layers.GaussianNoise(0.3)),
        features,
    ),
    "seeded_dropout": (mlp(lambda: layers.Dropout(0.4, seed=5)), features),
    "unbuilt": (mlp(built=False), features),
    "functional": (functional, mixed),
    "subclassed": (user_objects.TwoDense, features),
    "without_training": (user_objects.WithoutTraining, features),
    "own_training": (user_objects.OwnTraining, features),
    "convolutional": (convolutional, images),
    "two_outputs": (two_outputs, features),
    "compiled_before": (compiled_before, features),
    "bert": (bert, sentences),
    "masked": (masked, series),
}
