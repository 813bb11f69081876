"""Files that appear whole or not at all, with one writer at a time."""

import contextlib
import errno
import os
import pathlib
from collections.abc import Iterator

try:
    import fcntl
except ImportError:  # Windows: two writers of one shard are not noticed there
    fcntl = None

# Locks are a courtesy: file systems that have none must still work.
_NO_LOCKS = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOTSUP)


def write_text(path: pathlib.Path, text: str) -> None:
    """Write a small file that appears whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def replacing(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Give a hidden file to write into, which becomes `path` at the end."""
    temporary = path.with_name(f".{path.name}.tmp")
    with _locked_file(temporary, path):
        try:
            yield temporary
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


@contextlib.contextmanager
def locked_directory(directory: pathlib.Path) -> Iterator[None]:
    """Hold a directory for oneself; waits for other processes."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        _lock(descriptor, wait=True)
        yield
    finally:
        os.close(descriptor)


def sync_directory(directory: pathlib.Path) -> None:
    """Make renames in a directory outlast a loss of power."""
    if fcntl is None:
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _locked_file(temporary, path):
    # The lock goes with its process, so that a killed one blocks nobody.
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not _lock(descriptor, wait=False):
            raise ValueError(
                f"Another process is writing {path.name!r}; processes that "
                "share a directory must write different shards. "
                f"Received: directory={str(path.parent)!r}"
            )
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor, wait):
    if fcntl is None:
        return True
    how = fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True
