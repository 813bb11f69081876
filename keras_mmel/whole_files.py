"""A file that appears whole or not at all."""

import contextlib
import os
import pathlib
import uuid
from collections.abc import Iterator


@contextlib.contextmanager
def replacing(path: str | os.PathLike) -> Iterator[pathlib.Path]:
    """Gives a file to write, which takes the place of `path` at the end.

    It is a hidden file beside `path`, so that the last step is a renaming. A
    block that raises leaves `path` as it was, and a process that is killed
    leaves the hidden file behind; `is_left_over` knows it. Every writer has a
    file of its own: where two make the same `path`, the last one stays.

    Args:
        path: The file on a disk that appears whole or not at all. Missing
            folders are made.

    Yields:
        The path of the file to write. Its suffix is that of `path`, by which
        some libraries tell the format.

    Example:

    ```python
    with replacing("scores.json") as half:
        half.write_text(json.dumps(scores))
    ```
    """
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.stem}.{uuid.uuid4().hex}.tmp{path.suffix}")
    try:
        yield half
        # On the disk before the name is: a power cut leaves no empty file.
        with open(half, "rb") as file:
            os.fsync(file.fileno())
        os.replace(half, path)
    finally:
        half.unlink(missing_ok=True)


def is_left_over(name: str) -> bool:
    """Whether a file of this name was to become another one."""
    return name.startswith(".") and ".tmp" in name
