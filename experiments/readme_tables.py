"""The tables of the README, made from the records.

    python -m experiments.readme_tables           rewrite them
    python -m experiments.readme_tables --check   change nothing

A table stands between a line `<!-- table NAME -->` and a line
`<!-- end NAME -->`. What is typed there by hand is lost, and a test compares
the README with the records.
"""

import argparse
import json
import pathlib
import re
import statistics
import sys

import scipy.stats

from experiments import readme_text_tables
from experiments import report
from experiments import report_tables
from experiments.reproduce.cells import Places

ROOT = pathlib.Path(__file__).resolve().parents[1]
_TABLE = re.compile(
    r"(<!-- table (\w+) -->\n).*?(<!-- end \2 -->\n)", re.DOTALL
)
# What older records call by the name that it had.
_MOVED = re.compile(r"-m (?:examples\.)?((?:glue_constant|benchmarks)\b)")

# Columns of the report's table in that of the README, and their names there.
_CIFAR_COLUMNS = {
    "runs": "seeds",
    "ours": "test accuracy, %",
    "beside the reference": "minus `uniform`",
    "p (Welch)": "p (Welch)",
    "nll": "test loss",
    "ece": "ECE, %",
    "flipped": "flipped, %",
    "shifted": "shifted, %",
}

_CIFAR_COMMAND = "python -m experiments.reproduce rivals --scale small"


# Text


def markdown(header, rows):
    """A table; the first column is text, the others are numbers."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def spread(values, digits=2, factor=1.0):
    """Mean and, from two values on, sample standard deviation."""
    values = [factor * value for value in values]
    text = f"{statistics.mean(values):.{digits}f}"
    if len(values) > 1:
        text += f" ± {statistics.stdev(values):.{digits}f}"
    return text


def gain(values, reference):
    """Mean and standard error of differences in points, seed by seed.

    Args:
        values: scores by seed.
        reference: the same of what they are compared with.

    Returns:
        The two numbers; `None` for what too few seeds do not tell.
    """
    pairs = [
        100 * (values[seed] - reference[seed])
        for seed in sorted(values.keys() & reference.keys())
    ]
    mean = statistics.mean(pairs) if pairs else None
    error = None
    if len(pairs) > 1:
        error = statistics.stdev(pairs) / len(pairs) ** 0.5
    return mean, error


def difference(values, reference):
    """`gain` as text."""
    mean, error = gain(values, reference)
    if mean is None:
        return ""
    return f"{mean:+.2f}" + (f" ± {error:.2f}" if error is not None else "")


def verdict(scores):
    """Which methods differ from `uniform` by more than chance may explain.

    Args:
        scores: by method, the scores by seed.
    """
    clear = []
    for method, values in scores.items():
        mean, error = gain(values, scores["uniform"])
        if method != "uniform" and error is not None:
            freedom = len(values.keys() & scores["uniform"].keys()) - 1
            if abs(mean) > scipy.stats.t.ppf(0.975, freedom) * error:
                clear.append(f"`{method}` ({mean:+.2f})")
    test = "by a paired t-test at the level of 5 %."
    if not clear:
        return f"No difference to `uniform` is significant {test}"
    return (
        f"Significant is the difference to `uniform` of {', '.join(clear)} "
        f"and of no other, {test}"
    )


def origin(record, command=None):
    """The command and the machine of a record, as one line.

    Args:
        record: one of those that the table is made from.
        command: what made all of them; by default what made this one.
    """
    environment = record["environment"]
    machine = ", ".join(
        environment["accelerators"]
        or [f"{environment['cores']} cores of an {environment['cpu']}"]
    )
    commit = (environment["commit"] or "no commit")[:7]
    if environment["dirty"]:
        commit += " with changes"
    command = command or _MOVED.sub(r"-m experiments.\1", record["command"])
    return (
        f"`{command}`: commit {commit}, {machine}, Keras "
        f"{environment['keras']}, {environment['backend']} backend."
    )


# Tables


def quickstart(results):
    path = results / "quickstart.json"
    if not path.exists():
        return ""
    record = json.loads(path.read_text(encoding="utf-8"))
    accuracy = {}
    for run in record["runs"]:
        seeds = accuracy.setdefault(run["method"], {})
        seeds[run["seed"]] = run["scores"]["accuracy"]
    rows = []
    for method, seeds in accuracy.items():
        scores = [r["scores"] for r in record["runs"] if r["method"] == method]
        column = {name: [s[name] for s in scores] for name in scores[0]}
        rows.append(
            [
                f"`{method}`",
                spread(column["accuracy"], 2, 100),
                ""
                if method == "uniform"
                else difference(seeds, accuracy["uniform"]),
                spread(column["accuracy_shifted"], 2, 100),
                spread(column["test_loss"], 3),
                f"{statistics.mean(column['cpu_seconds']):.1f}",
            ]
        )
    header = ["method", "test accuracy, %", "minus `uniform`"]
    header += ["shifted by a pixel, %", "test loss", "CPU seconds a run"]
    settings = record["settings"]
    return (
        markdown(header, rows)
        + f"\nMean ± standard deviation over {settings['seeds']} seeds; "
        "differences seed by seed ± standard error. "
        f"{verdict(accuracy)} The whole run took "
        f"{record['cpu_seconds']:.0f} CPU seconds. {origin(record)}\n"
    )


def cifar(results):
    places = Places(out=str(results / "small"))
    lines = report.lines_of("rivals", "small", places)
    rows = dict.fromkeys(line.cell.row for line in lines if line.runs)
    return "\n".join(
        _cifar_table([line for line in lines if line.cell.row == row])
        for row in rows
    )


def _cifar_table(lines):
    names = report_tables.header(lines)
    columns = [names.index(name) for name in _CIFAR_COLUMNS]
    rows = [
        [f"`{row[1]}`", *(row[column] for column in columns)]
        for row in report_tables.rows(lines)
    ]
    header = ["method", *_CIFAR_COLUMNS.values()]
    found = [record for line in lines for record in line.records]
    settings = found[0]["settings"]
    return (
        f"ResNet-{settings['depth']} on CIFAR-10, "
        f"{settings['limit'] // 10} images a class, "
        f"{settings['epochs']} epochs, batches of {settings['batch_size']}:"
        f"\n\n{markdown(header, rows)}\n{origin(found[0], _CIFAR_COMMAND)}\n"
    )


def benchmarks(results):
    tables = []
    for path in sorted((results / "benchmarks").glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if "pipelines" in record:
            table = _pipeline_table(record)
        elif "cases" in record and "jit_compile" in record:
            table = _step_table(record)
        else:
            # Text has a section of its own.
            continue
        tables.append(f"{table}\n{origin(record)}\n")
    return "\n".join(tables)


def _step_table(record):
    rows = []
    for case, found in record["cases"].items():
        for method, figures in found["methods"].items():
            ratio = figures["ratio_to_plain"]
            quartiles = f"{ratio['q25']:.3f} to {ratio['q75']:.3f}"
            rows.append(
                [
                    f"{case}, {method}",
                    f"{found['examples']} x {found['views']}",
                    f"{figures['cpu_ms_per_step']:.2f}",
                    f"{ratio['median']:.3f}",
                    quartiles,
                ]
            )
    step = "one training step" + ", XLA" * record["jit_compile"]
    header = [step, "groups x views", "CPU ms", "ratio to plain `fit`"]
    return markdown([*header, "quartiles"], rows)


def _pipeline_table(record):
    """Pipelines: a row for each, a column for each number and its quartiles."""
    rows, columns = [], []
    for name, found in record["pipelines"].items():
        row = [name.replace("_", " ")]
        for figures in found.values():
            row.append(
                f"{figures['median']:.2f} ({figures['q25']:.2f} to "
                f"{figures['q75']:.2f})"
            )
        rows.append(row)
        columns = [column.replace("_", " ") for column in found]
    header = f"{record['views']} views, batches of {record['batch_size']}"
    return markdown([header, *columns], rows)


def text_generation(results):
    path = results / "benchmarks" / "text_generation.json"
    if not path.exists():
        return ""
    record = json.loads(path.read_text(encoding="utf-8"))
    table = readme_text_tables.generation(record, markdown)
    return f"{table}\n{origin(record)}\n"


def diagnostics(results):
    path = results / "benchmarks" / "diagnostics.json"
    if not path.exists():
        return ""
    record = json.loads(path.read_text(encoding="utf-8"))
    rows = [
        [
            case,
            f"{found['cpu_ms_per_step']:.2f}",
            f"{found['cpu_ms_per_look']:.0f}",
            f"{found['looks_per_fit']:.1f} in {found['epochs']} epochs of "
            f"{found['steps_per_epoch']} steps",
            f"{100 * found['share_of_looks']:.2f}",
            f"{ratio['median']:.3f} ({ratio['q25']:.3f} to {ratio['q75']:.3f})",
        ]
        for case, found in record["cases"].items()
        for ratio in (found["ratio_to_plain"],)
    ]
    header = ["`fit` with `ViewWeights`", "CPU ms a step", "CPU ms a look"]
    header += ["looks", "share of looks, %", "`fit` with to without"]
    return f"{markdown(header, rows)}\n{origin(record)}\n"


def text_quickstart(results):
    return readme_text_tables.quickstart(results, markdown, spread, origin)


def glue(results):
    return readme_text_tables.glue(results, markdown, spread, origin)


TABLES = {
    "quickstart": quickstart,
    "cifar": cifar,
    "benchmarks": benchmarks,
    "diagnostics": diagnostics,
    "text_generation": text_generation,
    "text_quickstart": text_quickstart,
    "glue": glue,
}


def updated(text, results):
    """`text` with every table made anew.

    Args:
        text: the README.
        results: folder of the records.

    Raises:
        ValueError: if a table has no name known here.
    """

    def replace(match):
        begin, name, end = match.groups()
        if name not in TABLES:
            raise ValueError(
                f"A table must be one of {sorted(TABLES)}. Received: {name!r}"
            )
        content = TABLES[name](pathlib.Path(results)) or "No record yet.\n"
        return f"{begin}\n{content}\n{end}"

    return _TABLE.sub(replace, text)


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m experiments.readme_tables",
        description=__doc__.partition("\n")[0],
    )
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("--readme", default=ROOT / "README.md")
    parser.add_argument("--results", default=ROOT / "experiments" / "results")
    args = parser.parse_args(argv)
    readme = pathlib.Path(args.readme)
    before = readme.read_text(encoding="utf-8")
    after = updated(before, args.results)
    if args.check and after != before:
        sys.exit(
            "The tables of the README differ from the records. Run "
            "`python -m experiments.readme_tables` and commit the result."
        )
    if after != before:
        readme.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
