"""The table of the README."""

from tests.recomputed import printed
from tests.recomputed import records
from tests.recomputed import statistics

CROPS = tuple(
    f"cifar-p3-alike-at-{rate}" for rate in ("0.001", "0.003", "0.01")
)
# Of a row: the score, the records whose mean it is, and that of the soft one.
ROWS = {
    "digits, turned, as they are": (
        "original_accuracy",
        ("digits-ball-u4-alike",),
        "digits-u4-original",
    ),
    "digits, right under 45 turns and shifts": (
        "worst_accuracy",
        ("digits-ball-u4-alike",),
        "digits-u4-original",
    ),
    "digits, 20 % wrong labels, as they are": (
        "original_accuracy",
        ("digits-noise20-alike",),
        "digits-noise20-original",
    ),
    "CIFAR-10, turned, as they are": (
        "original_accuracy",
        ("cifar-p2-alike",),
        "cifar-p2-original",
    ),
    "CIFAR-10, turned, mean over 9 turns": (
        "mean_accuracy",
        ("cifar-p2-alike",),
        "cifar-p2-original",
    ),
    "CIFAR-10, crops, as they are, three rates": (
        "original_accuracy",
        CROPS,
        None,
    ),
    "CIFAR-10, crops, right under 5 shifts, three rates": (
        "worst_accuracy",
        CROPS,
        None,
    ),
    "SST-2, 1,000 sentences, labels of a teacher": (
        "original_accuracy",
        ("text-sst2-teacher",),
        None,
    ),
}
COLUMNS = {
    "`Hard(1)`": "hard 1",
    "`Hard(0.3)`": "hard 0.3",
    "`KLBall(0.35)`": "ball 0.35",
    "`Soft()`": "soft",
    "single views, `plain`": "plain",
}


def mean_series(found, names, score, method):
    """A score in percent by seed, the mean over some records that have it."""
    several = []
    for name in names:
        runs = found[f"evidence/{name}.json"]["runs"]
        several.append(
            {
                run["seed"]: 100 * run["scores"][score]
                for run in runs
                if run["method"] == method
            }
        )
    common = [s for s in several[0] if all(s in each for each in several)]
    return {s: statistics.mean([each[s] for each in several]) for s in common}


def table(name, found):
    """A row for each question, a column for each method.

    Args:
        name: Of the table; there is one.
        found: All records.
    """
    del name
    first = "few labels, small models (seeds)"
    lines = printed.heads(first, "mean of the views, `uniform`", *COLUMNS)
    gaps = {}
    for row, (score, names, original) in ROWS.items():
        for method in COLUMNS.values():
            of = (original,) if method == "soft" else names
            if of == (None,):
                gaps[row, method] = []
                continue
            gaps[row, method] = records.paired(
                mean_series(found, of, score, method),
                mean_series(found, of, score, "uniform"),
            )
    adjusted = statistics.holm(
        {key: statistics.paired_p(gap) for key, gap in gaps.items()}
    )
    for row, (score, names, _) in ROWS.items():
        values = mean_series(found, names, score, "uniform").values()
        cells = [printed.spread(*statistics.summary(values))]
        for method in COLUMNS.values():
            gap, p = gaps[row, method], adjusted[row, method]
            cells.append("")
            if gap:
                mean = printed.number(statistics.mean(gap), "+.2f")
                cells[-1] = printed.joined("{} (p {})", mean, printed.long_p(p))
        lines.append(printed.row(f"{row} ({len(values)})", *cells))
    plain = mean_series(found, CROPS, "original_accuracy", "plain")
    return [*lines, printed.caption(str(len(plain)), "CIFAR-10", "SST-2")]
