r"""P2 and P3 of docs/experiments.md: CIFAR-10 at 16x16 with few labels.

    python -m experiments.rotated_cifar p2 --data_dir DATA   # about 7 CPU-hours
    python -m experiments.rotated_cifar p3 --data_dir DATA   # about 2 CPU-hours

First every method has its rate chosen on held-out training images, then all
seeds are trained with it. With `--rate` there are `uniform`, `hard 1` and
`plain` at that rate. Finished runs are kept in `runs/`.
"""

import argparse
import functools

import keras
import tensorflow as tf

import keras_mmel
from examples import cifar
from examples import quickstart
from experiments import evidence
from experiments import rivals

Hard = keras_mmel.objectives.Hard
VIEWS, GROUPS, HELD_OUT = 5, 20, 2000
RATES = (1e-3, 3e-3, 1e-2)
STEPS, EPOCH = {"p2": 10_000, "p3": 2000}, 1000
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


def run(options):
    is_p2 = options.experiment == "p2"
    size, steps = 5000 if is_p2 else 1000, STEPS[options.experiment]
    epochs = steps // EPOCH
    train, held_out, test = load(size, options.data_dir)
    augment = (
        keras_mmel.data.turn_and_shift(60.0, 4.0, 1, flip=True)
        if is_p2
        else keras_mmel.data.crop_and_flip(2)
    )
    functions = (
        quickstart.turns(ANGLES) if is_p2 else quickstart.turns((0,), SHIFTS)
    )
    chosen_by = "mean_accuracy" if is_p2 else "original_nll"
    test_grid = grid_of(test, functions)
    held_out_grid = grid_of(held_out, functions)
    all_of_p2 = is_p2 and not options.rate
    parts = [("alike", P2 if all_of_p2 else P3, True)]
    if all_of_p2:
        parts.append(("original", P2_ORIGINAL, False))
    for part, methods, augment_original in parts:
        groups = groups_of(train, augment, steps, epochs, augment_original)
        name = f"cifar-{options.experiment}-{part}"
        if options.rate:
            rates = dict.fromkeys([*methods, "plain"], options.rate)
            name += f"-at-{options.rate:g}"
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
                plain=augment_original,
            )
        count = options.seeds or (10 if is_p2 else 45)
        seeds = range(FIRST_SEED, FIRST_SEED + count)
        evidence.compare_at(
            name,
            functools.partial(model_maker, steps=steps),
            rates,
            groups,
            test_grid,
            methods,
            seeds,
            epochs=epochs,
            # In P3 plain training has the first ten seeds.
            plain_seeds=seeds[:10] if augment_original else [],
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("experiment", choices=("p2", "p3"))
    parser.add_argument("--data_dir", help="TFDS data; downloads without")
    parser.add_argument("--rate", type=float, help="of three methods, untuned")
    parser.add_argument("--seeds", type=int, help="fewer, for a look")
    run(parser.parse_args())


if __name__ == "__main__":
    evidence.single_threaded()
    main()
