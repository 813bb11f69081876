"""Groups of views from datasets of single examples, in tf.data.

Read `grouping` first: `group_views`, and how a batch becomes groups. The other
files serve it: `arguments` (mistakes), `epochs` (which epoch a pass is),
`randomness` (seeds, and numbers that none controls), `cropping`, `turning` and
`lifting` (what makes views). `grids` makes groups without chance, such as those
of `corrupting`.
"""

# ruff: noqa: E402
from keras_mmel import extras

# Before the files that import it, for the line that says what is missing.
extras.need("tensorflow")

from keras_mmel.data.corrupting import corruptions
from keras_mmel.data.cropping import crop_and_flip
from keras_mmel.data.epochs import EpochCounter
from keras_mmel.data.grids import grid_views
from keras_mmel.data.grouping import group_views
from keras_mmel.data.lifting import per_view
from keras_mmel.data.turning import turn_and_shift

__all__ = [
    "EpochCounter",
    "corruptions",
    "crop_and_flip",
    "grid_views",
    "group_views",
    "per_view",
    "turn_and_shift",
]
