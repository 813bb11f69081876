"""The arguments of `keras-mmel`, and how its commands fail."""

import importlib.metadata
import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest

from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import label_augmented
from keras_mmel_cli import main
from keras_mmel_cli.inspect import Inspect
from keras_mmel_cli.label import Label

ROOT = pathlib.Path(__file__).resolve().parents[2]


def fails(argv, capsys):
    """The one line with which a command fails."""
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("\n") and err.count("\n") == 1
    return err


def is_not_parsed(argv, capsys):
    """The words with which tyro refuses arguments, without their box."""
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    words = " ".join(re.sub("[╭─╮│╰╯]", " ", err).split())
    assert re.search(r"For full helptext, (run|see):? keras-mmel", words)
    return words


def test_installed_command_is_this_one():
    (script,) = importlib.metadata.entry_points(
        group="console_scripts", name="keras-mmel"
    )
    assert script.load() is main


def test_help_and_mistakes_load_no_library():
    """Where TensorFlow were imported each would take seconds."""
    code = """
import sys
before = set(sys.modules)
from keras_mmel_cli import main
for argv in (["--help"], ["augment", "--help"], ["inspect", "nowhere"],
             ["augment", "--num_augmented", "0"]):
    print("code", main(argv))
standard = set(sys.stdlib_module_names)
names = {name.split(".")[0] for name in set(sys.modules) - before}
print("loaded", sorted(n for n in names - standard if n[0] != "_"))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT
    )
    assert re.findall(r"^code (\d)", done.stdout, re.M) == list("0022")
    (loaded,) = re.findall(r"^loaded (.*)$", done.stdout, re.M)
    assert "'keras_mmel_cli'" in loaded and "'tyro'" in loaded
    for library in ("keras", "keras_mmel", "tensorflow", "numpy"):
        assert f"'{library}'" not in loaded


def test_without_the_extra_it_says_what_to_install():
    code = """
import sys
sys.modules["tyro"] = None
from keras_mmel_cli import main
sys.exit(main(["--help"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("`pip install 'keras-mmel[text]'`\n")
    assert done.stderr.count("\n") == 1


def test_other_encodings_get_the_help_as_well():
    """The list of the commands has bullets, which Latin 1 has not."""
    for encoding in ("ascii", "latin-1"):
        done = subprocess.run(
            [sys.executable, "-m", "keras_mmel_cli", "--help"],
            capture_output=True,
            env=os.environ | {"PYTHONIOENCODING": encoding},
            cwd=ROOT,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert b" augment " in done.stdout


def test_help_lists_the_commands(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert re.findall(r"•\W+(\w+)", text) == [
        "augment",
        "label",
        "inspect",
        "import",
    ]
    assert main(["--version"]) == 0
    version = importlib.metadata.version("keras-mmel")
    assert capsys.readouterr().out == f"keras-mmel {version}\n"


@pytest.mark.parametrize(
    ("command", "function", "given"),
    [
        (
            "augment",
            MaskedLMAugmenter,
            {"masked_lm", "tokenizer", "num_beams"},
        ),
        (
            "label",
            label_augmented,
            {"directory", "teacher", "out", "shard", "progress", "from_logits"},
        ),
    ],
)
def test_help_states_the_defaults_of_what_it_calls(
    command, function, given, capsys
):
    """And every argument that the command does not give is an option."""
    assert main([command, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    arguments = inspect.signature(function).parameters
    assert given < set(arguments)
    for name in set(arguments) - given:
        (stated,) = re.findall(rf"--{name} [^()]*\(([^)]*)\)", text)
        default = arguments[name].default
        # None is no value that can be given here.
        assert stated == (
            "optional" if default is None else f"default: {default}"
        )


AUGMENT = ["augment", "--masked-lm", "made", "--out", "o", "--data"]
IMPORT = ["import", "--out", "o", "views.csv"]
VIEWS = [*IMPORT, "--text", "a"]
LABEL = ["label", "made", "--out", "./made", "--teacher"]
WHICH_DATA = (
    "--data must be a .csv, .tsv, .jsonl or .json file, or the name of a"
)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([*AUGMENT, "x.csv", "--text", "t"], "No such file: x.csv"),
        ([*AUGMENT, "views.csv"], "--text is needed"),
        ([*AUGMENT, "imdb_reviews"], "--text is needed"),
        ([*AUGMENT, "a.txt"], f"{WHICH_DATA} TFDS data set. Rec"),
        ([*AUGMENT, "b.csv.gz"], "Received: --data b.csv.gz"),
        ([*AUGMENT, "plain"], WHICH_DATA),
        ([*AUGMENT, "./made"], WHICH_DATA),
        ([*AUGMENT, "d", "--label_names", "a"], "--label_names and --quoting"),
        ([*AUGMENT, "d", "--quoting=none"], "--quoting are for files; TFDS"),
        (
            [
                *IMPORT[:-1],
                "a.jsonl",
                "--quoting=none",
                "--text=a",
                "--views=b",
            ],
            "--quoting is of tables. Received: a.jsonl",
        ),
        ([*AUGMENT, "d", "--num_augmented", "0"], "least 1. Received: 0"),
        ([*AUGMENT, "d", "--limit", "-1"], "--limit must be a whole number"),
        ([*AUGMENT, "d", "--text"], "--text must have a value. Received: ()"),
        ([*AUGMENT, ""], "--data must have a value. Received: ''"),
        ([*AUGMENT, "d", "--slot", "8"], "option of `keras-mmel augment`"),
        ([*AUGMENT, "d", "--slot", "8"], "Is it --slots?"),
        # In front of what has no option, where a parser takes it for a value.
        (["inspect", "--exampels", "3", "made"], "Is it --examples?"),
        (["inspect", "made", "--wide=1"], "--wide is no option of `keras-mmel"),
        ([*VIEWS, "--text", "b"], "--text must be given once, all of its"),
        ([*AUGMENT, "d", "--shard", "4/4"], "must be I/N"),
        # The word, not what Python calls so.
        ([*AUGMENT, "d", "--shard", "None"], "to N-1. Received: 'None'"),
        ([*VIEWS, "--views"], "--views must have a value"),
        (["inspect", "made", "--id"], "--id must have a value"),
        (["inspect", "made", "--examples", "0"], "at least 1. Received: 0"),
        (
            [*AUGMENT[:1], "--masked-lm=bert-tiny", *AUGMENT[3:], "d"],
            "directory: bert-tiny",
        ),
        (["inspect", "nowhere"], "No such directory: nowhere"),
        (["inspect", "views.csv"], "Not a directory: views.csv"),
        ([*LABEL, "t.keras"], "No such file: t.keras"),
        (["import", "views.csv"], "--out is needed, or --check"),
        (["import", "made", "--check"], "Not a file: made"),
        (["import", "a.xlsx", "--check"], "No such file: a.xlsx"),
        (IMPORT, "--text is needed"),
        (VIEWS, "must be told apart by `id` or by `original`"),
    ],
)
def test_mistakes_are_one_line(argv, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made").mkdir()
    for name in ("views.csv", "a.txt", "plain", "a.jsonl"):
        (tmp_path / name).write_text("a\nb\n")
    assert message in fails(argv, capsys)
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "Expected one of {augment, label, inspect, import}"),
        (["argument"], "Available subcommands: augment, label, inspect"),
        (["augment"], "keras-mmel augment: --masked_lm STR"),
        (["label"], "keras-mmel label: DIR"),
        ([*AUGMENT, "d", "--num_augmented", "1.5"], "--num_augmented: invalid"),
        ([*AUGMENT, "d", "--max_length", "x"], "--max_length: no type"),
        ([*AUGMENT, "d", "--mask_ratio", "x"], "--mask_ratio: could not"),
        ([*AUGMENT, "d", "--search", "wide"], "'wide' for argument '--search'"),
        ([*AUGMENT, "d", "--label"], "value for argument '--label'"),
        (
            [*VIEWS, "--views", "b", "--original", "c"],
            "--views and --original are not allowed together",
        ),
    ],
)
def test_what_is_not_parsed_is_named(argv, message, capsys):
    assert message in is_not_parsed(argv, capsys)


def test_what_stands_behind_two_dashes_is_no_option(capsys, tmp_path):
    argv = ["inspect", "--", "--examples"]
    assert "No such directory: --examples" in fails(argv, capsys)


def test_help_into_a_pipe_that_is_closed_says_nothing():
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "keras_mmel_cli", "augment", "--help"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("option", ["--masked_lm", "--masked-lm"])
def test_values_may_look_like_options(option, capsys):
    """Dashes and underscores are alike in the options alone."""
    argv = ["augment", option + "=made-of_it", "--data", "d", "--out", "o"]
    for seed in ("-1", "0"):
        line = fails([*argv, "--text", "a-b", "--seed", seed], capsys)
        assert line.endswith("No such directory: made-of_it\n")


@pytest.fixture
def raising(monkeypatch):
    """Makes commands raise what it is given."""

    def make(error):
        def run(command):
            raise error

        monkeypatch.setattr(Inspect, "run", run)
        monkeypatch.setattr(Label, "run", run)

    return make


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("two\n lines,\tand \x1b[2J"), "two lines, and \\x1b[2J"),
        (OSError(28, "No space left", "/a/b"), "No space left: /a/b"),
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
        main(["inspect", str(tmp_path)])


def test_stopping_says_how_to_go_on(raising, capsys, tmp_path):
    raising(KeyboardInterrupt())
    argv = ["label", str(tmp_path), "--teacher", __file__, "--out", "o"]
    assert main(argv) == 130
    assert capsys.readouterr().err == (
        "keras-mmel label: stopped. The same command continues where it "
        "stopped.\n"
    )
    assert main(["inspect", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "keras-mmel inspect: stopped.\n"


def test_a_closed_pipe_is_no_error(tmp_path):
    code = f"""
from keras_mmel_cli import main
from keras_mmel_cli.inspect import Inspect
Inspect.run = lambda command: print("line")
raise SystemExit(main(["inspect", {str(tmp_path)!r}]))
"""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write) as closed:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
    assert (done.returncode, done.stderr) == (0, "")
