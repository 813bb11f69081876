"""A record of `keras_mmel.compare` as a table of the documentation."""

import math

from experiments import markdown
from keras_mmel.comparison import Comparison


def compared(
    record: dict, question: tuple[str, str] | None = None, margin: float = 0
) -> str:
    """A comparison: the baseline, and every other method's difference.

    Args:
        record: With the runs of `keras_mmel.compare`.
        question: Score and method of the primary test, if there is one.
        margin: Points by which clean accuracy may be lower.
    """
    found = Comparison(record["runs"], record["baseline"])
    clean = "original_accuracy"
    scores = [clean, "mean_accuracy", "worst_accuracy"]
    scores += ["original_nll", "worst_nll", "original_ece", "mean_ece"]
    head, *rows = found.table(scores, adjusted=True)
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
    text += (
        "\nThe baseline: mean ± standard deviation over "
        f"{seeds[found.baseline]} seeds{''.join(fewer)}; the "
        "others: differences to it, p of a paired t-test, adjusted for all of "
        "the table (Holm). Accuracy and effective views in training are those "
        "of the last epoch.\n"
    )
    if question:
        score, method = question
        test = found.difference(method, score)
        text += (
            f"\nPrimary: {score.replace('_', ' ')}, {method} minus uniform, is "
            f"{_interval(test, score)}, {_plain_p(test.p)}, by itself.\n"
        )
        if score != clean:
            test = found.difference(method, clean)
            text += f"\nClean accuracy, {method} minus uniform, is "
            text += _interval(test, clean)
            if margin:
                within = test.low * 100 > -margin
                text += f": a loss of {margin:g} point or more is "
                text += "excluded" if within else "not excluded"
            text += ".\n"
    text += _beside_plain(found)
    if "rates" in record:
        rates = (f"{name} {rate:g}" for name, rate in record["rates"].items())
        if "--rate" not in record["command"]:
            text += "\nRates, chosen on held-out examples: "
            text += f"{', '.join(rates)}.\n"
    return text + f"\n{markdown.origin([record])}.\n"


def _beside_plain(found):
    """The hard objective minus plain training, which costs the same."""
    hard = [name for name in found.methods if name.startswith("hard")]
    if "plain" not in found.methods or not hard:
        return ""
    parts = []
    for score in ("mean_accuracy", "worst_accuracy"):
        tests = {m: found.difference(m, score, "plain") for m in hard}
        of = (
            f"`{m}` {100 * d.mean:+.2f} ({_plain_p(d.p)})"
            for m, d in tests.items()
        )
        parts.append(f"{score.replace('_', ' ')} {', '.join(of)}")
    return f"\nMinus `plain`, each p by itself: {'; '.join(parts)}.\n"


def _interval(test, score):
    factor, unit = (1, "") if score.endswith("nll") else (100, " points")
    low, high = factor * test.low, factor * test.high
    mean = factor * test.mean
    return f"{mean:+.2f}{unit} (95 %: {low:+.2f} to {high:+.2f})"


def _plain_p(p):
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"
