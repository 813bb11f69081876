"""What gradient accumulation saves: the memory of a step on large groups.

    python -m experiments.benchmarks.accumulation

Trains ResNet-20 on 16 groups of 20 views an update: all at once, 4 groups at a
time, and one, with `gradient_accumulation_steps`. Each run is a process of its
own with one thread; its memory is what `fit` adds to the peak. Prints megabytes
and CPU milliseconds an update, and writes them to
experiments/results/benchmarks/accumulation.json. About 10 minutes.
"""

import concurrent.futures
import functools
import multiprocessing
import os
import resource
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

import keras_mmel
from experiments.benchmarks.rounds import in_turns
from experiments.benchmarks.rounds import make_parser
from experiments.benchmarks.rounds import quartiles
from experiments.benchmarks.rounds import write

GROUPS, VIEWS, UPDATES = 16, 20, 4


def fit(at_a_time: int) -> tuple[float, float]:
    """Megabytes that training adds, and CPU milliseconds of an update."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    random = np.random.default_rng(0)
    views = random.normal(size=(GROUPS, VIEWS, 32, 32, 3)).astype("float32")
    labels = random.integers(0, 10, GROUPS)
    mmel = keras_mmel.MMELModel(keras_mmel.models.cifar_resnet(20, 10))
    steps = GROUPS // at_a_time
    mmel.compile(
        keras.optimizers.SGD(
            1e-3, gradient_accumulation_steps=steps if steps > 1 else None
        ),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    train = functools.partial(
        mmel.fit, {"views": views}, labels, batch_size=at_a_time, verbose=0
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    train()
    start = time.process_time()
    train(epochs=UPDATES)
    spent = time.process_time() - start
    added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return added / 1024, 1000 * spent / UPDATES


def in_a_process(at_a_time: int) -> tuple[float, float]:
    """`fit` in a new process."""
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, spawn) as pool:
        return pool.submit(fit, at_a_time).result()


def main() -> None:
    args = make_parser(__doc__, "accumulation", 5).parse_args()
    arms = {
        str(size): functools.partial(in_a_process, size) for size in (16, 4, 1)
    }
    found = {}
    for name, measured in in_turns(arms, args.rounds).items():
        memory, spent = zip(*measured, strict=True)
        found[name] = {
            "megabytes": quartiles(memory),
            "cpu_ms_per_update": quartiles(spent),
        }
        print(name, found[name])
    write(args, groups=GROUPS, views=VIEWS, at_a_time=found)


if __name__ == "__main__":
    main()
