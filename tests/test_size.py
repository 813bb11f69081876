"""How much there is to read: code counts, words are free."""

import ast
import io
import tokenize

from tests.test_structure import MODULES

# Docstrings, comments and blank lines are not counted, so that nobody saves on
# them.
# The release was to have 9,700. Labels that move, tasks of keras-hub, the card
# of what breaks a model, tables that are mapped and refusals of what passed
# without a word came after that was said.
MOST_CODE_LINES = 10_628
MOST_WITHOUT_ARGS = 20

SILENT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)

SOURCES = {name: path.read_text("utf-8") for name, path in MODULES.items()}
TREES = {name: ast.parse(source) for name, source in SOURCES.items()}


def code_lines(source, tree):
    """How many lines have code: a string that documents has none."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SILENT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            lines.difference_update(
                range(docstring.lineno, docstring.end_lineno + 1)
            )
    return len(lines)


def names_used_elsewhere():
    """(module, name) of all that a module of the package takes of another."""
    used = set()
    for tree in TREES.values():
        modules = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    used.add((node.module, alias.name))
                    modules[alias.asname or alias.name] = (
                        f"{node.module}.{alias.name}"
                    )
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(
                node.value, ast.Name
            ):
                used.add((modules.get(node.value.id), node.attr))
    return used


def argument_count(function):
    """How many arguments there are, `*` and `**` included."""
    arguments = function.args
    named = arguments.posonlyargs + arguments.args + arguments.kwonlyargs
    return len(named) + bool(arguments.vararg) + bool(arguments.kwarg)


def test_code_lines_are_counted_without_words():
    source = '"""Words."""\n\n\nx = """a\nb"""  # more\n# words\n\n\n'
    source += (
        'def f():\n    """Words\n\n    and words.\n    """\n    return 1\n'
    )
    assert code_lines(source, ast.parse(source)) == 4


def test_the_package_is_small():
    sizes = {name: code_lines(SOURCES[name], TREES[name]) for name in MODULES}
    assert sum(sizes.values()) <= MOST_CODE_LINES


def test_functions_that_others_use_say_what_they_take():
    used = names_used_elsewhere()
    without = [
        f"{name}.{node.name}"
        for name, tree in TREES.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and (name, node.name) in used
        and argument_count(node) > 1
        and "Args:" not in (ast.get_docstring(node) or "")
    ]
    assert len(without) <= MOST_WITHOUT_ARGS, without
