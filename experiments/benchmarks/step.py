"""What reweighting costs: a training step beside plain `fit`.

    python -m experiments.benchmarks.step

Trains the same network on the same flat batch with plain Keras and with
`MMELModel` (uniform, hard, soft) by the function that `fit` calls for every
step. They take turns within one process, a step or a few each, since the speed
of a machine drifts within seconds. Compares their CPU time: prints the median
ratio to plain Keras and its quartiles, and writes them to
experiments/results/benchmarks/step.json.

About 6 minutes on two cores. CPU time counts all threads, so that the ratios
hold on a machine that does other work as well.
"""

import os
import statistics
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

METHODS = ("plain", "uniform", "hard", "soft")


def mlp() -> keras.Model:
    """One hidden layer of 256 on 28 x 28 pixels."""
    return keras.Sequential(
        [
            keras.Input((784,)),
            keras.layers.Dense(256, activation="relu"),
            keras.layers.Dense(10),
        ]
    )


def tiny_mlp() -> keras.Model:
    """Two layers of 64: the step is little more than its overhead."""
    return keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(10),
        ]
    )


def resnet20() -> keras.Model:
    return keras_mmel.models.cifar_resnet(20, num_classes=10)


CASES = {
    # name: (builder, input shape, examples, views, steps of a turn)
    "mlp": (mlp, (784,), 128, 10, 5),
    "tiny mlp": (tiny_mlp, (64,), 16, 10, 40),
    "resnet20": (resnet20, (32, 32, 3), 4, 10, 1),
}


def trainer(method: str, builder, shape, examples, views, steps, jit):
    """A function that runs one turn and returns CPU seconds of a step."""
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    x = random.normal(size=(examples, views, *shape)).astype("float32")
    y = random.integers(0, 10, examples)
    model = builder()
    if method == "plain":
        batch = (x.reshape(-1, *shape), y.repeat(views))
    else:
        batch = ({"views": x}, y)
        model = keras_mmel.MMELModel(model, method)
    model.compile(
        keras.optimizers.SGD(1e-3, momentum=0.9),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=jit,
    )
    data = tf.data.Dataset.from_tensors(batch).repeat()
    model.fit(data, steps_per_epoch=3, shuffle=False, verbose=0)
    batches = iter(data)

    def turn():
        start = time.process_time()
        for _ in range(steps):
            logs = model.train_function(batches)
        float(logs["loss"])
        return (time.process_time() - start) / steps

    return turn


def measure(case: str, rounds: int, jit: bool) -> dict:
    """CPU seconds of a step for each method, interleaved."""
    *settings, steps = CASES[case]
    turns = {m: trainer(m, *settings, steps, jit) for m in METHODS}
    for turn in turns.values():
        turn()
    spent = in_turns(turns, rounds, f"{case}: ")
    plain = np.array(spent["plain"])
    return {
        method: {
            "cpu_ms_per_step": 1e3 * statistics.median(spent[method]),
            "ratio_to_plain": quartiles(spent[method] / plain),
        }
        for method in METHODS
    }


def main() -> None:
    parser = make_parser(__doc__, "step", 240)
    add = parser.add_argument
    add("--cases", nargs="+", choices=CASES, default=[*CASES])
    add("--jit", action="store_true", help="compile with XLA")
    args = parser.parse_args()
    results = {}
    for case in args.cases:
        _, _, examples, views, steps = CASES[case]
        results[case] = {
            "examples": examples,
            "views": views,
            "steps_of_a_turn": steps,
            "methods": measure(case, args.rounds, args.jit),
        }
        for method, figures in results[case]["methods"].items():
            ratio = figures["ratio_to_plain"]
            print(
                f"{case:9} {method:8} {figures['cpu_ms_per_step']:9.3f} ms CPU"
                f"   x {ratio['median']:.3f} of plain"
                f"  ({ratio['q25']:.3f} to {ratio['q75']:.3f})"
            )
    write(args, jit_compile=args.jit, cases=results)


if __name__ == "__main__":
    main()
