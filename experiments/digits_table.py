"""The table of the digits that lose their label, from their records."""

import itertools
import pathlib
import statistics

from experiments import markdown
from experiments import paired
from experiments import records

ORDER = ("plain", "uniform", "hard", "soft", "uniform-whole", "hard-whole")
ORDER += ("uniform-fewer", "hard-fewer")
REFERENCES = {
    "hard": "uniform",
    "soft": "uniform",
    "hard-whole": "uniform-whole",
    "hard-fewer": "uniform-fewer",
}
CONTRASTS = (
    ("uniform-whole", "uniform"),
    ("hard-whole", "hard"),
    ("uniform-whole", "uniform-fewer"),
    ("hard-whole", "hard-fewer"),
)
_SCORES = ("accuracy", "accuracy_shifted")
_SHARES = ("lost_views", "lost_weight", "cut_views", "cut_weight")


def read(results: pathlib.Path) -> dict:
    """The records by method and shift (None for `plain`), in order."""
    found = records.read_records(results / "digits")
    found.sort(
        key=lambda record: (
            record["settings"]["shift"] or 0,
            ORDER.index(record["method"]),
        )
    )
    return {(r["method"], r["settings"]["shift"]): r for r in found}


def scores(record: dict, name: str) -> dict[int, float]:
    """A score by seed, in percent."""
    return {run["seed"]: 100 * run["scores"][name] for run in record["runs"]}


def table_of(results: pathlib.Path) -> str:
    """Both tables as Markdown; nothing without records."""
    found = read(results)
    if not found:
        return ""
    tests = _tests(
        found,
        {
            (method, shift): ((method, shift), (REFERENCES.get(method), shift))
            for method, shift in found
        },
    )
    rows, last = [], None
    for (method, shift), record in found.items():
        name = "" if shift is None else str(shift)
        row = [name if name != last else "", f"`{method}`"]
        last = name
        row.append(str(len(record["runs"])))
        beside = tests.get((method, shift), [("", "")] * len(_SCORES))
        for score, texts in zip(_SCORES, beside, strict=True):
            row.append(markdown.spread(scores(record, score).values()))
            row += texts
        if shift is None:
            row += [""] * (1 + len(_SHARES))
        else:
            row.append(f"{_mean(record, 'effective_views') / 100:.2f}")
            row += [f"{_mean(record, share):.1f}" for share in _SHARES]
        rows.append(row)
    beside = ["minus `uniform`", "p (Holm)"]
    header = ["shift", "method", "runs", "accuracy", *beside, "shifted"]
    header += [*beside, "effective views", "label lost", "its weight"]
    minutes = sum(record["cpu_seconds"] for record in found.values()) / 60
    return (
        "200 digits of scikit-learn, groups of an original and five views "
        "shifted by up to so many pixels of 8. Accuracy on the other digits, "
        "as they are and shifted by a pixel, in percent (mean ± standard "
        "deviation over the seeds); differences to `uniform`, of `hard-whole` "
        "and `hard-fewer` to `uniform-whole` and `uniform-fewer`, seed by seed "
        "(paired t-test; in brackets by Holm's method for all of a column). "
        "Last columns, in percent: views that lost their label or over 20 % of "
        "their ink, and the weight they have in the objective.\n\n"
        + markdown.table([*header, "cut", "its weight"], rows, words=2)
        + _contrasts(found)
        + f"\nTogether {minutes:.1f} CPU minutes. "
        f"{markdown.origin(found.values(), 'python -m experiments.digits')}.\n"
    )


def _contrasts(found):
    """What leaving views out changed; nothing without records of it."""
    tests = _tests(
        found,
        {
            (one, other, shift): ((one, shift), (other, shift))
            for one, other in CONTRASTS
            for shift in (1, 2, 3)
        },
    )
    if not tests:
        return ""
    rows = [
        [f"`{one}` minus `{other}`", str(shift), *itertools.chain(*texts)]
        for (one, other, shift), texts in tests.items()
    ]
    header = ["", "shift", "accuracy", "p (Holm)", "shifted", "p (Holm)"]
    return (
        "\nViews left out, because they are cut or whatever they are:\n\n"
        + markdown.table(header, rows, words=2)
    )


def _tests(found, pairs):
    """For each pair that has records, two cells for each score."""
    pairs = {
        key: pair
        for key, pair in pairs.items()
        if all(one in found for one in pair)
    }
    cells = [
        paired.columns(
            paired.difference(scores(found[a], name), scores(found[b], name))
            for a, b in pairs.values()
        )
        for name in _SCORES
    ]
    return dict(zip(pairs, zip(*cells, strict=True), strict=True))


def _mean(record, name):
    return statistics.mean(scores(record, name).values())
