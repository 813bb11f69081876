r"""P2, P3, P5 of docs/experiments.md: CIFAR-10 at 16x16 with few labels.

    python -m experiments.rotated_cifar p2 --data_dir DATA   # about 7 CPU-hours
    python -m experiments.rotated_cifar p3 --data_dir DATA   # about 2 CPU-hours
    python -m experiments.rotated_cifar p2 --more soft --data_dir DATA      # 1
    python -m experiments.rotated_cifar p2 --more ball --data_dir DATA      # 4
    python -m experiments.rotated_cifar p2 --more rest --data_dir DATA      # 8
    python -m experiments.rotated_cifar p5 --data_dir DATA   # 3; after the soft
                                                             # and the ball

First every method has its rate chosen on held-out training images, then all
seeds are trained with it; P5, P2 with wrong labels, has the rates of P2. With
`--more` there are only the methods that came later (P6), each kind in a record
of its own; with `--only` just those that it names, such as "ball 0.07" of P2
and `uniform "hard 1"` of P5, which the first questions are of. With `--rate`
there are `uniform`, `hard 1` and `plain` at that rate. The records under
experiments/results/evidence grow run by run, and what was stopped goes on from
them.
"""

import argparse
import functools

import keras
import numpy as np
import tensorflow as tf

import keras_mmel
from examples import cifar
from examples import quickstart
from experiments import balls
from experiments import evidence
from experiments import label_noise
from experiments import rivals
from experiments import rotated_digits

Hard = keras_mmel.objectives.Hard
VIEWS, GROUPS, HELD_OUT = 5, 20, 2000
RATES = (1e-3, 3e-3, 1e-2)
STEPS, EPOCH = {"p2": 10_000, "p3": 2000, "p5": 10_000}, 1000
WRONG = 20  # percent of the labels of P5
FIRST_SEED = 300
ANGLES = (-60, -45, -30, -15, 0, 15, 30, 45, 60)
SHIFTS = ((0, 0), (2, 0), (-2, 0), (0, 2), (0, -2))
P2 = {
    "uniform": "uniform",
    "hard 1": Hard(1.0),
    "hard 0.3": Hard(0.3),
    "maxup": Hard(0.0),
    "tilted": rivals.Tilted(1.0),
    "consistency": rivals.Consistency,
}
P2_ORIGINAL = {"uniform": "uniform", "hard 1": Hard(1.0), "soft": "soft"}
P3 = {"uniform": "uniform", "hard 1": Hard(1.0)}


def halved(images):
    """Means of 2x2 pixels."""
    n, height, width, channels = images.shape
    blocks = images.reshape(n, height // 2, 2, width // 2, 2, channels)
    return blocks.mean(axis=(2, 4)).astype("float32")


@functools.cache
def load(size, data_dir):
    """Training, held-out and test images, 16x16."""
    (images, labels), test = cifar.load("cifar10", data_dir)
    chosen = cifar.balanced_subset(images, labels, size + HELD_OUT)
    images, labels = halved(chosen[0]), chosen[1]
    rest = slice(size, None)
    return (
        (images[:size], labels[:size]),
        (images[rest], labels[rest]),
        (halved(test[0]), test[1]),
    )


def model_maker(rate, steps):
    """Makes compiled ResNet-8s."""

    def make_model():
        model = keras_mmel.models.cifar_resnet(
            8, 10, input_shape=(16, 16, 3), weight_decay=5e-4
        )
        schedule = keras.optimizers.schedules.CosineDecay(rate, steps)
        model.compile(
            keras.optimizers.Adam(schedule),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
            steps_per_execution=20,
        )
        return model

    return make_model


def standardize(images):
    mean, std = cifar.MEAN["cifar10"], cifar.STD["cifar10"]
    return (images - tf.constant(mean)) / tf.constant(std)


def groups_of(train, augment, steps, epochs, augment_original):
    """Batches of groups, from a seed; the steps are split into epochs."""
    count = steps // epochs * GROUPS

    def groups(seed):
        examples = tf.data.Dataset.from_tensor_slices(train).repeat()
        return keras_mmel.data.group_views(
            examples.take(count),
            augment,
            VIEWS,
            GROUPS,
            seed=seed,
            augment_original=augment_original,
            postprocess=standardize,
            num_parallel_calls=1,
            shuffle_buffer=len(train[0]),
        ).with_options(evidence.one_thread())

    return groups


def grid_of(examples, functions):
    images, labels = examples
    grid = keras_mmel.data.grid_views(
        tf.data.Dataset.from_tensor_slices((images, labels)), functions, 100
    )
    return grid.map(lambda x, y: ({"views": standardize(x["views"])}, y))


P5 = label_noise.METHODS | {"ball 0.07": balls.METHODS["ball 0.07"]}
del P5["ball 0.35"]


def later_methods(kind, is_p2):
    """The methods of P6 that P2 or P3 did not have.

    Args:
        kind: `"soft"`, `"ball"` or `"rest"`.
        is_p2: Whether they are those of P2.

    Returns:
        Objectives by name.
    """
    if kind == "soft":
        return rotated_digits.SOFT_4
    # Two of P2 are there by other names.
    earlier = [*P2, "tilted 1", "consistency 12"] if is_p2 else [*P3]
    return {
        name: objective
        for name, objective in balls.METHODS.items()
        if name not in earlier and name.startswith("ball") == (kind == "ball")
    }


def parts_of(options):
    """Each a name, methods, whether all views are drawn alike, and plain."""
    is_p2 = options.experiment == "p2"
    if options.experiment == "p5":
        soft = {**label_noise.WITH_ORIGINAL}
        return [("alike", P5, True, True), ("original", soft, False, False)]
    if options.more:
        return [
            (
                f"{'original' if kind == 'soft' else 'alike'}-{kind}",
                later_methods(kind, is_p2),
                kind != "soft",
                False,
            )
            for kind in options.more
        ]
    if is_p2 and not options.rate:
        original = ("original", P2_ORIGINAL, False, False)
        return [("alike", P2, True, True), original]
    return [("alike", P3, True, True)]


def with_wrong_labels(examples, share):
    """Images and labels, a share (in percent) of which is wrong, and which."""
    images, labels = examples
    rng = np.random.default_rng(2029)
    others = (labels + rng.integers(1, 10, len(labels))) % 10
    wrong = rng.permutation(len(labels)) < share * len(labels) // 100
    return (images, np.where(wrong, others, labels)), wrong


def run(options):
    is_p3, is_p5 = (options.experiment == name for name in ("p3", "p5"))
    size, steps = 1000 if is_p3 else 5000, STEPS[options.experiment]
    epochs = steps // EPOCH
    train, held_out, test = load(size, options.data_dir)
    augment = (
        keras_mmel.data.crop_and_flip(2)
        if is_p3
        else keras_mmel.data.turn_and_shift(60.0, 4.0, 1, flip=True)
    )
    functions = (
        quickstart.turns((0,), SHIFTS) if is_p3 else quickstart.turns(ANGLES)
    )
    chosen_by = "original_nll" if is_p3 else "mean_accuracy"
    scored_on = grid_of(test, functions)
    if is_p5:
        train, wrong = with_wrong_labels(train, WRONG)
        scored_on = {"test": scored_on}
        for name, chosen in (("right", ~wrong), ("wrong", wrong)):
            learned = train[0][chosen], train[1][chosen]
            scored_on[name] = grid_of(learned, functions)
    held_out_grid = grid_of(held_out, functions)
    for part, methods, augment_original, plain in parts_of(options):
        if options.only:
            methods = {k: v for k, v in methods.items() if k in options.only}
            plain = plain and "plain" in options.only
            if not methods:
                continue
        groups = groups_of(train, augment, steps, epochs, augment_original)
        name = f"cifar-{options.experiment}-{part}"
        if options.rate:
            rates = dict.fromkeys([*methods, "plain"], options.rate)
            name += f"-at-{options.rate:g}"
        elif is_p5:
            more = "ball" if augment_original else "soft"
            of_p2 = f"cifar-p2-{part}"
            rates = evidence.rates_of(f"{of_p2}-rates", f"{of_p2}-{more}-rates")
            rates["tilted 1"] = rates.get("tilted")
        else:
            rates = evidence.best_rates(
                f"{name}-rates",
                functools.partial(model_maker, steps=steps),
                groups,
                held_out_grid,
                methods,
                RATES,
                chosen_by,
                seed=FIRST_SEED - 1,
                epochs=epochs,
                plain=plain,
            )
        seeds = range(FIRST_SEED, FIRST_SEED + count_seeds(options))
        evidence.compare_at(
            name,
            functools.partial(model_maker, steps=steps),
            {
                method: rates[method]
                for method in [*methods, *["plain"] * plain]
            },
            groups,
            scored_on,
            methods,
            seeds,
            # In P3 plain training has the first ten seeds.
            plain_seeds=seeds[:10] if plain else [],
            epochs=epochs,
        )


def count_seeds(options):
    return options.seeds or {"p2": 10, "p3": 45, "p5": 5}[options.experiment]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("experiment", choices=[*STEPS])
    parser.add_argument("--data_dir", help="TFDS data; downloads without")
    parser.add_argument("--rate", type=float, help="of three methods, untuned")
    parser.add_argument(
        "--more", nargs="+", choices=("soft", "ball", "rest"), help="later ones"
    )
    parser.add_argument("--only", nargs="+", help="methods that go first")
    parser.add_argument("--seeds", type=int, help="fewer, for a look")
    run(parser.parse_args())


if __name__ == "__main__":
    evidence.single_threaded()
    main()
