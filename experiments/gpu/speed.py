r"""A step and its memory: `MMELModel` beside a plain `fit` and PyTorch.

    python -m experiments.gpu run speed --minutes 9

ResNet-20 on 128 groups of 5 images and a classifier of BERT-base's size with
random weights on 32 groups of 5 texts of RTE, in float32 and bfloat16. Every
way makes the same view passes on one batch, which each step copies to the card;
`program` is many steps of `hard` in one program that makes its views itself.
Each is a process of its own, so that the peak of its memory is its own. What is
finished is skipped. Expected: `hard` within 1.1 of `fit`, as on a processor.
"""

import itertools
import json
import pathlib
import statistics
import subprocess
import sys
import time

import jax
import keras
import numpy as np

import keras_mmel
from examples import cifar as recipe
from experiments import records
from experiments.gpu import packed
from experiments.gpu import results
from experiments.gpu import views
from experiments.gpu.one_program import OneProgram
from keras_mmel import objectives

PRECISIONS = ("float32", "mixed_bfloat16")
# Of a step; `fit` and torch have the groups flat.
WAYS = {
    "fit": None,
    "hard": objectives.Hard(1.0),
    "soft": objectives.Soft(),
    "ball": objectives.KLBall(0.07),
    "program": objectives.Hard(1.0),
    "torch": None,
}
FIRST = ("fit", "hard", "torch")
REST = {"resnet": ("program", "soft", "ball"), "bert": ("soft",)}
BASE = {
    "vocabulary_size": 30522,
    "num_layers": 12,
    "num_heads": 12,
    "hidden_dim": 768,
    "intermediate_dim": 3072,
}
TINY = dict(zip(BASE, (30522, 2, 2, 16, 32), strict=True))
NETWORKS = {
    # name: (sizes, groups, steps of a round); the same at toy size
    "resnet": (({"depth": 20}, 128, 100), ({"depth": 8}, 4, 2)),
    "bert": ((BASE, 32, 20), (TINY, 2, 2)),
}
VIEWS, ROUNDS, TASK = 5, 7, "rte"


def add_options(parser):
    add = parser.add_argument
    add("--minutes", type=float, default=9, help="none is begun after them")
    add(
        "--toy", action="store_true", help="tiny networks, to see that it works"
    )
    add("--only", nargs="+", help="some, each NETWORK,PRECISION,WAY")
    add("--here", action="store_true", help="in this process, without record")


def arms():
    """What is measured, in the order of its worth."""
    whole = itertools.product(NETWORKS, PRECISIONS, FIRST)
    rest = [
        (network, precision, way)
        for network, precision in itertools.product(NETWORKS, PRECISIONS)
        for way in REST[network]
    ]
    return [*whole, *rest]


class Clock(keras.callbacks.Callback):
    """Seconds of every epoch, to its last operation on the device."""

    def __init__(self):
        super().__init__()
        self.seconds = []

    def on_epoch_begin(self, epoch, logs=None):
        self._start = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        weights = self.model.trainable_variables
        jax.block_until_ready([weight.value for weight in weights])
        self.seconds.append(time.perf_counter() - self._start)


def make_groups(network, count, data):
    """Groups and labels of one batch; images are random."""
    random = np.random.default_rng(0)
    if network == "bert":
        x, y = packed.load_groups(data, TASK)
        views = {name: part[:count] for name, part in x["views"].items()}
        return views, y[:count].astype("int64")
    images = random.integers(0, 256, (count, VIEWS, 32, 32, 3), "uint8")
    return images, random.integers(0, 10, count)


def flat(groups, y):
    """The views as examples of their own."""
    x = jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:]), groups)
    return x, np.repeat(y, VIEWS)


def make_model(network, sizes):
    """The network, and the optimizer that it is trained by."""
    if network == "resnet":
        model = recipe.make_network("cifar10", sizes["depth"], 5e-4)
        return model, keras.optimizers.SGD(1e-3, momentum=0.9)
    from keras_mmel.text.bert.networks import BertBackbone
    from keras_mmel.text.bert.networks import BertTextClassifier

    model = BertTextClassifier(BertBackbone(**sizes), num_classes=2)
    return model, keras.optimizers.AdamW(2e-5)


def measure_fit(model, batch, steps):
    """Seconds of the first steps, and of a step in each round."""
    clock, endless = Clock(), (batch for _ in itertools.count())
    options = {"shuffle": False, "verbose": 0, "callbacks": [clock]}
    model.fit(endless, steps_per_epoch=3, **options)
    model.fit(endless, steps_per_epoch=steps, epochs=1 + ROUNDS, **options)
    first, _, *seconds = clock.seconds
    return first, [one / steps for one in seconds]


def measure_program(model, groups, y, steps):
    """The same for many steps in one program that crops its own views."""

    def make_batch(images, labels, key):
        return views.groups(images, key, VIEWS, views.cropped), labels

    program = OneProgram(model, make_batch, (groups[:, 0], y))
    order = np.tile(np.arange(len(y), dtype="int32"), (steps, 1))
    rates = np.full(steps, 1e-3, "float32")
    keys = jax.random.split(jax.random.key(0), steps)
    state, seconds = program.state(), []
    for _ in range(2 + ROUNDS):
        start = time.perf_counter()
        state, _ = program.steps(state, order, keys, rates)
        jax.block_until_ready(state)
        seconds.append(time.perf_counter() - start)
    return seconds[0], [one / steps for one in seconds[2:]]


def measure(network, precision, way, toy, data) -> dict:
    """One arm, in this process."""
    sizes, count, steps = NETWORKS[network][toy]
    groups, y = make_groups(network, count, data)
    if way == "torch":
        from experiments.gpu import in_torch

        batch = flat(groups, y)
        return in_torch.measure(network, sizes, batch, precision, steps, ROUNDS)
    keras.utils.set_random_seed(0)
    keras.config.set_dtype_policy(precision)
    model, optimizer = make_model(network, sizes)
    parameters = int(sum(np.prod(w.shape) for w in model.trainable_weights))
    batch = flat(groups, y)
    if WAYS[way] is not None:
        model = keras_mmel.MMELModel(model, WAYS[way])
        batch = {"views": groups}, y
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss)
    if way == "program":
        model.optimizer.build(model.trainable_variables)
        first, seconds = measure_program(model, groups, y, steps)
    else:
        first, seconds = measure_fit(model, batch, steps)
    memory = jax.devices()[0].memory_stats() or {}
    return {
        "first_seconds": first,
        "seconds": seconds,
        "peak_bytes": memory.get("peak_bytes_in_use"),
        "parameters": parameters,
        "device": jax.devices()[0].device_kind,
        "version": f"{keras.__version__}, jax {jax.__version__}",
    }


def _in_child(arm, args):
    """What `measure` gives in a process of its own, or why it gave nothing."""
    command = [sys.executable, "-m", "experiments.gpu", "run", "speed"]
    command += ["--here", "--only", ",".join(arm)]
    command += ["--data", str(pathlib.Path(args.data).resolve())]
    command += ["--toy"] * args.toy
    done = subprocess.run(command, cwd=records.ROOT, capture_output=True)
    lines = done.stdout.decode().splitlines()
    if done.returncode or not lines:
        print(done.stderr.decode()[-2000:], file=sys.stderr)
        return None
    return json.loads(lines[-1])


def main(args, command):
    chosen = [tuple(arm.split(",")) for arm in args.only or ()] or arms()
    if args.here:
        for arm in chosen:
            found = measure(*arm, args.toy, args.data)
            print(json.dumps(found), flush=True)
        return
    kept = results.Results(args.out, "speed", args.data, command)
    start = time.monotonic()
    for arm in chosen:
        network, precision, way = arm
        sizes, count, steps = NETWORKS[network][args.toy]
        settings = {"network": network, "precision": precision, "way": way}
        settings |= {"groups": count, "views": VIEWS, "steps": steps, **sizes}
        name = " ".join(arm)
        if kept.has(settings):
            print(f"{name}: finished before", flush=True)
        elif time.monotonic() - start > args.minutes * 60:
            print(f"{name}: not begun, no time is left", flush=True)
        elif found := _in_child(arm, args):
            kept.add(settings, **found)
            step = 1000 * statistics.median(found["seconds"])
            peak = (found["peak_bytes"] or 0) / 2**20
            print(f"{name}: {step:.2f} ms, {peak:.0f} MiB", flush=True)
        else:
            print(f"{name}: failed", flush=True)
