"""What the scripts of the paper's experiments share: options, runs, progress.

A run is what its settings say, and nothing else: its name holds their digest.
It leaves a record, is not made again where there is one, and goes on at the
last whole epoch where it was stopped.
"""

import argparse
import hashlib
import json
import math
import os
import pathlib
import statistics
import time
import zipfile
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping

import keras
import numpy as np

from experiments import records
from keras_mmel.whole_files import replacing

# What a run may choose otherwise than by default where the paper is silent
# (docs/choices.md). Runs from before it could be chosen keep their names: the
# default is not among the settings.
CHOICES = ("augment_original", "fixed_views", "soft_gradient")


# Options


def add_objective(parser: argparse.ArgumentParser) -> None:
    """The options of the objectives."""
    add = parser.add_argument
    add("--lambda_p", type=kl_coefficient, default=1.0, help="from 0 to inf")
    add("--lambda_t", type=float, default=1.0)
    add(
        "--soft_gradient",
        action="store_true",
        help="mmel-s: the gradient flows through the soft target, too",
    )


def kl_coefficient(text: str) -> float | str:
    """A value of --lambda_p; infinity stays a word, which JSON has not."""
    value = float(text)
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"must be from 0 to inf, not {text}")
    return "inf" if math.isinf(value) else value


def add_places(parser: argparse.ArgumentParser, name: str) -> None:
    """Where a script reads, computes and writes: no result depends on it."""
    add = parser.add_argument
    add("--data_dir", help="TFDS folder that has the data; else download")
    add("--threads", type=int, help="CPU threads; one per core by default")
    add("--out", default=f"runs/{name}/records", help="folder of the records")
    add("--work_dir", default=f"runs/{name}", help="folder to go on from")


def check_positive(
    parser: argparse.ArgumentParser,
    args: argparse.Namespace,
    names: Iterable[str],
) -> None:
    """Refuse counts below 1; None is none."""
    for name in names:
        value = getattr(args, name)
        if value is not None and value < 1:
            parser.error(f"--{name} must be at least 1")


def chosen(args: argparse.Namespace, settings: Mapping) -> dict:
    """What a run chooses otherwise than by default, where it matters to it.

    Args:
        args: The options; those that a script does not have are as by default.
        settings: `method` and `num_views` of the run.

    Returns:
        Some of `CHOICES`; settings of the run like others.
    """
    given = {
        name: value
        for name in CHOICES
        if (value := getattr(args, name, None)) not in (None, False)
    }
    if settings["num_views"] == 1:
        # A single view is always augmented.
        given.pop("augment_original", None)
    if settings["method"] != "mmel-s":
        given.pop("soft_gradient", None)
    return given


def digest(settings: Mapping) -> str:
    """8 hex digits, others for other settings."""
    text = json.dumps(settings, sort_keys=True).encode()
    return hashlib.sha256(text).hexdigest()[:8]


# Runs


class Progress(keras.callbacks.Callback):
    """Curves and times of a run; after every epoch, all of it in one file.

    The file is replaced as a whole and holds every variable beside the curves,
    so a run that is killed at any moment goes on from a whole epoch.

    Args:
        path: Of the file.
        validate: Gives further scores at the end of an epoch.
        every: Epochs between two calls of `validate`.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        validate: Callable[[], dict] | None = None,
        every: int = 1,
    ):
        super().__init__()
        self.path = pathlib.Path(path)
        self.validate, self.every = validate, every
        self.curves = {}
        self.epoch = 0
        self.seconds = self.cpu_seconds = 0.0
        self._start = None

    def restore(self, model: keras.Model) -> None:
        """Continue `model` from the file, if there is one."""
        if not self.path.exists():
            return
        try:
            with self.path.open("rb") as raw, np.load(raw) as file:
                state = json.loads(str(file["state"]))
                values = [file[f"v{i}"] for i in range(len(file.files) - 1)]
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ValueError(
                "The checkpoint of a stopped run cannot be read. Delete it to "
                f"begin the run anew. Received: {self.path} ({error})"
            ) from error
        for name, value in state.items():
            setattr(self, name, value)
        for part, value in zip(_parts(model), values, strict=True):
            part.assign(value)
        print(f"  continues after epoch {self.epoch}", flush=True)

    def on_epoch_begin(self, epoch, logs=None):
        self._start = time.perf_counter(), time.process_time()

    def on_test_begin(self, logs=None):
        self._stop_clock()

    def on_epoch_end(self, epoch, logs=None):
        self._stop_clock()
        self.epoch = epoch + 1
        if self.validate is not None and self.epoch % self.every == 0:
            scores = {f"val_{k}": v for k, v in self.validate().items()}
            logs |= scores | {"val_epoch": self.epoch}
        elif "val_loss" in logs:
            logs |= {"val_epoch": self.epoch}
        for name, value in logs.items():
            self.curves.setdefault(name, []).append(float(value))
        self._save()

    def _stop_clock(self):
        # Times are those of training: what tests take depends on how often
        # they are made.
        if self._start is not None:
            self.seconds += time.perf_counter() - self._start[0]
            self.cpu_seconds += time.process_time() - self._start[1]
            self._start = None

    def _save(self):
        names = ("curves", "epoch", "seconds", "cpu_seconds")
        state = {name: getattr(self, name) for name in names}
        values = {
            f"v{i}": part.numpy() for i, part in enumerate(_parts(self.model))
        }
        with replacing(self.path) as file:
            np.savez(file, state=json.dumps(state), **values)


def _parts(model):
    """Every variable as its copies on the replicas.

    Copies differ where replicas do not tell each other: the moving statistics
    of batch normalization are each replica's own.
    """
    strategy = model.distribute_strategy
    variables = [*model.variables, *model.optimizer.variables]
    return [
        part
        for variable in variables
        for part in strategy.experimental_local_results(variable.value)
    ]


def run_one(
    path: pathlib.Path,
    settings: dict,
    progress: Progress,
    command: str,
    train: Callable[[dict, Progress], dict],
) -> None:
    """Make one run and its record.

    Args:
        path: Where the record goes.
        settings: What the result depends on.
        progress: Of the run, not restored yet.
        command: The command line.
        train: From the settings and the progress to the scores.
    """
    scores = train(settings, progress)
    scores["seconds"] = progress.seconds
    scores["cpu_seconds"] = progress.cpu_seconds
    records.write_record(
        path,
        {
            "command": command,
            "method": settings["method"],
            "seed": settings["seed"],
            "settings": settings,
            "environment": records.environment(),
            "hours": progress.seconds / 3600,
            "curves": progress.curves,
            "scores": scores,
        },
    )
    progress.path.unlink(missing_ok=True)


def run_all(
    runs: Mapping[str, dict],
    out: str | os.PathLike,
    work_dir: str | os.PathLike,
    command: str,
    train: Callable[[dict, Progress], dict],
) -> None:
    """Make the runs that have no record yet.

    Args:
        runs: Settings by name of the run.
        out: Folder of the records.
        work_dir: Folder of what a stopped run goes on from.
        command: As of `run_one`.
        train: As of `run_one`.
    """
    for number, (name, settings) in enumerate(runs.items(), start=1):
        path = pathlib.Path(out) / f"{name}.json"
        heading = f"[{number}/{len(runs)}] {name}"
        if records.is_recorded(path):
            print(f"{heading}: finished before", flush=True)
            continue
        print(heading, flush=True)
        progress = Progress(pathlib.Path(work_dir) / f"{name}.npz")
        run_one(path, settings, progress, command, train)


def print_table(
    folder: str | os.PathLike, names: Iterable[str], part: str | None = None
) -> None:
    """Print the records of a folder, a line for all seeds of a setting.

    Args:
        folder: Where they are.
        names: The scores that are shown.
        part: Of a record's scores, where they are; all of them by default.
    """
    groups = {}
    for record in records.read_records(folder):
        settings = record["settings"] | {"seed": None}
        groups.setdefault(digest(settings), []).append(record)
    settings = [found[0]["settings"] for found in groups.values()]
    # What is the same in all says nothing.
    differ = [
        name
        for name in dict.fromkeys(name for one in settings for name in one)
        if name not in ("method", "seed", "data")
        and len({str(one.get(name)) for one in settings}) > 1
    ]
    for found in groups.values():
        of = found[0]["settings"]
        words = [found[0]["method"]]
        words += [f"{name}={of[name]}" for name in differ if of.get(name)]
        scores = [r["scores"][part] if part else r["scores"] for r in found]
        _print_line(words, [{n: s[n] for n in names if n in s} for s in scores])


def _print_line(words, scores):
    """Means and standard deviations over the seeds."""
    texts = [f"{' '.join(words):14}"]
    for name in scores[0]:
        values = [one[name] for one in scores]
        text = f"{name} {statistics.mean(values):.4f}"
        if len(values) > 1:
            text += f" +- {statistics.stdev(values):.4f}"
        texts.append(text)
    print("  ".join(texts), f" ({len(scores)} seeds)", flush=True)
