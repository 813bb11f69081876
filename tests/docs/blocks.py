"""The fenced blocks of a page."""

import re


def fenced(page, *languages):
    """Language and text of the blocks in these languages, in order."""
    found = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.M | re.S)
    return [(name, text) for name, text in found if name in languages]


def code(page, language):
    """Texts of the blocks in one language."""
    return [text for _, text in fenced(page, language)]


def commands(page):
    """Lines of the shell blocks."""
    return [line for text in code(page, "bash") for line in text.splitlines()]
