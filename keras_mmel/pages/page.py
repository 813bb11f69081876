"""The parts of an HTML page: style, sections, tables, tiles."""

import html
import math
from collections.abc import Sequence

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #333; margin: 0 auto;
  max-width: 62rem; padding: 1.5rem; background: #fff; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem;
  border-top: 1px solid #ddd; padding-top: 1rem; margin: 1.8rem 0 .3rem; }
h3 { font-size: .95rem; margin: 1rem 0 .4rem; }
.subtitle, .note { color: #666; margin: .2rem 0 .8rem; font-size: .88rem; }
.tiles { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0; }
.tile { background: #f5f5f5; border-radius: 6px; padding: .5rem .9rem; }
.tile b { display: block; font-size: 1.15rem; }
.tile span { font-size: .8rem; color: #666; }
svg { width: 100%; height: auto; }
table { border-collapse: collapse; font-size: .85rem; display: block;
  overflow-x: auto; } th, td { padding: .2rem .7rem; text-align: right;
  border-bottom: 1px solid #eee; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.images { display: flex; flex-wrap: wrap; gap: .6rem; }
.images .view { width: 84px; } .images img { width: 84px; display: block;
  image-rendering: pixelated; border: 1px solid #ddd; box-sizing: border-box; }
.texts .view { margin: 0 0 .5rem; }
.label { font-size: .75rem; color: #666; }
.track { background: #e8e8e8; height: 5px; border-radius: 2px; margin: 3px 0;
  max-width: 20rem; }
.bar { background: #d55e00; height: 5px; border-radius: 2px; }
mark { background: #ffe3c9; border-radius: 2px; }
summary { cursor: pointer; }
"""


def page(title: str, subtitle: str, sections: Sequence[str]) -> str:
    """The whole page.

    Args:
        title: Text of the heading.
        subtitle: Text below it.
        sections: HTML.
    """
    title, subtitle = html.escape(title), html.escape(subtitle)
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n"
        f'<h1>{title}</h1><p class="subtitle">{subtitle}</p>\n'
        + "\n".join(sections)
        + "\n</body></html>\n"
    )


def section(heading: str, content: str, note: str = "") -> str:
    """A section of HTML with a heading and a note of text."""
    if heading:
        heading = f"<h2>{html.escape(heading)}</h2>"
    if note:
        note = f'<p class="note">{html.escape(note)}</p>'
    return f"<section>{heading}{note}{content}</section>"


def tiles(values: Sequence[tuple[str, str]]) -> str:
    """Numbers with their names."""
    cells = "".join(
        f'<div class="tile"><b>{html.escape(value)}</b>'
        f"<span>{html.escape(name)}</span></div>"
        for name, value in values
    )
    return f'<div class="tiles">{cells}</div>'


def bullets(lines: Sequence[str]) -> str:
    """A list of sentences, nothing where there are none."""
    if not lines:
        return ""
    return (
        "<ul>" + "".join(f"<li>{html.escape(x)}</li>" for x in lines) + "</ul>"
    )


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of texts."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in heading)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def view(name: str, content: str, weight: float, loss: float) -> str:
    """A view with a bar for its weight.

    Args:
        name: Text.
        content: HTML: the image or the words.
        weight: From 0 to 1, or NaN.
        loss: The view loss.
    """
    width = 100 * min(max(weight, 0.0), 1.0) if math.isfinite(weight) else 0
    return (
        f'<div class="view">{content}<div class="track">'
        f'<div class="bar" style="width:{width:.1f}%"></div></div>'
        f'<div class="label">{html.escape(name)}: weight {weight:.2f}, '
        f"loss {loss:.3g}</div></div>"
    )
