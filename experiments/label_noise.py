r"""P5 of docs/experiments.md on digits: wrong labels in training.

    python -m experiments.label_noise            # about 1 CPU-hour
    python -m experiments.label_noise --trial    # one seed, which counts not

The setting of P1 with uneven views; every seed has a draw of digits of its own,
of which 0, 10, 20 or 40 % get a wrong label. The records under
experiments/results/evidence grow run by run, and what was stopped goes on from
them.
"""

import argparse

import numpy as np

import keras_mmel
from experiments import evidence
from experiments import rivals
from experiments import rotated_digits

Hard = keras_mmel.objectives.Hard
# In percent; the first two for all seeds, then the others.
SHARES = ((0, 20), (10, 40))
FIRST_SEED, SEEDS = 500, 10
METHODS = {
    "uniform": "uniform",
    "hard 1": Hard(1.0),
    "hard 0.3": Hard(0.3),
    "ball 0.35": keras_mmel.objectives.KLBall(0.35),
    "tilted 1": rivals.Tilted(1.0),
}
WITH_ORIGINAL = {
    "uniform": "uniform",
    "soft": "soft",
    "soft, lambda_t 4": keras_mmel.objectives.Soft(lambda_t=4.0),
}


def draw(seed, share):
    """The digits of a seed, some of them with a wrong label.

    Args:
        seed: Of the digits and of the wrong labels. The digits that are wrong
            at a smaller share are so at a larger one, with the same label.
        share: How many of the training labels are wrong, in percent.

    Returns:
        Images and labels to train with, which of these are wrong, and images
        and labels to test with.
    """
    (images, labels), test = rotated_digits.load([2028, seed])
    rng = np.random.default_rng([2029, seed])
    order = rng.permutation(len(labels))
    others = (labels + rng.integers(1, 10, len(labels))) % 10
    wrong = np.zeros(len(labels), bool)
    wrong[order[: share * len(labels) // 100]] = True
    labels = np.where(wrong, others, labels).astype(labels.dtype)
    return (images, labels), wrong, test


def run(name, methods, share, seed, augment_original=True, power=4):
    """All runs of a seed that the record has not.

    Args:
        name: Of the record.
        methods: Objectives by name; with all views drawn alike, also `plain`
            where `uniform` is among them.
        share: Of the wrong labels, in percent.
        seed: Of the digits, the wrong labels, the weights and the views.
        augment_original: Whether all views are drawn alike.
        power: Of the angle: 4 for uneven views, 1 for even ones.
    """
    (images, labels), wrong, test = draw(seed, share)
    parts = {"test": rotated_digits.grid_of(test)}
    for part, chosen in (("right", ~wrong), ("wrong", wrong)):
        # Whether labels are learned, the wrong ones as such.
        if share and chosen.any():
            part_of_training = images[chosen], labels[chosen]
            parts[part] = rotated_digits.grid_of(part_of_training, 20)
    evidence.compare(
        name,
        rotated_digits.make_model,
        rotated_digits.groups_of((images, labels), power, augment_original),
        parts,
        methods,
        [seed],
        epochs=rotated_digits.EPOCHS,
        plain=augment_original and "uniform" in methods,
    )


def options_of(description):
    """The options that the experiments on digits share."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, help="fewer, for a look")
    parser.add_argument("--trial", action="store_true", help="another seed")
    return parser.parse_args()


def seeds_of(options, first, count):
    """Those that the options ask for; one for a trial, kept apart."""
    if options.trial:
        evidence.RESULTS = evidence.TRIAL
        return [first - 1]
    return range(first, first + min(options.seeds or count, count))


def main():
    options = options_of(__doc__)
    for shares in SHARES:
        for seed in seeds_of(options, FIRST_SEED, SEEDS):
            for share in shares:
                name = f"digits-noise{share}"
                run(f"{name}-alike", METHODS, share, seed)
                run(f"{name}-original", WITH_ORIGINAL, share, seed, False)


if __name__ == "__main__":
    evidence.single_threaded()
    main()
