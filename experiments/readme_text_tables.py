"""The tables of the README that are about text."""

import json

from examples.glue_tasks import TASKS
from experiments import report
from experiments.reproduce.cells import Places

_METHODS = ("baseline", "da-long", "uniform", "mmel-h", "mmel-s")
_SIZES = {"tiny": "BERT-tiny", "base": "BERT-base, random weights"}
_ARMS = {
    "ours": "`MaskedLMAugmenter`",
    "ours_jit": "the same, `jit_compile=True`",
    "keras_loop": "algorithm 2 as a plain loop, Keras",
    "transformers_loop": "algorithm 2 as a plain loop, transformers",
    "nlpaug": "nlpaug",
}


def generation(record, markdown):
    """Sentences a CPU-second of each way to augment."""
    rows = []
    for size, found in record["sizes"].items():
        for arm, figures in found["arms"].items():
            speed = figures["sentences_per_cpu_second"]
            ratio = figures["ours_to_this"]
            rows.append(
                [
                    f"{_SIZES[size]}: {_ARMS[arm]}",
                    f"{speed['median']:.3g}",
                    f"{ratio['median']:.1f}",
                    f"{ratio['q25']:.1f} to {ratio['q75']:.1f}",
                ]
            )
    header = ["four samples of a sentence", "sentences a CPU-second"]
    return markdown([*header, "ours to this", "quartiles"], rows)


def quickstart(results, markdown, spread, origin):
    """The text quickstart: accuracy over seeds."""
    path = results / "text_quickstart.json"
    if not path.exists():
        return ""
    record = json.loads(path.read_text(encoding="utf-8"))
    rows = []
    for method in dict.fromkeys(run["method"] for run in record["runs"]):
        scores = [r["scores"] for r in record["runs"] if r["method"] == method]
        rows.append(
            [
                f"`{method}`",
                str(len(scores)),
                spread([s["accuracy"] for s in scores], 1, 100),
                spread([s["loss"] for s in scores], 3),
            ]
        )
    header = ["method", "seeds", "test accuracy, %", "test loss"]
    return markdown(header, rows) + f"\n{origin(record)}\n"


def glue(results, markdown, spread, origin):
    """GLUE: a row for each method and kind of labels, a column for a task."""
    scores, found = {}, []
    for table in ("table3", "table4"):
        places = Places(out=str(results / "small"))
        for line in report.lines_of(table, "small", places):
            for record in line.records:
                settings = record["settings"]
                row = (record["method"], settings["labels"] or "")
                # The two tables share runs: one of a seed counts.
                cell = scores.setdefault(row, {})
                cell = cell.setdefault(settings["task"], {})
                metric = TASKS[settings["task"]].metrics[0]
                cell[record["seed"]] = record["scores"]["last"][metric]
                found.append(record)
    if not found:
        return ""
    constant, above = results / "glue_constant.json", ""
    if constant.exists():
        record = json.loads(constant.read_text(encoding="utf-8"))
        for task, of in record["scores"].items():
            cell = scores.setdefault(("constant", ""), {})
            cell[task] = {None: of[TASKS[task].metrics[0]]}
        above = (
            " `constant` gives every example the answer that is most common "
            f"in training. {origin(record)}"
        )
    tasks = [task for task in TASKS if any(task in s for s in scores.values())]
    rows = [
        [
            f"`{method}`" + (f", {labels} labels" if labels else ""),
            *(
                _cell(scores[method, labels].get(task), spread)
                for task in tasks
            ),
        ]
        for method in ("constant", *_METHODS)
        for labels in ("", "teacher", "original")
        if (method, labels) in scores
    ]
    origins = dict.fromkeys(origin(record) for record in found)
    header = ["method"]
    header += [f"{task} {TASKS[task].metrics[0]}" for task in tasks]
    return (
        markdown(header, rows)
        + "\nScores of the last epoch in percent, mean ± standard deviation "
        f"(number of seeds). {' '.join(origins)}{above}\n"
    )


def _cell(values, spread):
    if not values:
        return ""
    text = spread(values.values(), 1, 100)
    # What has no seed is no sample of anything.
    return text if None in values else f"{text} ({len(values)})"
