"""What GLUE's scores are of a model that has learned nothing.

    python -m experiments.glue_constant --tasks cola mrpc stsb rte

For each task the answer that is most common in training (regression: the mean)
is given to every example of the development set. A table of scores is read
beside these. The record is one file, experiments/results/glue_constant.json.
"""

import argparse
import sys

import numpy as np

from experiments import RESULTS
from experiments import records
from experiments.training import glue_tasks
from experiments.training.glue_tasks import TASKS


def constant_score(task, training_labels, labels):
    """The scores of one answer to everything.

    Args:
        task: A `GlueTask`.
        training_labels: `(examples,)`, what the answer is chosen by.
        labels: `(examples,)`, what it is measured on.

    Returns:
        A dict of floats.
    """
    training_labels = np.asarray(training_labels)
    if task.is_regression:
        answer = [training_labels.mean()]
    else:
        counts = np.bincount(training_labels, minlength=task.num_classes)
        answer = counts == counts.max()
    outputs = np.tile(np.asarray(answer, "float64"), (len(labels), 1))
    return glue_tasks.score(task, labels, outputs)


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m experiments.glue_constant",
        description=__doc__.partition("\n")[0],
    )
    add = parser.add_argument
    add("--tasks", nargs="+", choices=TASKS, default=["rte"])
    add("--data_dir", help="TFDS folder that has the data; else download")
    add("--out", default=f"{RESULTS}/glue_constant.json", help="the record")
    args = parser.parse_args(argv)
    words = sys.argv[1:] if argv is None else argv
    scores = {}
    for name in args.tasks:
        task = TASKS[name]
        training, labels = (
            [one.label for one in source.read(0, len(source))]
            for split in ("train", task.eval_splits[0])
            for source in [glue_tasks.source(task, split, args.data_dir)]
        )
        scores[name] = constant_score(task, training, labels)
        found = scores[name][task.metrics[0]]
        print(f"{name}: {task.metrics[0]} {found:.4f}", flush=True)
    records.write_record(
        args.out,
        {
            "command": records.command_line([__file__, *words]),
            "method": "constant",
            "settings": {"tasks": args.tasks},
            "environment": records.environment(),
            "scores": scores,
        },
    )


if __name__ == "__main__":
    main()
