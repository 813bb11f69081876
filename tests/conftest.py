"""What every test shares: four CPU devices, a fixed seed, a clean session."""

import gc
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import pytest
import tensorflow as tf

# Four logical devices let any test build a MirroredStrategy of 1, 2 or 4
# replicas. It has to happen before TensorFlow first touches a device.
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration()] * 4,
)

# What was imported stays anyway: a collection of garbage need not look at it.
gc.collect()
gc.freeze()

ROOT = pathlib.Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _fresh_session():
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(0)
    yield
    keras.config.set_dtype_policy("float32")


@pytest.fixture(scope="session")
def shared_dir():
    """Folder with the real data; tests that need it skip without it."""
    named = os.environ.get("KERAS_MMEL_SHARED")
    folder = pathlib.Path(named) if named else ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip(
            "no real data: set KERAS_MMEL_SHARED to the folder that holds "
            "data/tfds"
        )
    return folder
