"""A record of `keras_mmel.compare` as a table of the documentation."""

import math
from collections.abc import Sequence

import numpy as np

from experiments import dials
from experiments import markdown
from experiments import paired
from keras_mmel.comparison import Comparison
from keras_mmel.comparison.paired import paired_difference

_CLEAN = "original_accuracy"


def compared(
    record: dict,
    question: Sequence[str] | None = None,
    margin: float = 0,
    planned: int | None = None,
) -> str:
    """A comparison: the baseline, and every other method's difference.

    Args:
        record: With the runs of `keras_mmel.compare`.
        question: Score and method of the primary test, if there is one, and
            what the method is compared with where that is not the baseline.
        margin: Points by which clean accuracy may be lower.
        planned: Seeds of the plan, where a record may have fewer so far.
    """
    found = Comparison(record["runs"], record["baseline"])
    origins = record.get("made") or [record]
    scores = [_CLEAN, "mean_accuracy", "worst_accuracy"]
    scores += ["original_nll", "worst_nll", "original_ece", "mean_ece"]
    head, *rows = found.table(scores)
    for method, row in zip(found.methods, rows, strict=True):
        accuracy = found.values(method, "train_accuracy").mean()
        effective = found.values(method, "train_effective_views").mean()
        row[0] = f"`{method}`" + " - `uniform`" * (method != found.baseline)
        row.append(f"{100 * accuracy:.1f}")
        row.append("" if math.isnan(effective) else f"{effective:.2f}")
    header = ["method", "clean, %", "mean of the views, %", "worst, %"]
    header += ["clean NLL", "worst NLL", "clean ECE, %", "ECE of the views, %"]
    text = markdown.table([*header, "in training, %", "effective views"], rows)
    seeds = {m: len(found.values(m, scores[0])) for m in found.methods}
    fewer = (
        f" ({n} of them for `{m}`)"
        for m, n in seeds.items()
        if n < seeds[found.baseline]
    )
    text += _seeds_so_far(seeds[found.baseline], planned)
    text += (
        "\nThe baseline: mean ± standard deviation over "
        f"{seeds[found.baseline]} seeds{''.join(fewer)}; the "
        f"others: differences to it, {_in_brackets(seeds[found.baseline])}. "
        "Accuracy and effective views in training are those of the last "
        "epoch.\n"
    )
    text += _answer(found, question, margin)
    text += _beside_plain(found)
    text += dials.at_equal_views(found)
    text += _labels_learned(found)
    if "rates" in record:
        rates = (f"{name} {rate:g}" for name, rate in record["rates"].items())
        if not any("--rate" in made["command"] for made in origins):
            text += "\nRates, chosen on held-out examples: "
            text += f"{', '.join(rates)}.\n"
    return text + f"\n{markdown.origin(origins)}.\n"


def _in_brackets(seeds):
    """What `Comparison.table` has there."""
    if seeds < 5:
        return "in brackets the 95 % interval"
    return "p of a paired t-test, adjusted for all of the table (Holm)"


def merged(found: Sequence[dict]) -> dict:
    """One record of several that share their seeds; the first's baseline.

    Args:
        found: Records. Of the seeds of the first, only those of the last
            count: so a method with fewer runs is beside the same seeds.

    Returns:
        A record with the runs and the origins of all.
    """
    seeds = {run["seed"] for run in found[-1]["runs"]}
    rates = {}
    for record in found:
        rates |= record.get("rates", {})
    return {
        "baseline": found[0]["baseline"],
        "made": [
            made for record in found for made in record.get("made") or [record]
        ],
        "runs": [
            run
            for record in found
            for run in record["runs"]
            if run["seed"] in seeds
        ],
        **({"rates": rates} if rates else {}),
    }


def with_whole_seeds(record: dict) -> dict | None:
    """A growing record without the seed that is being run.

    Args:
        record: Of an experiment in which every seed has every method.

    Returns:
        The record with the seeds that have all methods; None where fewer than
        two do, which no test can compare.
    """
    methods = {run["method"] for run in record["runs"]}
    of_seed = {}
    for run in record["runs"]:
        of_seed.setdefault(run["seed"], set()).add(run["method"])
    whole = {seed for seed, found in of_seed.items() if found == methods}
    if len(whole) < 2:
        return None
    runs = [run for run in record["runs"] if run["seed"] in whole]
    return record | {"runs": runs}


def by_share(found: dict[int, dict]) -> str:
    """Methods minus uniform by the share of wrong labels, and what it adds.

    Args:
        found: Records of the same seeds, by the share in percent.

    Returns:
        A table for each score: differences to uniform with p by itself, and
        the difference of the differences at the largest share that all
        seeds have and at none.
    """
    if not found:
        return ""
    of = {s: Comparison(r["runs"], r["baseline"]) for s, r in found.items()}
    seeds = {s: len(c.values(c.baseline, _CLEAN)) for s, c in of.items()}
    methods = of[min(of)].methods[1:]
    text = ""
    for score, name in dials.SCORES.items():
        rows = []
        for method in methods:
            row = [f"`{method}`"]
            for comparison in of.values():
                if method not in comparison.methods:
                    row.append("")
                    continue
                test = comparison.difference(method, score)
                row.append(f"{100 * test.mean:+.2f} ({_short_p(test.p)})")
            row.append(_added(of, method, score))
            rows.append(row)
        header = [f"{name}, minus `uniform`, points"]
        header += [f"{s} % wrong ({seeds[s]} seeds)" for s in of]
        text += markdown.table([*header, "20 % minus 0 %"], rows) + "\n"
    return text + (
        "In brackets p of a paired t-test, by itself. Last column: what the "
        "wrong labels add to the difference, seed by seed.\n"
    )


def _added(of, method, score):
    if not {0, 20} <= of.keys():
        return ""
    gains = {}
    for share in (0, 20):
        if method not in of[share].methods:
            return ""
        runs = of[share].runs
        values = {
            (run["method"], run["seed"]): run["scores"][score] for run in runs
        }
        gains[share] = {
            seed: value - values["uniform", seed]
            for (name, seed), value in values.items()
            if name == method and ("uniform", seed) in values
        }
    test = paired.difference(gains[20], gains[0])
    if test is None:
        return ""
    return f"{100 * test.mean:+.2f} ({_short_p(test.p)})"


def _short_p(p):
    return "p ?" if math.isnan(p) else markdown.said_p(p)


def _seeds_so_far(count, planned):
    """Says of how many seeds an unfinished table is."""
    if planned is None or count >= planned:
        return ""
    return (
        f"\n**{count} of the {planned} seeds of the plan so far**: the others "
        "have not been run yet, and no test below is the planned one.\n"
    )


def _answer(found, question, margin):
    """The primary test, and clean accuracy beside it."""
    if not question:
        return ""
    score, method, *others = question
    other = others[0] if others else found.baseline
    if not {method, other} <= set(found.methods):
        return ""
    test = found.difference(method, score, other)
    text = (
        f"\nPrimary: {score.replace('_', ' ')}, {method} minus {other}, is "
        f"{_interval(test, score)}, {markdown.said_p(test.p)}, by itself.\n"
    )
    if score == _CLEAN:
        return text
    test = found.difference(method, _CLEAN, other)
    text += f"\nClean accuracy, {method} minus {other}, is "
    text += _interval(test, _CLEAN)
    if margin:
        within = test.low * 100 > -margin
        unit = "point" if margin == 1 else "points"
        text += f": a loss of {margin:g} {unit} or more is "
        text += "excluded" if within else "not excluded"
    return text + ".\n"


def _labels_learned(found):
    """How well right and wrong labels of the training data are learned."""
    scores = [
        f"{labels}_{views}_accuracy"
        for labels in ("right", "wrong")
        for views in ("original", "mean")
    ]
    if not set(scores) <= set(found.score_names):
        return ""
    rows = [
        [
            f"`{method}`",
            *(
                markdown.spread(100 * found.values(method, score), 1)
                for score in scores
            ),
        ]
        for method in found.methods
    ]
    header = ["accuracy on the training labels, %", "right ones, originals"]
    header += ["over the grid", "wrong ones, originals", "over the grid"]
    return f"\n{markdown.table(header, rows)}"


def _beside_plain(found):
    """Hard objectives and balls minus plain training, which costs the same."""
    hard = [m for m in found.methods if m.startswith(("hard ", "ball "))]
    if "plain" not in found.methods or not hard:
        return ""
    parts = []
    for score in ("mean_accuracy", "worst_accuracy"):
        tests = {m: found.difference(m, score, "plain") for m in hard}
        of = (
            f"`{m}` {100 * d.mean:+.2f} ({markdown.said_p(d.p)})"
            for m, d in tests.items()
        )
        parts.append(f"{score.replace('_', ' ')} {', '.join(of)}")
    return f"\nMinus `plain`, each p by itself: {'; '.join(parts)}.\n"


def _interval(test, score):
    factor, unit = (1, "") if score.endswith("nll") else (100, " points")
    low, high = factor * test.low, factor * test.high
    mean = factor * test.mean
    return f"{mean:+.2f}{unit} (95 %: {low:+.2f} to {high:+.2f})"


def during_training(record: dict, steps: Sequence[int]) -> str:
    """What becomes of right and of wrong labels while a network learns.

    Args:
        record: Of `experiments.mechanism --noise`.
        steps: Those that have a row, of the steps that were looked at.

    Returns:
        Markdown.
    """
    curves: dict[str, list[dict]] = {}
    for run in record["runs"]:
        curves.setdefault(run["method"], []).append(run["curves"])
    names = [
        f"{kind}: {what}"
        for what in ("wrong", "effective views")
        for kind in ("right", "wrong")
    ]
    rows = []
    for step in steps:
        for method, of_seeds in curves.items():
            row = [str(step), f"`{method}`"]
            for name in names:
                values = [of[name][of["steps"].index(step)] for of in of_seeds]
                is_share = name.endswith(": wrong")
                scale, digits = (100, 1) if is_share else (1, 2)
                row.append(markdown.spread([scale * v for v in values], digits))
            rows.append(row)
    header = ["step", "method", "right labels: views not given it, %"]
    header += ["wrong labels: views not given it, %"]
    header += ["right labels: views that count", "wrong labels: the same"]
    seeds = len(next(iter(curves.values())))
    return markdown.table(header, rows, words=2) + (
        f"\nMean ± standard deviation over {seeds} draws. "
        f"{markdown.origin([record])}.\n"
    )


def by_change(record: dict) -> str:
    """Accuracies under several changes of the test data, minus the baseline.

    Args:
        record: With a score `CHANGE_accuracy` for each of them.

    Returns:
        Markdown: first the untouched data, then the mean of the changes.
    """
    found = Comparison(record["runs"], record["baseline"])
    of_views = {_CLEAN, "mean_accuracy", "worst_accuracy"}
    changes = [
        name.removesuffix("_accuracy")
        for name in found.score_names
        if name.endswith("_accuracy") and name not in of_views
    ]
    names = [_CLEAN, *(f"{change}_accuracy" for change in changes)]

    def columns(method):
        clean, *others = (100 * found.values(method, name) for name in names)
        return [clean, np.mean(others, axis=0), *others]

    of_baseline = columns(found.baseline)
    rows = [
        [f"`{found.baseline}`", *(markdown.spread(v, 1) for v in of_baseline)]
    ]
    for method in found.methods[1:]:
        tests = [
            paired_difference(values, others)
            for values, others in zip(columns(method), of_baseline, strict=True)
        ]
        cells = [
            f"{test.mean:+.2f} ({markdown.said_p(test.p)})" for test in tests
        ]
        rows.append([f"`{method}` - `{found.baseline}`", *cells])
    return (
        markdown.table(["method", "clean", "mean of them", *changes], rows)
        + f"\nAccuracy in percent, mean ± standard deviation over "
        f"{len(of_baseline[0])} seeds, and differences, each p by itself. "
        f"{markdown.origin(record['made'])}.\n"
    )
