"""Which epoch a pass over a dataset belongs to."""

import keras
import tensorflow as tf

# Rows of the counter's table.
_NEXT = 0  # the epoch of the next pass
_FILLED = 1  # one more than the last epoch that had a batch


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

    def _read(self, row=_NEXT):
        # The lookup forgets its shape inside tf.data.
        return tf.reshape(self._table.lookup(tf.constant(row, tf.int64)), [])

    def _write(self, epoch, row=_NEXT):
        epoch = tf.cast(epoch, tf.int64)
        return self._table.insert(tf.constant(row, tf.int64), epoch)

    def _finish(self, epoch):
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
    def one_pass(epoch):
        batches = make_epoch(epoch)
        if num_batches >= 0:
            # Keras never reads past the last of a known number of batches,
            # so that is where the end has to be seen.
            return _after(
                batches, num_batches - 1, lambda: counter._finish(epoch)
            )
        filled = _after(batches, 0, lambda: counter._write(epoch + 1, _FILLED))

        def at_the_end(unused):
            not_empty = tf.debugging.Assert(
                tf.equal(counter._read(_FILLED), epoch + 1),
                ["`dataset` must not be empty. Received: no batch"],
            )
            with tf.control_dependencies([not_empty]):
                finished = counter._finish(epoch)
            with tf.control_dependencies([finished]):
                return batches.take(0)

        # Nothing comes out of the second part: reaching it is the end.
        return filled.concatenate(tf.data.Dataset.range(1).flat_map(at_the_end))

    passes = tf.data.Dataset.range(1).map(lambda unused: counter._read())
    dataset = passes.flat_map(one_pass)
    if num_batches != tf.data.UNKNOWN_CARDINALITY:
        dataset = dataset.apply(
            tf.data.experimental.assert_cardinality(num_batches)
        )
    return dataset


def _after(batches, position, act):
    """Return `batches`; call `act` as the one at `position` is handed out."""

    def pass_on(index, batch):
        def run():
            with tf.control_dependencies([act()]):
                return tf.constant(True)

        done = tf.cond(
            tf.equal(index, position), run, lambda: tf.constant(False)
        )
        with tf.control_dependencies([done]):
            return tf.nest.map_structure(tf.identity, batch)

    return batches.enumerate().map(pass_on)
