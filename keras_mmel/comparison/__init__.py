"""Does reweighting help on one's own data: a paired comparison of objectives."""

from keras_mmel.comparison.results import Comparison
from keras_mmel.comparison.runs import compare

__all__ = ["Comparison", "compare"]
