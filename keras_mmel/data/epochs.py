"""Which epoch a pass over a dataset belongs to."""

import keras
import tensorflow as tf

_KEY = 0


class EpochCounter(keras.callbacks.Callback):
    """Knows the epoch whose views a dataset of groups makes next.

    A pass that is read to its end moves the counter on by one, so that every
    epoch of `fit` gets new views; a look at a few batches does not move it.
    Given to `fit` as a callback, the counter also follows the epochs of Keras,
    so that `initial_epoch` and `BackupAndRestore` continue with the right
    views.

    Args:
        initial_epoch: the first epoch, at least 0.

    Raises:
        ValueError: if `initial_epoch` is negative.
    """

    def __init__(self, initial_epoch: int = 0):
        super().__init__()
        if initial_epoch < 0:
            raise ValueError(
                "`initial_epoch` must be at least 0. "
                f"Received: initial_epoch={initial_epoch}"
            )
        # A table, because a variable made inside the scope of a strategy is
        # mirrored, and one made beside a GPU is out of reach of tf.data.
        with tf.device("CPU:0"):
            self._table = tf.lookup.experimental.MutableHashTable(
                tf.int64, tf.int64, default_value=0
            )
        self.set_epoch(initial_epoch)

    @property
    def epoch(self) -> int:
        """The epoch of the next pass."""
        return int(self._read())

    def set_epoch(self, epoch: int) -> None:
        """Make `epoch` the epoch of the next pass."""
        self._write(epoch)

    def on_epoch_begin(self, epoch, logs=None):
        self.set_epoch(epoch)

    def _read(self):
        # The lookup forgets its shape inside tf.data.
        return tf.reshape(self._table.lookup(tf.constant(_KEY, tf.int64)), [])

    def _write(self, epoch):
        epoch = tf.cast(epoch, tf.int64)
        return self._table.insert(tf.constant(_KEY, tf.int64), epoch)

    def finish(self, epoch: tf.Tensor) -> tf.Operation:
        """Record, inside tf.data, that `epoch` was read to its end."""
        # The maximum: passes that overlap must not turn the counter back.
        return self._write(tf.maximum(self._read(), epoch + 1))


def one_pass_per_epoch(counter: EpochCounter, make_epoch, num_batches: int):
    """Return a dataset whose passes are `make_epoch(0)`, `make_epoch(1)`, ...

    Args:
        counter: says which epoch is next.
        make_epoch: from an int64 scalar to the dataset of that epoch.
        num_batches: elements of each epoch; negative if unknown or infinite,
            as `tf.data.Dataset.cardinality` has it.
    """

    @tf.autograph.experimental.do_not_convert
    def counted(epoch):
        batches = make_epoch(epoch)

        def end():
            with tf.control_dependencies([counter.finish(epoch)]):
                return tf.constant(False)

        def pass_on(index, batch):
            is_last = tf.equal(index + 1, num_batches)
            done = tf.cond(is_last, end, lambda: tf.constant(False))
            with tf.control_dependencies([done]):
                return tf.nest.map_structure(tf.identity, batch)

        if num_batches >= 0:
            # Keras never reads past the last of a known number of batches,
            # so that is where the end has to be seen.
            return batches.enumerate().map(pass_on)
        # Nothing comes out of this second part: reaching it is the end.
        nothing = tf.data.Dataset.range(1).filter(lambda unused: end())
        return batches.concatenate(
            nothing.flat_map(lambda unused: batches.take(0))
        )

    passes = tf.data.Dataset.range(1).map(lambda unused: counter._read())
    dataset = passes.flat_map(counted)
    if num_batches != tf.data.UNKNOWN_CARDINALITY:
        dataset = dataset.apply(
            tf.data.experimental.assert_cardinality(num_batches)
        )
    return dataset
