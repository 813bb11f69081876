"""What was found in augmented files, for a terminal and as an HTML page."""

import textwrap
import unicodedata

from keras_mmel.pages import page
from keras_mmel.pages.words import mark
from keras_mmel.text.inspection.findings import Findings

_ON, _OFF = "\x1b[1;33m", "\x1b[0m"


def to_terminal(
    findings: Findings, title: str, *, color: bool = False, width: int = 80
) -> str:
    """Writes findings as tables and examples; ends with a line feed.

    Args:
        findings: From `inspect_records`.
        title: What was looked at.
        color: Whether to mark replaced words by color, else by brackets.
        width: Columns of the terminal.

    Returns:
        Text in which control characters of the data are shown, not sent.
    """
    lines = [_visible(title), ""]
    names = [name for _, rows in findings.tables for name, _ in rows]
    name_width = max(len(_visible(name)) for name in names)
    for heading, rows in findings.tables:
        lines.append(heading)
        for name, value in rows:
            lines.append(f"  {_visible(name):<{name_width}}  {_visible(value)}")
        lines.append("")
    for example in findings.examples:
        lines.append(_visible(example.heading))
        for view in example.views:
            texts = [_marked(*pair, color) for pair in view.texts]
            if view.teacher:
                texts[-1] += f"  <{_visible(view.teacher)}>"
            # The number stands before the first text of a pair alone.
            starts = [f"{view.number:>2} " if view.number else "   ", "   "]
            for start, text in zip(starts, texts, strict=False):
                lines.append(_wrap(start, text, width))
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def to_html(findings: Findings, title: str) -> str:
    """Writes findings as a page: statistics, then examples with their views.

    Args:
        findings: From `inspect_records`.
        title: What was looked at.

    Returns:
        The page. Whatever stands in the data is escaped, and the page may load
        and run nothing.

    Raises:
        ImportError: If Jinja is not installed.
    """
    template = page.template("findings.html", "text")
    return template.render(title=title, findings=findings)


def _marked(original, text, color):
    """A text with the words that the original has not, marked."""
    before, after = (_ON, _OFF) if color else ("[", "]")
    marked = ""
    for piece, differs in mark(original, text):
        piece = _visible(piece)
        marked += f"{before}{piece}{after}" if differs else piece
    return marked


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
    """A text in lines of a width, the first one behind `start`."""
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
