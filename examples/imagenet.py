r"""ResNet-18, 34 or 50 on ImageNet: table 5 of the paper.

With `keras-mmel[datasets]`, two minutes on two CPU cores, to see that it works
(it learns nothing in it):

    python imagenet.py --dataset imagenette/160px-v2 --epochs 2 \
        --num_views 2 --batch_size 16 --image_size 64 --limit 200

The paper's: 100 epochs of TFDS imagenet2012, 10 views, batches of 256 images,
days on eight GPUs. Expected: it has 70.48 % for this one in its table 5:

    python imagenet.py --method mmel-h --depth 18 --replicas 8

TFDS cannot download ImageNet: prepare it as TFDS says, and name the folder with
--data_dir. Methods: `da` (one augmented view), `uniform`, `mmel-h`, `mmel-s`.
Images are scaled to the size (the shorter side) and cut to a square, which is
view 0; other views are random crops of it, 8 to 100 % of its area, scaled back,
and flips.
"""

import argparse
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

import keras_mmel

METHODS = ("da", "uniform", "mmel-h", "mmel-s")
NETWORKS = {
    18: keras_mmel.models.resnet18,
    34: keras_mmel.models.resnet34,
    50: keras_mmel.models.resnet50,
}
MEAN = (123.675, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)
MOMENTUM = 0.9
# The rate falls by the factor at these parts of the run: at 30, 60 and 90
# epochs of 100.
DROPS, DROP_FACTOR = (0.3, 0.6, 0.9), 0.2


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--dataset", default="imagenet2012", help="a TFDS name")
    add("--method", choices=METHODS, default="mmel-h")
    add("--depth", type=int, choices=sorted(NETWORKS), default=18)
    add("--epochs", type=int, default=100)
    add("--batch_size", type=int, default=256, help="images, not views")
    add("--num_views", type=int, default=10, help="the original included")
    add("--image_size", type=int, default=224)
    add("--lambda_p", type=float, default=1.0, help="from 0 to inf")
    add("--lambda_t", type=float, default=1.0)
    add("--learning_rate", type=float, default=0.1)
    add("--weight_decay", type=float, default=5e-4)
    add("--seed", type=int, default=0)
    add("--limit", type=int, help="number of training images")
    add("--replicas", type=int, default=1, help="GPUs to train on")
    add("--data_dir", help="TFDS folder that has the data; else download")
    out = pathlib.Path("runs/imagenet.keras")
    add("--out", type=pathlib.Path, default=out, help="the trained model")
    args = parser.parse_args(argv)
    if args.batch_size % args.replicas:
        parser.error("--batch_size must be a multiple of --replicas")
    return args


def to_square(image, size):
    """The middle of `image`, its shorter side scaled to `size`; uint8."""
    shape = tf.shape(image)[:2]
    factor = size / tf.reduce_min(shape)
    scaled = tf.cast(
        tf.math.ceil(tf.cast(shape, tf.float64) * factor), tf.int32
    )
    image = tf.image.resize(image, scaled, antialias=True)
    image = tf.image.resize_with_crop_or_pad(image, size, size)
    return tf.cast(tf.clip_by_value(tf.round(image), 0, 255), tf.uint8)


def crop_and_scale(image, seed):
    """A random part of a square image, scaled to its size, perhaps flipped."""
    size = image.shape[0]
    begin, extent, _ = tf.image.stateless_sample_distorted_bounding_box(
        tf.shape(image),
        tf.constant([[[0.0, 0.0, 1.0, 1.0]]]),
        seed,
        min_object_covered=0.0,
        area_range=(0.08, 1.0),
        aspect_ratio_range=(3 / 4, 4 / 3),
    )
    view = tf.image.resize(
        tf.slice(image, begin, extent), (size, size), antialias=True
    )
    view = tf.cast(tf.clip_by_value(tf.round(view), 0, 255), image.dtype)
    view = tf.image.stateless_random_flip_left_right(view, seed + [0, 1])
    return tf.ensure_shape(view, image.shape)


def load(args, split, limit=None):
    """Examples (square image, label), their number and that of classes."""
    import tensorflow_datasets as tfds

    if limit:
        split = f"{split}[:{limit}]"
    examples, info = tfds.load(
        args.dataset,
        split=split,
        data_dir=args.data_dir,
        download=args.data_dir is None,
        as_supervised=True,
        with_info=True,
        read_config=tfds.ReadConfig(interleave_cycle_length=1),
    )
    examples = examples.map(
        lambda image, label: (to_square(image, args.image_size), label),
        num_parallel_calls=tf.data.AUTOTUNE,
    )
    classes = info.features["label"].num_classes
    return examples, info.splits[split].num_examples, classes


def make_network(depth, num_classes, image_size, weight_decay):
    """A plain model: raw square images in, logits out."""
    shape = (image_size, image_size, 3)
    inputs = keras.Input(shape, dtype="uint8", name="images")
    x = keras.layers.Normalization(
        mean=MEAN, variance=np.square(STD), dtype="float32"
    )(inputs)
    outputs = NETWORKS[depth](
        num_classes, input_shape=shape, weight_decay=weight_decay
    )(x)
    return keras.Model(inputs, outputs)


def make_model(args, num_classes, steps):
    """The plain model, and what is fitted: MMEL around it but for `da`."""
    network = make_network(
        args.depth, num_classes, args.image_size, args.weight_decay
    )
    objectives = {
        "uniform": "uniform",
        "mmel-h": keras_mmel.objectives.Hard(args.lambda_p),
        "mmel-s": keras_mmel.objectives.Soft(args.lambda_p, args.lambda_t),
    }
    model = network
    if args.method != "da":
        model = keras_mmel.MMELModel(network, objectives[args.method])
    rate = keras.optimizers.schedules.PiecewiseConstantDecay(
        # Keras drops the rate after the step of this number.
        [round(drop * steps) - 1 for drop in DROPS],
        [args.learning_rate * DROP_FACTOR**i for i in range(len(DROPS) + 1)],
    )
    model.compile(
        keras.optimizers.SGD(rate, momentum=MOMENTUM),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return network, model


def training_data(args, examples):
    """Batches of groups of random crops and flips; of single views for `da`."""
    single = args.method == "da"
    groups = keras_mmel.data.group_views(
        examples,
        keras_mmel.data.per_view(crop_and_scale),
        1 if single else args.num_views,
        args.batch_size,
        seed=args.seed,
        augment_original=single,
        shuffle_buffer=10_000,
    )
    if single:
        return groups.map(lambda x, y: (x["views"][:, 0], y))
    return groups


def main(argv=None):
    args = parse_arguments(argv)
    strategy = tf.distribute.get_strategy()
    if args.replicas > 1:
        devices = [f"GPU:{i}" for i in range(args.replicas)]
        strategy = tf.distribute.MirroredStrategy(devices)
    examples, size, num_classes = load(args, "train", args.limit)
    tests, _, _ = load(args, "validation")
    keras.utils.set_random_seed(args.seed)
    with strategy.scope():
        steps = args.epochs * (size // args.batch_size)
        network, model = make_model(args, num_classes, steps)
    log = model.fit(
        training_data(args, examples),
        epochs=args.epochs,
        validation_data=tests.batch(64).prefetch(2),
        # The data are shuffled; plain Keras would warn that it does not.
        shuffle=False,
        verbose=2,
    )
    print(f"accuracy {log.history['val_accuracy'][-1]:.4f}")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    network.save(args.out)


if __name__ == "__main__":
    main()
