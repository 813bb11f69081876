r"""ResNet-18, 34 and 50 on ImageNet: the runs of the paper's table 5.

`examples/imagenet.py` is one training; this makes several, each with a record.
Two minutes on two CPU cores, to see that it works (it learns nothing in it):

    python -m experiments.training.imagenet --dataset imagenette/160px-v2 \
        --epochs 2 --num_views 2 --batch_size 16 --image_size 64 --limit 200

The paper's: 100 epochs of TFDS imagenet2012, 10 views, batches of 256 images,
days on eight GPUs; it has 70.48 % for this one in its table 5:

    python -m experiments.training.imagenet --method mmel-h --replicas 8

TFDS cannot download ImageNet: prepare it as TFDS says, and name the folder with
--data_dir. Methods: `da` (one augmented view), `uniform`, `mmel-h`, `mmel-s`.
Images are scaled to the size (the shorter side) and cut to a square, which is
view 0; other views are random crops of it, 8 to 100 % of its area, scaled back,
and flips. Where the paper is silent, --augment_original, --fixed_views and
--soft_gradient choose otherwise than by default (docs/choices.md). The same
command continues a run that was stopped, and skips one that has its record.
"""

import argparse
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras_mmel
from examples import imagenet as recipe
from experiments import records
from experiments.training import images
from experiments.training import runs


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m experiments.training.imagenet",
        description=__doc__.partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--method", choices=recipe.METHODS, default="mmel-h")
    add("--depth", type=int, choices=sorted(recipe.NETWORKS), default=18)
    add("--dataset", default="imagenet2012", help="a TFDS name")
    add("--epochs", type=int, default=100)
    add("--batch_size", type=int, default=256, help="images, not views")
    add("--image_size", type=int, default=224)
    images.add_options(parser, "imagenet")
    args = parser.parse_args(argv)
    images.check_options(parser, args, [args.method])
    return args


def run_settings(args, seed):
    """Everything that the result of one run depends on."""
    return images.settings_of(args, args.method, seed) | {
        "dataset": args.dataset,
        "epochs": args.epochs,
        "image_size": args.image_size,
        "drops": list(recipe.DROPS),
    }


def run_name(settings):
    name = "resnet{depth}-{method}-seed{seed}".format(**settings)
    return f"{name}-{runs.digest(settings)}"


def record_path(argv):
    """Where the record of one run goes; `argv` names one seed."""
    args = parse_arguments(argv)
    (seed,) = args.seeds
    return pathlib.Path(args.out) / f"{run_name(run_settings(args, seed))}.json"


def training_data(settings, examples, **options):
    """Batches of random crops and flips."""
    return images.training_data(
        settings,
        examples,
        keras_mmel.data.per_view(recipe.crop_and_scale),
        shuffle_buffer=10_000,
        **options,
    )


def build_model(settings, num_classes, steps_per_epoch):
    """The compiled model: raw square images in, logits out."""
    network = recipe.make_network(
        settings["depth"],
        num_classes,
        settings["image_size"],
        settings["weight_decay"],
    )
    rate = images.schedule(settings, steps_per_epoch)
    return images.compile_model(network, settings, rate)


def main(argv=None):
    args = parse_arguments(argv)
    strategy = images.set_up_devices(args.replicas, args.threads)

    def train(settings, progress):
        examples, size, classes = recipe.load(args, "train", args.limit)
        tests, _, _ = recipe.load(args, "validation")
        images.train(
            settings,
            progress,
            strategy,
            size,
            lambda steps: build_model(settings, classes, steps),
            lambda counter: training_data(
                settings, examples, epoch_counter=counter
            ),
            validation_data=tests.batch(64).prefetch(2),
        )
        names = ("accuracy", "nll")
        return {name: progress.curves[f"val_{name}"][-1] for name in names}

    words = sys.argv[1:] if argv is None else argv
    command = records.command_line([__file__, *words])
    found = [run_settings(args, seed) for seed in args.seeds]
    by_name = {run_name(settings): settings for settings in found}
    runs.run_all(by_name, args.out, args.work_dir, command, train)
    runs.print_table(args.out, ("accuracy", "nll"))


if __name__ == "__main__":
    main()
