"""Images of one color for each class, and a network that learns them fast."""

import keras
import numpy as np

from examples import cifar as recipe
from experiments import records
from experiments.training import cifar


def load(dataset, data_dir=None):
    """Training and test set of twenty images of ten classes each."""
    rng = np.random.default_rng(0)
    classes = recipe.CLASSES[dataset]
    colors = rng.integers(0, 200, (classes, 1, 1, 3))

    def draw(size):
        labels = np.arange(size) % classes
        noise = rng.integers(0, 56, (size, 32, 32, 3))
        return (colors[labels] + noise).astype("uint8"), labels

    return draw(2 * classes), draw(2 * classes)


def network(depth, num_classes, input_shape=(32, 32, 3), weight_decay=0.0):
    """In place of a ResNet: it compiles in no time."""
    decay = keras.regularizers.L2(weight_decay)
    return keras.Sequential(
        [
            keras.Input(input_shape),
            keras.layers.AveragePooling2D(8),
            keras.layers.Flatten(),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(num_classes, kernel_regularizer=decay),
        ]
    )


def digits_network():
    """The same for the digits of scikit-learn."""
    layers = [keras.layers.Flatten(), keras.layers.Dense(10)]
    scaled = keras.layers.Rescaling(1 / 16)
    return keras.Sequential([keras.Input((8, 8, 1)), scaled, *layers])


def run(folder, *words, load=load):
    """The runs on CIFAR at toy size; their records by method and seed."""
    toy = ["--depth", "8", "--batch_size", "10", "--num_views", "2"]
    where = ["--out", str(folder / "out"), "--work_dir", str(folder / "work")]
    cifar.main([*toy, *where, *words], load=load)
    found = records.read_records(folder / "out")
    return {(record["method"], record["seed"]): record for record in found}
