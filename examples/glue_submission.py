"""Files for the test sets of the GLUE server."""

import os
import pathlib
import tempfile

import numpy as np


def write_submission(path, task, example_ids, outputs):
    """Write predictions in the format of https://gluebenchmark.com/faq.

    A header `index`, `prediction` and a line for each example, by ascending
    index: the word of the class where the server wants one, else its number,
    or the value, cut to the range from 0 to 5, with three digits.

    Args:
        path: of the file; it appears whole or not at all.
        task: a `GlueTask`.
        example_ids: ids of the examples, the numbers 0 to n - 1 in any order.
        outputs: (examples, classes) logits, or (examples, 1) values.
    """
    numbers = np.asarray([int(one) for one in example_ids])
    order = np.argsort(numbers)
    if not np.array_equal(numbers[order], np.arange(len(numbers))):
        raise ValueError(
            "`example_ids` must be the numbers 0 to n - 1 of a whole test "
            f"set. Received: {len(numbers)} ids from {numbers.min()} to "
            f"{numbers.max()}"
        )
    lines = ["index\tprediction"]
    for index in order:
        lines.append(f"{numbers[index]}\t{_answer(task, outputs[index])}")
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".submission")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    os.chmod(temporary, 0o644)
    os.replace(temporary, path)


def _answer(task, output):
    if task.is_regression:
        return f"{min(max(float(output[0]), 0.0), 5.0):.3f}"
    answer = int(np.argmax(output))
    return task.answers[answer] if task.answers else str(answer)
