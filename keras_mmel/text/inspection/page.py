"""A report as an HTML page that needs no other file."""

import html
import unicodedata

from keras_mmel.text.inspection.report import Report
from keras_mmel.text.inspection.rows import name_of_label
from keras_mmel.text.inspection.rows import prediction
from keras_mmel.text.inspection.rows import sections
from keras_mmel.text.inspection.words import mark_replaced

_STYLE = """
:root { color-scheme: light dark; --line: #8885; --mark: #ffe08a; }
@media (prefers-color-scheme: dark) { :root { --mark: #7a5c00; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 0 0 1.5rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { font-weight: 600; }
.statistics th { width: 45%; font-weight: 400; }
.views th { width: 5rem; font-weight: 400; opacity: .75; }
.views td.said { width: 11rem; opacity: .75; }
h2 { font-size: 1.1rem; margin: 1.5rem 0 .3rem; }
mark { background: var(--mark); color: inherit; border-radius: .2rem;
  padding: 0 .1rem; }
bdi { display: block; white-space: pre-wrap; }
"""


def to_html(report: Report, title: str, *, label_names=None) -> str:
    """A report as a page: statistics, then examples with their views.

    Args:
        report: the report.
        title: what was looked at.
        label_names: names of the classes.

    Returns:
        The page. Whatever stands in the data is escaped, and the page may load
        and run nothing.
    """
    name = _text(title)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{name}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{name}</h1>",
    ]
    for heading, rows in sections(report, label_names):
        parts.append(f'<h2>{_text(heading)}</h2><table class="statistics">')
        for key, value in rows:
            parts.append(
                f'<tr><th scope="row">{_text(key)}</th>'
                f"<td>{_text(value)}</td></tr>"
            )
        parts.append("</table>")
    for record in report.examples:
        parts.extend(_example(record, label_names))
    for missing in report.missing_ids:
        parts.append(f"<p>No example has the id {_text(repr(missing))}.</p>")
    parts.append("</body></html>")
    return "\n".join(parts) + "\n"


def _example(record, label_names):
    label = name_of_label(record.label, label_names)
    yield (
        f"<h2>Example {_text(record.example_id)}, label {_text(label)}</h2>"
        '<table class="views">'
    )
    original = "".join(f"<bdi>{_text(text)}</bdi>" for text in record.texts)
    yield _row("original", original, prediction(record.teacher, label_names))
    for number, view in enumerate(record.views, start=1):
        texts = "".join(
            f"<bdi>{_marked(own, text)}</bdi>"
            for own, text in zip(record.texts, view.texts, strict=True)
        )
        said = prediction(view.teacher, label_names)
        yield _row(f"view {number}", texts, said)
    yield "</table>"


def _row(name, texts, said):
    return (
        f'<tr><th scope="row">{name}</th><td>{texts}</td>'
        f'<td class="said">{_text(said)}</td></tr>'
    )


def _marked(original, text):
    return "".join(
        f"<mark>{_text(piece.text)}</mark>"
        if piece.replaced
        else _text(piece.text)
        for piece in mark_replaced(original, text)
    )


def _text(text):
    # HTML has no way to write control characters; a sign stands in for them.
    shown = "".join(
        "\ufffd" if unicodedata.category(c) == "Cc" and c not in "\n\t" else c
        for c in text
    )
    return html.escape(shown, quote=True)
