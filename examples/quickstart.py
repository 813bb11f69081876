r"""MMEL on scikit-learn's digits: real scans, few labels, nothing to download.

A small convnet learns 200 of the 1,797 digits (about 20 of each) and is tested
on the others: as they are, and shifted by a pixel. Views are shifts of up to
one pixel. The same network, the same number of steps, four ways to train it:

    da       plain Keras `fit` on one view of each digit
    uniform  six views of each digit, all of the same weight
    mmel-h   the views weighted by their losses (hard)
    mmel-s   the same against the prediction for the original (soft)

A seed decides the split, the initial weights and the views, the same for all
four. `da` sees a sixth of the views; `uniform` is the comparison at equal cost.

    python -m examples.quickstart

It prints a table and writes a record (runs/quickstart.json). Two minutes on one
core. Expected result: the record in experiments/results/quickstart.json, of
which `python -m experiments.report` makes a table and a picture.
"""

import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import scipy.stats
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import keras_mmel
from examples import records
from examples import runs

METHODS = {"uniform": "uniform", "mmel-h": "hard", "mmel-s": "soft"}
TRAINING_DIGITS = 200
NUM_VIEWS = 6
PADDING = 1
BATCH_SIZE = 20
# An epoch is several passes over the digits: each pass starts a pipeline,
# which costs more than the ten steps that it feeds.
PASSES = 4
LEARNING_RATE = 2e-3
# How many digits are looked at, and how many of them the picture shows.
LOOK_AT, SHOW = 20, 3


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m examples.quickstart",
        description=__doc__.partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--seeds", type=int, default=5, help="runs of each method")
    add("--epochs", type=int, default=12, help=f"each {PASSES} passes")
    add("--out", default="runs/quickstart.json", help="the record")
    args = parser.parse_args(argv)
    if min(args.seeds, args.epochs) < 1:
        parser.error("--seeds and --epochs must be at least 1")
    return args


def split_digits(seed):
    """Training and test digits, uint8 `(n, 8, 8, 1)` from 0 to 16."""
    digits = load_digits()
    return train_test_split(
        digits.images[..., None].astype("uint8"),
        digits.target.astype("int32"),
        train_size=TRAINING_DIGITS,
        stratify=digits.target,
        random_state=seed,
    )


def shifted(images):
    """The images in the eight positions one pixel away, `(8 * n, ...)`."""
    padded = np.pad(images, [(0, 0), (1, 1), (1, 1), (0, 0)])
    places = [place for place in np.ndindex(3, 3) if place != (1, 1)]
    return np.concatenate([padded[:, r : r + 8, c : c + 8] for r, c in places])


def training_groups(images, labels, seed, num_views):
    examples = tf.data.Dataset.from_tensor_slices((images, labels))
    return keras_mmel.data.group_views(
        examples.repeat(PASSES),
        keras_mmel.data.crop_and_flip(PADDING, flip=False),
        num_views,
        BATCH_SIZE,
        seed=seed,
        augment_original=num_views == 1,
    )


def make_network():
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Rescaling(1 / 16),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.Conv2D(32, 3, 2, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(10),
        ]
    )


def loss_and_accuracy(network, images, labels):
    """Mean crossentropy and accuracy of the network on plain images."""
    logits = network(images, training=False)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    correct = np.argmax(logits, axis=-1) == labels
    return float(loss(labels, logits)), float(np.mean(correct))


class TestCurve(keras.callbacks.Callback):
    """Test loss after each epoch."""

    def __init__(self, *arguments):
        super().__init__()
        self.arguments, self.losses = arguments, []

    def on_epoch_end(self, epoch, logs=None):
        self.losses.append(loss_and_accuracy(*self.arguments)[0])


class Look(keras.callbacks.Callback):
    """The weights of a few groups after epoch 2: early, while they differ."""

    def __init__(self, groups):
        super().__init__()
        self.x, self.y = next(iter(groups.take(1)))
        self.found = None

    def on_epoch_end(self, epoch, logs=None):
        if epoch > 1:
            return
        weights = self.model.view_weights(self.x, self.y)[:LOOK_AT]
        # The least even ones.
        chosen = np.argsort(scipy.stats.entropy(weights, axis=1))[:SHOW]
        self.found = {
            "after_steps": int(self.model.optimizer.iterations.numpy()),
            "pixels": self.x["views"].numpy()[chosen, ..., 0],
            "labels": self.y.numpy()[chosen],
            "weights": np.round(weights[chosen], 4),
        }


def train(method, seed, epochs, look=False):
    """One run for the record, and what a look at the weights saw or None."""
    keras.utils.set_random_seed(seed)
    images, test_images, labels, test_labels = split_digits(seed)
    network = make_network()
    if method == "da":
        model = network
        groups = training_groups(images, labels, seed, num_views=1)
        data = groups.map(lambda x, y: (x["views"][:, 0], y))
    else:
        model = keras_mmel.MMELModel(network, objective=METHODS[method])
        groups = data = training_groups(images, labels, seed, NUM_VIEWS)
    model.compile(
        keras.optimizers.Adam(LEARNING_RATE),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    curve = TestCurve(network, test_images, test_labels)
    callbacks = [curve, Look(groups)] if look else [curve]
    start = time.process_time()
    # The pipeline shuffles; plain Keras would warn that it does not.
    log = model.fit(
        data, epochs=epochs, verbose=0, shuffle=False, callbacks=callbacks
    ).history
    cpu_seconds = time.process_time() - start
    loss, accuracy = loss_and_accuracy(network, test_images, test_labels)
    _, accuracy_shifted = loss_and_accuracy(
        network, shifted(test_images), np.tile(test_labels, 8)
    )
    curves = {"test_loss": np.round(curve.losses, 5)}
    for name in ("loss", "original_loss", "effective_views"):
        if name in log:
            curves[name] = np.round(log[name], 5)
    scores = {
        "accuracy": accuracy,
        "accuracy_shifted": accuracy_shifted,
        "test_loss": loss,
        "cpu_seconds": round(cpu_seconds, 2),
    }
    run = {"method": method, "seed": seed, "scores": scores, "curves": curves}
    return run, callbacks[1].found if look else None


def main(argv=None):
    args = parse_arguments(argv)
    found, seen = [], None
    total = args.seeds * (1 + len(METHODS))
    for seed in range(args.seeds):
        for method in ("da", *METHODS):
            look = method == "mmel-h" and seed == 0
            run, looked_at = train(method, seed, args.epochs, look)
            seen = looked_at or seen
            found.append(run)
            place = f"[{len(found)}/{total}] {method} seed {seed}: accuracy"
            print(f"{place} {run['scores']['accuracy']:.2%}", flush=True)
    record = {
        "command": records.command_line(argv and [__file__, *argv]),
        "method": "quickstart",
        "settings": {
            "epochs": args.epochs,
            "seeds": args.seeds,
            "training_digits": TRAINING_DIGITS,
            "num_views": NUM_VIEWS,
            "padding": PADDING,
            "batch_size": BATCH_SIZE,
            "steps_per_epoch": PASSES * TRAINING_DIGITS // BATCH_SIZE,
            "learning_rate": LEARNING_RATE,
            "lambda_p": 1.0,
            "lambda_t": 1.0,
        },
        "environment": records.environment(),
        "cpu_seconds": time.process_time(),
        "runs": found,
        "views": seen,
    }
    records.write_record(args.out, record)
    runs.print_scores(found)
    print(f"Record: {args.out}")


if __name__ == "__main__":
    main()
