"""Values of options: what argparse makes of their words."""

import argparse
import re


def positive(text):
    number = count(text)
    if not number:
        raise argparse.ArgumentTypeError("must be at least 1. Received: 0")
    return number


def count(text):
    if not re.fullmatch("[0-9]+", text):
        raise argparse.ArgumentTypeError(
            f"must be a whole number, not negative. Received: {text!r}"
        )
    return int(text)


def share(text):
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(
            f"must be a number from 0 to 1. Received: {text!r}"
        )
    return number


def part(text):
    found = re.fullmatch("([0-9]+)/([0-9]+)", text)
    if not found or int(found[1]) >= int(found[2]):
        raise argparse.ArgumentTypeError(
            f"must be I/N with I from 0 to N-1. Received: {text!r}"
        )
    return int(found[1]), int(found[2])
