"""Run one command; turn every foreseeable failure into one line."""

import collections
import dataclasses
import difflib
import importlib.metadata
import io
import itertools
import os
import signal
import sys
import zipfile

import tyro

from keras_mmel_cli import shared
from keras_mmel_cli.augment import Augment
from keras_mmel_cli.import_views import Import
from keras_mmel_cli.inspect import Inspect
from keras_mmel_cli.label import Label

# The docstring of each is its help, `validate` sees mistakes before Keras is
# loaded, and `run` does the work.
COMMANDS = {
    "augment": Augment,
    "label": Label,
    "inspect": Inspect,
    "import": Import,
}

# What wrong input raises; anything else is a fault of ours and may be loud.
_FORESEEN = (ValueError, OSError, ImportError, zipfile.BadZipFile)


def run(words: list[str]) -> int:
    """Runs the command that the words name and returns its exit code."""
    # What is printed may have characters that the terminal's encoding has not.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    name, command = "keras-mmel", None
    if words and words[0] in COMMANDS:
        name += f" {words[0]}"
    try:
        if words == ["--version"]:
            print(f"keras-mmel {importlib.metadata.version('keras-mmel')}")
            return 0
        _check_names(words)
        command = _parse(words)
        shared.check_values(command)
        command.validate()
        command.run()
        sys.stdout.flush()
    except SystemExit as ended:
        return int(ended.code or 0)
    except KeyboardInterrupt:
        line = f"{name}: stopped."
        if hasattr(command, "out"):
            line += " The same command continues where it stopped."
        _say(line)
        return 128 + signal.SIGINT
    except BrokenPipeError:  # `keras-mmel inspect ... | head`
        # Python flushes standard output once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except _FORESEEN as error:
        _say(f"{name}: error: {_one_line(error)}")
        return 2
    return 0


def _check_names(words):
    """Raises ValueError for an option that a command has not, or that is twice.

    tyro takes the last one, and what stands behind a mistyped one for its
    value.
    """
    if not words or words[0] not in COMMANDS:
        return
    known = {"help", *_option_names(COMMANDS[words[0]])}
    before_dashes = itertools.takewhile(lambda word: word != "--", words)
    given = collections.Counter(
        word[2:].partition("=")[0].replace("-", "_")
        for word in before_dashes
        if word.startswith("--")
    )
    for name, count in given.items():
        if name not in known and not name.startswith("tyro_"):
            near = difflib.get_close_matches(name, known, n=1)
            near = "".join(f" Is it --{option}?" for option in near)
            raise ValueError(
                f"--{name} is no option of `keras-mmel {words[0]}`, whose "
                f"--help has them all.{near}"
            )
        if count > 1:
            raise ValueError(
                f"--{name} must be given once, all of its values behind it. "
                f"Received: {count} times"
            )


def _option_names(options):
    """Names of the fields of a dataclass, and of those that are fields."""
    for field in dataclasses.fields(options):
        yield field.name
        if dataclasses.is_dataclass(field.type):
            yield from _option_names(field.type)


def _parse(words):
    """The command that the words name, with its options."""
    return tyro.extras.subcommand_cli_from_dict(
        COMMANDS,
        prog="keras-mmel",
        description="Augment text offline with a masked language model, label "
        "it with a teacher, and look at it. `keras-mmel COMMAND --help` has "
        "the options of each command, `keras-mmel --version` the version.",
        args=words,
        use_underscores=True,
        config=(
            tyro.conf.DisallowNone,
            tyro.conf.FlagCreatePairsOff,
            tyro.conf.OmitArgPrefixes,
        ),
    )


def _one_line(error):
    """The message of an error in one line, without control characters."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.strerror}: {error.filename}"
    else:
        text = str(error)
    text = " ".join(text.split()) or type(error).__name__
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _say(line):
    # A progress bar may stand in the last line.
    print(f"\r{line}" if sys.stderr.isatty() else line, file=sys.stderr)
