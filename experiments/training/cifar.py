r"""ResNets on CIFAR-10 and CIFAR-100: the runs of the paper's tables 1 and 2.

`examples/cifar.py` is one training; this makes many, each with a record. One
minute on two CPU cores, to see that it works; the last lines are a table:

    python -m experiments.training.cifar --method all --limit 200 \
        --test_limit 200 --epochs 1 --depth 8 --batch_size 50 --num_views 3

On a class-balanced 1,000 images, half an hour on two cores; the expected result
is in docs/tables.md:

    python -m experiments.training.cifar --method all --limit 1000 --depth 8 \
        --num_views 5 --epochs 60 --batch_size 50 --eval_every 60

The paper's table 1 for one depth, hours on a GPU (add --mixed_precision
mixed_float16 where it has tensor cores):

    python -m experiments.training.cifar --method all --seeds 0 1 2 3 4

Methods, as in section 4.1 of the paper:

    da       one augmented view of each image
    da-long  the same for `num_views` times as many epochs
    uniform  `num_views` views of each image, all of the same weight
    mmel-h   the views weighted by their losses (hard)
    mmel-s   the same against the prediction for the original (soft); the paper
             picks --lambda_t from 0.5, 1 and 2

Where the paper is silent, --augment_original, --fixed_views and --soft_gradient
choose otherwise than by default (docs/choices.md). The same command continues a
run that was stopped, and skips one that has its record.
"""

import argparse
import pathlib
import sys

import keras_mmel
from examples import cifar as recipe
from experiments import records
from experiments.training import images
from experiments.training import runs

METHODS = ("da", "da-long", "uniform", "mmel-h", "mmel-s")


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m experiments.training.cifar",
        description=__doc__.partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--dataset", choices=recipe.CLASSES, default="cifar10")
    methods = (*images.METHODS, "all")
    add("--method", nargs="+", choices=methods, default=["mmel-h"])
    add("--depth", type=int, default=20, help="6n + 2")
    add("--epochs", type=int, default=200, help="da-long: times num_views")
    add("--batch_size", type=int, default=128, help="images, not views")
    images.add_options(parser, "cifar")
    add("--test_limit", type=int, help="number of test images")
    add("--eval_every", type=int, default=1, help="epochs between tests")
    add("--table", action="store_true", help="print the records, run nothing")
    args = parser.parse_args(argv)
    words = [METHODS if word == "all" else (word,) for word in args.method]
    args.methods = tuple(dict.fromkeys(m for word in words for m in word))
    runs.check_positive(parser, args, ("eval_every", "test_limit"))
    images.check_options(parser, args, args.methods)
    return args


def run_settings(args, method, seed):
    """Everything that the result of one run depends on."""
    stretch = args.num_views if method == "da-long" else 1
    return images.settings_of(args, method, seed) | {
        "dataset": args.dataset,
        "epochs": args.epochs * stretch,
        "eval_every": args.eval_every * stretch,
        "drops": list(recipe.DROPS),
        "test_limit": args.test_limit,
    }


def run_name(settings):
    name = "{dataset}-resnet{depth}-{method}-seed{seed}".format(**settings)
    return f"{name}-{runs.digest(settings)}"


def record_path(argv):
    """Where the record of one run goes; `argv` names one method and seed."""
    args = parse_arguments(argv)
    (method,), (seed,) = args.methods, args.seeds
    name = run_name(run_settings(args, method, seed))
    return pathlib.Path(args.out) / f"{name}.json"


def build_model(settings, steps_per_epoch, learning_rate=None):
    """The compiled model of a run: raw images in, logits out.

    `learning_rate` takes the place of the schedule, for a training loop that
    sets the rate of every step itself.
    """
    network = recipe.make_network(
        settings["dataset"], settings["depth"], settings["weight_decay"]
    )
    rate = learning_rate or images.schedule(settings, steps_per_epoch)
    return images.compile_model(network, settings, rate)


def training_data(settings, examples, threads=None, **options):
    """Batches of random crops and flips."""
    import tensorflow as tf

    examples = tf.data.Dataset.from_tensor_slices(examples)
    augment = keras_mmel.data.crop_and_flip(padding=4)
    data = images.training_data(settings, examples, augment, **options)
    bounded = tf.data.Options()
    if threads:
        bounded.threading.private_threadpool_size = threads
    return data.with_options(bounded)


def main(argv=None, load=recipe.load, script=__file__):
    args = parse_arguments(argv)
    if args.table:
        return runs.print_table(args.out, ("accuracy", "nll"))
    import tensorflow as tf

    strategy = images.set_up_devices(args.replicas, args.threads)
    train_set, test_set = load(args.dataset, args.data_dir)
    train_set = recipe.balanced_subset(*train_set, args.limit)
    test_set = recipe.balanced_subset(*test_set, args.test_limit)

    def train(settings, progress):
        epochs, every = settings["epochs"], settings["eval_every"]
        tests = tf.data.Dataset.from_tensor_slices(test_set).batch(250)
        model = images.train(
            settings,
            progress,
            strategy,
            len(train_set[0]),
            lambda steps: build_model(settings, steps),
            lambda counter: training_data(
                settings, train_set, args.threads, epoch_counter=counter
            ),
            validation_data=tests,
            validation_freq=[*range(every, epochs, every), epochs],
        )
        return images.score(getattr(model, "model", model), *test_set)

    found = [
        run_settings(args, method, seed)
        for seed in args.seeds
        for method in args.methods
    ]
    words = sys.argv[1:] if argv is None else argv
    command = records.command_line([script, *words])
    by_name = {run_name(settings): settings for settings in found}
    runs.run_all(by_name, args.out, args.work_dir, command, train)
    runs.print_table(args.out, ("accuracy", "nll"))


if __name__ == "__main__":
    main()
