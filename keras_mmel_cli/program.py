"""Run one command; turn every foreseeable failure into one line."""

import argparse
import importlib.metadata
import os
import signal
import sys
import zipfile

from keras_mmel_cli import augment
from keras_mmel_cli import import_views
from keras_mmel_cli import inspect
from keras_mmel_cli import label

# A module for each: its docstring heads its help, `add_options(parser)` has its
# options, `check(options)` sees mistakes before Keras is loaded, and
# `run(options)` does the work.
COMMANDS = {
    "augment": augment,
    "label": label,
    "inspect": inspect,
    "import": import_views,
}

# What wrong input raises; anything else is a fault of ours and may be loud.
_FORESEEN = (ValueError, OSError, ImportError, zipfile.BadZipFile)


# Options that name a file or a directory, and how shells complete these.
_PATHS = {"data", "data_dir", "directory", "html", "masked_lm", "out"}
_PATHS |= {"teacher", "file"}
_FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}


def main(argv: list[str] | None = None) -> int:
    """Runs `keras-mmel` and returns its exit code.

    Args:
        argv: The arguments after the name of the command; those of the process
            where it is `None`.

    Returns:
        0 where the command did its work; 2 where an argument or a file is
        wrong, after one line on standard error; 130 after Ctrl-C.

    Example:

    ```python
    from keras_mmel_cli import main

    main(["inspect", "augmented/rte", "--html", "rte.html"])
    ```
    """
    words = sys.argv[1:] if argv is None else argv
    try:
        parser = make_parser()
        options, unknown = parser.parse_known_args(
            [*map(_with_underscores, words)]
        )
        if unknown:  # argparse itself names the help of no command
            parser.prog += f" {options.command}"
            parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    except SystemExit as ended:
        return int(ended.code or 0)
    command = COMMANDS[options.command]
    try:
        command.check(options)
        command.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        line = f"keras-mmel {options.command}: stopped."
        if "out" in options:
            line += " The same command continues where it stopped."
        _say(line)
        return 128 + signal.SIGINT
    except BrokenPipeError:  # `keras-mmel inspect ... | head`
        # Python flushes standard output once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except _FORESEEN as error:
        _say(f"keras-mmel {options.command}: error: {_one_line(error)}")
        return 2
    return 0


def make_parser() -> argparse.ArgumentParser:
    """Makes the parser of `keras-mmel`, with a subparser for each command."""
    parser = _Parser(
        prog="keras-mmel",
        description="Augment text offline with a masked language model, label "
        "it with a teacher, and look at it.",
        epilog="keras-mmel COMMAND --help has the options and an example of "
        "each command.",
    )
    version = f"keras-mmel {importlib.metadata.version('keras-mmel')}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND"
    )
    for name, module in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=str(module.__doc__).splitlines()[0],
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(settings={})
        module.add_options(command)
    return parser


def _with_underscores(word):
    """An option by the name that it has here, where dashes do as well."""
    if not word.startswith("--"):
        return word
    name, *value = word[2:].split("=", 1)
    return "=".join(["--" + name.replace("-", "_"), *value])


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, not after the whole usage."""

    def add_argument(self, *names, **settings):
        action = super().add_argument(*names, **settings)
        if action.dest in _PATHS:
            # What shtab completes them with.
            action.complete = _FILES
        return action

    def error(self, message):
        self.exit(
            2, f"{self.prog}: error: {message}. See {self.prog} --help.\n"
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
