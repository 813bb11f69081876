"""What was found in augmented files, for a terminal and as an HTML page."""

import textwrap
import unicodedata
from collections.abc import Sequence

import numpy as np

from keras_mmel.pages import page
from keras_mmel.pages.words import mark
from keras_mmel.text.inspection.findings import FAR
from keras_mmel.text.inspection.findings import Findings

_ON, _OFF = "\x1b[1;33m", "\x1b[0m"


def to_terminal(
    found: Findings,
    title: str,
    *,
    label_names: Sequence[str] | None = None,
    color: bool = False,
    width: int = 80,
) -> str:
    """Findings as tables and examples; ends with a line feed.

    Args:
        found: From `inspect_records`.
        title: What was looked at.
        label_names: Names of the classes.
        color: Whether to mark replaced words by color, else by brackets.
        width: Columns of the terminal.

    Returns:
        Text in which control characters of the data are shown, not sent.
    """
    lines = [_visible(title), ""]
    tables = _tables(found, label_names)
    wide = max(len(_visible(n)) for _, rows in tables for n, _ in rows)
    for heading, rows in tables:
        lines.append(heading)
        for name, value in rows:
            lines.append(f"  {_visible(name):<{wide}}  {_visible(value)}")
        lines.append("")
    before, after = (_ON, _OFF) if color else ("[", "]")
    for heading, rows in _examples(found, label_names):
        lines.append(_visible(heading))
        for name, pairs, said in rows:
            texts = [
                "".join(
                    f"{before}{_visible(piece)}{after}"
                    if differs
                    else _visible(piece)
                    for piece, differs in mark(original, text)
                )
                for original, text in pairs
            ]
            if said:
                texts[-1] += f"  <{_visible(said)}>"
            for start, text in zip([name, ""], texts, strict=False):
                lines.append(_wrap(f"{start:>2} ", text, width))
        lines.append("")
    for name in found.missing_ids:
        lines.append(f"No example has the id {_visible(repr(name))}.")
    return "\n".join(lines).rstrip("\n") + "\n"


def to_html(
    found: Findings, title: str, *, label_names: Sequence[str] | None = None
) -> str:
    """Findings as a page: statistics, then examples with their views.

    Args:
        found: From `inspect_records`.
        title: What was looked at.
        label_names: Names of the classes.

    Returns:
        The page. Whatever stands in the data is escaped, and the page may load
        and run nothing.
    """
    sections = [
        page.section(heading, page.table(rows))
        for heading, rows in _tables(found, label_names)
    ]
    for heading, examples in _examples(found, label_names):
        rows = []
        for name, pairs, said in examples:
            texts = "".join(page.marked(*pair) for pair in pairs)
            name = f"view {name}" if name else "original"
            rows.append((name, page.Html(texts), said))
        sections.append(page.section(heading, page.table(rows)))
    for name in found.missing_ids:
        sections.append(page.section("", f"No example has the id {name!r}."))
    return page.page(title, "", sections)


def _tables(found, label_names):
    """Pairs of a title and rows of (name, value), ready to print."""

    def by_label(values, show):
        return [
            (_name(label, label_names), show(values[label]))
            for label in sorted(values)
        ]

    fewest, most = min(found.views, default=0), max(found.views, default=0)
    each = f"{fewest} to {most} of an" if fewest < most else f"{most} of each"
    views = found.lengths["words of a view"].total()
    tables = {
        "Size": [
            ("examples", f"{found.views.total()}"),
            ("views", f"{views}, {each} example"),
        ],
        "Lengths": [(n, _spread(v)) for n, v in found.lengths.items() if v],
        "Distinctness": [(n, _share(v)) for n, v in found.shares.items()]
        + [(n, f"{v}") for n, v in found.equal.items()],
        "Teacher": [
            ("teacher", "no predictions; `keras-mmel label` adds them")
        ],
    }
    if any(mean.count for mean in found.teacher.values()):
        near = f", within {FAR}" if found.distance.count else ""
        rows = [(f"{n}{near}", _of(v)) for n, v in found.teacher.items()]
        if found.distance.count:
            distance = f"{found.distance.value:.3f}"
            rows.append(("mean distance of view and original", distance))
        tables["Teacher"] = rows
    if found.by_class:
        title = "Views with the label of their original, by label"
        tables[title] = by_label(found.by_class, _of)
    if found.labels:
        tables["Labels"] = by_label(found.labels, "{} examples".format)
    return tables.items()


def _spread(counts):
    values = np.repeat(list(counts), list(counts.values()))
    median, most = np.percentile(values, [50, 95], method="inverted_cdf")
    return (
        f"mean {values.mean():.1f}, median {median}, 95% up to {most}, "
        f"{values.min()} to {values.max()}"
    )


def _share(mean):
    return f"{100 * mean.value:.1f}%" if mean.count else "-"


def _of(mean):
    of = f" ({round(mean.total)} of {mean.count})" if mean.count else ""
    return _share(mean) + of


def _examples(found, label_names):
    """Pairs of a heading and rows: number, texts and prediction of a view.

    Each text comes with that of the original.
    """
    for record in found.examples:
        label = _name(record.label, label_names)
        heading = f"Example {record.example_id}, label {label}"
        if said := _prediction(record.teacher, label_names):
            heading += f", teacher {said}"
        rows = [("", list(zip(record.texts, record.texts, strict=True)), "")]
        for number, view in enumerate(record.views, start=1):
            pairs = list(zip(record.texts, view.texts, strict=True))
            said = _prediction(view.teacher, label_names)
            rows.append((f"{number}", pairs, said))
        yield heading, rows


def _name(label, label_names):
    """What a label is called, with its number where it has a name."""
    if label is None:
        return "none"
    if not isinstance(label, int):
        return f"{label:.4g}"
    if not label_names or not 0 <= label < len(label_names):
        return str(label)
    name = label_names[label]
    return name if name == str(label) else f"{name} ({label})"


def _prediction(values, label_names):
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:.2f}"
    best = max(values)
    return f"{_name(values.index(best), label_names)}, {best:.2f}"


def _visible(text):
    """The text with control characters written out as escapes.

    A terminal obeys what a text says to it, and a text of a data set should
    not be able to clear the screen or turn the reading direction.
    """
    return "".join(
        character
        if unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp")
        or character in "\u200c\u200d"  # joiners belong to words and emoji
        else ascii(character)[1:-1]
        for character in text
    )


def _wrap(start, text, width):
    # Color takes no columns, so a colored line may break a little early.
    lines = textwrap.wrap(
        text,
        max(width, 20),
        initial_indent=start,
        subsequent_indent="   ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines) or start.rstrip()
