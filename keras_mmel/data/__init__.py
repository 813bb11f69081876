"""Groups of views from datasets of single examples, in tf.data."""

from keras_mmel.data.cropping import crop_and_flip
from keras_mmel.data.epochs import EpochCounter
from keras_mmel.data.grids import grid_views
from keras_mmel.data.grouping import group_views
from keras_mmel.data.lifting import per_view
from keras_mmel.data.turning import turn_and_shift

__all__ = [
    "EpochCounter",
    "crop_and_flip",
    "grid_views",
    "group_views",
    "per_view",
    "turn_and_shift",
]
