"""How all pictures look, and matplotlib where it is installed."""

import importlib
from types import ModuleType

# Okabe and Ito's colours: told apart by all readers and on grey print.
BLUE, ORANGE, GREEN = "#0072b2", "#d55e00", "#009e73"
PINK, SKY, YELLOW = "#cc79a7", "#56b4e9", "#e69f00"
CYCLE = (ORANGE, BLUE, GREEN, PINK, SKY, YELLOW)
INK, GREY, TRACK = "#333333", "#8a8a8a", "#e8e8e8"

SETTINGS = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.titlesize": 10,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    # Text stays text, and the same picture gives the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "keras_mmel",
}


def matplotlib(name: str = "") -> ModuleType:
    """A module of matplotlib.

    Args:
        name: Its name within matplotlib, such as `"pyplot"`.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    module = f"matplotlib.{name}" if name else "matplotlib"
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            "The pictures need matplotlib. Install the extra `examples`: "
            "`pip install 'keras-mmel[examples]'`."
        ) from error
