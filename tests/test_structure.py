"""The shape of the package: small rooms, one-way arrows, no name twice."""

import ast
import collections
import graphlib
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGES = ("keras_mmel", "keras_mmel_cli")
MOST_FILES, MOST_LINES, MOST_ROOM_LINES = 11, 400, 2000


def modules():
    """Dotted name and path of every module of the two packages."""
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts)] = path
    return found


MODULES = modules()


def imports(path, name):
    """Modules that a module imports, also inside of functions.

    A face (`__init__.py`) hands names on; who takes a name from it depends on
    where the name lives.
    """
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        targets = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            targets = [
                (node.module, f"{node.module}.{alias.name}")
                for alias in node.names
            ]
        elif isinstance(node, ast.Import):
            targets = [(alias.name, alias.name) for alias in node.names]
        for module, longer in targets:
            for target in (longer, module, f"{module}.__init__"):
                if target in MODULES:
                    found.add(target)
                    break
    return found - {name}


GRAPH = {name: imports(path, name) for name, path in MODULES.items()}


def rooms(graph):
    """The same arrows between folders; the root's files stand alone."""

    def room(name):
        folder = name.rpartition(".")[0]
        return name if folder in PACKAGES else folder

    between = {room(name): set() for name in graph}
    for name, targets in graph.items():
        own = room(name)
        between[own] |= {room(target) for target in targets} - {own}
    return between


def test_modules_import_each_other_in_one_direction():
    # It raises an error that shows a circle.
    graphlib.TopologicalSorter(GRAPH).prepare()


def test_rooms_import_each_other_in_one_direction():
    graphlib.TopologicalSorter(rooms(GRAPH)).prepare()


def test_no_two_modules_have_one_name():
    stems = collections.defaultdict(list)
    for name in MODULES:
        if not name.endswith(("__init__", "__main__")):
            stems[name.rpartition(".")[2]].append(name)
    assert {s: names for s, names in stems.items() if len(names) > 1} == {}


@pytest.mark.parametrize(
    "folder",
    sorted({path.parent for path in MODULES.values()}),
    ids=lambda folder: str(folder.relative_to(ROOT)),
)
def test_a_room_is_read_in_an_afternoon(folder):
    lines = {
        path.name: len(path.read_text().splitlines())
        for path in folder.glob("*.py")
    }
    files = [name for name in lines if name != "__init__.py"]
    assert len(files) <= MOST_FILES
    assert {n: c for n, c in lines.items() if c > MOST_LINES} == {}
    assert sum(lines.values()) <= MOST_ROOM_LINES


def test_files_are_short():
    for folder in (ROOT / "examples", ROOT / "experiments"):
        for path in folder.rglob("*.py"):
            assert len(path.read_text().splitlines()) <= MOST_LINES, path
