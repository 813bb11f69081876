"""How far a run is: a bar on the terminal, or a function of the user's."""

import contextlib
from collections.abc import Callable
from collections.abc import Iterator

from keras_mmel import extras


@contextlib.contextmanager
def watch(
    progress: bool | Callable[[int, int], None],
    done: int,
    total: int,
    num_texts: int,
) -> Iterator[Callable[[int], None]]:
    """Show how far a run is.

    Args:
        progress: `True` for a bar with sentences a second and the time left,
            `False` for silence, or a function that is called with the number
            of examples that are done and of all.
        done: examples that an earlier run has done.
        total: examples to do, the earlier ones included.
        num_texts: sentences of an example.

    Yields:
        A function to call with a number of examples that got done.
    """
    if progress is False:
        yield lambda count: None
    elif progress is True:
        tqdm = extras.need("tqdm", "datasets")
        with tqdm.tqdm(
            total=total * num_texts,
            initial=done * num_texts,
            unit=" sentences",
            smoothing=0.05,
            dynamic_ncols=True,
        ) as bar:
            yield lambda count: bar.update(count * num_texts)
    else:

        def call(count):
            nonlocal done
            done += count
            progress(done, total)

        yield call
