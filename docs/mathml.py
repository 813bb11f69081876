"""Sets the formulas of the site as MathML while it is built.

Browsers show MathML by themselves, so that no page needs a script or a font
from the network. A formula that cannot be set stops the build.
"""

import html
import re

import math_core

_FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.S
)
_CONVERTER = math_core.LatexToMathML()


def set_formulas(page: str) -> str:
    """Replaces what `pymdownx.arithmatex` has marked in a page of HTML."""
    return _FORMULA.sub(
        lambda found: _CONVERTER.convert_with_local_state(
            html.unescape(found[2]), displaystyle=found[1] == "div"
        ),
        page,
    )


def on_page_content(content, **unused):
    del unused
    return set_formulas(content)
