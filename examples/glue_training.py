"""Fine-tune BERT on a task of GLUE, evaluated after every epoch."""

import time

import keras
import numpy as np

import keras_mmel
from examples import glue_scores
from examples import records
from examples.glue_settings import EPSILON
from examples.glue_settings import NOT_DECAYED
from examples.glue_tasks import TASKS
from examples.progress import Progress
from keras_mmel import text
from keras_mmel.text.reading.teacher import Predictor

# An epoch of a small task takes seconds and its file half a second.
SECONDS_BETWEEN_FILES = 20


class Student:
    """A classifier and what trains it, for all seeds of a run.

    Building and tracing take longer than an epoch of a small task, so a second
    seed gets new weights in the same model.
    """

    def __init__(self, preset, settings, steps_per_epoch):
        self._preset, self._settings = preset, settings
        self.classifier = self._load(settings["seed"])
        self._seed = settings["seed"]
        self.model = _wrap(self.classifier, settings)
        optimizer = keras.optimizers.AdamW(
            keras.optimizers.schedules.PolynomialDecay(
                settings["learning_rate"],
                steps_per_epoch * settings["epochs"],
                end_learning_rate=0.0,
            ),
            weight_decay=settings["weight_decay"],
            epsilon=EPSILON,
        )
        optimizer.exclude_from_weight_decay(
            var_list=[
                weight
                for weight in self.classifier.trainable_weights
                if weight.name in NOT_DECAYED
            ]
        )
        self.model.compile(optimizer, _loss(settings))
        optimizer.build(self.model.trainable_variables)
        self._optimizer_start = [v.numpy() for v in optimizer.variables]
        self.predict = Predictor(self.classifier)

    def reset(self, seed):
        """Give it the state in which a new student with this seed is."""
        if seed == self._seed:
            # As it was made, if nothing was trained since.
            self._seed = None
            return
        self._seed = None
        fresh = self._load(seed)
        for old, new in zip(
            self.classifier.variables, fresh.variables, strict=True
        ):
            old.assign(new)
        for variable, value in zip(
            self.model.optimizer.variables, self._optimizer_start, strict=True
        ):
            variable.assign(value)

    def _load(self, seed):
        keras.utils.set_random_seed(seed)
        task = TASKS[self._settings["task"]]
        return text.load_text_classifier(
            self._preset, task.num_classes, dropout=self._settings["dropout"]
        )


def _wrap(model, settings):
    method = settings["method"]
    if method == "uniform":
        objective = keras_mmel.objectives.Uniform()
    elif method == "mmel-h":
        objective = keras_mmel.objectives.Hard(float(settings["lambda_p"]))
    elif method == "mmel-s":
        objective = keras_mmel.objectives.Soft(
            float(settings["lambda_p"]),
            settings["lambda_t"],
            stop_gradient=not settings.get("soft_gradient", False),
        )
    else:
        return model
    return keras_mmel.MMELModel(model, objective)


def _loss(settings):
    if TASKS[settings["task"]].is_regression:
        return keras.losses.MeanSquaredError()
    if settings["method"] == "da-long" and settings["labels"] == "teacher":
        # Labels are the teacher's probabilities.
        return keras.losses.CategoricalCrossentropy(from_logits=True)
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def training_data(settings, table, epoch_counter):
    """Groups of views, or single examples for the baselines."""
    common = {
        "batch_size": settings["batch_size"],
        "seed": settings["seed"],
        "shuffle": True,
        "teacher": settings["labels"] == "teacher",
        # Small sets: every example in every epoch.
        "drop_remainder": False,
        "epoch_counter": epoch_counter,
    }
    if settings["method"] in ("baseline", "da-long"):
        return text.read_plain(table, views=settings["num_views"], **common)
    return text.read_augmented(table, num_views=settings["num_views"], **common)


class Evaluation(Progress):
    """Curves with the development scores, in a file from which to go on.

    Args:
        path: of the file.
        task: a `GlueTask`.
        predict: from a table to outputs.
        tables: the development splits, the first one first.
        every: epochs between evaluations.
        on_scores: called with this object after an evaluation.
    """

    def __init__(self, path, task, predict, tables, every=1, on_scores=None):
        super().__init__(path)
        self.predict = predict
        self._task, self._tables = task, tables
        self._every, self._on_scores = every, on_scores
        self._saved = time.monotonic()

    def on_epoch_end(self, epoch, logs=None):
        self._stop_clock()
        if (epoch + 1) % self._every:
            super().on_epoch_end(epoch, logs)
            return
        logs |= self.scores() | {"val_epoch": epoch + 1}
        super().on_epoch_end(epoch, logs)
        if self._on_scores is not None:
            self._on_scores(self)

    def scores(self):
        """Scores of all splits; those of the first one have no suffix."""
        found = {}
        for number, (split, table) in enumerate(self._tables.items()):
            suffix = f"_{split.partition('_')[2]}" if number else ""
            scores = glue_scores.score(
                self._task, table.labels, self.predict(table)
            )
            for name, value in scores.items():
                found[f"val_{name}{suffix}"] = value
        return found

    def _save(self):
        now = time.monotonic()
        if now - self._saved >= SECONDS_BETWEEN_FILES:
            super()._save()
            self._saved = time.monotonic()


def steps_per_epoch(settings, table):
    return -(-len(table) // settings["batch_size"])


def train(settings, student, table, evaluation, verbose):
    """Train a student that was reset; return scores beside the curves."""
    evaluation.restore(student.model)
    if evaluation.epoch:
        print(f"  continues after epoch {evaluation.epoch}", flush=True)
    counter = keras_mmel.data.EpochCounter(evaluation.epoch)
    if evaluation.epoch < settings["epochs"]:
        student.model.fit(
            training_data(settings, table, counter),
            epochs=settings["epochs"],
            initial_epoch=evaluation.epoch,
            callbacks=[counter, evaluation],
            shuffle=False,
            verbose=verbose,
        )
    task, curves = TASKS[settings["task"]], evaluation.curves
    examples = len(table) * settings["epochs"]
    views = settings["num_views"] if settings["method"] != "da-long" else 1
    return {
        "last": glue_scores.reported(task, curves, "last"),
        "best": glue_scores.reported(task, curves, "best"),
        "seconds": evaluation.seconds,
        "cpu_seconds": evaluation.cpu_seconds,
        "examples_per_second": examples / max(evaluation.seconds, 1e-9),
        "peak_memory_mb": records.peak_memory_mb(),
        "views_per_cpu_second": examples
        * views
        / max(evaluation.cpu_seconds, 1e-9),
    }


def agreement(table, task):
    """How a teacher's predictions compare with the labels of the originals.

    Returns:
        A dict: share of originals whose label the teacher predicts, and of
        views that it puts in the class of their original's label; in
        regression the mean distances.
    """
    originals = table.first[:-1]
    is_view = np.ones(len(table.teacher), bool)
    is_view[originals] = False
    labels = np.repeat(table.labels, table.views)
    if task.is_regression:
        values = np.abs(table.teacher[:, 0] - labels)
    else:
        values = table.teacher.argmax(axis=1) == labels
    return {
        "originals": float(values[originals].mean()),
        "views": float(values[is_view].mean()),
    }
