"""Reproduce the tables of the paper.

    python -m experiments.reproduce table1                  five GPU-weeks
    python -m experiments.reproduce table1 --scale small    two CPU cores
    python -m experiments.reproduce all --list              all cells
    python -m experiments.reproduce table2 --only cifar100 resnet20
    python -m experiments.reproduce table1 --dry-run        commands

A run is one seed of one cell. It leaves a record, and a run that has one is
not run again; a run that was killed goes on where it was when the same command
is given again. A run that fails does not stop the others. Afterwards
`python -m experiments.report` makes the tables.
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from experiments import RESULTS
from experiments.reproduce import registry
from experiments.reproduce.cells import Places
from experiments.reproduce.cells import command
from experiments.reproduce.cells import runs_of
from experiments.reproduce.cells import without_record
from experiments.training import runs


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m experiments.reproduce",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("tables", nargs="+", choices=(*registry.TABLES, "all"), metavar="TABLE")
    add("--scale", choices=("paper", "small"), default="paper")
    add(
        "--only",
        nargs="+",
        default=[],
        help="methods, or words in the names of the cells (all of them count)",
    )
    add("--list", action="store_true", help="print the cells, run nothing")
    add(
        "--dry-run",
        action="store_true",
        help="print the commands that are left, and the paper's hours for them",
    )
    add("--jobs", type=int, default=1, help="runs at a time (default 1)")
    add("--threads", type=int, help="CPU threads of a run (default: all)")
    add("--data_dir", help="TFDS folder that has the data; else download")
    add("--masked_lm", help="preset that augments text")
    add("--teacher", help="preset of the teacher")
    add("--student", help="preset of the model that is trained")
    add("--out", help=f"folder of the records ({RESULTS}/SCALE)")
    add("--work_dir", help="folder of the checkpoints (runs/SCALE)")
    args = parser.parse_args(argv)
    runs.check_positive(parser, args, ("jobs", "threads"))
    tables = registry.TABLES if "all" in args.tables else args.tables
    args.out = args.out or f"{RESULTS}/{args.scale}"
    args.work_dir = args.work_dir or f"runs/{args.scale}"
    places = Places(
        **{name: getattr(args, name) for name in Places.__dataclass_fields__}
    )
    try:
        args.cells = registry.collect(tables, args.scale, places, args.only)
    except ValueError as error:
        parser.error(str(error))
    return args


def print_cells(cells):
    for cell in cells:
        text = f"{cell.table}/{cell.name}  {len(cell.seeds)} seeds"
        if cell.paper is not None:
            text += f"  paper {cell.paper}"
        print(text)
    print(f"{len(cells)} cells, {sum(len(c.seeds) for c in cells)} runs")


def main(argv=None):
    args = parse_arguments(argv)
    if args.list:
        print_cells(args.cells)
        return 0
    found = runs_of(args.cells)
    try:
        left = without_record(found)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    first = dict.fromkeys(run.cell.first for run in left if run.cell.first)
    if args.dry_run:
        for words in (*first, *(run.words for run in left)):
            print(command(words))
    print(f"# {len(found) - len(left)} of {len(found)} runs are done")
    if args.dry_run:
        papers = [run.cell.paper for run in left if run.cell.paper]
        hours = [paper.hours for paper in papers if paper.hours is not None]
        if hours:
            print(f"# {len(hours)} took the paper {sum(hours):.1f} V100-hours")
        return 0
    # What comes first, one after the other: they may share files.
    failed = [words for words in first if not _succeeds(words)]
    left = [run.words for run in left if run.cell.first not in failed]
    pool = concurrent.futures.ThreadPoolExecutor(args.jobs)
    try:
        done = zip(left, pool.map(_succeeds, left), strict=True)
        failed += [words for words, succeeded in done if not succeeded]
    finally:
        pool.shutdown(cancel_futures=True)
    for words in failed:
        print(f"failed: {command(words)}", file=sys.stderr)
    return 1 if failed else 0


def _succeeds(words):
    return not subprocess.run([sys.executable, "-m", *words]).returncode


if __name__ == "__main__":
    sys.exit(main())
