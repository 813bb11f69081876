"""The fenced blocks of a page."""

import re


def code(page, language):
    """Texts of the blocks in a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)


def commands(page):
    """Lines of the shell blocks."""
    return [line for text in code(page, "bash") for line in text.splitlines()]
