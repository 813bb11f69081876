"""Records of the two quickstarts, for the tables and the figure of the guides.

    python -m experiments.quickstarts digits
    python -m experiments.quickstarts text --masked_lm BERT_TINY \\
        --learning_rate 5e-4

They train as `examples/quickstart.py` and `examples/text_quickstart.py` do,
and take their options; --record says where the record goes.
"""

import argparse
import pathlib
import sys
import time

import keras
import numpy as np

import keras_mmel
from examples import quickstart
from examples import text_quickstart
from experiments import RESULTS
from experiments import records

# How many training digits are looked at, and how many the picture shows.
LOOK_AT, SHOW = 40, 3


def look(train, seed=0):
    """What a hard model weighs most after half of the training, by group.

    Args:
        train: Training digits and their labels.
        seed: Of the model and its groups.

    Returns:
        Of the groups with the least even weights, one of a class: pixels,
        labels and weights; and at what step, out of how many groups.
    """
    keras.utils.set_random_seed(seed)
    plain = quickstart.make_model()
    mmel = keras_mmel.MMELModel(plain, quickstart.METHODS["hard 1"])
    mmel.compile(plain.optimizer, plain.loss)
    groups = quickstart.training_groups(train, seed)
    mmel.fit(groups, epochs=1, verbose=0)
    batches = list(groups.take(LOOK_AT // quickstart.GROUPS))
    views = np.concatenate([x["views"] for x, _ in batches])
    labels = np.concatenate([y for _, y in batches])
    weights = mmel.view_weights({"views": views}, labels)
    # The least even group of each class, the least even classes.
    order = np.argsort(-weights.max(axis=1))
    _, first = np.unique(labels[order], return_index=True)
    chosen = order[np.sort(first)[:SHOW]]
    return {
        "after_steps": int(mmel.optimizer.iterations.numpy()),
        "out_of": len(labels),
        "pixels": np.round(views[chosen, ..., 0], 2),
        "labels": labels[chosen],
        "weights": np.round(weights[chosen], 4),
    }


def digits(argv):
    """Everything in the record of the digits but what all records have."""
    args = quickstart.parse_arguments(argv)
    comparison = quickstart.compare(args.seeds, pathlib.Path(args.out) / "runs")
    return {
        "method": "quickstart",
        "settings": comparison.runs[0]["settings"],
        "baseline": comparison.baseline,
        "runs": [
            {key: run[key] for key in ("method", "seed", "scores", "log")}
            for run in comparison.runs
        ],
        "views": look(quickstart.load()[0]),
    }


def text(argv):
    """The same of the texts."""
    args = text_quickstart.parse_arguments(argv)
    result = text_quickstart.run(args)
    return {
        "method": "text quickstart",
        "settings": {"epochs": args.epochs, "num_views": args.num_views},
        "examples": result["examples"],
        "teacher": result["teacher"],
        "runs": result["runs"],
    }


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m experiments.quickstarts",
        description=__doc__.partition("\n")[0],
    )
    parser.add_argument("which", choices=("digits", "text"))
    parser.add_argument("--record", help="the file", metavar="PATH")
    args, rest = parser.parse_known_args(argv)
    path, make = f"{RESULTS}/quickstart.json", digits
    if args.which == "text":
        path, make = f"{RESULTS}/text_quickstart.json", text
    start, cpu = time.perf_counter(), time.process_time()
    record = make(rest)
    record["hours"] = (time.perf_counter() - start) / 3600
    record["cpu_seconds"] = time.process_time() - cpu
    record["environment"] = records.environment()
    words = sys.argv[1:] if argv is None else argv
    record["command"] = records.command_line([__file__, *words])
    records.write_record(args.record or path, record)


if __name__ == "__main__":
    main()
