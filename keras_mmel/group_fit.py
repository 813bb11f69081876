"""`fit` on groups: what is checked before the first step."""

import functools

import keras

from keras_mmel import batch_checks
from keras_mmel import replicas

# epochs, verbose, callbacks, validation_split, validation_data
_ARGS_BEFORE_SHUFFLE = 5


class GroupFit(keras.Model):
    """The `fit` of `MMELModel`."""

    @functools.wraps(keras.Model.fit)
    def fit(self, x=None, y=None, batch_size=None, *args, **kwargs):
        batch_checks.check_sample_weight(kwargs.get("sample_weight"))
        batch_checks.check_numbers(y)
        strategy = getattr(self, "_distribute_strategy", None)
        if strategy is not None:
            with strategy.scope():
                replicas.check_data(x, batch_size)
        if hasattr(x, "element_spec") and len(args) <= _ARGS_BEFORE_SHUFFLE:
            # A dataset is shuffled, or not, by who made it; Keras would warn.
            kwargs.setdefault("shuffle", False)
        return super().fit(x, y, batch_size, *args, **kwargs)

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        # Under a strategy Keras averages the first batch over the replicas to
        # learn its shapes, which fails for a mask and for an uneven split.
        strategy = self._distribute_strategy
        if strategy is not None and iterator is not None:
            for _, _, batches in iterator:
                data_batch = keras.tree.map_structure(
                    lambda v: strategy.experimental_local_results(v)[0],
                    next(batches),
                )
                break
            iterator = None
        return super()._maybe_symbolic_build(iterator, data_batch)
