"""Fills in what the pages take from elsewhere when the site is built.

Each of these stands on a line of its own in a page, and none of them is typed
by hand, because numbers come from records alone:

    <!-- readme NAME -->     the table NAME of the README, which a test compares
                             with the records
    <!-- table NAME -->      docs/tables/NAME.md, from `experiments.report`;
                             where there is no such file yet, a note says so
    <!-- figure NAME -->     docs/images/NAME.png; nothing where there is
                             neither that nor the table of this name
    <!-- tables -->          a list with links to all of docs/tables
    <!-- help COMMAND -->    what `keras-mmel COMMAND --help` prints
    <!-- averages -->        averages of the paper that are not those of their
                             cells
"""

import os
import pathlib
import re
import statistics
import sys
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[1]
_PLACE = re.compile(
    r"^<!-- (readme|table|figure|tables|help|averages)(?: (\S+))? -->$", re.M
)


def fill(markdown: str, up: str, root: pathlib.Path = ROOT) -> str:
    """A page with its places filled.

    Args:
        markdown: text of the page.
        up: from the page to the folder of the pages, such as `"../"`.
        root: folder of the project.

    Returns:
        The text.

    Raises:
        ValueError: If the README has no table of that name, or a table has
            lost its figure.
    """
    makers = {
        "readme": _from_readme,
        "table": _from_report,
        "figure": _figure,
        "tables": _list_of_tables,
        "help": _help,
        "averages": _averages,
    }
    return _PLACE.sub(
        lambda found: makers[found[1]](found[2], up, root), markdown
    )


def on_page_markdown(markdown, page, **unused):
    del unused
    return fill(markdown, "../" * page.file.src_uri.count("/"))


def _from_readme(name, up, root):
    readme = (root / "README.md").read_text(encoding="utf-8")
    found = re.search(
        rf"<!-- table {name} -->\n(.*?)<!-- end {name} -->", readme, re.S
    )
    if found is None:
        raise ValueError(f"The README must have the table. Received: {name!r}")
    return found[1].strip()


def _from_report(name, up, root):
    path = root / "docs" / "tables" / f"{name}.md"
    if not path.is_file():
        scale, _, table = name.partition("-")
        return (
            f'!!! note "No record yet"\n\n'
            f"    This place is for the table that these commands make:\n"
            f"    `python -m experiments.reproduce {table} --scale {scale}` "
            f"and then\n"
            f"    `python -m experiments.report --scale {scale} {table}`."
        )
    # Its heading would be a second title of this page.
    _, _, body = path.read_text(encoding="utf-8").partition("\n")
    return f"{body.strip()}\n\n[The table by itself]({up}tables/{name}.md)"


def _figure(name, up, root):
    if not (root / "docs" / "images" / f"{name}.png").is_file():
        if (root / "docs" / "tables" / f"{name}.md").is_file():
            raise ValueError(
                "A table that is there must have its figure in docs/images, "
                f"from `experiments.report --figures`. Received: {name!r}"
            )
        return ""
    return f"![{name.replace('-', ' ')}]({up}images/{name}.png)"


def _list_of_tables(_, up, root):
    paths = sorted((root / "docs" / "tables").glob("*.md"))
    if not paths:
        return "No run has left a record for these tables yet."
    return "\n".join(
        f"- [{path.stem}]({up}tables/{path.name})" for path in paths
    )


def _help(command, up, root):
    # The parser needs nothing but the standard library.
    with _importing_from(root):
        from keras_mmel_cli.program import make_parser
    (commands,) = (
        action.choices
        for action in make_parser()._actions
        if isinstance(action.choices, dict)
    )
    with mock.patch.dict(os.environ, COLUMNS="80"):
        return f"```text\n{commands[command].format_help()}```"


def _averages(_, up, root):
    with _importing_from(root):
        from experiments.reproduce import paper
    rows = {}
    for of, value in paper.read("table6"):
        key = " / ".join(
            str(text) for name, text in of.items() if name != "task"
        )
        rows.setdefault(key, {})[of["task"]] = value.mean
    lines = [
        "| row of table 6 | printed | mean of its cells |",
        "| --- | ---: | ---: |",
    ]
    for key, values in rows.items():
        (printed,) = values.pop("avg")
        mean = statistics.mean(n for means in values.values() for n in means)
        # Nine rounded numbers, and their mean rounded again.
        if abs(printed - mean) > 0.12:
            lines.append(f"| {key} | {printed:.1f} | {mean:.1f} |")
    return "\n".join(lines)


def _importing_from(root):
    return mock.patch.object(sys, "path", [str(root), *sys.path])
