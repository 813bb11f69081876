"""Tables of one comparison: `uniform`, and what others are beside it."""

import math
import re

from tests.recomputed import printed
from tests.recomputed import records
from tests.recomputed import statistics
from tests.recomputed.plans import PLANS

# Of a column: the score, and what it is multiplied by.
SCORES = {
    "clean, %": ("original_accuracy", 100),
    "mean of the views, %": ("mean_accuracy", 100),
    "worst, %": ("worst_accuracy", 100),
    "clean NLL": ("original_nll", 1),
    "worst NLL": ("worst_nll", 1),
    "clean ECE, %": ("original_ece", 100),
    "ECE of the views, %": ("mean_ece", 100),
}
HEADS = ("method", *SCORES, "in training, %", "effective views")
LEARNED = (
    "right_original_accuracy",
    "right_mean_accuracy",
    "wrong_original_accuracy",
    "wrong_mean_accuracy",
)
LEARNED_HEADS = (
    "accuracy on the training labels, %",
    "right ones, originals",
    "over the grid",
    "wrong ones, originals",
    "over the grid",
)
SHORT_NAMES = {
    "clean": "original_accuracy",
    "mean": "mean_accuracy",
    "worst": "worst_accuracy",
    "ECE of the views": "mean_ece",
}


def short(value, sign=""):
    """One decimal from 10 on, two from 0.1 on, three below."""
    texts = set()
    for each in printed.near(value):
        decimals = 1 if abs(each) >= 10 else 2 if abs(each) >= 0.1 else 3
        texts.add(f"{each:{sign}.{decimals}f}")
    return texts


class Comparison:
    """The runs of a table, by method and seed.

    Args:
        runs: Of one record, or of several with the same seeds.
        baseline: Name of the method that others are compared with.
    """

    def __init__(self, runs, baseline):
        self.baseline = baseline
        self.methods = {}
        for run in runs:
            of_method = self.methods.setdefault(run["method"], {})
            of_method[run["seed"]] = run

    def series(self, method, score):
        """A score by seed."""
        runs = self.methods[method]
        return {seed: run["scores"][score] for seed, run in runs.items()}

    def gaps(self, method, score, other=None):
        """Differences to another method, seed by seed."""
        return records.paired(
            self.series(method, score),
            self.series(other or self.baseline, score),
        )

    def logged(self, method, quantity):
        """Mean of what the last epochs logged; none where one did not."""
        logs = [run["log"] for run in self.methods[method].values()]
        if not all(quantity in log for log in logs):
            return None
        return statistics.mean([log[quantity] for log in logs])


def whole_seeds(runs):
    """Runs of the seeds that every method has; none of fewer than two."""
    methods = {run["method"] for run in runs}
    of_seed = {}
    for run in runs:
        of_seed.setdefault(run["seed"], set()).add(run["method"])
    whole = {seed for seed, found in of_seed.items() if found == methods}
    return [run for run in runs if run["seed"] in whole and len(whole) > 1]


def read(name, found):
    """The comparison of a table, and the records that it is made of.

    Args:
        name: Of the table, and of its record.
        found: All records.

    Returns:
        A `Comparison` and a list, or twice nothing where there is no record.
    """
    plan = PLANS[name]
    names = [plan.beside, name] if plan.beside else [name]
    made = [found.get(f"evidence/{each}.json") for each in names]
    if None in made:
        return None, []
    runs = made[-1]["runs"]
    if plan.grows:
        runs = whole_seeds(runs)
        if not runs:
            return None, []
    seeds = {run["seed"] for run in runs}
    for record in made[:-1]:
        runs = [r for r in record["runs"] if r["seed"] in seeds] + runs
    return Comparison(runs, made[0]["baseline"]), made


def table(name, found):
    """The lines of a table of evidence.

    Args:
        name: Of the table.
        found: All records.
    """
    comparison, made = read(name, found)
    if comparison is None:
        return [printed.sentence("No record yet.")]
    plan = PLANS[name]
    return [
        *scores(comparison),
        *_seeds(comparison, plan),
        *_primary(comparison, plan),
        *_beside_plain(comparison),
        *_equal_views(comparison),
        *_learned(comparison),
        *_rates_and_origin(name, made, found),
    ]


def scores(comparison):
    """The table of scores, heads included."""
    others = [m for m in comparison.methods if m != comparison.baseline]
    adjusted = statistics.holm(
        {
            (method, score): statistics.paired_p(comparison.gaps(method, score))
            for method in others
            for score, _ in SCORES.values()
        }
    )
    lines = printed.heads(*HEADS)
    for method in (comparison.baseline, *others):
        cells = []
        for score, scale in SCORES.values():
            if method == comparison.baseline:
                values = comparison.series(method, score).values()
                centre, spread = statistics.summary(values)
                texts = short(scale * centre), short(scale * spread)
                cells.append(printed.joined("{} ± {}", *texts))
            else:
                gaps = [scale * g for g in comparison.gaps(method, score)]
                gap = short(statistics.mean(gaps), "+")
                if len(gaps) < 5:
                    ends = (short(e, "+") for e in statistics.interval(gaps))
                    cells.append(printed.joined("{} ({} to {})", gap, *ends))
                else:
                    p = printed.short_p(adjusted[method, score])
                    cells.append(printed.joined("{} (p {})", gap, p))
        accuracy = comparison.logged(method, "accuracy")
        views = comparison.logged(method, "effective_views")
        cells.append(printed.number(100 * accuracy, ".1f"))
        cells.append("" if views is None else printed.number(views, ".2f"))
        beside = "" if method == comparison.baseline else " - `uniform`"
        lines.append(printed.row(f"`{method}`{beside}", *cells))
    return lines


def _seeds(comparison, plan):
    """How many of the plan there are, and what the caption counts."""
    counts = {m: len(runs) for m, runs in comparison.methods.items()}
    count = counts[comparison.baseline]
    fewer = "".join(
        f" {n} of them for `{m}`" for m, n in counts.items() if n < count
    )
    if count < plan.seeds:
        yield printed.caption(str(count), str(plan.seeds))
    of_intervals = "95" if count < 5 else ""
    said = printed.numbers_of(f"{count} {fewer} {of_intervals}")
    yield printed.caption(*said.split())


def _said(comparison, score, method, other):
    """A difference in a sentence, with its interval; and its lower end."""
    scale, unit = (1, "") if score.endswith("nll") else (100, " points")
    gaps = [scale * gap for gap in comparison.gaps(method, score, other)]
    ends = statistics.interval(gaps)
    texts = (
        printed.number(value, "+.2f")
        for value in (statistics.mean(gaps), *ends)
    )
    template = f"{{}}{unit} (95 %: {{}} to {{}})"
    p = printed.said_p(statistics.paired_p(gaps))
    return printed.joined(template, *texts), p, ends[0]


def _primary(comparison, plan):
    """The sentences on what is asked first."""
    method, other = plan.of
    if not plan.primary or not {method, other} <= set(comparison.methods):
        return
    said, p, _ = _said(comparison, plan.primary, method, other)
    asked = plan.primary.replace("_", " ")
    beside = f"{method} minus {other}, is"
    template = f"Primary: {asked}, {beside} {{}}, {{}}, by itself."
    yield printed.sentence(printed.joined(template, said, p))
    if plan.primary == "original_accuracy":
        return
    said, _, low = _said(comparison, "original_accuracy", method, other)
    margin = ""
    if plan.margin:
        unit = "point" if plan.margin == 1 else "points"
        margin = f": a loss of {plan.margin:g} {unit} or more is "
        margin += "excluded" if low > -plan.margin else "not excluded"
    template = f"Clean accuracy, {beside} {{}}{margin}."
    yield printed.sentence(printed.joined(template, said))


def _beside_plain(comparison):
    """Hard and ball minus plain training."""
    weighted = [m for m in comparison.methods if re.match("(hard|ball) ", m)]
    if "plain" not in comparison.methods or not weighted:
        return
    parts, template = [], []
    for score in ("mean_accuracy", "worst_accuracy"):
        of_score = []
        for method in weighted:
            gaps = comparison.gaps(method, score, "plain")
            parts.append(printed.number(100 * statistics.mean(gaps), "+.2f"))
            parts.append(printed.said_p(statistics.paired_p(gaps)))
            of_score.append(f"`{method}` {{}} ({{}})")
        template.append(f"{score.replace('_', ' ')} {', '.join(of_score)}")
    text = f"Minus `plain`, each p by itself: {'; '.join(template)}."
    yield printed.sentence(printed.joined(text, *parts))


def gaps_at_equal_views(comparison, ball, score):
    """A ball minus what `hard` has where its effective views are the same.

    For each seed: the line through `uniform` and every hard, over the logarithm
    of the effective views of the last epoch. A seed does not count where the
    ball is beyond the ends of that line.
    """
    gaps = []
    dial = [
        runs
        for method, runs in comparison.methods.items()
        if method == "uniform" or method.startswith("hard ")
    ]
    for seed, run in comparison.methods[ball].items():
        points = [
            (math.log(of["log"]["effective_views"]), of["scores"][score])
            for of in (runs[seed] for runs in dial if seed in runs)
        ]
        at = math.log(run["log"]["effective_views"])
        if len(points) < 2 or not min(points)[0] <= at <= max(points)[0]:
            continue
        left = max(point for point in points if point[0] <= at)
        right = min(point for point in points if point[0] >= at)
        part = (at - left[0]) / (right[0] - left[0]) if right > left else 0
        value = left[1] + part * (right[1] - left[1])
        gaps.append(run["scores"][score] - value)
    return gaps


def _equal_views(comparison):
    """Balls beside `hard` at the effective views that they have."""
    methods = list(comparison.methods)
    hard = [m for m in methods if m.startswith("hard ")]
    lines = []
    for ball in (m for m in methods if m.startswith("ball ") and len(hard) > 2):
        parts, template = [], []
        for name, score in SHORT_NAMES.items():
            gaps = gaps_at_equal_views(comparison, ball, score)
            if gaps:
                template.append(f"{name} {{}} ({{}})")
                mean = 100 * statistics.mean(gaps)
                parts.append(printed.number(mean, "+.2f"))
                parts.append(printed.said_p(statistics.paired_p(gaps)))
        every = len(comparison.methods[ball])
        text = f"- `{ball}` ({len(gaps)} of {every} seeds)"
        if parts:
            text += f": {', '.join(template)}"
        lines.append(printed.sentence(printed.joined(text, *parts)))
    if lines:
        yield printed.caption()
    yield from lines


def _learned(comparison):
    """How well right and wrong training labels are known in the end."""
    first = next(iter(comparison.methods[comparison.baseline].values()))
    if not set(LEARNED) <= first["scores"].keys():
        return
    yield from printed.heads(*LEARNED_HEADS)
    for method in comparison.methods:
        cells = []
        for score in LEARNED:
            values = comparison.series(method, score).values()
            centre, deviation = statistics.summary(values)
            texts = 100 * centre, 100 * deviation
            cells.append(printed.spread(*texts, ".1f"))
        yield printed.row(f"`{method}`", *cells)


def chosen(name, record, found):
    """Rates by method: the best on held-out examples, where there were several.

    Args:
        name: Of the table.
        record: Of its runs.
        found: All records.
    """
    rates = dict(record.get("rates", {}))
    asked = found.get(f"evidence/{name}-rates.json", {"scores": {}})
    for method, scores in asked["scores"].items():
        sign = -1 if "accuracy" in asked["chosen_by"] else 1
        by_rate = {float(rate): sign * scores[rate] for rate in scores}
        if method in rates:
            rates[method] = min(sorted(by_rate), key=by_rate.__getitem__)
    return rates


def _rates_and_origin(name, made, found):
    """Rates that were chosen, and where the runs come from."""
    origins = [
        each for record in made for each in record.get("made") or [record]
    ]
    commands = list(dict.fromkeys(each["command"] for each in origins))
    rates = {}
    for each, record in zip(
        [PLANS[name].beside, name][-len(made) :], made, strict=True
    ):
        rates |= chosen(each, record, found)
    if rates and not any("--rate" in command for command in commands):
        said = ", ".join(f"{m} {r:g}" for m, r in rates.items())
        yield printed.sentence(f"Rates, chosen on held-out examples: {said}.")
    environments = [each["environment"] for each in origins]
    yield printed.origin(" ".join(commands), environments)
