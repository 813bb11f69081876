"""The HTML page that every report is: its template, escaped.

A page is one file. It may load and run nothing, and whatever stands in the
data is escaped. Tables that a notebook shows need no template, so that they
need no library either.
"""

import html
import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from keras_mmel import extras
from keras_mmel.pages import pictures
from keras_mmel.pages import words

# HTML has no way to write control characters, and those of the direction of a
# text would turn what stands behind it; a sign stands in for them.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)


def template(name: str, extra: str = "plots") -> Any:
    """A template of the folder `templates`.

    Args:
        name: Its file.
        extra: What brings Jinja to who needs this page.

    Returns:
        A template of Jinja, which escapes whatever it is given.

    Raises:
        ImportError: If Jinja is not installed.
    """
    library = extras.need("jinja2", extra)
    environment = library.Environment(
        loader=library.PackageLoader(__package__),
        autoescape=True,
        undefined=library.StrictUndefined,
        finalize=without_control,
        trim_blocks=True,
    )
    environment.globals["version"] = version("keras-mmel")
    environment.globals["mark"] = words.mark
    environment.globals["data_uri"] = pictures.data_uri
    return environment.get_template(name)


def without_control(value: Any) -> Any:
    """A value that a template writes; markup was text before and is clean."""
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    return _CONTROL.sub("\ufffd", value) if is_text else value


def escape(text: str) -> str:
    """Text as markup."""
    return html.escape(without_control(text))


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table for a notebook.

    Args:
        rows: Cells; the first of each row names it.

    Returns:
        Markup.
    """
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )
    return f'<div class="scroll"><table><tbody>{body}</tbody></table></div>'


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
