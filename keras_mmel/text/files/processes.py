"""Several processes of one machine that share the shards of a directory."""

import concurrent.futures.process
import functools
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

# In each of the processes: what makes its function, as it was sent.
_pickled = b""


def write_in_processes(
    make_writer: Callable[[], Callable[..., Any]],
    shards: Sequence[tuple[int, int]],
    processes: int,
    on_done: Callable[[tuple[int, int]], Any],
) -> list:
    """Writes shards in processes that take the next one when they are free.

    Args:
        make_writer: Gives a function of `shard`; sent by pickle to each
            process and called there once.
        shards: Index and count of each shard to write.
        processes: How many processes, at most.
        on_done: Called in this process with every shard that is written.

    Returns:
        What the function returned for each shard, in the order in which it
        did.

    Raises:
        TypeError: If `make_writer` cannot be pickled.
        ChildProcessError: If a process was killed. As after any other error
            of a shard, and after Ctrl-C, all processes are ended.
    """
    try:
        pickled = pickle.dumps(make_writer)
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise TypeError(
            "Several processes get `augmenter` and `source` by pickle: as "
            "`augmenter` also a function at the top level of a module, which "
            f"makes one. Received: {error}"
        ) from error
    processes = min(processes, len(shards))
    # Else each would start a thread for every core.
    threads = max(1, (os.cpu_count() or 1) // processes)
    others = set(multiprocessing.active_children())
    results = []
    with concurrent.futures.ProcessPoolExecutor(
        processes,
        # A fork of a process in which TensorFlow has started threads hangs.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(pickled, threads),
    ) as pool:
        try:
            running = {pool.submit(_write, shard): shard for shard in shards}
            for future in concurrent.futures.as_completed(running):
                results.append(future.result())
                on_done(running[future])
        except BaseException as error:  # Ctrl-C, too
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
            if not isinstance(error, concurrent.futures.BrokenExecutor):
                raise
            raise ChildProcessError(
                "a process was killed, as where there is too little memory, "
                'or a script does not begin at `if __name__ == "__main__":`; '
                "the same command writes what is missing"
            ) from None
    return results


def _begin(pickled, threads):
    """Prepares a process, before TensorFlow starts its threads there."""
    global _pickled
    _pickled = pickled
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", str(threads))
    # Ctrl-C is for the process that started this one, which ends them all.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent():
    """Ends this process with its parent, which may be killed at any moment."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


@functools.cache
def _writer():
    return pickle.loads(_pickled)()


def _write(shard):
    return _writer()(shard=shard)
