"""How fast a model trains here, from a few steps."""

import time

import keras

SECONDS, FEWEST = 5, 2


def examples_per_second(model: keras.Model, x, y) -> float:
    """Training speed on one batch, the first step not counted."""
    model.train_on_batch(x, y)
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS or steps < FEWEST:
        model.train_on_batch(x, y)
        steps += 1
    return len(y) * steps / (time.perf_counter() - start)
