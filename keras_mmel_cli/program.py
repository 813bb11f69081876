"""Run one command; turn every foreseeable failure into one line."""

import contextlib
import importlib
import os
import signal
import sys
import tempfile

from keras_mmel_cli import checks
from keras_mmel_cli import parser as parsers

FAILED = 2
INTERRUPTED = 128 + signal.SIGINT


def main(argv: list[str] | None = None) -> int:
    """Run `keras-mmel` and return its exit code.

    Args:
        argv: the arguments after the name of the command; those of the process
            where `None`.

    Returns:
        0 where the command did its work; 2 where an argument or a file is
        wrong, after one line on standard error; 130 after Ctrl-C.

    Example:

    ```python
    from keras_mmel.cli import main

    main(["inspect", "augmented/rte", "--html", "rte.html"])
    ```
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    parser = parsers.make_parser()
    try:
        options = parser.parse_args(arguments)
    except SystemExit as ended:
        return ended.code or 0
    debug = bool(os.environ.get("KERAS_MMEL_TRACEBACK"))
    try:
        checks.check(options)
        with _quiet():
            command = importlib.import_module(
                f"keras_mmel_cli.{options.module}"
            )
            if "tensorflow" in sys.modules:  # looks for GPUs, with its notes
                sys.modules["tensorflow"].config.list_physical_devices()
        command.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        _say(f"keras-mmel {options.command}: stopped. {options.after_stop}")
        return INTERRUPTED
    except BrokenPipeError:  # `keras-mmel inspect ... | head`
        # Python flushes standard output once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except _FORESEEN as error:
        if debug:
            raise
        _say(f"keras-mmel {options.command}: error: {one_line(error)}")
        return FAILED
    return 0


# What wrong input raises; anything else is a fault of ours and may be loud.
_FORESEEN = (
    ValueError,
    OSError,
    ImportError,
    UnicodeError,
)


def one_line(error: BaseException) -> str:
    """The message of an error in one line, without control characters."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.strerror}: {error.filename}"
    else:
        text = str(error)
    text = " ".join(text.split()) or type(error).__name__
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


@contextlib.contextmanager
def _quiet():
    """Keep back what is written to standard error, unless something fails.

    TensorFlow notes on its start how it was built and that there is no GPU,
    from C++ and whatever its log level. Who sets that level sees it all.
    """
    if "TF_CPP_MIN_LOG_LEVEL" in os.environ:
        yield
        return
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        except Exception:
            file.seek(0)
            os.write(kept, file.read())
            raise
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)


def _say(line: str) -> None:
    # A progress bar may stand in the last line.
    print(f"\r{line}" if sys.stderr.isatty() else line, file=sys.stderr)
