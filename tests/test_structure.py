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


def named_in_strings(tree):
    """Dotted names that a module may hand to `importlib.import_module`.

    Lazy faces call it with a string, or with an f-string of a prefix and a
    string from a table. So in a module that calls it each string counts, by
    itself and behind each prefix.
    """
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith(("import_module", "__import__"))
    ]
    strings = {
        node.value
        for node in ast.walk(tree if calls else ast.Module([], []))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    prefixes = {
        node.values[0].value
        for call in calls
        for node in ast.walk(call)
        if isinstance(node, ast.JoinedStr)
        and isinstance(node.values[0], ast.Constant)
    }
    behind = {prefix + string for prefix in prefixes for string in strings}
    # The bare name of a package is what Keras registers classes by.
    return {name for name in strings | behind if "." in name}


def imports(text, name):
    """Modules that a module imports, also inside of functions or by a string.

    A face (`__init__.py`) hands names on; who takes a name from it depends on
    where the name lives.
    """
    found, tree = set(), ast.parse(text)
    for dotted in named_in_strings(tree):
        found |= {dotted, f"{dotted}.__init__"} & MODULES.keys()
    for node in ast.walk(tree):
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


GRAPH = {
    name: imports(path.read_text(), name) for name, path in MODULES.items()
}


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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "keras_mmel.text.sources.__init__",
            "import importlib\n"
            "importlib.import_module('keras_mmel.text.files')",
        ),
        (
            "keras_mmel.pages.__init__",
            "from importlib import import_module\n"
            "TABLE = {'report': 'diagnostics'}\n"
            "import_module(f'keras_mmel.{TABLE[name]}')",
        ),
    ],
)
def test_a_circle_by_a_string_is_seen(name, text):
    graph = GRAPH | {name: imports(text, name)}
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(rooms(graph)).prepare()


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
