"""Sets the formulas of the site as MathML while it is built.

Browsers show MathML by themselves, so that no page needs a script or a font
from the network. A formula that cannot be set stops the build.
"""

import html
import re

import math_core
from markdown import extensions
from markdown import postprocessors

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


class Formulas(postprocessors.Postprocessor):
    """Sets the formulas of a page when all else of it is HTML."""

    def run(self, text):
        return set_formulas(text)


class FormulasExtension(extensions.Extension):
    """An extension of Python-Markdown, which any builder of the site takes."""

    def extendMarkdown(self, md):
        # After arithmatex, whose formulas a stash holds until the last.
        md.postprocessors.register(Formulas(md), "formulas", priority=-10)


def makeExtension(**options):
    return FormulasExtension(**options)
