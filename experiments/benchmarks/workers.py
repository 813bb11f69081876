"""What a step costs each of two workers, by the kind of normalization.

    python -m experiments.benchmarks.workers

ResNet-20 on groups of 5 views, 16 groups a step, under
`tf.distribute.MultiWorkerMirroredStrategy` on the loopback of one machine: two
processes that have half of each batch, beside one process that has all of it.
With `BatchNormalization`, the same with `synchronized=True`, and
`GroupNormalization`, each by this code and by that of an earlier commit. All
take turns, each turn in fresh processes (`measured`). Writes the CPU time of a
step of each worker, and its ratio to that of the one process, to
experiments/results/benchmarks/workers.json; a half would be all that two
workers could save. About 25 minutes on two cores.
"""

import functools
import itertools
import json
import pathlib
import socket

from experiments.benchmarks import earlier
from experiments.benchmarks.rounds import in_turns
from experiments.benchmarks.rounds import make_parser
from experiments.benchmarks.rounds import quartiles
from experiments.benchmarks.rounds import write

KINDS = ("BatchNormalization", "synchronized", "GroupNormalization")


def turn(package: pathlib.Path, kind: str, workers: int) -> list[float]:
    """CPU milliseconds of a step, of each worker."""
    ports = []
    for _ in range(workers):
        with socket.socket() as probe:
            probe.bind(("localhost", 0))
            ports.append(f"localhost:{probe.getsockname()[1]}")
    children = []
    for index in range(workers):
        environ = {}
        if workers > 1:
            task = {"type": "worker", "index": index}
            config = {"cluster": {"worker": ports}, "task": task}
            environ["TF_CONFIG"] = json.dumps(config)
        children.append(earlier.start(package, "worker", kind, **environ))
    outputs = [child.communicate()[0] for child in children]
    figures = [json.loads(output.splitlines()[-1]) for output in outputs]
    return [figure["cpu_ms"] for figure in figures]


def main() -> None:
    parser = make_parser(__doc__, "workers", 3)
    parser.add_argument("--commit", default=earlier.COMMIT, help="the earlier")
    args = parser.parse_args()
    with earlier.packages(args.commit) as packages:
        turns = {
            (arm, kind, workers): functools.partial(
                turn, package, kind, workers
            )
            for kind in KINDS
            for workers in (1, 2)
            for arm, package in packages.items()
        }
        spent = in_turns(turns, args.rounds)
    kinds = {kind: {} for kind in KINDS}
    for kind, arm in itertools.product(KINDS, packages):
        one = [ms for (ms,) in spent[arm, kind, 1]]
        each = [sum(of_turn) / 2 for of_turn in spent[arm, kind, 2]]
        ratios = [a / b for a, b in zip(each, one, strict=True)]
        kinds[kind][arm] = {
            "one_process_cpu_ms": quartiles(one),
            "each_of_two_cpu_ms": quartiles(each),
            "each_of_two_to_one": quartiles(ratios),
        }
        print(kind, arm, kinds[kind][arm])
    write(args, earlier_commit=args.commit, kinds=kinds)


if __name__ == "__main__":
    main()
