r"""P1 of docs/experiments.md: digits, uneven views, few labels.

    python -m experiments.rotated_digits            # about 1 CPU-hour
    python -m experiments.rotated_digits --power 4 --seeds 2   # a look
    python -m experiments.rotated_digits --power 1 --more      # 3 minutes

Two comparisons for each power of the angle: all views drawn alike, for the
objectives that need no original; and groups that begin with the original, for
the soft objective. With `--more` there is only what came later, soft with
`lambda_t` 4, in a record of its own. The records under
experiments/results/evidence grow run by run, and what was stopped goes on from
them.
"""

import argparse

import keras
import numpy as np
import sklearn.datasets
import tensorflow as tf

import keras_mmel
from examples import quickstart
from experiments import evidence
from experiments import rivals

Hard = keras_mmel.objectives.Hard
TRAINING, VIEWS, GROUPS, STEPS, EPOCHS = 200, 5, 4, 4000, 4
RATE = 2e-3
ANGLES = (-60, -45, -30, -15, 0, 15, 30, 45, 60)
SHIFTS = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))
FIRST_SEED = 200
METHODS = {
    "uniform": "uniform",
    "hard 3": Hard(3.0),
    "hard 1": Hard(1.0),
    "hard 0.3": Hard(0.3),
    "hard 0.1": Hard(0.1),
    "maxup": Hard(0.0),
    "tilted": rivals.Tilted(1.0),
    "consistency": rivals.Consistency,
}
WITH_ORIGINAL = {"uniform": "uniform", "hard 1": Hard(1.0), "soft": "soft"}
SOFT_4 = {"soft, lambda_t 4": keras_mmel.objectives.Soft(lambda_t=4.0)}


def load(draw=2027):
    """Training digits, 20 of each class, and all others.

    Args:
        draw: Seed of the draw, a number or a list of them.

    Returns:
        Images and labels to train with, and the same to test with.
    """
    digits = sklearn.datasets.load_digits()
    images = digits.images[..., None].astype("float32")
    labels = digits.target.astype("int32")
    order = np.random.default_rng(draw).permutation(len(labels))
    each = TRAINING // 10
    chosen = [order[labels[order] == digit][:each] for digit in range(10)]
    train = np.concatenate(chosen)
    test = np.setdiff1d(order, train)
    return (images[train], labels[train]), (images[test], labels[test])


def make_model():
    """A small convolutional network, compiled."""
    model = quickstart.make_network()
    model.compile(
        keras.optimizers.Adam(
            keras.optimizers.schedules.CosineDecay(RATE, STEPS)
        ),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        steps_per_execution=20,
    )
    return model


def groups_of(train, power, augment_original):
    """Batches of groups, from a seed: a quarter of all steps an epoch."""
    passes = STEPS * GROUPS // TRAINING // EPOCHS

    def groups(seed):
        examples = tf.data.Dataset.from_tensor_slices(train)
        return keras_mmel.data.group_views(
            examples.repeat(passes),
            keras_mmel.data.turn_and_shift(60.0, power, shift=1),
            VIEWS,
            GROUPS,
            seed=seed,
            augment_original=augment_original,
            num_parallel_calls=1,
        ).with_options(evidence.one_thread())

    return groups


def grid_of(examples, batch_size=100):
    """Groups of examples under every angle and shift of the test grid."""
    return keras_mmel.data.grid_views(
        tf.data.Dataset.from_tensor_slices(examples),
        quickstart.turns(ANGLES, SHIFTS),
        batch_size=batch_size,
    ).cache()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--power", type=int, nargs="+", default=[4, 1])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--more", action="store_true", help="the later one")
    options = parser.parse_args()
    train, test = load()
    grid = grid_of(test)
    parts = [("alike", METHODS, True), ("original", WITH_ORIGINAL, False)]
    if options.more:
        parts = [("original-soft", SOFT_4, False)]
    for power in options.power:
        for name, methods, augment_original in parts:
            evidence.compare(
                f"digits-u{power}-{name}",
                make_model,
                groups_of(train, power, augment_original),
                grid,
                methods,
                range(FIRST_SEED, FIRST_SEED + options.seeds),
                epochs=EPOCHS,
                plain=augment_original,
            )


if __name__ == "__main__":
    evidence.single_threaded()
    main()
