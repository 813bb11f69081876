"""The statistics of a report as titled rows of words."""

from keras_mmel.text.inspection.report import FAR
from keras_mmel.text.inspection.report import Report

Rows = list[tuple[str, str]]


def sections(report: Report, label_names=None) -> list[tuple[str, Rows]]:
    """The statistics as sections of (name, value), ready to print.

    Args:
        report: the report.
        label_names: names of the classes.

    Returns:
        Pairs of a title and its rows.
    """
    found = [
        ("Size", _size(report)),
        ("Lengths", _lengths(report)),
        ("Distinctness", _distinctness(report)),
    ]
    if report.has_teacher:
        found.append(("Teacher", _teacher(report)))
        if report.by_class:
            found.append(
                (
                    "Views with the label of their original, by label",
                    _classes(report, label_names),
                )
            )
    else:
        hint = "no predictions; `keras-mmel label` adds them"
        found.append(("Teacher", [("teacher", hint)]))
    if report.labels:
        found.append(("Labels", _labels(report, label_names)))
    return found


def name_of_label(label, label_names=None) -> str:
    """What a label is called, with its number where it has a name."""
    if label is None:
        return "none"
    is_class = isinstance(label, int)
    if is_class and label_names and 0 <= label < len(label_names):
        name = label_names[label]
        return name if name == str(label) else f"{name} ({label})"
    return f"{label}" if is_class else f"{label:.4g}"


def prediction(values, label_names=None) -> str:
    """What the teacher predicts, as one says it."""
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:.2f}"
    best = max(range(len(values)), key=values.__getitem__)
    return f"{name_of_label(best, label_names)}, {values[best]:.2f}"


def _size(report):
    fewest, most = report.views.least, report.views.most
    views = f"{report.num_views}, {fewest} to {most} of an example"
    if fewest == most:
        views = f"{report.num_views}, {most} of each example"
    return [("examples", f"{report.num_examples}"), ("views", views)]


def _lengths(report):
    rows = [
        ("words of an original", _spread(report.words)),
        ("words of a view", _spread(report.view_words)),
    ]
    if len(report.tokens):
        rows.append(("tokens of an original", _spread(report.tokens)))
    return rows


def _spread(counts):
    if not len(counts):
        return "-"
    return (
        f"mean {counts.mean:.1f}, median {counts.quantile(0.5)}, 95% up to "
        f"{counts.quantile(0.95)}, {counts.least} to {counts.most}"
    )


def _distinctness(report):
    return [
        ("words of a view that were replaced", _share(report.replaced)),
        ("words in which two views differ", _share(report.apart)),
        (
            "examples with all views distinct",
            _share(report.distinct_groups),
        ),
        ("views equal to their original", f"{report.equal_to_original}"),
        ("views equal to another view", f"{report.equal_to_another}"),
    ]


def _teacher(report):
    near = f", within {FAR}" if report.is_regression else ""
    rows = [
        (f"originals that get their label{near}", _of(report.teacher_labels)),
        (f"views that get this label{near}", _of(report.view_labels)),
        (f"views judged as their original{near}", _of(report.view_agrees)),
    ]
    if report.is_regression:
        distance = report.view_distance.value
        text = "-" if distance is None else f"{distance:.3f}"
        rows.append(("mean distance of view and original", text))
    return rows


def _classes(report, label_names):
    return [
        (name_of_label(label, label_names), _of(mean))
        for label, mean in sorted(report.by_class.items())
    ]


def _labels(report, label_names):
    return [
        (name_of_label(label, label_names), f"{count} examples")
        for label, count in sorted(report.labels.items())
    ]


def _share(mean):
    return "-" if mean.value is None else f"{100 * mean.value:.1f}%"


def _of(mean):
    if mean.value is None:
        return "-"
    return f"{_share(mean)} ({round(mean.total)} of {mean.count})"
