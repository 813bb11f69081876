"""The steps of a task of GLUE: teacher, augment, label, train."""

import os
import pathlib

import keras
import tensorflow as tf

from examples import glue_data
from examples import glue_scores
from examples import glue_settings as naming
from examples import glue_submission
from examples import glue_training
from examples import records
from keras_mmel import text
from keras_mmel.text import load_table
from keras_mmel.text.bert import presets


def bound_threads(threads):
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def folder(args, kind, settings):
    """Where the files of a step are, another folder for other settings."""
    name = f"{settings['task']}-{naming.digest(settings)}"
    return args.work_dir / kind / name


def teacher_path(args, task):
    settings = naming.teacher_settings(args, task.name)
    return folder(args, "teacher", settings).with_suffix(".keras")


def make_teacher(args, task, command):
    """Fine-tune the teacher and save it as it is after the last epoch."""
    settings = naming.teacher_settings(args, task.name)
    path = teacher_path(args, task)
    if path.exists():
        print(f"{task.name}: teacher, finished before", flush=True)
        return
    print(f"{task.name}: teacher", flush=True)
    runner = Runner(args, task, settings, args.teacher, None, command, False)
    record = runner.run(settings["seed"])
    path.parent.mkdir(parents=True, exist_ok=True)
    # The name tells Keras the format.
    temporary = path.with_name(f".{path.name}")
    runner.student.classifier.save(temporary)
    os.replace(temporary, path)
    record |= {"method": "teacher"}
    record["settings"] = settings | {"method": "teacher"}
    records.write_record(args.out / f"{path.stem}-teacher.json", record)
    runner.finish(settings["seed"])


def augment(args, task):
    """Write the augmented files of the training split."""
    settings = naming.augment_settings(args, task.name)
    directory = folder(args, "augmented", settings)
    print(f"{task.name}: augment", flush=True)
    source = glue_data.source(task, task.train_split, args.data_dir, args.limit)
    augmenter = text.MaskedLMAugmenter(
        text.load_masked_lm(args.masked_lm),
        settings["num_augmented"],
        settings["mask_ratio"],
        settings["search"],
        settings["unit"],
        settings["augment_seed"],
        pairs=settings["pairs"],
        max_length=settings["max_length"],
    )
    text.write_augmented(
        directory,
        source,
        augmenter,
        split=task.train_split,
        progress=bool(args.verbose),
    )


def label(args, task):
    """Write the augmented files anew, with the teacher's predictions."""
    path = teacher_path(args, task)
    if not path.exists():
        raise FileNotFoundError(
            f"The teacher of {task.name} must be there: run the step "
            f"`teacher` with the same options. Received: no {path}"
        )
    print(f"{task.name}: label", flush=True)
    text.label_augmented(
        folder(args, "augmented", naming.augment_settings(args, task.name)),
        keras.saving.load_model(path, compile=False),
        folder(args, "labelled", naming.label_settings(args, task.name)),
        max_length=args.max_length,
        progress=bool(args.verbose),
    )


def train_students(args, task, command):
    """Train by every method, kind of labels and seed; write the records."""
    chosen = naming.runs(args, task.name)
    tables = {}
    for method, labels in chosen:
        runner = None
        for seed in args.seeds:
            settings = naming.train_settings(
                args, task.name, method, labels, seed
            )
            heading = f"{task.name}: {method} {labels or ''} seed {seed}"
            if runner is None:
                runner = Runner(
                    args, task, settings, args.student, tables, command
                )
            path = runner.record_path(seed)
            if records.is_recorded(path):
                print(f"{heading}, finished before", flush=True)
                continue
            print(heading, flush=True)
            record = runner.run(seed)
            records.write_record(path, record)
            runner.finish(seed)
            metric = task.metrics[0]
            scores = record["scores"]
            print(
                f"  {metric}: last {scores['last'][metric]:.4f}, best "
                f"{scores['best'][metric]:.4f}; {scores['seconds']:.0f} s",
                flush=True,
            )
        runner = None
        keras.utils.clear_session()


def _about_teacher(table, task):
    if table.teacher is None:
        return {}
    return {"teacher_agreement": glue_training.agreement(table, task)}


class Runner:
    """Trains one setting for several seeds.

    Args:
        args: the arguments.
        task: a `GlueTask`.
        settings: those of a run; the seed does not matter.
        preset: of what is trained.
        tables: training tables that were loaded before, by their kind.
        command: the words of the command line.
        submit: whether to write submission files where they are wanted.
    """

    def __init__(
        self, args, task, settings, preset, tables, command, submit=True
    ):
        self._args, self._task = args, task
        self._settings, self._preset = settings, preset
        self._tables = {} if tables is None else tables
        self._command = records.command_line(command)
        self._wants_submission = submit and bool(args.submissions)
        self._tokenizer = None
        self.student = None

    def record_path(self, seed):
        return self._args.out / f"{self._name(seed)}.json"

    def run(self, seed):
        """Train, from the last file of the run on; return its record."""
        settings = self._settings | {"seed": seed}
        table = self._prepare(settings)
        self.student.reset(seed)
        evaluation = glue_training.Evaluation(
            self._progress_path(seed),
            self._task,
            self.student.predict,
            self._evaluation_tables,
            settings["eval_every"],
            on_scores=self._submit(seed),
        )
        scores = glue_training.train(
            settings, self.student, table, evaluation, self._args.verbose
        )
        scores |= _about_teacher(table, self._task)
        return evaluation.record(self._command, settings, scores)

    def finish(self, seed):
        """Remove the file from which to go on: there is a record now."""
        self._progress_path(seed).unlink(missing_ok=True)

    def _name(self, seed):
        return naming.run_name(self._settings | {"seed": seed})

    def _progress_path(self, seed):
        return self._args.work_dir / "train" / f"{self._name(seed)}.npz"

    def _prepare(self, settings):
        """Load data and model, once for all seeds; return the table."""
        if self._tokenizer is None:
            directory = presets.find(self._preset)
            self._tokenizer = text.Tokenizer.from_directory(directory)
            self._evaluation_tables = glue_data.evaluation_tables(
                self._task, self._args, self._tokenizer
            )
        kind = settings["labels"]
        if kind not in self._tables:
            self._tables[kind] = self._load(kind)
        table = self._tables[kind]
        if self.student is None:
            self.student = glue_training.Student(
                self._preset,
                settings,
                glue_training.steps_per_epoch(settings, table),
            )
        return table

    def _load(self, labels):
        args, task = self._args, self._task
        if labels is None:
            data = glue_data.source(
                task, task.train_split, args.data_dir, args.limit
            )
        elif labels == "teacher":
            data = folder(
                args, "labelled", naming.label_settings(args, task.name)
            )
        else:
            data = folder(
                args, "augmented", naming.augment_settings(args, task.name)
            )
        return load_table(data, self._tokenizer, max_length=args.max_length)

    def _submit(self, seed):
        """What writes the submission files after an evaluation, or None."""
        args, task = self._args, self._task
        if not self._wants_submission:
            return None
        tables = glue_data.test_tables(task, args, self._tokenizer)
        directory = pathlib.Path(args.submissions) / self._name(seed)
        names = dict(task.submissions)

        def submit(evaluation):
            evaluations = len(evaluation.curves["val_epoch"])
            chosen = glue_scores.choose_epoch(
                task, evaluation.curves, args.report
            )
            if chosen != evaluations - 1:
                return
            for split, table in tables.items():
                glue_submission.write_submission(
                    directory / names[split],
                    task,
                    table.example_ids,
                    evaluation.predict(table),
                )

        return submit
