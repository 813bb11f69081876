"""The tables of the digits that lose their label."""

from tests.recomputed import printed
from tests.recomputed import records
from tests.recomputed import statistics

# What each is compared with.
REFERENCES = {
    "uniform": None,
    "hard": "uniform",
    "soft": "uniform",
    "uniform-whole": None,
    "hard-whole": "uniform-whole",
    "uniform-fewer": None,
    "hard-fewer": "uniform-fewer",
}
LEFT_OUT = (
    ("uniform-whole", "uniform"),
    ("hard-whole", "hard"),
    ("uniform-whole", "uniform-fewer"),
    ("hard-whole", "hard-fewer"),
)
SHIFTS = (1, 2, 3)
SCORES = ("accuracy", "accuracy_shifted")
SHARES = ("lost_views", "lost_weight", "cut_views", "cut_weight")
BESIDE = ("minus `uniform`", "p (Holm)")
HEADS = (
    *("shift", "method", "runs", "accuracy", *BESIDE, "shifted", *BESIDE),
    *("effective views", "label lost", "its weight", "cut", "its weight"),
)
LEFT_OUT_HEADS = (
    *("", "shift", "accuracy", "p (Holm)", "shifted", "p (Holm)"),
)


def _series(record, score):
    return {run["seed"]: 100 * run["scores"][score] for run in record["runs"]}


def _tests(made, pairs):
    """Cells of a difference for each pair and score; Holm's by the score."""
    cells = {}
    for score in SCORES:
        gaps = {
            pair: records.paired(*(_series(made[of], score) for of in pair))
            for pair in pairs
        }
        p_values = {
            pair: statistics.paired_p(gap) for pair, gap in gaps.items()
        }
        adjusted = statistics.holm(p_values)
        for pair, gap in gaps.items():
            mean = printed.number(statistics.mean(gap), "+.2f")
            p = printed.two_p(p_values[pair], adjusted[pair])
            cells[pair, score] = [mean, p]
    return cells


def table(name, found):
    """Both tables, the sentences beside them included.

    Args:
        name: Of the table; there is one.
        found: All records.
    """
    del name
    made = {
        (record["method"], record["settings"]["shift"]): record
        for path, record in found.items()
        if path.startswith("digits/")
    }
    settings = made["plain", None]["settings"]
    cut = f"{100 * settings['cut']:g}"
    return [
        printed.caption(str(settings["training_digits"]), "8", cut),
        *_main(made),
        printed.caption(),
        *_left_out(made),
        _origin(made),
    ]


def _main(made):
    tests = _tests(
        made,
        [
            ((method, shift), (other, shift))
            for method, other in REFERENCES.items()
            for shift in SHIFTS
            if other
        ],
    )
    yield from printed.heads(*HEADS, left=2)
    plain = made["plain", None]
    cells = [str(len(plain["runs"]))]
    for score in SCORES:
        values = _series(plain, score).values()
        cells += [printed.spread(*statistics.summary(values)), "", ""]
    yield printed.row("", "`plain`", *cells, *[""] * 5)
    for shift in SHIFTS:
        for method, other in REFERENCES.items():
            record = made[method, shift]
            cells = [str(len(record["runs"]))]
            for score in SCORES:
                values = _series(record, score).values()
                cells.append(printed.spread(*statistics.summary(values)))
                pair = (method, shift), (other, shift)
                cells += tests[pair, score] if other else ["", ""]
            views = _series(record, "effective_views").values()
            cells.append(
                printed.number(statistics.mean(list(views)) / 100, ".2f")
            )
            for share in SHARES:
                values = list(_series(record, share).values())
                cells.append(printed.number(statistics.mean(values), ".1f"))
            first = str(shift) if method == "uniform" else ""
            yield printed.row(first, f"`{method}`", *cells)


def _left_out(made):
    pairs = {
        (one, other, shift): ((one, shift), (other, shift))
        for one, other in LEFT_OUT
        for shift in SHIFTS
    }
    tests = _tests(made, list(pairs.values()))
    yield from printed.heads(*LEFT_OUT_HEADS, left=2)
    for (one, other, shift), pair in pairs.items():
        cells = [cell for score in SCORES for cell in tests[pair, score]]
        yield printed.row(f"`{one}` minus `{other}`", str(shift), *cells)


def _origin(made):
    seconds = sum(record["cpu_seconds"] for record in made.values())
    # Adding in another order may round another way.
    before = f"{seconds / 60:.1f}"
    return printed.origin(before, [r["environment"] for r in made.values()])
