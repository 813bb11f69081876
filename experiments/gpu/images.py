r"""CIFAR-10 and CIFAR-100 whole, ResNet-20: MMEL beside its baselines.

    python -m experiments.gpu run images --minutes 25

A short measurement of every method says how many epochs, the same for all, fit
into the minutes; `da-long` makes `num_views` times as many on single views. The
recipe is that of section 4.1 of the paper. All methods of a seed come before
the next seed. A command that was cut goes on where the last minute left it: the
order and the views of a step are functions of the seed and of its number.
Expected, from table 1 of the paper (200 epochs, 10 views): more than 92 % on
CIFAR-10, less with fewer epochs.
"""

import dataclasses
import time

import jax
import jax.numpy as jnp
import keras
import numpy as np

import keras_mmel
from examples import cifar as recipe
from experiments.gpu import packed
from experiments.gpu import results
from experiments.gpu import views
from experiments.gpu.one_program import OneProgram
from experiments.gpu.one_program import fresh_metrics
from experiments.training import images
from keras_mmel import objectives

METHODS = {
    "uniform": objectives.Uniform(),
    "hard 1": objectives.Hard(1.0),
    "soft 1": objectives.Soft(1.0, 1.0),
    "soft 4": objectives.Soft(1.0, 4.0),
    "ball 0.07": objectives.KLBall(0.07),
    "da-long": None,
}
MOST_EPOCHS = 200  # the paper's
# Of the minutes, for training; the rest is for scores and saving.
SHARE = 0.9
# Steps of one program, at most.
CHUNK = 50
ANGLES = (-60, -45, -30, -15, 0, 15, 30, 45, 60)


def add_options(parser):
    add = parser.add_argument
    add("--minutes", type=float, default=25, help="all commands together")
    add("--epochs", type=int, help="in place of --minutes")
    add("--datasets", nargs="+", choices=recipe.CLASSES, help="else all given")
    add("--methods", nargs="+", choices=METHODS, default=[*METHODS])
    add("--views", choices=views.AUGMENTATIONS, default="crops")
    add("--num_views", type=int, default=5, help="the original included")
    add("--depth", type=int, default=20, help="6n + 2")
    add("--batch_size", type=int, default=128, help="images, not views")
    add("--seeds", nargs="+", type=int, default=[0, 1])
    policies = ("float32", "mixed_bfloat16")
    add("--precision", choices=policies, default="float32")
    add("--limit", type=int, help="number of training and of test images")
    add("--save_every", type=float, default=results.SAVE_EVERY)


def run_settings(args, dataset, method, seed):
    """What the result of a run depends on, but for the epochs."""
    return {
        "dataset": dataset,
        "method": method,
        "seed": seed,
        "num_views": 1 if METHODS[method] is None else args.num_views,
        "views": args.views,
        "depth": args.depth,
        "batch_size": args.batch_size,
        "learning_rate": 0.1,
        "momentum": recipe.MOMENTUM,
        "weight_decay": 5e-4,
        "drops": list(recipe.DROPS),
        "drop_factor": recipe.DROP_FACTOR,
        "precision": args.precision,
        "limit": args.limit,
    }


def make_model(settings):
    """The compiled model of a run, with its initial weights."""
    keras.utils.set_random_seed(settings["seed"])
    keras.config.set_dtype_policy(settings["precision"])
    model = recipe.make_network(
        settings["dataset"], settings["depth"], settings["weight_decay"]
    )
    objective = METHODS[settings["method"]]
    if objective is not None:
        model = keras_mmel.MMELModel(model, objective)
    recipe.compile_model(model, settings["learning_rate"], settings["momentum"])
    model.optimizer.build(model.trainable_variables)
    return model


class Programs:
    """A program for all seeds of a method, and the data on the device."""

    def __init__(self, sets):
        self.sets = sets
        self._on_device, self._programs = {}, {}

    def of(self, settings) -> OneProgram:
        dataset = settings["dataset"]
        if dataset not in self._on_device:
            train_set = self.sets[dataset][0]
            self._on_device[dataset] = jax.tree.map(jnp.asarray, train_set)
        key = dataset, settings["method"]
        if key not in self._programs:
            augment = views.AUGMENTATIONS[settings["views"]]

            def make_batch(chosen, labels, key):
                count = settings["num_views"]
                return views.groups(chosen, key, count, augment), labels

            model = make_model(settings)
            data = self._on_device[dataset]
            self._programs[key] = OneProgram(model, make_batch, data)
        return self._programs[key]


@dataclasses.dataclass(frozen=True)
class Steps:
    """Steps of an epoch, in chunks of one length."""

    number: int
    chunk: int

    @classmethod
    def of(cls, examples, batch_size):
        number = examples // batch_size
        if not number:
            raise ValueError(
                "The batch size must be at most the number of training images. "
                f"Received: batch_size={batch_size} for {examples} images"
            )
        sizes = range(1, min(CHUNK, number) + 1)
        return cls(number, max(n for n in sizes if number % n == 0))

    def epoch(self, settings, examples, epoch, rates):
        """Order, keys and rates of every chunk, by seed and epoch alone."""
        random = np.random.default_rng((settings["seed"], epoch))
        order = random.permutation(examples)
        order = order[: self.number * settings["batch_size"]]
        key = jax.random.fold_in(jax.random.key(settings["seed"]), epoch)
        keys = jax.random.split(key, self.number)
        order = order.astype("int32").reshape(self.number, -1)
        for start in range(0, self.number, self.chunk):
            part = slice(start, start + self.chunk)
            yield order[part], keys[part], rates[part]


def learning_rates(settings, steps):
    """The rate of every step, `(epochs, steps)`."""
    count = settings["epochs"] * steps
    schedule = recipe.schedule(settings["learning_rate"], count)
    rates = np.asarray(jax.vmap(schedule)(np.arange(count)), "float32")
    return rates.reshape(-1, steps)


def choose_epochs(args, found, programs):
    """As many epochs as fit; and what a step took, after those that compile."""
    begin, per_epoch, milliseconds = time.perf_counter(), 0.0, {}
    for settings in found:
        name = f"{settings['dataset']} {settings['method']}"
        examples = len(programs.sets[settings["dataset"]][0][0])
        steps = Steps.of(examples, settings["batch_size"])
        if name not in milliseconds:
            program = programs.of(settings)
            state = program.state()
            rates = np.full(steps.number, 1e-3, "float32")
            chunk = next(steps.epoch(settings, examples, 0, rates))
            state, _ = jax.block_until_ready(program.steps(state, *chunk))
            start = time.perf_counter()
            jax.block_until_ready(program.steps(state, *chunk))
            spent = (time.perf_counter() - start) / steps.chunk
            milliseconds[name] = 1000 * spent
            print(f"  {name}: {1000 * spent:.2f} ms a step", flush=True)
        stretch = args.num_views if METHODS[settings["method"]] is None else 1
        per_epoch += stretch * steps.number * milliseconds[name] / 1000
    left = args.minutes * 60 - (time.perf_counter() - begin)
    epochs = int(min(max(SHARE * left / per_epoch, 1), MOST_EPOCHS))
    return {"epochs": epochs, "milliseconds_a_step": milliseconds}


def train(settings, program, examples, saved):
    """Train by `settings`, from where it was left; state, curves, seconds."""
    steps = Steps.of(examples, settings["batch_size"])
    rates = learning_rates(settings, steps.number)
    fresh = program.state(make_model(settings))
    state, position = saved.load(fresh, settings)
    position = position or {"epoch": 0, "chunk": 0, "curves": {}, "seconds": 0}
    curves, before = position["curves"], position["seconds"]
    start, last = time.perf_counter(), steps.number // steps.chunk - 1

    def save(epoch, chunk):
        at = {"epoch": epoch, "chunk": chunk, "curves": curves}
        at["seconds"] = before + time.perf_counter() - start
        saved.save(state, settings=settings, **at)

    skip = position["chunk"]
    for epoch in range(position["epoch"], settings["epochs"]):
        state = state if skip else fresh_metrics(state)
        chunks = steps.epoch(settings, examples, epoch, rates[epoch])
        for number, chunk in enumerate(chunks):
            if number < skip:
                continue
            state, logs = program.steps(state, *chunk)
            if number < last and saved.is_due():
                save(epoch, number + 1)
        skip = 0
        for name, value in logs.items():
            curves.setdefault(name, []).append(float(value))
        if saved.is_due():
            save(epoch + 1, 0)
    return state, curves, before + time.perf_counter() - start


def score(settings, model, test_set):
    """Scores of the originals; with turned views, over a grid of angles too."""
    pictures, labels = test_set
    scores = images.score(model, pictures, labels)
    if settings["views"] == "turns":
        still = np.zeros(len(labels))
        turn, right = jax.jit(views.turn), []
        for angle in ANGLES:
            moved = turn(pictures, still + angle, still, still, still > 0)
            moved = np.asarray(jnp.round(moved)).astype("uint8")
            logits = model.predict(moved, batch_size=250, verbose=0)
            right.append(np.argmax(logits, axis=1) == labels)
        scores["mean_accuracy"] = float(np.mean(right))
        scores["worst_accuracy"] = float(np.min(right, axis=0).mean())
    return scores


def _plan(args, found, programs, kept):
    """The epochs of all runs, once for all commands."""
    options = {
        name: getattr(args, name)
        for name in ("minutes", "epochs", "datasets", "methods", "seeds")
    }
    if "plan" not in kept.record:
        chosen = {"epochs": args.epochs}
        if args.epochs is None:
            chosen = choose_epochs(args, found, programs)
        kept.record["plan"] = {"options": options, **chosen}
        kept.write()
    if kept.record["plan"]["options"] != options:
        raise ValueError(
            "The record in --out was begun with other options. Received: "
            f"{options}, there: {kept.record['plan']['options']}"
        )
    return kept.record["plan"]["epochs"]


def main(args, command):
    args.datasets = args.datasets or packed.datasets(args.data)
    sets = {}
    for dataset in args.datasets:
        both = packed.load_images(args.data, dataset, whole=args.limit is None)
        sets[dataset] = tuple(
            recipe.balanced_subset(*one, args.limit) for one in both
        )
    programs = Programs(sets)
    kept = results.Results(args.out, "images", args.data, command)
    saved = results.SavedState(f"{args.out}/images.npz", args.save_every)
    found = [
        run_settings(args, dataset, method, seed)
        for seed in args.seeds
        for dataset in args.datasets
        for method in args.methods
    ]
    epochs = _plan(args, found, programs, kept)
    for settings in found:
        stretch = args.num_views if METHODS[settings["method"]] is None else 1
        settings["epochs"] = epochs * stretch
        name = "{dataset} {method} seed {seed}".format(**settings)
        print(name, flush=True)
        if kept.has(settings):
            print("  finished before", flush=True)
            continue
        program = programs.of(settings)
        examples = len(sets[settings["dataset"]][0][0])
        state, curves, seconds = train(settings, program, examples, saved)
        program.write_back(state)
        model = getattr(program.model, "model", program.model)
        scores = score(settings, model, sets[settings["dataset"]][1])
        kept.add(settings, curves=curves, scores=scores, seconds=seconds)
        saved.path.unlink(missing_ok=True)
        print(
            f"  accuracy {scores['accuracy']:.4f}, nll {scores['nll']:.4f}, "
            f"{seconds:.0f} s",
            flush=True,
        )
