"""The HTML page that every report is: its style and its parts.

A page is one file. It may load and run nothing, and whatever stands in the
data is escaped: the parts take text, and `Html` where they say so.
"""

import html
import importlib.resources
import re
import string
from collections.abc import Sequence

from keras_mmel.pages.words import mark

_FILES = importlib.resources.files(__package__)
# HTML has no way to write control characters; a sign stands in for them.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Html(str):
    """Text that is markup, to be written as it is."""


def escape(text: str) -> Html:
    """Text as markup; `Html` stays what it is."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(_CONTROL.sub("\ufffd", text)))


def page(title: str, subtitle: str, sections: Sequence[Html]) -> str:
    """The whole page.

    Args:
        title: Text of the heading.
        subtitle: Text below it.
        sections: The content.

    Returns:
        The HTML of one file.
    """
    template = string.Template(_FILES.joinpath("page.html").read_text("utf-8"))
    return template.substitute(
        title=escape(title),
        subtitle=escape(subtitle),
        style=_FILES.joinpath("page.css").read_text("utf-8"),
        sections="\n".join(sections),
    )


def section(heading: str, content: str, note: str = "") -> Html:
    """A section with a heading and a note, each left out where empty.

    Args:
        heading: Text of the heading.
        content: Text or `Html`.
        note: Text between them, in small letters.

    Returns:
        The section.
    """
    heading = f"<h2>{escape(heading)}</h2>" if heading else ""
    note = f'<p class="note">{escape(note)}</p>' if note else ""
    return Html(f"<section>{heading}{note}{escape(content)}</section>")


def tiles(values: Sequence[tuple[str, str]]) -> Html:
    """Numbers with their names."""
    cells = "".join(
        f'<div class="tile"><b>{escape(value)}</b>'
        f"<span>{escape(name)}</span></div>"
        for name, value in values
    )
    return Html(f'<div class="tiles">{cells}</div>')


def bar(share: float) -> Html:
    """A bar that is filled from the left, by a share from 0 to 1."""
    return Html(
        '<div class="track"><div class="bar" '
        f'style="width:{100 * share:.1f}%"></div></div>'
    )


def bullets(lines: Sequence[str]) -> Html:
    """A list of sentences, nothing where there are none."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return Html(f"<ul>{items}</ul>" if items else "")


def table(rows: Sequence[Sequence[str]]) -> Html:
    """A table that scrolls where the window is narrow.

    Args:
        rows: Cells; the first of each row names it.
    """
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )
    return Html(
        f'<div class="scroll"><table><tbody>{body}</tbody></table></div>'
    )


def printed(rows: Sequence[Sequence[str]]) -> str:
    """A table as lines of text, its columns as wide as what they hold.

    Args:
        rows: Cells, as many in each row.

    Returns:
        A line for each row.

    Example:

    ```python
    print(printed([["view", "loss"], ["original", "0.5"]]))
    ```
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines)


def marked(original: str, view: str) -> Html:
    """The text of a view, with the words marked that its original has not.

    Args:
        original: Text of view 0.
        view: Text of another view.

    Returns:
        The text, isolated from the direction of what is around it.
    """
    pieces = "".join(
        f"<mark>{escape(piece)}</mark>" if differs else escape(piece)
        for piece, differs in mark(original, view)
    )
    return Html(f"<bdi>{pieces}</bdi>")
