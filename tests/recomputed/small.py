"""CIFAR-10 with few labels: a record for each run of a method and seed."""

import math

from tests.recomputed import printed
from tests.recomputed import records
from tests.recomputed import statistics

FOLDER = "small/cifar/"
# Of a column: its kind, its name in the record, its scale and its decimals.
MORE = {
    "NLL": ("scores", "nll", 1, ".3f"),
    "ECE": ("scores", "ece", 100, ".2f"),
    "flipped": ("scores", "accuracy_flipped", 100, ".2f"),
    "shifted": ("scores", "accuracy_shifted", 100, ".2f"),
    "in training": ("curves", "accuracy", 100, ".1f"),
    "effective views": ("curves", "effective_views", 1, ".2f"),
    "hours a run": ("hours", None, 1, ".3f"),
}
HEADS = (*("", "method", "runs", "ours", "minus reference", "p (Holm)", *MORE),)
RIVALS = (
    *("da", "da-long", "uniform", "mmel-h", "mmel-s"),
    *("maxup", "tilted", "consistency"),
)
EPOCHS = {1000: 60, 2500: 40}


def runs(found, method, batch, limit=1000, lambda_p=1.0, views=5):
    """Records by seed of a method with these settings.

    Args:
        found: All records.
        method: Its name.
        batch: Images, or groups, in a batch.
        limit: Images to train with.
        lambda_p: Where the method has one.
        views: Of a group; single views have 1.
    """
    passes = 5 if method == "da-long" else 1
    wanted = {
        "dataset": "cifar10",
        "depth": 8,
        "batch_size": batch,
        "limit": limit,
        "epochs": EPOCHS[limit] * passes,
    }
    return {
        record["seed"]: record
        for path, record in found.items()
        if path.startswith(FOLDER)
        and record["method"] == method
        and record["settings"]["lambda_p"] in (None, lambda_p)
        and record["settings"]["num_views"] in (1, views)
        and wanted.items() <= record["settings"].items()
    }


def accuracy(of_seeds):
    """In percent, by seed."""
    return {s: 100 * r["scores"]["accuracy"] for s, r in of_seeds.items()}


def _lines(name, found):
    """Of a table: row, method and records of each line, and the reference."""
    if name == "small-lambda_p":
        lines = {"maxup lambda_p=0": runs(found, "maxup", 50)}
        for value in (0.1, 0.3, 1, 3):
            label = f"mmel-h lambda_p={value}"
            lines[label] = runs(found, "mmel-h", 50, lambda_p=value)
        lines["uniform lambda_p=inf"] = runs(found, "uniform", 50)
        return {1000: lines}, "uniform lambda_p=inf"
    if name == "small-equal_steps":
        batches = {"da-long": 50, "uniform": 10, "mmel-h": 10, "mmel-s": 10}
        lines = {m: runs(found, m, batch) for m, batch in batches.items()}
        return {1000: lines}, "uniform"
    limits = {
        limit: {m: runs(found, m, 50, limit) for m in RIVALS}
        for limit in EPOCHS
    }
    return limits, "uniform"


def _value(record, kind, name, scale):
    """One number behind the score; none of a curve that ends at 0."""
    value = record.get(kind)
    if name is not None:
        value = value.get(name)
    if isinstance(value, list):
        value = value[-1] or None
    return None if value is None else scale * value


def table(name, found):
    """The lines of one of the three tables.

    Args:
        name: Of the table.
        found: All records.
    """
    rows, reference = _lines(name, found)
    rows = {
        limit: {label: of for label, of in lines.items() if of}
        for limit, lines in rows.items()
    }
    gaps = {
        (limit, label): records.paired(accuracy(of), accuracy(lines[reference]))
        for limit, lines in rows.items()
        for label, of in lines.items()
        if label != reference
    }
    p_values = {key: statistics.paired_p(gap) for key, gap in gaps.items()}
    adjusted = statistics.holm(p_values)
    made = [
        record["environment"]
        for lines in rows.values()
        for of in lines.values()
        for record in of.values()
    ]
    body = printed.heads(*HEADS, left=2)
    for limit, lines in rows.items():
        for place, (label, of) in enumerate(lines.items()):
            first = f"cifar10 ResNet8, {limit} images" if place == 0 else ""
            score = statistics.summary(accuracy(of).values())
            cells = [str(len(of)), printed.spread(*score)]
            key = limit, label
            cells += _beside(
                gaps.get(key), p_values.get(key), adjusted.get(key)
            )
            cells += [_more(of, *column) for column in MORE.values()]
            body.append(printed.row(first, label, *cells))
    above = printed.caption("CIFAR-10", *["0"] * (name == "small-lambda_p"))
    return [above, *body, printed.origin("", made)]


def _beside(gap, p, adjusted):
    if not gap:
        return ["", ""]
    mean = printed.number(statistics.mean(gap), "+.2f")
    return [mean, "" if math.isnan(p) else printed.two_p(p, adjusted)]


def _more(of_seeds, kind, name, scale, spec):
    values = [_value(r, kind, name, scale) for r in of_seeds.values()]
    values = [value for value in values if value is not None]
    return printed.number(statistics.mean(values), spec) if values else ""
