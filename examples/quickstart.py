r"""MMEL on scikit-learn's digits: real scans, few labels, nothing to download.

A small convnet learns 200 of the 1,797 digits (about 20 of each) and is tested
on the others: as they are, and shifted by a pixel. Views are shifts of up to
one pixel. The same network, the same number of steps, four ways to train it:

    da       plain Keras `fit` on one view of each digit
    uniform  six views of each digit, all of the same weight
    mmel-h   the views weighted by their losses (hard)
    mmel-s   the same against the prediction for the original (soft)

A seed decides the split, the initial weights and the views, and is the same
for all four. `da` sees a sixth of the views, so it is cheaper; `uniform` is
the comparison at equal cost. Settings are the paper's (lambda_p = lambda_t =
1); none was chosen by looking at the test digits.

    python -m examples.quickstart

It prints a table and writes a record (runs/quickstart.json). Two minutes on one
core. Expected result: the record in experiments/results/quickstart.json, of
which `python -m experiments.report` makes a table and a picture.
"""

import argparse
import math
import os
import pathlib
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import keras_mmel
from examples import records

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
    for name in ("seeds", "epochs"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} must be at least 1")
    return args


# Data


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
    return np.concatenate(
        [
            padded[:, row : row + 8, column : column + 8]
            for row in range(3)
            for column in range(3)
            if (row, column) != (1, 1)
        ]
    )


def training_groups(images, labels, seed, num_views, augment_original=False):
    examples = tf.data.Dataset.from_tensor_slices((images, labels))
    return keras_mmel.data.group_views(
        examples.repeat(PASSES),
        keras_mmel.data.crop_and_flip(PADDING, flip=False),
        num_views,
        BATCH_SIZE,
        seed=seed,
        augment_original=augment_original,
    )


# Training


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
    losses = keras.losses.sparse_categorical_crossentropy(
        labels, logits, from_logits=True
    )
    correct = np.argmax(logits, axis=-1) == labels
    return float(np.mean(losses)), float(np.mean(correct))


class TestCurve(keras.callbacks.Callback):
    """Test loss after each epoch; `cost` is what that took."""

    def __init__(self, network, images, labels):
        super().__init__()
        self.arguments = network, images, labels
        self.losses, self.cost = [], 0.0

    def on_epoch_end(self, epoch, logs=None):
        start = time.process_time()
        self.losses.append(loss_and_accuracy(*self.arguments)[0])
        self.cost += time.process_time() - start


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
        effective = np.exp(
            -np.sum(weights * np.log(np.maximum(weights, 1e-12)), axis=1)
        )
        # The least even one of each class, the least even classes.
        order = np.argsort(effective)
        _, first = np.unique(self.y.numpy()[:LOOK_AT][order], return_index=True)
        chosen = order[np.sort(first)[:SHOW]]
        self.found = {
            "after_steps": int(self.model.optimizer.iterations.numpy()),
            "out_of": LOOK_AT,
            "pixels": self.x["views"].numpy()[chosen, ..., 0],
            "labels": self.y.numpy()[chosen],
            "weights": np.round(weights[chosen], 4),
        }


def train(method, seed, epochs, look=False):
    """One run of one method.

    Args:
        method: a name of the table above.
        seed: of everything.
        epochs: how many.
        look: whether to look at the weights of a few groups too.

    Returns:
        The run for the record, and what was seen or `None`.
    """
    keras.utils.set_random_seed(seed)
    images, test_images, labels, test_labels = split_digits(seed)
    network = make_network()
    if method == "da":
        model = network
        groups = training_groups(images, labels, seed, 1, augment_original=True)
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
    cpu_seconds = time.process_time() - start - curve.cost
    loss, accuracy = loss_and_accuracy(network, test_images, test_labels)
    _, accuracy_shifted = loss_and_accuracy(
        network, shifted(test_images), np.tile(test_labels, 8)
    )
    curves = {"test_loss": np.round(curve.losses, 5)}
    for name in ("loss", "original_loss", "effective_views"):
        if name in log:
            curves[name] = np.round(log[name], 5)
    run = {
        "method": method,
        "seed": seed,
        "scores": {
            "accuracy": accuracy,
            "accuracy_shifted": accuracy_shifted,
            "test_loss": loss,
            "cpu_seconds": round(cpu_seconds, 2),
        },
        "curves": curves,
    }
    return run, callbacks[1].found if look else None


# Results


def summarize(runs):
    """Mean and standard deviation over seeds of every score, by method."""
    summary = {}
    for run in runs:
        for name, value in run["scores"].items():
            scores = summary.setdefault(run["method"], {})
            scores.setdefault(name, []).append(value)
    return {
        method: {
            name: {
                "mean": statistics.mean(values),
                "deviation": statistics.stdev(values) if values[1:] else None,
            }
            for name, values in scores.items()
        }
        for method, scores in summary.items()
    }


def table(summary):
    """The summary as lines of text."""

    def cell(score, digits, factor=1):
        text = f"{score['mean'] * factor:.{digits}f}"
        if score["deviation"] is None:
            return text
        return f"{text} +- {score['deviation'] * factor:.{digits}f}"

    row = "{:9}{:>18}{:>18}{:>18}{:>12}".format
    lines = [row("method", "accuracy %", "shifted %", "test loss", "CPU s")]
    for method, scores in summary.items():
        lines.append(
            row(
                method,
                cell(scores["accuracy"], 2, 100),
                cell(scores["accuracy_shifted"], 2, 100),
                cell(scores["test_loss"], 3),
                f"{scores['cpu_seconds']['mean']:.1f}",
            )
        )
    return "\n".join(lines)


def main(argv=None):
    args = parse_arguments(argv)
    start = time.perf_counter()
    runs, seen = [], None
    total = args.seeds * (1 + len(METHODS))
    for seed in range(args.seeds):
        for method in ("da", *METHODS):
            look = method == "mmel-h" and seed == 0
            run, found = train(method, seed, args.epochs, look)
            seen = found or seen
            runs.append(run)
            width, scores = int(math.log10(total)) + 1, run["scores"]
            print(
                f"[{len(runs):{width}}/{total}] {method:8} seed {seed}: "
                f"accuracy {scores['accuracy']:.2%}, "
                f"shifted {scores['accuracy_shifted']:.2%}, "
                f"loss {scores['test_loss']:.3f}, "
                f"{scores['cpu_seconds']:.1f} CPU s",
                flush=True,
            )
    summary = summarize(runs)
    record = {
        "command": records.command_line(
            None if argv is None else [__file__, *argv]
        ),
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
        "hours": (time.perf_counter() - start) / 3600,
        "cpu_seconds": time.process_time(),
        "runs": runs,
        "scores": summary,
        "views": seen,
    }
    records.write_record(args.out, record)
    print(f"\n{table(summary)}\n")
    print(f"Mean +- standard deviation; seeds: {args.seeds}.")
    print(f"Record: {pathlib.Path(args.out)}")


if __name__ == "__main__":
    main()
