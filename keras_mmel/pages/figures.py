"""Figures of Matplotlib that leave a notebook as it was."""

import io
from typing import Any

from keras_mmel import extras


def new_figure(size: tuple[float, float] | None = None) -> Any:
    """An empty figure, which a notebook shows where it is a cell's result.

    It is none of pyplot's. Their first one chooses how a notebook shows all
    later figures, also those of the user, and pyplot shows its own a second
    time.

    Args:
        size: Width and height in inches.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ImportError: If Matplotlib is not installed.
    """
    library: Any = extras.need("matplotlib.figure", "plots")

    class Figure(library.Figure):
        def _repr_png_(self):
            # Also where no pyplot told the notebook how to show figures.
            file = io.BytesIO()
            self.savefig(file, format="png")
            return file.getvalue()

    return Figure(size, layout="constrained")
