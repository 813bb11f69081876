"""Clean against worst accuracy: each method a line along its dial."""

import matplotlib.figure

from keras_mmel.comparison import Comparison

# Families of methods that differ in one number, its last word; the baseline is
# where each of them begins but the last.
FAMILIES = {
    "hard": "hard, lambda_p",
    "ball": "ball, radius",
    "tilted": "tilted (TERM)",
    "hardest": "mean of the hardest",
    "consistency": "consistency (AugMix's loss)",
}
COLORS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00")


def draw(record: dict) -> matplotlib.figure.Figure:
    """One picture of a comparison of dials.

    Args:
        record: With runs of methods named after `FAMILIES`, as `ball 0.07`.

    Returns:
        A Matplotlib figure; accuracies in percent, means over the seeds.
    """
    found = Comparison(record["runs"], record["baseline"])

    def point(method):
        return tuple(
            100 * found.values(method, score).mean()
            for score in ("original_accuracy", "worst_accuracy")
        )

    figure = matplotlib.figure.Figure((5.6, 4.0), layout="constrained")
    panel = figure.subplots()
    for (family, label), color in zip(FAMILIES.items(), COLORS, strict=True):
        numbers = [
            name.removeprefix(f"{family} ")
            for name in found.methods
            if name.startswith(f"{family} ")
        ]
        # Runs of an earlier experiment come first, in whatever order.
        dial = {
            number: point(f"{family} {number}")
            for number in sorted(numbers, key=float)
        }
        if not dial:
            continue
        panel.plot(
            *zip(*dial.values(), strict=True), "o-", c=color, label=label
        )
        for number, place in dial.items():
            panel.annotate(
                number,
                place,
                xytext=(4, 3),
                textcoords="offset points",
                fontsize="x-small",
                color=color,
            )
    for name, marker in ((found.baseline, "s"), ("plain", "D")):
        if name in found.methods:
            panel.plot(*point(name), marker, c="0.3", label=name)
    seeds = len(found.values(found.baseline, "original_accuracy"))
    panel.set_xlabel(f"clean accuracy, % (mean of {seeds} seeds)")
    panel.set_ylabel("worst of the views, %")
    panel.legend(fontsize="small")
    return figure
