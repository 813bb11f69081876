"""Tables and figures of the README and the documentation, from the records.

    python -m experiments.report              write the tables into the pages
    python -m experiments.report --figures    and the figures into docs/images
    python -m experiments.report --check      change nothing, only tell

Nothing is typed by hand: `experiments.tables` says where tables stand.
"""

import argparse
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from experiments import RESULTS
from experiments import tables
from experiments.records import ROOT


def pages(root: pathlib.Path) -> list[pathlib.Path]:
    """The pages that may hold tables."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.report",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--check", action="store_true", help="only tell whether they are right")
    add("--figures", action="store_true", help="also draw the figures")
    add("--root", type=pathlib.Path, default=ROOT, help="of the pages")
    add("--results", type=pathlib.Path, default=ROOT / RESULTS)
    args = parser.parse_args(argv)
    wrong = []
    for path in pages(args.root):
        before = path.read_text(encoding="utf-8")
        after = tables.updated(before, args.results)
        if after != before:
            wrong.append(path.relative_to(args.root))
            if not args.check:
                path.write_text(after, encoding="utf-8")
                print(f"wrote {wrong[-1]}")
    if args.check and wrong:
        names = ", ".join(map(str, wrong))
        print(f"tables differ from the records: {names}", file=sys.stderr)
        return 1
    if args.figures and not args.check:
        from experiments import figures

        for path in figures.write(args.results, args.root / "docs" / "images"):
            print(f"wrote {path.relative_to(args.root)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
