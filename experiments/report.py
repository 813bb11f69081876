"""Tables and figures from the records of `experiments.reproduce`.

    python -m experiments.report --scale small
    python -m experiments.report --scale paper table1
    python -m experiments.report --scale small --html report.html

For each table: ours (mean and deviation over seeds) beside the paper's number,
the difference to the reference of its row (uniform weights, else the baseline)
with a test of Welch, hours, examples a second and peak memory; and a figure.
`--html` writes one page with everything. Nothing is typed by hand: a cell of
the paper without a record stays empty, and tables without any are left out.
"""

import argparse
import base64
import html
import importlib
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from examples import records
from experiments import report_tables
from experiments.reproduce import presets
from experiments.reproduce import registry
from experiments.reproduce.cells import Places

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color: #222 }}
table {{ border-collapse: collapse; margin: 1rem 0 2rem }}
td, th {{ padding: .25rem .7rem; border-bottom: 1px solid #ddd;
  text-align: right; white-space: nowrap }}
td:nth-child(-n+2), th:nth-child(-n+2) {{ text-align: left }}
img {{ max-width: 100% }}
</style>
<h1>{title}</h1>
{body}
</html>
"""


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m experiments.report",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("tables", nargs="*", metavar="TABLE", help="all by default")
    add("--scale", choices=("paper", "small"), default="small")
    add("--records", help="folder of the records (experiments/results/SCALE)")
    add("--out", default="docs/tables", help="folder of the tables")
    add("--figures", help="also write a figure of each table to this folder")
    add("--html", help="also write this page, with figures")
    for name in presets.NAMES:
        text = "preset that the text runs had (as most records have it)"
        add(f"--{name}", help=text)
    add("--check", action="store_true", help="only tell whether they are right")
    args = parser.parse_args(argv)
    unknown = set(args.tables) - set(registry.TABLES)
    if unknown:
        parser.error(
            f"TABLE must be one of {', '.join(registry.TABLES)}. "
            f"Received: {' '.join(sorted(unknown))}"
        )
    for name in ("out", "figures"):
        folder = getattr(args, name)
        if folder is not None and pathlib.Path(folder).is_file():
            parser.error(f"--{name} must be a folder. Received: {folder}")
    if args.html is not None and pathlib.Path(args.html).is_dir():
        parser.error(f"--html must be a file. Received: {args.html}")
    args.places = Places(
        out=args.records or f"experiments/results/{args.scale}",
        **{name: getattr(args, name) for name in presets.NAMES},
    )
    return args


def lines_of(table: str, scale: str, places: Places) -> list:
    """The lines of a table, row by row.

    Args:
        table: a name in `registry.TABLES`.
        scale: `"paper"` or `"small"`.
        places: where the records are, and the presets of the text runs;
            without, those that most of the records there have.
    """
    found = []
    for cell in registry.TABLES[table](scale, presets.recall(places)):
        script = importlib.import_module(cell.module)
        paths = [
            script.record_path(cell.run_arguments(seed)) for seed in cell.seeds
        ]
        found.append(
            report_tables.line_of(
                cell,
                [records.read_record(path) for path in paths if path.exists()],
            )
        )
    # What is compared stands together.
    rows = list(dict.fromkeys(line.cell.row for line in found))
    return sorted(found, key=lambda line: rows.index(line.cell.row))


def text_of(table: str, lines: list) -> str:
    """A table as a Markdown page."""
    title = registry.TABLES[table].__doc__.partition("\n")[0]
    names = report_tables.header(lines)
    return (
        f"# {table}\n\n{title} Scores in percent.\n\n"
        + report_tables.markdown(names, report_tables.rows(lines))
    )


def page_of(tables: dict, scale: str) -> str:
    """Everything in one page, its figures inside."""
    from experiments import report_figures

    parts = []
    for table, lines in tables.items():
        names = report_tables.header(lines)
        rows = report_tables.rows(lines)
        title = registry.TABLES[table].__doc__.partition("\n")[0]
        parts.append(f"<h2>{table}</h2><p>{html.escape(title)}</p>")
        parts.append(_html_table(names, rows))
        image = report_figures.as_png(table, lines)
        if image is not None:
            data = base64.b64encode(image).decode("ascii")
            source = f"data:image/png;base64,{data}"
            parts.append(f'<img alt="{table}" src="{source}">')
    title = f"The paper's tables, scale: {scale}"
    return _PAGE.format(title=title, body="\n".join(parts))


def write_figures(tables: dict, scale: str, folder: pathlib.Path) -> None:
    """A file for each table that a figure helps."""
    from experiments import report_figures

    folder.mkdir(parents=True, exist_ok=True)
    for table, lines in tables.items():
        image = report_figures.as_png(table, lines)
        if image is not None:
            path = folder / f"{scale}-{table}.png"
            path.write_bytes(image)
            print(f"wrote {path}")


def _html_table(names, rows):
    def row(cells, tag):
        inner = "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells)
        return f"<tr>{inner}</tr>"

    body = "\n".join(row(cells, "td") for cells in rows)
    return f"<table>\n{row(names, 'th')}\n{body}\n</table>"


def main(argv=None):
    args = parse_arguments(argv)
    out = pathlib.Path(args.out)
    tables = {}
    for table in args.tables or registry.TABLES:
        try:
            lines = lines_of(table, args.scale, args.places)
        except ValueError as error:
            print(error, file=sys.stderr)
            return 1
        if any(line.runs for line in lines):
            tables[table] = lines
    if not tables:
        folder = args.places.out
        print(f"no records of these tables in {folder}", file=sys.stderr)
        return 1
    wrong = []
    for table in args.tables or registry.TABLES:
        path = out / f"{args.scale}-{table}.md"
        if args.check and table not in tables and path.exists():
            wrong.append(path)
    for table, lines in tables.items():
        path = out / f"{args.scale}-{table}.md"
        text = text_of(table, lines)
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        wrong.append(path)
        if not args.check:
            out.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path}")
    if args.figures and not args.check:
        write_figures(tables, args.scale, pathlib.Path(args.figures))
    if args.html and not args.check:
        page = pathlib.Path(args.html)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(page_of(tables, args.scale), encoding="utf-8")
        print(f"wrote {page}")
    if args.check:
        for path in wrong:
            print(f"{path} does not match the records", file=sys.stderr)
        return 1 if wrong else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
