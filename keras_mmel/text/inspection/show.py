"""What was found in augmented files, for a terminal and as an HTML page."""

import textwrap
import unicodedata

from keras_mmel.pages import page
from keras_mmel.pages.words import mark
from keras_mmel.text.inspection.findings import Findings

_ON, _OFF = "\x1b[1;33m", "\x1b[0m"


def to_terminal(
    found: Findings, title: str, *, color: bool = False, width: int = 80
) -> str:
    """Findings as tables and examples; ends with a line feed.

    Args:
        found: From `inspect_records`.
        title: What was looked at.
        color: Whether to mark replaced words by color, else by brackets.
        width: Columns of the terminal.

    Returns:
        Text in which control characters of the data are shown, not sent.
    """
    lines = [_visible(title), ""]
    wide = max(len(_visible(n)) for _, rows in found.tables for n, _ in rows)
    for heading, rows in found.tables:
        lines.append(heading)
        for name, value in rows:
            lines.append(f"  {_visible(name):<{wide}}  {_visible(value)}")
        lines.append("")
    before, after = (_ON, _OFF) if color else ("[", "]")
    for heading, views in found.examples:
        lines.append(_visible(heading))
        for name, pairs, said in views:
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
    return "\n".join(lines).rstrip("\n") + "\n"


def to_html(found: Findings, title: str) -> str:
    """Findings as a page: statistics, then examples with their views.

    Args:
        found: From `inspect_records`.
        title: What was looked at.

    Returns:
        The page. Whatever stands in the data is escaped, and the page may load
        and run nothing.
    """
    sections = [
        page.section(heading, page.table(rows))
        for heading, rows in found.tables
    ]
    for heading, views in found.examples:
        rows = []
        for name, pairs, said in views:
            texts = "".join(page.marked(*pair) for pair in pairs)
            name = f"view {name}" if name else "original"
            rows.append((name, page.Html(texts), said))
        sections.append(page.section(heading, page.table(rows)))
    return page.page(title, "", sections)


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
