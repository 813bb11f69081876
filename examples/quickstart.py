r"""MMEL on scikit-learn's digits: few labels, turned views, no download.

A small convnet learns 200 of the 1,797 digits. Its views are turned and shifted
by a pixel: most of them a little, few by up to 60 degrees. Afterwards it is
asked about the other digits under every one of 45 turns and shifts: how often
is it right on the untouched digit (original), on average (mean), and under all
45 (worst)?

    uniform    five views of each digit, all of the same weight: the baseline
    hard 1     the views weighted by their losses, lambda_p = 1
    hard 0.3   the same, nearer to the hardest view
    soft       the views compared with the prediction for the original
    plain      one view of each digit, and five times as many digits a step

All of them make as many steps on as many views, from the same weights.

    python -m examples.quickstart

It prints a table of paired differences, and writes a record and a picture under
runs/. Expected: experiments/results/quickstart.json, about three minutes on two
cores. A run that was stopped goes on when it is called again.
"""

import argparse
import os
import pathlib
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import keras_mmel
from examples import records
from examples import rotated
from keras_mmel.comparison import Comparison

METHODS = {
    "uniform": "uniform",
    "hard 1": keras_mmel.objectives.Hard(1.0),
    "hard 0.3": keras_mmel.objectives.Hard(0.3),
    "soft": "soft",
}
SCORES = ("original_accuracy", "mean_accuracy", "worst_accuracy", "mean_nll")
TRAINING_DIGITS, NUM_VIEWS, GROUPS = 200, 5, 4
STEPS, EPOCHS, RATE = 3000, 2, 2e-3
ANGLES = (-60, -45, -30, -15, 0, 15, 30, 45, 60)
SHIFTS = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))
# How many training digits are looked at, and how many the picture shows.
LOOK_AT, SHOW = 40, 3


def load(seed=0):
    """Training and test digits with their labels, floats from 0 to 16."""
    digits = load_digits()
    images, test_images, labels, test_labels = train_test_split(
        digits.images[..., None].astype("float32"),
        digits.target.astype("int32"),
        train_size=TRAINING_DIGITS,
        stratify=digits.target,
        random_state=seed,
    )
    return (images, labels), (test_images, test_labels)


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


def make_model():
    model = make_network()
    rate = keras.optimizers.schedules.CosineDecay(RATE, STEPS)
    model.compile(
        keras.optimizers.Adam(rate),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        steps_per_execution=20,
    )
    return model


def training_groups(train, seed):
    """Batches of groups: the digit as it is and four turned views of it."""
    examples = tf.data.Dataset.from_tensor_slices(train)
    passes = STEPS // EPOCHS * GROUPS // TRAINING_DIGITS
    return keras_mmel.data.group_views(
        # Several passes an epoch: each one starts a pipeline.
        examples.repeat(passes),
        rotated.rotated_views(degrees=60.0, power=4.0, shift=1),
        NUM_VIEWS,
        GROUPS,
        seed=seed,
    )


def test_groups(test):
    """The test digits under every turn and shift."""
    examples = tf.data.Dataset.from_tensor_slices(test)
    functions = rotated.grid(ANGLES, SHIFTS)
    return keras_mmel.data.grid_views(examples, functions, 100).cache()


def look(train, seed=0):
    """What a hard model weighs most after half of the training, by group."""
    keras.utils.set_random_seed(seed)
    plain = make_model()
    mmel = keras_mmel.MMELModel(plain, METHODS["hard 1"])
    mmel.compile(plain.optimizer, plain.loss)
    groups = training_groups(train, seed)
    mmel.fit(groups, epochs=1, verbose=0)
    batches = list(groups.take(LOOK_AT // GROUPS))
    views = np.concatenate([x["views"] for x, _ in batches])
    labels = np.concatenate([y for _, y in batches])
    weights = mmel.view_weights({"views": views}, labels)
    # The least even group of each class, the least even classes.
    order = np.argsort(-weights.max(axis=1))
    _, first = np.unique(labels[order], return_index=True)
    chosen = order[np.sort(first)[:SHOW]]
    return {
        "after_steps": int(mmel.optimizer.iterations.numpy()),
        "out_of": len(labels),
        "pixels": np.round(views[chosen, ..., 0], 2),
        "labels": labels[chosen],
        "weights": np.round(weights[chosen], 4),
    }


def draw(record):
    """A record as a picture: weighted views, and worst-view accuracies."""
    found = Comparison(record["runs"], record["baseline"])
    seen = record["views"]
    figure = Figure((9, 3.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(3, 2))
    panels = left.subplots(len(seen["pixels"]), NUM_VIEWS, squeeze=False)
    for row, group in enumerate(seen["pixels"]):
        for column, pixels in enumerate(group):
            panel = panels[row, column]
            panel.imshow(np.array(pixels), cmap="gray_r", vmin=0, vmax=16)
            weight = seen["weights"][row][column]
            panel.set_title(f"{weight:.2f}", fontsize="small")
            panel.set_axis_off()
    left.suptitle("Views of three digits and their weights", fontsize="medium")
    panel = right.subplots()
    for place, method in enumerate(found.methods):
        values = found.values(method, "worst_accuracy") * 100
        panel.plot(values, [place] * len(values), "o", color="0.7", ms=4)
        panel.plot(values.mean(), place, "D", color="C0")
    panel.set_yticks(range(len(found.methods)), found.methods)
    panel.invert_yaxis()
    panel.set_xlabel("right under all 45 turns and shifts, %")
    return figure


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m examples.quickstart",
        description=__doc__.partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--seeds", type=int, default=5, help="runs of each method")
    add("--out", default="runs/quickstart", help="folder of what is written")
    args = parser.parse_args(argv)
    if args.seeds < 1:
        parser.error("--seeds must be at least 1")
    return args


def main(argv=None):
    args = parse_arguments(argv)
    out = pathlib.Path(args.out)
    start, cpu = time.perf_counter(), time.process_time()
    train, test = load()
    found = keras_mmel.compare(
        make_model,
        lambda seed: training_groups(train, seed),
        test_groups(test),
        METHODS,
        args.seeds,
        epochs=EPOCHS,
        records=out / "runs",
    )
    record = {
        "command": records.command_line(
            None if argv is None else [__file__, *argv]
        ),
        "method": "quickstart",
        "settings": found.runs[0]["settings"],
        "environment": records.environment(),
        "hours": (time.perf_counter() - start) / 3600,
        "cpu_seconds": time.process_time() - cpu,
        "baseline": found.baseline,
        "runs": [
            {key: run[key] for key in ("method", "seed", "scores", "log")}
            for run in found.runs
        ],
        "views": look(train),
    }
    records.write_record(out / "quickstart.json", record)
    draw(record).savefig(out / "quickstart.png", dpi=150)
    for row in found.table(SCORES):
        print("  ".join(cell.ljust(20) for cell in row).rstrip())
    print(f"In percent but for NLL; {args.seeds} seeds, paired t-tests.")
    print(f"Record and picture: {out}")


if __name__ == "__main__":
    main()
