"""Several processes of one machine that share the shards of a directory."""

import concurrent.futures.process
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

from keras_mmel_cli import shared

# Of a process that writes: what makes its function, pickled, and the function.
_pickled = b""
_write: Callable[[tuple[int, int]], Any] | None = None


def write_shards(
    make: Callable[[], Callable[[tuple[int, int]], Any]],
    shards: Sequence[tuple[int, int]],
    processes: int,
    tell: Callable[[tuple[int, int]], Any],
) -> list:
    """Writes shards in processes that take the next one when they are free.

    `make` goes to each process and gives, once there, what writes a shard;
    `tell` hears of every shard that is written. Returns what was returned for
    each; raises `ChildProcessError` where a process was killed.
    """
    processes = min(processes, len(shards))
    # Else each would start a thread for every core.
    threads = max(1, (os.cpu_count() or 1) // processes)
    others, found = set(multiprocessing.active_children()), []
    with concurrent.futures.ProcessPoolExecutor(
        processes,
        multiprocessing.get_context("spawn"),
        _begin,
        (pickle.dumps(make), threads),
    ) as pool:
        running = {pool.submit(_write_shard, shard): shard for shard in shards}
        try:
            for future in concurrent.futures.as_completed(running):
                found.append(future.result())
                tell(running[future])
        except BaseException as error:  # Ctrl-C, too
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
            if not isinstance(error, concurrent.futures.BrokenExecutor):
                raise
            raise ChildProcessError(
                "a process was killed, as where there is too little memory; "
                "the same command writes what is missing"
            ) from None
    return found


def _begin(pickled, threads):
    global _pickled
    _pickled = pickled
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", str(threads))
    # Ctrl-C is for the process that started this one, and ends both.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent():
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


def _write_shard(shard):
    global _write
    if _write is None:
        with shared.quiet():
            _write = pickle.loads(_pickled)()
    return _write(shard)
