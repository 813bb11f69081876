r"""A ResNet on CIFAR-10 or CIFAR-100: section 4.1 of the paper.

With `keras-mmel[datasets]`, one minute on two CPU cores, to see that it works
(it learns little in it):

    python cifar.py --limit 200 --test_limit 200 --epochs 1 --depth 8 \
        --batch_size 50 --num_views 3

Ten minutes on two cores, with 100 images of each class. Expected accuracy, from
the three seeds of the same command: 0.531 (`uniform` 0.538, `mmel-s` 0.542,
`da` 0.513):

    python cifar.py --limit 1000 --epochs 60 --depth 8 --batch_size 50 \
        --num_views 5

The paper's, three hours on a V100; it has 93.16 % in its table 1:

    python cifar.py

Methods:

    da       one augmented view of each image, without MMEL
    uniform  `num_views` views of each image, all of the same weight
    mmel-h   the views weighted by their losses (hard)
    mmel-s   the same against the prediction for the original (soft); the paper
             picks --lambda_t from 0.5, 1 and 2

The model that is saved is plain Keras: raw images in, logits out.
"""

import argparse
import hashlib
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np

import keras_mmel

METHODS = ("da", "uniform", "mmel-h", "mmel-s")
CLASSES = {"cifar10": 10, "cifar100": 100}
# Of the training images, per channel, in units of pixel values.
MEAN = {
    "cifar10": (125.307, 122.950, 113.865),
    "cifar100": (129.304, 124.070, 112.434),
}
STD = {
    "cifar10": (62.993, 62.089, 66.705),
    "cifar100": (68.170, 65.392, 70.418),
}
MOMENTUM = 0.9
# The rate falls by the factor at these parts of the run: at 60, 120 and 160
# epochs of 200.
DROPS, DROP_FACTOR = (0.3, 0.6, 0.8), 0.2


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--dataset", choices=CLASSES, default="cifar10")
    add("--method", choices=METHODS, default="mmel-h")
    add("--depth", type=int, default=20, help="6n + 2")
    add("--epochs", type=int, default=200)
    add("--batch_size", type=int, default=128, help="images, not views")
    add("--num_views", type=int, default=10, help="the original included")
    add("--lambda_p", type=float, default=1.0, help="from 0 to inf")
    add("--lambda_t", type=float, default=1.0)
    add("--learning_rate", type=float, default=0.1)
    add("--weight_decay", type=float, default=5e-4)
    add("--seed", type=int, default=0)
    add("--limit", type=int, help="number of training images")
    add("--test_limit", type=int, help="number of test images")
    add("--data_dir", help="TFDS folder that has the data; else download")
    out = pathlib.Path("runs/cifar.keras")
    add("--out", type=pathlib.Path, default=out, help="the trained model")
    return parser.parse_args(argv)


def load(dataset, data_dir=None):
    """Training and test set as (images, labels), uint8 and int64 arrays."""
    import tensorflow_datasets as tfds

    sets = tfds.load(
        dataset,
        split=["train", "test"],
        data_dir=data_dir,
        download=data_dir is None,
        batch_size=-1,
        as_supervised=True,
    )
    return tuple(tfds.as_numpy(sets))


def balanced_subset(images, labels, size):
    """The same `size` examples wherever they stand in the data set.

    Class by class, those whose pixels have the smallest hash. Classes differ
    by one example at most.
    """
    if size is None:
        return images, labels
    hashes = [hashlib.sha256(image.tobytes()).hexdigest() for image in images]
    order = np.argsort(hashes, kind="stable")
    by_class = [order[labels[order] == c] for c in np.unique(labels)]
    share, rest = divmod(size, len(by_class))
    chosen = np.concatenate(
        [members[: share + (i < rest)] for i, members in enumerate(by_class)]
    )
    if len(chosen) < size:
        raise ValueError(
            "The limit must leave every class with enough examples. "
            f"Received: {size} of {len(images)}"
        )
    # Sorted by class, a small shuffle buffer would give one-class batches.
    chosen = chosen[np.argsort(np.argsort(order)[chosen])]
    return images[chosen], labels[chosen]


def make_network(dataset, depth, weight_decay):
    """A plain model: raw images in, logits out."""
    inputs = keras.Input((32, 32, 3), dtype="uint8", name="images")
    # Inside the model, so that views stay uint8 and the saved model takes
    # images as they are.
    x = keras.layers.Normalization(
        mean=MEAN[dataset],
        variance=np.square(STD[dataset]),
        dtype="float32",
        name="normalization",
    )(inputs)
    outputs = keras_mmel.models.cifar_resnet(
        depth, CLASSES[dataset], weight_decay=weight_decay
    )(x)
    return keras.Model(inputs, outputs)


def wrap(model, args):
    """The model that is fitted: `model` itself, or MMEL around it."""
    if args.method == "da":
        return model
    objective = "uniform"
    if args.method == "mmel-h":
        objective = keras_mmel.objectives.Hard(args.lambda_p)
    elif args.method == "mmel-s":
        objective = keras_mmel.objectives.Soft(args.lambda_p, args.lambda_t)
    return keras_mmel.MMELModel(model, objective)


def schedule(learning_rate, steps):
    """The rate of each step, down at parts of the run."""
    return keras.optimizers.schedules.PiecewiseConstantDecay(
        # Keras drops the rate after the step of this number.
        [round(drop * steps) - 1 for drop in DROPS],
        [learning_rate * DROP_FACTOR**i for i in range(len(DROPS) + 1)],
    )


def compile_model(model, rate, momentum=MOMENTUM):
    """SGD with momentum, and the scores that are watched."""
    model.compile(
        keras.optimizers.SGD(rate, momentum=momentum),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[
            keras.metrics.SparseCategoricalAccuracy(name="accuracy"),
            # `loss` has the weight decay in it, this has not.
            keras.metrics.SparseCategoricalCrossentropy(
                name="nll", from_logits=True
            ),
        ],
    )


def training_data(args, train_set):
    """Batches of groups of random crops and flips; of single views for `da`."""
    import tensorflow as tf

    single = args.method == "da"
    groups = keras_mmel.data.group_views(
        tf.data.Dataset.from_tensor_slices(train_set),
        keras_mmel.data.crop_and_flip(padding=4),
        1 if single else args.num_views,
        args.batch_size,
        seed=args.seed,
        augment_original=single,
    )
    if single:
        return groups.map(lambda x, y: (x["views"][:, 0], y))
    return groups


def main(argv=None):
    args = parse_arguments(argv)
    train_set, test_set = load(args.dataset, args.data_dir)
    train_set = balanced_subset(*train_set, args.limit)
    test_set = balanced_subset(*test_set, args.test_limit)
    keras.utils.set_random_seed(args.seed)
    network = make_network(args.dataset, args.depth, args.weight_decay)
    model = wrap(network, args)
    steps = args.epochs * (len(train_set[0]) // args.batch_size)
    compile_model(model, schedule(args.learning_rate, steps))
    data = training_data(args, train_set)
    # The data are shuffled; plain Keras would warn that it does not.
    model.fit(data, epochs=args.epochs, shuffle=False, verbose=2)
    scores = model.evaluate(
        *test_set, batch_size=250, verbose=0, return_dict=True
    )
    print(f"accuracy {scores['accuracy']:.4f}  nll {scores['nll']:.4f}")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    network.save(args.out)


if __name__ == "__main__":
    main()
