"""ResNet-18, 34 and 50 on ImageNet: the paper's table 5.

    python -m examples.imagenet --method mmel-h --depth 18 --replicas 8

100 epochs of TFDS imagenet2012, 10 views, batches of 256 images; meant for
GPUs. TFDS cannot download ImageNet: prepare it as TFDS says, and name the
folder with --data_dir. Two minutes on two CPU cores, to see that it works:

    python -m examples.imagenet --dataset imagenette/160px-v2 --epochs 2 \
        --num_views 2 --batch_size 16 --image_size 64 --limit 200

Methods: `da` (one augmented view), `uniform`, `mmel-h`, `mmel-s`. Images are
scaled to the size (the shorter side) and cut to a square, which is view 0;
other views are random crops of it, 8 to 100 % of its area, scaled back, and
flips. Where the paper is silent, --augment_original, --fixed_views and
--soft_gradient choose otherwise than by default (docs/choices.md). A run that
was killed goes on at the last whole epoch when the same command is given again,
and leaves a record under --out.
"""

import argparse
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

import keras_mmel
from examples import cifar
from examples import cifar_model
from examples import image_groups
from examples import options
from examples import records
from examples import speed
from examples.progress import Progress

METHODS = ("da", "uniform", "mmel-h", "mmel-s")
NETWORKS = {
    18: keras_mmel.models.resnet18,
    34: keras_mmel.models.resnet34,
    50: keras_mmel.models.resnet50,
}
# Of the epochs: at 30, 60 and 90 of 100.
DROPS = (0.3, 0.6, 0.9)
MEAN = (123.675, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)
TRAINING_IMAGES = 1_281_167


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m examples.imagenet",
        description=__doc__.partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--method", choices=METHODS, default="mmel-h")
    add("--depth", type=int, choices=sorted(NETWORKS), default=18)
    add("--dataset", default="imagenet2012", help="a TFDS name")
    add("--data_dir", help="TFDS folder that has the data")
    add("--seeds", nargs="+", type=int, default=[0])
    add("--epochs", type=int, default=100)
    add("--batch_size", type=int, default=256, help="images, not views")
    add("--num_views", type=int, default=10, help="the original included")
    add("--image_size", type=int, default=224)
    add("--limit", type=int, help="number of training images")
    options.add_objective(parser)
    options.add_image_training(parser)
    options.add_image_choices(parser)
    options.add_replicas(parser)
    options.add_places(parser, "imagenet")
    args = parser.parse_args(argv)
    counts = ("epochs", "batch_size", "num_views", "replicas")
    options.check_positive(parser, args, counts)
    options.check_replicas(parser, args)
    options.check_image_choices(parser, args, [args.method])
    return args


def run_settings(args, seed):
    """Everything that the result of one run depends on."""
    names = ("dataset", "method", "depth", "epochs", "batch_size", "limit")
    names += ("image_size", "learning_rate", "weight_decay", "replicas")
    settings = {name: getattr(args, name) for name in names}
    mmel = args.method.startswith("mmel")
    settings |= {
        "seed": seed,
        "num_views": 1 if args.method == "da" else args.num_views,
        "lambda_p": args.lambda_p if mmel else None,
        "lambda_t": args.lambda_t if args.method == "mmel-s" else None,
        "momentum": cifar_model.MOMENTUM,
        "drops": list(DROPS),
        "drop_factor": cifar_model.DROP_FACTOR,
        "mixed_precision": args.mixed_precision,
    }
    return settings | options.chosen(args, settings)


def run_name(settings):
    name = "resnet{depth}-{method}-seed{seed}".format(**settings)
    return f"{name}-{options.digest(settings)}"


def record_path(argv):
    """Where the record of one run goes; `argv` names one seed."""
    args = parse_arguments(argv)
    (seed,) = args.seeds
    return pathlib.Path(args.out) / f"{run_name(run_settings(args, seed))}.json"


def work(argv):
    """What kind of work one run is, and how many views it takes."""
    args = parse_arguments(argv)
    (seed,) = args.seeds
    settings = run_settings(args, seed)
    images = settings["limit"] or TRAINING_IMAGES
    views = images * settings["num_views"] * settings["epochs"]
    size = settings["image_size"]
    return f"views of {size} x {size} of ResNet-{settings['depth']}", views


def measure(kind):
    """Views a second of training `kind`, from a few steps of 8."""
    words = kind.split()
    depth, size = words[-1].rpartition("-")[2], words[2]
    args = parse_arguments(["--depth", depth, "--image_size", size])
    settings = run_settings(args, 0) | {"method": "da"}
    model = build_model(settings, num_classes=1000, steps_per_epoch=10)
    images = np.zeros((8, int(size), int(size), 3), "uint8")
    return speed.examples_per_second(model, images, np.zeros(8, int))


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
    part = tf.image.resize(
        tf.slice(image, begin, extent), (size, size), antialias=True
    )
    part = tf.cast(tf.clip_by_value(tf.round(part), 0, 255), image.dtype)
    part = tf.image.stateless_random_flip_left_right(part, seed + [0, 1])
    return tf.ensure_shape(part, image.shape)


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


def training_data(settings, examples, initial_epoch):
    """Groups of views, or single augmented views for the baseline."""
    return image_groups.training_data(
        settings,
        examples,
        keras_mmel.data.per_view(crop_and_scale),
        initial_epoch,
        shuffle_buffer=10_000,
    )


def build_model(settings, num_classes, steps_per_epoch):
    """The model to train, compiled: raw square images in, logits out."""
    size = settings["image_size"]
    inputs = keras.Input((size, size, 3), dtype="uint8", name="images")
    x = keras.layers.Normalization(
        mean=MEAN, variance=np.square(STD), dtype="float32"
    )(inputs)
    outputs = NETWORKS[settings["depth"]](
        num_classes,
        input_shape=(size, size, 3),
        weight_decay=settings["weight_decay"],
    )(x)
    model = cifar_model.wrap(keras.Model(inputs, outputs), settings)
    cifar_model.compile_model(
        model, settings, cifar_model.schedule(settings, steps_per_epoch)
    )
    return model


def train(settings, args):
    """Train by `settings`; return the progress and the number of images."""
    keras.utils.clear_session()
    keras.utils.set_random_seed(settings["seed"])
    keras.config.set_dtype_policy(settings["mixed_precision"] or "float32")
    examples, size, classes = load(args, "train", args.limit)
    tests, _, _ = load(args, "validation")
    steps = size // settings["batch_size"]
    if not steps:
        raise ValueError(
            "The batch size must be at most the number of training images. "
            f"Received: batch_size={settings['batch_size']} for {size} images"
        )
    work_dir = pathlib.Path(args.work_dir)
    progress = Progress(work_dir / f"{run_name(settings)}.npz")
    with cifar.set_up_devices(args.replicas, args.threads).scope():
        model = build_model(settings, classes, steps)
        progress.restore(model)
    if progress.epoch:
        print(f"  continues after epoch {progress.epoch}", flush=True)
    model.fit(
        training_data(settings, examples, progress.epoch),
        epochs=settings["epochs"],
        initial_epoch=progress.epoch,
        validation_data=tests.batch(64).prefetch(2),
        callbacks=[progress],
        shuffle=False,
        verbose=1 if sys.stdout.isatty() else 2,
    )
    return progress, steps * settings["batch_size"]


def main(argv=None):
    args = parse_arguments(argv)
    words = sys.argv[1:] if argv is None else argv
    command = records.command_line([__file__, *words])
    for seed in args.seeds:
        settings = run_settings(args, seed)
        path = pathlib.Path(args.out) / f"{run_name(settings)}.json"
        if records.is_recorded(path):
            print(f"{path.stem}: finished before", flush=True)
            continue
        print(path.stem, flush=True)
        progress, images = train(settings, args)
        views = images * settings["epochs"] * settings["num_views"]
        scores = {
            "accuracy": progress.curves["val_accuracy"][-1],
            "nll": progress.curves["val_nll"][-1],
            "seconds": progress.seconds,
            "examples_per_second": views
            / settings["num_views"]
            / progress.seconds,
            "views_per_second": views / progress.seconds,
            "peak_memory_mb": records.peak_memory_mb(),
        }
        record = progress.record(command, settings, scores)
        records.write_record(path, record)
        progress.path.unlink()
        print(f"  accuracy {scores['accuracy']:.4f}", flush=True)


if __name__ == "__main__":
    main()
