"""Wrong labels: gains by their share, and what a training makes of them."""

from tests.recomputed import evidence
from tests.recomputed import printed
from tests.recomputed import statistics

SHARES = (0, 10, 20, 40)


def _gap(gaps):
    """A difference in points with its own p; nothing where there is none."""
    if not gaps:
        return ""
    p = printed.said_p(statistics.paired_p(gaps))
    mean = printed.number(100 * statistics.mean(gaps), "+.2f")
    return printed.joined("{} ({})", mean, p)


def table(name, found):
    """A table for each score, a column for each share that has a record.

    Args:
        name: Of the table; there is one.
        found: All records.
    """
    del name
    shares = {}
    for share in SHARES:
        comparison, _ = evidence.read(f"digits-noise{share}-alike", found)
        if comparison is not None:
            shares[share] = comparison
    if not shares:
        return [printed.sentence("No record yet.")]
    counts = {s: len(c.methods["uniform"]) for s, c in shares.items()}
    methods = [m for m in next(iter(shares.values())).methods if m != "uniform"]
    lines = []
    for short, score in evidence.SHORT_NAMES.items():
        heads = [f"{s} % wrong ({n} seeds)" for s, n in counts.items()]
        first = f"{short}, minus `uniform`, points"
        lines += printed.heads(first, *heads, "20 % minus 0 %")
        for method in methods:
            gains = {
                share: _gains(comparison, method, score)
                for share, comparison in shares.items()
            }
            cells = [_gap(list(gain.values())) for gain in gains.values()]
            none, some = gains.get(0, {}), gains.get(20, {})
            added = [some[seed] - none[seed] for seed in some if seed in none]
            lines.append(printed.row(f"`{method}`", *cells, _gap(added)))
    return [*lines, printed.caption()]


def _gains(comparison, method, score):
    """By seed, a method minus uniform; nothing without the method."""
    if method not in comparison.methods:
        return {}
    uniform = comparison.series("uniform", score)
    of_method = comparison.series(method, score)
    return {s: of_method[s] - uniform[s] for s in of_method if s in uniform}


# Of the looks during a training: the steps with a row, and the columns.
STEPS = (400, 1200, 2400, 4000)
LOOKS = {
    "right labels: views not given it, %": ("right: wrong", 100, ".1f"),
    "wrong labels: views not given it, %": ("wrong: wrong", 100, ".1f"),
    "right labels: views that count": ("right: effective views", 1, ".2f"),
    "wrong labels: the same": ("wrong: effective views", 1, ".2f"),
}


def while_learning(name, found):
    """What becomes of right and of wrong labels, step by step.

    Args:
        name: Of the table, and of its record.
        found: All records.
    """
    record = found.get(f"evidence/{name}.json")
    if record is None:
        return [printed.sentence("No record yet.")]
    curves = {}
    for run in record["runs"]:
        curves.setdefault(run["method"], []).append(run["curves"])
    lines = printed.heads("step", "method", *LOOKS, left=2)
    for step in STEPS:
        for method, of_seeds in curves.items():
            cells = []
            for curve, scale, spec in LOOKS.values():
                values = [
                    scale * of[curve][of["steps"].index(step)]
                    for of in of_seeds
                ]
                cells.append(printed.spread(*statistics.summary(values), spec))
            lines.append(printed.row(str(step), f"`{method}`", *cells))
    draws = {str(len(of_seeds)) for of_seeds in curves.values()}
    before = f"{'/'.join(sorted(draws))} draws. {record['command']}"
    return [*lines, printed.origin(before, [record["environment"]])]
