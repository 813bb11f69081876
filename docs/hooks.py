"""Fills in what the pages take from the program when the site is built.

`<!-- help COMMAND -->` on a line of its own becomes what
`keras-mmel COMMAND --help` prints.
"""

import os
import pathlib
import re
import sys
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[1]
_PLACE = re.compile(r"^<!-- help (\S+) -->$", re.M)


def fill(markdown: str) -> str:
    """A page with its places filled."""
    return _PLACE.sub(lambda found: _help(found[1]), markdown)


def on_page_markdown(markdown, **unused):
    del unused
    return fill(markdown)


def _help(command):
    # The parser needs nothing but the standard library.
    with mock.patch.object(sys, "path", [str(ROOT), *sys.path]):
        from keras_mmel_cli.program import make_parser
    (commands,) = (
        action.choices
        for action in make_parser()._actions
        if isinstance(action.choices, dict)
    )
    with mock.patch.dict(os.environ, COLUMNS="80"):
        return f"```text\n{commands[command].format_help()}```"
