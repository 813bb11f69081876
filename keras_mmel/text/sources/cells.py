"""Lists of views in one cell of a table."""

import ast
import io
import json
import tokenize


def parse_views(value) -> list:
    """The views in a cell: a list, or text that is one.

    Args:
        value: a list (JSONL); the text of a JSON list or of a Python list, as
            a table that held lists was written; or one text, which is one
            view.

    Returns:
        A list of whatever the list holds.

    Raises:
        ValueError: where the text begins as a list and is none.
    """
    if isinstance(value, list):
        return value
    if not isinstance(value, str):
        raise ValueError(
            f"a list of views is expected. Received: {type(value).__name__}"
        )
    text = value.strip()
    if not text.startswith("["):
        return [value] if text else []
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        views = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ValueError(
            f"neither a JSON list nor a Python list. Received: {_short(text)}"
        ) from None
    if not isinstance(views, list):
        raise ValueError(f"no list. Received: {_short(text)}")
    if _lacks_commas(text):
        raise ValueError(
            "a list without commas, as NumPy prints arrays: write "
            f"array.tolist() instead. Received: {_short(text)}"
        )
    return views


def _lacks_commas(text):
    """Whether two strings follow each other: Python would join them."""
    before = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and before == tokenize.STRING:
            return True
        if token.type not in (tokenize.NL, tokenize.NEWLINE):
            before = token.type
    return False


def _short(text):
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
