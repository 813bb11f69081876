"""A report as text for a terminal."""

import textwrap
import unicodedata

from keras_mmel.text.inspection.report import Report
from keras_mmel.text.inspection.rows import name_of_label
from keras_mmel.text.inspection.rows import prediction
from keras_mmel.text.inspection.rows import sections
from keras_mmel.text.inspection.words import mark_replaced

_ON, _OFF = "\x1b[1;33m", "\x1b[0m"


def to_terminal(
    report: Report,
    title: str,
    *,
    label_names=None,
    color: bool = False,
    width: int = 80,
) -> str:
    """A report as a table and examples; ends with a line feed.

    Args:
        report: the report.
        title: what was looked at.
        label_names: names of the classes.
        color: whether to mark replaced words by color, else by brackets.
        width: columns of the terminal.

    Returns:
        Text in which control characters of the data are shown, not sent.
    """
    parts = [visible(title), ""]
    tables = sections(report, label_names)
    wide = max(len(visible(n)) for _, rows in tables for n, _ in rows)
    for heading, rows in tables:
        parts.append(heading)
        for name, value in rows:
            parts.append(f"  {visible(name):<{wide}}  {visible(value)}")
        parts.append("")
    for record in report.examples:
        label = name_of_label(record.label, label_names)
        head = f"Example {record.example_id}, label {label}"
        said = prediction(record.teacher, label_names)
        parts.append(visible(head + (f", teacher {said}" if said else "")))
        for text in record.texts:
            parts.append(_wrap("   ", visible(text), width))
        for number, view in enumerate(record.views, start=1):
            said = prediction(view.teacher, label_names)
            texts = [
                _marked(original, text, color)
                for original, text in zip(record.texts, view.texts, strict=True)
            ]
            if said:
                texts[-1] += f"  <{visible(said)}>"
            for i, text in enumerate(texts):
                mark = f"{number:>2} " if i == 0 else "   "
                parts.append(_wrap(mark, text, width))
        parts.append("")
    for name in report.missing_ids:
        parts.append(f"No example has the id {visible(repr(name))}.")
    return "\n".join(parts).rstrip("\n") + "\n"


def visible(text: str) -> str:
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


def _marked(original, text, color):
    before, after = (_ON, _OFF) if color else ("[", "]")
    return "".join(
        f"{before}{visible(piece.text)}{after}"
        if piece.replaced
        else visible(piece.text)
        for piece in mark_replaced(original, text)
    )


def _wrap(mark, text, width):
    # Color takes no columns, so a colored line may break a little early.
    lines = textwrap.wrap(
        text,
        max(width, 20),
        initial_indent=mark,
        subsequent_indent="   ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines) or mark.rstrip()
