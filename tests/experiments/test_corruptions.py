"""The picture of the corruptions."""

import numpy as np
import pytest

from experiments import corruptions
from keras_mmel import data


@pytest.mark.slow
def test_every_corruption_has_a_panel():
    figure = corruptions.draw((3,))
    first, *others = figure.axes
    assert [axes.get_title() for axes in others] == [
        name.replace("salt and", "salt,") for name in data.corruptions()
    ]
    pictures = [axes.images[0].get_array() for axes in (first, *others)]
    assert {p.shape for p in pictures} == {(112, 112, 3)}
    assert all(np.any(p != pictures[0]) for p in pictures[1:])
