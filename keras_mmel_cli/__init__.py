"""The command `keras-mmel`.

A package of its own, because `import keras_mmel` loads Keras and its backend,
which `keras-mmel --help` and a mistyped option should not wait for.
"""

import sys

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Runs `keras-mmel` and returns its exit code.

    Args:
        argv: The arguments after the name of the command; those of the process
            where it is `None`.

    Returns:
        0 where the command did its work; 2 where an argument or a file is
        wrong, after a message on standard error; 130 after Ctrl-C.

    Example:

    ```python
    from keras_mmel_cli import main

    main(["inspect", "augmented/rte", "--html", "rte.html"])
    ```
    """
    try:
        from keras_mmel_cli import program
    except ModuleNotFoundError as error:
        if error.name != "tyro":
            raise
        print(
            "keras-mmel: error: this needs the library 'tyro'; install it with "
            "`pip install 'keras-mmel[text]'`",
            file=sys.stderr,
        )
        return 2
    return program.run(sys.argv[1:] if argv is None else argv)
