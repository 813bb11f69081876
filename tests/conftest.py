"""What every test shares: four CPU devices, a fixed seed, a clean session."""

import gc
import os
import pathlib
import subprocess
import sys

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

_OWN_PROCESS = "KERAS_MMEL_TEST_IN_ITS_OWN_PROCESS"

ROOT = pathlib.Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _fresh_session():
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(0)
    yield
    keras.config.set_dtype_policy("float32")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs a test marked `own_process` in a pytest of its own.

    Several strategies in one process disturb each other: their collective
    operations are numbered per process, not per strategy.
    """
    marked = pyfuncitem.get_closest_marker("own_process")
    if marked is None or os.environ.get(_OWN_PROCESS):
        return None
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTEST_")
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "", pyfuncitem.nodeid],
        cwd=ROOT,
        env=environment | {_OWN_PROCESS: "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.fail(done.stdout[-5000:] + done.stderr[-2000:], pytrace=False)
    return True


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
