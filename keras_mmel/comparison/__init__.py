"""Whether reweighting helps on one's own data: objectives, seed by seed."""

from keras_mmel.comparison.results import Comparison
from keras_mmel.comparison.seed_by_seed import compare

__all__ = ["Comparison", "compare"]
