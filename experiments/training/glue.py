"""BERT on GLUE: the runs of the paper's tables 3, 4 and 6.

`examples/glue.py` is one training; this makes many, each with a record. A
minute on two CPU cores, to see that it works; the last lines are a table.
BERT_TINY is a small masked LM in Hugging Face layout, DATA a TFDS folder:

    python -m experiments.training.glue all --tasks rte --limit 64 --epochs 1 \\
        --masked_lm BERT_TINY --teacher BERT_TINY --student BERT_TINY \\
        --data_dir DATA

Four tasks, three seeds and both kinds of labels, three hours; the expected
result is the table of GLUE in docs/tables.md:

    python -m experiments.training.glue all --tasks rte mrpc cola stsb \\
        --masked_lm BERT_TINY --teacher BERT_TINY --student BERT_TINY \\
        --learning_rate 3e-4 --epochs 5 --data_dir DATA \\
        --labels teacher original --seeds 0 1 2

Without presets it is the paper's setting, BERT-base everywhere, for a GPU. The
steps: `prepare` (fine-tune the teacher of each task, write 4 samples of each
training example by the masked LM, predict their labels by the teacher), `train`
(fine-tune the students) and `all`, both; `table` prints the records.

Methods, as in section 4.2 of the paper: `baseline` (the originals alone),
`da-long` (one view of each example, for `num_views` times as many epochs),
`uniform`, `mmel-h`, `mmel-s`. Labels of the augmented views: `teacher` (its
predictions, table 3) or `original` (those of the originals, table 4).

Hyperparameters are those of the paper's appendix B; what it leaves open is in
docs/choices.md. Scores of the development set are taken after every epoch; a
record has the last and the best of them. The same command continues what was
stopped and skips what is finished. Small models use cores better by themselves:
start it once for each task, with --threads 1, side by side.
"""

import functools
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import tensorflow as tf

import keras_mmel
from experiments import records
from experiments.training import fine_tuning
from experiments.training import glue_settings as naming
from experiments.training import glue_tasks
from experiments.training import images
from experiments.training import runs
from experiments.training.glue_settings import folder
from experiments.training.glue_settings import parse_arguments
from experiments.training.glue_tasks import TASKS
from keras_mmel import text
from keras_mmel.whole_files import replacing

record_path = naming.record_path


def prepare(args, task, command):
    """Augment the training examples; label them, if that is asked."""
    settings = naming.augment_settings(args, task.name)
    augmented = folder(args, "augmented", settings)
    if "teacher" in args.labels:
        teacher = make_teacher(args, task, command)
    augmenter = text.MaskedLMAugmenter(
        text.load_masked_lm(args.masked_lm),
        settings["num_augmented"],
        args.mask_ratio,
        args.search,
        args.unit,
        args.augment_seed,
        pairs=args.pairs,
        max_length=args.max_length,
    )
    print(f"{task.name}: augment", flush=True)
    source = glue_tasks.source(task, "train", args.data_dir, args.limit)
    progress = {"progress": args.verbose}
    text.write_augmented(augmented, source, augmenter, **progress)
    if "teacher" in args.labels:
        print(f"{task.name}: label", flush=True)
        text.label_augmented(
            augmented,
            keras.saving.load_model(teacher, compile=False),
            folder(args, "labelled", naming.label_settings(args, task.name)),
            max_length=args.max_length,
            **progress,
        )


def make_teacher(args, task, command):
    """Fine-tune the teacher; save it as it is after the last epoch."""
    settings = naming.teacher_settings(args, task.name)
    path = folder(args, "teacher", settings).with_suffix(".keras")
    if path.exists():
        print(f"{task.name}: teacher, finished before", flush=True)
        return path

    def train_and_save(settings, progress):
        scores, classifier = train(args, args.teacher, settings, progress)
        with replacing(path) as file:
            classifier.save(file)
        return scores

    # Its record may be there without it.
    name = f"{path.stem}-teacher"
    runs.run_one(
        pathlib.Path(args.out) / f"{name}.json",
        settings | {"method": "teacher"},
        runs.Progress(args.work_dir / "train" / f"{name}.npz"),
        command,
        train_and_save,
    )
    return path


def training_data(args, settings, tokenizer, counter):
    """Groups of views, or single examples for the baselines."""
    task, labels = TASKS[settings["task"]], settings["labels"]
    if labels is None:
        data = glue_tasks.source(task, "train", args.data_dir, args.limit)
    else:
        kind = "labelled" if labels == "teacher" else "augmented"
        data = folder(args, kind, settings["data"])
    common = {
        "tokenizer": tokenizer,
        "max_length": settings["max_length"],
        "batch_size": settings["batch_size"],
        "seed": settings["seed"],
        "shuffle": True,
        "teacher": labels == "teacher",
        # Small sets: every example in every epoch.
        "drop_remainder": False,
        "epoch_counter": counter,
    }
    if settings["method"] in ("uniform", "mmel-h", "mmel-s"):
        return text.read_augmented(
            data, num_views=settings["num_views"], **common
        )
    return text.read_plain(data, views=settings["num_views"], **common)


def train(args, preset, settings, progress):
    """One run; returns its scores and the classifier."""
    task, method = TASKS[settings["task"]], settings["method"]
    keras.utils.clear_session()
    keras.utils.set_random_seed(settings["seed"])
    classifier = text.load_text_classifier(
        preset, task.num_classes, dropout=settings["dropout"]
    )
    counter = keras_mmel.data.EpochCounter()
    data = training_data(args, settings, classifier.tokenizer, counter)
    model = classifier
    if method in ("uniform", "mmel-h", "mmel-s"):
        model = images.METHODS[method](classifier, settings)
    by_teacher = method == "da-long" and settings["labels"] == "teacher"
    fine_tuning.compile_model(
        model,
        settings["learning_rate"],
        int(data.cardinality()) * settings["epochs"],
        fine_tuning.loss_of(task.num_classes, not by_teacher),
        settings["weight_decay"],
    )
    tables = {
        split: text.load_table(
            glue_tasks.source(task, split, args.data_dir, args.eval_limit),
            classifier.tokenizer,
            max_length=args.max_length,
        )
        for split in task.eval_splits
    }
    progress.validate = functools.partial(
        glue_tasks.development_scores, task, classifier, tables
    )
    progress.every = settings["eval_every"]
    progress.restore(model)
    if progress.epoch < settings["epochs"]:
        model.fit(
            data,
            epochs=settings["epochs"],
            initial_epoch=progress.epoch,
            callbacks=[counter, progress],
            shuffle=False,
            verbose=int(args.verbose),
        )
    return glue_tasks.reported(task, progress.curves), classifier


def train_students(args, task, command):
    """Train by every method, kind of labels and seed; write the records."""
    found = {}
    for method in args.methods:
        for labels in (None,) if method == "baseline" else args.labels:
            for seed in args.seeds:
                settings = naming.train_settings(
                    args, task.name, method, labels, seed
                )
                found[naming.run_name(settings)] = settings
    runs.run_all(
        found,
        args.out,
        args.work_dir / "train",
        command,
        lambda *run: train(args, args.student, *run)[0],
    )


def main(argv=None):
    args = parse_arguments(argv)
    words = sys.argv[1:] if argv is None else argv
    command = records.command_line([__file__, *words])
    if args.threads:
        tf.config.threading.set_intra_op_parallelism_threads(args.threads)
        tf.config.threading.set_inter_op_parallelism_threads(args.threads)
    tasks = [TASKS[name] for name in args.tasks if args.step != "table"]
    for task in tasks:
        # Data that are not there are told before models are loaded.
        glue_tasks.splits(task, args.data_dir)
    for task in tasks:
        with_views = args.step == "prepare" or args.methods != ("baseline",)
        if args.step in ("prepare", "all") and with_views:
            prepare(args, task, command)
        if args.step in ("train", "all"):
            train_students(args, task, command)
    metrics = [metric for task in TASKS.values() for metric in task.metrics]
    runs.print_table(args.out, dict.fromkeys(metrics), args.report)


if __name__ == "__main__":
    main()
