"""The same views where Keras runs on JAX."""

import hashlib
import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = """
import hashlib
import keras
import numpy as np
import tensorflow as tf
from keras_mmel import data

images = np.arange(4 * 6 * 6 * 3, dtype="uint8").reshape(4, 6, 6, 3)
layer = keras.layers.Pipeline(
    [keras.layers.RandomFlip(), keras.layers.RandomErasing(1.0)]
)
digest = hashlib.sha256()
for augment in (data.crop_and_flip(2), data.per_view(layer)):
    source = tf.data.Dataset.from_tensor_slices((images, np.arange(4)))
    groups = data.group_views(source, augment, 4, 2, seed=5)
    for _ in range(2):
        for x, y in groups:
            digest.update(x["views"].numpy().tobytes())
"""


def test_views_equal_those_on_tensorflow():
    pytest.importorskip("jax")
    here = {}
    exec(SCRIPT, here)
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT + "print(digest.hexdigest())"],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        cwd=pathlib.Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.split()[-1] == here["digest"].hexdigest()
    assert here["digest"].digest() != hashlib.sha256().digest()
