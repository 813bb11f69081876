"""What a step costs each of two workers, by the kind of normalization.

    python -m experiments.benchmarks.workers

ResNet-20 on groups of 5 views, 16 groups a step, under
`tf.distribute.MultiWorkerMirroredStrategy` on the loopback of one machine: two
processes that have half of each batch, beside one process that has all of it.
With `BatchNormalization`, the same with `synchronized=True`, and
`GroupNormalization`. All take turns, each turn in fresh processes. Writes the
CPU time of a step of each worker, and its ratio to that of the one process, to
experiments/results/benchmarks/workers.json; a half would be all that two
workers could save. About 15 minutes on two cores.
"""

import functools
import json
import os
import socket
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from experiments.benchmarks.rounds import in_turns
from experiments.benchmarks.rounds import make_parser
from experiments.benchmarks.rounds import quartiles
from experiments.benchmarks.rounds import write

KINDS = ("BatchNormalization", "synchronized", "GroupNormalization")
GROUPS, VIEWS, WARM_UP, STEPS = 16, 5, 4, 12


def normalized(model, kind):
    """The network anew, with another normalization."""
    import keras

    class OfGroups(keras.layers.GroupNormalization):
        def call(self, inputs, **_):  # a mask, as the other has it
            return super().call(inputs)

    def clone(layer):
        if not isinstance(layer, keras.layers.BatchNormalization):
            return layer.__class__.from_config(layer.get_config())
        if kind == "GroupNormalization":
            return OfGroups(8, name=layer.name)
        config = layer.get_config() | {"synchronized": kind == "synchronized"}
        return keras.layers.BatchNormalization.from_config(config)

    return keras.models.clone_model(model, clone_function=clone)


def work(kind: str) -> None:
    """Trains as the worker that TF_CONFIG names; prints CPU ms of a step."""
    import keras
    import numpy as np
    import tensorflow as tf

    import keras_mmel

    strategy = tf.distribute.get_strategy()
    if "TF_CONFIG" in os.environ:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rng = np.random.default_rng(0)
    views = rng.normal(size=(GROUPS, VIEWS, 32, 32, 3)).astype("float32")
    batch = {"views": views}, rng.integers(0, 10, GROUPS)
    data = tf.data.Dataset.from_tensors(batch).unbatch().repeat().batch(GROUPS)
    with strategy.scope():
        network = keras_mmel.models.cifar_resnet(20, 10)
        mmel = keras_mmel.MMELModel(normalized(network, kind))
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        mmel.compile(keras.optimizers.SGD(1e-3, momentum=0.9), loss)
    mmel.fit(data, steps_per_epoch=WARM_UP, verbose=0)
    start = time.process_time()
    mmel.fit(data, steps_per_epoch=STEPS, verbose=0)
    print(json.dumps(1e3 * (time.process_time() - start) / STEPS))


def turn(kind: str, workers: int) -> list[float]:
    """CPU milliseconds of a step, of each worker."""
    ports = []
    for _ in range(workers):
        with socket.socket() as probe:
            probe.bind(("localhost", 0))
            ports.append(f"localhost:{probe.getsockname()[1]}")
    command = [sys.executable, "-m", "experiments.benchmarks.workers"]
    children = []
    for index in range(workers):
        environ = dict(os.environ)
        if workers > 1:
            task = {"type": "worker", "index": index}
            config = {"cluster": {"worker": ports}, "task": task}
            environ["TF_CONFIG"] = json.dumps(config)
        children.append(
            subprocess.Popen(
                [*command, "--work", kind],
                env=environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        )
    outputs = [child.communicate()[0] for child in children]
    return [json.loads(output.splitlines()[-1]) for output in outputs]


def main() -> None:
    parser = make_parser(__doc__, "workers", 3)
    parser.add_argument("--work", choices=KINDS, help="as one worker; internal")
    args = parser.parse_args()
    if args.work:
        work(args.work)
        return
    turns = {
        (kind, workers): functools.partial(turn, kind, workers)
        for kind in KINDS
        for workers in (1, 2)
    }
    spent = in_turns(turns, args.rounds)
    kinds = {}
    for kind in KINDS:
        one = [ms for (ms,) in spent[kind, 1]]
        each = [sum(of_turn) / 2 for of_turn in spent[kind, 2]]
        ratios = [a / b for a, b in zip(each, one, strict=True)]
        kinds[kind] = {
            "one_process_cpu_ms": quartiles(one),
            "each_of_two_cpu_ms": quartiles(each),
            "each_of_two_to_one": quartiles(ratios),
        }
        print(kind, kinds[kind])
    settings = {"groups": GROUPS, "views": VIEWS, "steps": STEPS}
    write(args, settings=settings, kinds=kinds)


if __name__ == "__main__":
    main()
