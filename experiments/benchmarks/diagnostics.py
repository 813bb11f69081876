"""What looking at view weights costs: `fit` with the callback and without.

    python -m experiments.benchmarks.diagnostics

Trains the same model with `ViewWeights` (its default interval, TensorBoard
files and a saved run) and without, in turns within one process, and compares
the CPU time of whole `fit` calls. Prints the median ratio and its quartiles,
the CPU time of a step and of a look, and how many looks there were, and writes
them to experiments/results/benchmarks/diagnostics.json.

About 10 minutes on two cores. CPU time counts all threads, so that the ratios
hold on a machine that does other work as well.
"""

import os
import pathlib
import statistics
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

import keras_mmel
from experiments.benchmarks import step
from experiments.benchmarks.rounds import in_turns
from experiments.benchmarks.rounds import make_parser
from experiments.benchmarks.rounds import quartiles
from experiments.benchmarks.rounds import write
from keras_mmel.diagnostics import ViewWeights


def convnet() -> keras.Model:
    """A small convnet for images of 32 x 32."""
    return keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
            keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10),
        ]
    )


CASES = {
    # name: (builder, input shape, examples, views, steps an epoch, epochs)
    "tiny mlp": (step.tiny_mlp, (64,), 16, 10, 400, 20),
    "convnet": (convnet, (32, 32, 3), 16, 10, 200, 12),
}


class Timed(ViewWeights):
    """Counts the CPU time of its looks."""

    looks: list

    def _look(self, step):
        start = time.process_time()
        super()._look(step)
        self.looks.append(time.process_time() - start)


def fits(builder, shape, examples, views, steps, epochs, folder):
    """Two functions: `fit` without and with the callback."""
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    x = random.normal(size=(examples, views, *shape)).astype("float32")
    y = random.integers(0, 10, examples)
    probe = random.normal(size=(64, views, *shape)).astype("float32")
    labels = random.integers(0, 10, 64)
    data = tf.data.Dataset.from_tensors(({"views": x}, y)).repeat(steps)
    mmel = keras_mmel.MMELModel(builder(), "hard")
    mmel.compile(
        keras.optimizers.SGD(1e-3, momentum=0.9),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
    )

    def fit(callbacks):
        start = time.process_time()
        mmel.fit(data, epochs=epochs, verbose=0, callbacks=callbacks)
        return time.process_time() - start

    def watched():
        callback = Timed(
            ({"views": probe}, labels),
            log_dir=folder,
            save_to=pathlib.Path(folder) / "run.npz",
        )
        callback.looks = []
        spent = fit([callback])
        return spent, callback

    return lambda: fit([]), watched


def measure(case: str, rounds: int) -> dict:
    """CPU seconds of `fit` with and without, interleaved."""
    *settings, steps, epochs = CASES[case]
    with tempfile.TemporaryDirectory() as folder:
        without, watched = fits(*settings, steps, epochs, folder)
        without()
        watched()
        found = in_turns(
            {"without": without, "watched": watched}, rounds, f"{case}: "
        )
    plain = np.array(found["without"])
    spent = np.array([seconds for seconds, _ in found["watched"]])
    looks = [
        look for _, callback in found["watched"] for look in callback.looks
    ]
    total = steps * epochs
    return {
        "examples": settings[2],
        "views": settings[3],
        "probe_groups": 64,
        "steps_per_epoch": steps,
        "epochs": epochs,
        "cpu_ms_per_step": 1e3 * statistics.median(plain) / total,
        "cpu_ms_per_look": 1e3 * statistics.median(looks),
        "looks_per_fit": len(looks) / rounds,
        "share_of_looks": sum(looks) / sum(plain),
        "ratio_to_plain": quartiles(spent / plain),
    }


def main() -> None:
    parser = make_parser(__doc__, "diagnostics", 10)
    add = parser.add_argument
    add("--cases", nargs="+", choices=CASES, default=[*CASES])
    args = parser.parse_args()
    results = {}
    for case in args.cases:
        results[case] = found = measure(case, args.rounds)
        ratio = found["ratio_to_plain"]
        print(
            f"{case:9} step {found['cpu_ms_per_step']:.3f} ms CPU, look "
            f"{found['cpu_ms_per_look']:.1f} ms, {found['looks_per_fit']:.1f} "
            f"looks in {found['epochs']} epochs: "
            f"{100 * found['share_of_looks']:.2f} % by itself, fit x "
            f"{ratio['median']:.4f} ({ratio['q25']:.4f} to {ratio['q75']:.4f})"
        )
    write(args, cases=results)


if __name__ == "__main__":
    main()
