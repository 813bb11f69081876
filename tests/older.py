"""What an older Keras does otherwise, and the tests that it is left out of."""

import keras
import pytest

_RELEASE = tuple(map(int, keras.__version__.split(".")[:2]))


def is_before(minor):
    """Whether Keras is older than 3.`minor`."""
    return _RELEASE < (3, minor)


def not_before(minor, reason):
    """Leaves a test out where Keras is older than 3.`minor`."""
    return pytest.mark.skipif(is_before(minor), reason=f"Keras {reason}")
