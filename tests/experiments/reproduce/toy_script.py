"""A script as `experiments.reproduce` expects them, that takes no time."""

import json
import pathlib
import sys


def record_path(words):
    return pathlib.Path(words[1]) / f"{words[-1]}.json"


def main(words):
    if words[0] == "prepare":
        path = pathlib.Path(words[1]) / "prepared"
        path.write_text(path.read_text() + "x" if path.exists() else "x")
    elif words[-1] == "1":
        sys.exit("this one is bad")
    else:
        record_path(words).write_text(json.dumps({"words": words}))


if __name__ == "__main__":
    main(sys.argv[1:])
