"""The arguments of `keras-mmel`, and how its commands fail."""

import importlib.metadata
import inspect
import os
import pathlib
import re
import subprocess
import sys
import types

import pytest

from keras_mmel import cli
from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import label_augmented
from keras_mmel_cli import augment
from keras_mmel_cli import label
from keras_mmel_cli import parser as parsers
from keras_mmel_cli import program

COMMANDS = ["augment", "label", "inspect", "import"]


def help_of(command, capsys):
    assert cli.main([command, "--help"]) == 0
    return capsys.readouterr().out


def fails(argv, capsys):
    """The one line with which a command fails."""
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("\n") and err.count("\n") == 1
    return err


def test_installed_command_is_this_one():
    (script,) = importlib.metadata.entry_points(
        group="console_scripts", name="keras-mmel"
    )
    assert script.load() is cli.main


def test_help_and_mistakes_load_no_library():
    """Where TensorFlow were imported each would take seconds."""
    code = """
import sys
from keras_mmel_cli import main
for argv in (["--help"], ["augment", "--help"], ["inspect", "nowhere"],
             ["augment", "--num_augmented", "0"]):
    print("code", main(argv))
standard = set(sys.stdlib_module_names)
names = {name.split(".")[0] for name in set(sys.modules) - before}
print("loaded", sorted(n for n in names - standard if n[0] != "_"))
"""
    done = subprocess.run(
        [sys.executable, "-c", "import sys; before = set(sys.modules)" + code],
        capture_output=True,
        text=True,
        cwd=pathlib.Path(__file__).resolve().parents[2],
    )
    assert re.findall(r"^code (\d)", done.stdout, re.M) == list("0022")
    assert "loaded ['keras_mmel_cli']" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_that_parses(command, capsys):
    text = help_of(command, capsys)
    example = text.split("example:\n")[1].split()
    assert example[:2] == ["keras-mmel", command]
    options = parsers.make_parser().parse_args(example[1:])
    assert options.command == command


def test_help_lists_the_commands(capsys):
    assert cli.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(re.search(rf"^ +{name} ", text, re.M) for name in COMMANDS)
    assert cli.main(["--version"]) == 0
    version = importlib.metadata.version("keras-mmel")
    assert capsys.readouterr().out == f"{version}\n"


STATED = ("num_augmented", "mask_ratio", "search", "unit", "pairs")


def default_in(text, name):
    options = text.split("options:")[1]
    (stated,) = re.findall(rf"--{name} [^)]*\(default: ([^)]*)\)", options)
    return stated


def test_help_states_the_defaults_of_the_augmenter(capsys):
    text = " ".join(help_of("augment", capsys).split())
    arguments = inspect.signature(MaskedLMAugmenter).parameters
    for name in (*STATED, "seed", "slots"):
        assert default_in(text, name) == str(arguments[name].default)
    assert set(augment.SETTINGS) == set(arguments) - {"masked_lm", "tokenizer"}


def test_help_states_the_defaults_of_labelling(capsys):
    text = " ".join(help_of("label", capsys).split())
    arguments = inspect.signature(label_augmented).parameters
    for name in ("batch_size", "max_length"):
        assert default_in(text, name) == str(arguments[name].default)
    assert set(label.SETTINGS) < set(arguments)


def test_settings_that_are_not_given_are_left_to_the_augmenter():
    options = parsers.make_parser().parse_args(
        ["augment", "--masked_lm", "m", "--data", "d", "--out", "o"]
        + ["--mask_ratio", "0.3", "--shard", "1/4"]
    )
    assert options.mask_ratio == 0.3
    assert options.shard == (1, 4)
    assert not hasattr(options, "num_augmented")


AUGMENT = ["augment", "--masked_lm", "m", "--out", "o", "--data"]
IMPORT = ["import", "--out", "o", "views.csv"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["grow"], "invalid choice: 'grow'"),
        (["augment"], "--masked_lm, --data, --out. See keras-mmel augment"),
        ([*AUGMENT, "x.csv", "--text", "t"], "No such file: x.csv"),
        ([*AUGMENT, "views.csv"], "a file needs --text"),
        (
            [*AUGMENT, "glue/rte", "--text", "a", "b", "c"],
            "--text takes one column or two. Received: a b c",
        ),
        ([*AUGMENT, "d", "--mask_ratio", "1.5"], "a number from 0 to 1"),
        ([*AUGMENT, "d", "--mask_ratio", "nan"], "a number from 0 to 1"),
        ([*AUGMENT, "d", "--num_augmented", "0"], "must be at least 1"),
        ([*AUGMENT, "d", "--num_augmented", "-1"], "a whole number"),
        ([*AUGMENT, "d", "--shard", "4/4"], "must be I/N"),
        ([*AUGMENT, "d", "--search", "wide"], "invalid choice: 'wide'"),
        ([*AUGMENT, "d", "--seed", "x"], "invalid int value: 'x'"),
        (["inspect", "nowhere"], "No such directory: nowhere"),
        (["inspect", "views.csv"], "Not a directory: views.csv"),
        (
            ["label", "made", "--teacher", "t.keras", "--out", "o"],
            "No such file: t.keras",
        ),
        (
            ["label", "made", "--teacher", "a.txt", "--out", "./made"],
            "--out must be another directory",
        ),
        (["import", "views.csv"], "--out is needed, or --check"),
        (["import", "made", "--check"], "Is a directory, not a file: made"),
        (["import", "a.xlsx", "--check"], "No such file: a.xlsx"),
        (["import", "a.txt", "--check"], "must end in .csv, .tsv or .jsonl"),
        (IMPORT, "--text is needed"),
        ([*IMPORT, "--text", "a"], "what belongs together?"),
        (
            [*IMPORT, "--text", "a", "--original", "b", "c"],
            "--original must have as many columns as --text",
        ),
        (
            [*IMPORT, "--text", "a", "--views", "b", "--original", "c"],
            "--views is the wide form",
        ),
        (
            [*IMPORT, "--tinybert", "rte", "--text", "a"],
            "--tinybert knows the columns; leave --text out",
        ),
        (
            [*IMPORT, "--text", "a", "--originals", "b.csv"],
            "No such file: b.csv",
        ),
    ],
)
def test_mistakes_are_one_line(argv, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made").mkdir()
    (tmp_path / "views.csv").write_text("a\nb\n")
    (tmp_path / "a.txt").write_text("a\nb\n")
    assert message in fails(argv, capsys)
    assert not (tmp_path / "o").exists()


@pytest.fixture
def raising(monkeypatch):
    """Makes every command raise what it is given."""

    def make(error):
        def run(options):
            raise error

        monkeypatch.setattr(
            program.importlib,
            "import_module",
            lambda name: types.SimpleNamespace(run=run),
        )

    return make


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("two\n lines,\tand \x1b[2J"), "two lines, and \\x1b[2J"),
        (
            OSError(28, "No space left on device", "/a/b"),
            "left on device: /a/b",
        ),
        (ImportError("install it"), "install it"),
        (FileNotFoundError("`preset` must be there"), "must be there"),
        (ValueError(), "ValueError"),
    ],
)
def test_what_a_command_finds_wrong_is_one_line(
    error, message, raising, capsys, tmp_path
):
    raising(error)
    line = fails(["inspect", str(tmp_path)], capsys)
    assert line.startswith("keras-mmel inspect: error: ")
    assert message in line


def test_a_fault_of_ours_is_not_hidden(raising, tmp_path):
    raising(AttributeError("a bug"))
    with pytest.raises(AttributeError, match="a bug"):
        cli.main(["inspect", str(tmp_path)])


def test_traceback_can_be_asked_for(raising, tmp_path, monkeypatch):
    raising(ValueError("wrong"))
    monkeypatch.setenv("KERAS_MMEL_TRACEBACK", "1")
    with pytest.raises(ValueError, match="wrong"):
        cli.main(["inspect", str(tmp_path)])


def test_stopping_says_how_to_go_on(raising, capsys, tmp_path):
    raising(KeyboardInterrupt())
    assert (
        cli.main(["label", str(tmp_path), "--teacher", __file__, "--out", "o"])
        == 130
    )
    line = capsys.readouterr().err
    assert line == (
        "keras-mmel label: stopped. The same command continues where it "
        "stopped.\n"
    )
    assert cli.main(["inspect", str(tmp_path)]) == 130
    assert "Nothing was written" in capsys.readouterr().err


def test_a_closed_pipe_is_no_error(tmp_path):
    code = f"""
import os, types
import keras_mmel_cli.program as cli
def run(options):
    print("line")
cli.importlib.import_module = lambda name: types.SimpleNamespace(run=run)
raise SystemExit(cli.main(["inspect", {str(tmp_path)!r}]))
"""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write) as closed:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            cwd=pathlib.Path(__file__).resolve().parents[2],
        )
    assert (done.returncode, done.stderr) == (0, "")
