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
import os
import pathlib
import signal
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from experiments.reproduce import registry
from experiments.reproduce.cells import Places
from experiments.reproduce.cells import command


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
        help="print the commands that are left; where it tells, the hours of "
        "the paper on a V100",
    )
    add("--jobs", type=int, default=1, help="runs at a time (default 1)")
    add("--threads", type=int, help="CPU threads of a run (default: all)")
    add("--data_dir", help="TFDS folder that has the data; else download")
    add("--masked_lm", help="preset that augments text")
    add("--teacher", help="preset of the teacher")
    add("--student", help="preset of the model that is trained")
    add("--out", help="folder of the records (experiments/results/SCALE)")
    add("--work_dir", help="checkpoints, logs (runs/SCALE)")
    args = parser.parse_args(argv)
    if args.jobs < 1:
        parser.error(f"--jobs must be at least 1, not {args.jobs}")
    if args.threads is not None and args.threads < 1:
        parser.error(f"--threads must be at least 1, not {args.threads}")
    tables = registry.TABLES if "all" in args.tables else args.tables
    args.out = args.out or f"experiments/results/{args.scale}"
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
            text += "  paper " + " / ".join(
                f"{mean:g}" for mean in cell.paper.mean
            )
            if cell.paper.std is not None:
                text += " ± " + " / ".join(f"{s:g}" for s in cell.paper.std)
        print(text)
    print(f"{len(cells)} cells, {sum(len(c.seeds) for c in cells)} runs")


def print_plan(runs, left):
    first = dict.fromkeys(f for run in left for f in run.cell.first)
    for arguments in first:
        print(command(arguments[0], arguments[1:]))
    for run in left:
        print(run.command)
    print(f"# {len(runs) - len(left)} of {len(runs)} runs are done")
    papers = [run.cell.paper for run in left if run.cell.paper]
    hours = [paper.hours for paper in papers if paper.hours is not None]
    if hours:
        print(f"# {len(hours)} of these took the paper {sum(hours):.1f} hours")


def main(argv=None):
    args = parse_arguments(argv)
    if args.list:
        print_cells(args.cells)
        return 0
    from experiments.reproduce import runner

    runs = runner.runs_of(args.cells)
    try:
        missing = runner.without_record(runs)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    if args.dry_run:
        print_plan(runs, missing)
        return 0
    logs = pathlib.Path(args.work_dir) / "logs"
    # Its runs must not go on without it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        failed = runner.Runner(logs, args.jobs).run(runs)
    except KeyboardInterrupt:
        print("Stopped; the same command goes on.", file=sys.stderr)
        return 130
    for run in failed:
        print(f"failed: {run.command}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
