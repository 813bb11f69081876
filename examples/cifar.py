"""ResNets on CIFAR-10 and CIFAR-100: MMEL beside the baselines of the paper.

The whole of the paper's table 1 for one depth (200 epochs, 10 views, meant
for a GPU; add --mixed_precision mixed_float16 where it has tensor cores):

    python -m examples.cifar --method all --depth 20 --seeds 0 1 2 3 4
    python -m examples.cifar --method all --seeds 0 1 2 3 4 \
        --depth 20 --dataset cifar100

The same methods on a class-balanced 1,000 images, for two CPU cores:

    python -m examples.cifar --method all --limit 1000 --num_views 5 \
        --epochs 15 --batch_size 125 --eval_every 5

One minute, to see that it works:

    python -m examples.cifar --limit 200 --epochs 1 --test_limit 200 \
        --depth 8 --batch_size 50 --num_views 3 --method all

Methods, as in section 4.1 of the paper:

    da       one augmented view of each image
    da-long  the same for `num_views` times as many epochs
    uniform  `num_views` views of each image, all of the same weight
    mmel-h   the views weighted by their losses (hard)
    mmel-s   the same against the prediction for the original (soft); the paper
             picks --lambda_t from 0.5, 1 and 2

Rivals at the cost of `uniform`, which is also called batch augmentation:

    maxup        the hardest view alone (MaxUp)
    tilted       all views of a batch weighted together (TERM)
    consistency  the original's loss and the divergence of the predictions for
                 its views (AugMix's loss on our views)

Where the paper is silent, --augment_original, --fixed_views and --soft_gradient
choose otherwise than by default (docs/choices.md).

Data come through TFDS: downloaded, or read from the --data_dir that has them.
The same command continues a run that was interrupted, at the last whole epoch,
and skips one that is finished. Every run (method and seed) leaves a record
under --out. The expected results and times are those of the records in
experiments/results/small/cifar: --table prints them.
"""

import argparse
import pathlib
import sys

import keras
import numpy as np
import tensorflow as tf

import keras_mmel
from examples import cifar_data
from examples import cifar_model
from examples import cifar_settings
from examples import cifar_table
from examples import image_groups
from examples import image_scores
from examples import options
from examples import records
from examples import speed
from examples.cifar_settings import run_name
from examples.cifar_settings import run_settings
from examples.progress import Progress

# Arguments and settings


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m examples.cifar",
        description=__doc__.partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    cifar_settings.add_arguments(parser)
    add("--data_dir", help="TFDS folder that has the data; else download")
    add("--eval_every", type=int, default=1, help="epochs between tests")
    options.add_image_choices(parser)
    options.add_replicas(parser)
    options.add_places(parser, "cifar")
    add("--table", action="store_true", help="print the records, run nothing")
    args = parser.parse_args(argv)
    cifar_settings.check_arguments(parser, args)
    options.check_image_choices(parser, args, args.methods)
    return args


def record_path(argv):
    """Where the record of one run goes; `argv` names one method and seed."""
    args = parse_arguments(argv)
    (method,), (seed,) = args.methods, args.seeds
    return (
        pathlib.Path(args.out)
        / f"{run_name(run_settings(args, method, seed))}.json"
    )


def work(argv):
    """What kind of work one run is, and how many views it takes."""
    args = parse_arguments(argv)
    (method,), (seed,) = args.methods, args.seeds
    settings = run_settings(args, method, seed)
    images = settings["limit"] or cifar_data.TRAINING_IMAGES
    views = images * settings["num_views"] * settings["epochs"]
    return f"views of ResNet-{settings['depth']}", views


def measure(kind):
    """Views a second of training `kind`, from a few steps of 64."""
    depth = int(kind.rpartition("-")[2])
    args = parse_arguments(["--depth", str(depth)])
    settings = run_settings(args, "da", 0)
    model = cifar_model.build_model(settings, steps_per_epoch=10)
    images = np.zeros((64, 32, 32, 3), "uint8")
    return speed.examples_per_second(model, images, np.zeros(64, int))


# Data


def training_data(settings, examples, initial_epoch, threads=None):
    """Groups of views, or single augmented views for the baselines."""
    groups = image_groups.training_data(
        settings,
        tf.data.Dataset.from_tensor_slices(examples),
        keras_mmel.data.crop_and_flip(padding=4),
        initial_epoch,
    )
    if threads:
        bounded = tf.data.Options()
        bounded.threading.private_threadpool_size = threads
        groups = groups.with_options(bounded)
    return groups


# A run


def train(settings, train_set, test_set, work_dir, strategy, threads=None):
    """Train by `settings`; return the progress and the scores."""
    steps = len(train_set[0]) // settings["batch_size"]
    if not steps:
        raise ValueError(
            "The batch size must be at most the number of training images. "
            f"Received: batch_size={settings['batch_size']} for "
            f"{len(train_set[0])} images"
        )
    keras.utils.clear_session()
    keras.utils.set_random_seed(settings["seed"])
    keras.config.set_dtype_policy(settings["mixed_precision"] or "float32")
    progress = Progress(work_dir / f"{run_name(settings)}.npz")
    with strategy.scope():
        model = cifar_model.build_model(settings, steps)
        progress.restore(model)
    if progress.epoch:
        print(f"  continues after epoch {progress.epoch}", flush=True)
    epochs, every = settings["epochs"], settings["eval_every"]
    model.fit(
        training_data(settings, train_set, progress.epoch, threads),
        epochs=epochs,
        initial_epoch=progress.epoch,
        validation_data=tf.data.Dataset.from_tensor_slices(test_set).batch(250),
        validation_freq=[*range(every, epochs, every), epochs],
        callbacks=[progress],
        shuffle=False,
        verbose=1 if sys.stdout.isatty() else 2,
    )
    examples = steps * settings["batch_size"] * epochs
    views = examples * settings["num_views"]
    deployed = getattr(model, "model", model)
    scores = {
        **image_scores.score(deployed, *test_set),
        "seconds": progress.seconds,
        "examples_per_second": examples / progress.seconds,
        "views_per_second": views / progress.seconds,
        "views_per_cpu_second": views / progress.cpu_seconds,
        "peak_memory_mb": records.peak_memory_mb(),
    }
    return progress, scores


def set_up_devices(replicas, threads):
    """Bound the threads; return the strategy to build the model under."""
    if threads:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
    if replicas == 1:
        return tf.distribute.get_strategy()
    kind = "GPU"
    if len(tf.config.list_physical_devices("GPU")) < replicas:
        kind = "CPU"
        cpu = tf.config.list_physical_devices("CPU")[0]
        parts = tf.config.get_logical_device_configuration(cpu) or []
        if len(parts) < replicas:
            parts = [tf.config.LogicalDeviceConfiguration()] * replicas
            tf.config.set_logical_device_configuration(cpu, parts)
    return tf.distribute.MirroredStrategy(
        [f"{kind}:{i}" for i in range(replicas)]
    )


def main(argv=None, load=cifar_data.load_tfds):
    args = parse_arguments(argv)
    out, work_dir = pathlib.Path(args.out), pathlib.Path(args.work_dir)
    if args.table:
        cifar_table.print_table(out)
        return
    strategy = set_up_devices(args.replicas, args.threads)
    train_set, test_set = load(args.dataset, args.data_dir)
    train_set = cifar_data.balanced_subset(*train_set, args.limit)
    test_set = cifar_data.balanced_subset(*test_set, args.test_limit)
    words = sys.argv[1:] if argv is None else argv
    command = records.command_line([__file__, *words])
    runs = [(m, seed) for seed in args.seeds for m in args.methods]
    for number, (method, seed) in enumerate(runs, start=1):
        settings = run_settings(args, method, seed)
        path = out / f"{run_name(settings)}.json"
        heading = (
            f"[{number}/{len(runs)}] {method}, seed {seed}, "
            f"{settings['epochs']} epochs of {len(train_set[0])} images"
        )
        if records.is_recorded(path):
            print(f"{heading}: finished before", flush=True)
            continue
        print(heading, flush=True)
        progress, scores = train(
            settings, train_set, test_set, work_dir, strategy, args.threads
        )
        record = progress.record(command, settings, scores)
        records.write_record(path, record)
        progress.path.unlink()
        print(
            f"  accuracy {scores['accuracy']:.4f}, nll {scores['nll']:.4f}, "
            f"{scores['views_per_second']:.0f} views/s",
            flush=True,
        )
    cifar_table.print_table(out)


if __name__ == "__main__":
    main()
