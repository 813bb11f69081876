"""Which epoch a pass over a dataset belongs to."""

import weakref
from collections.abc import Callable

import keras
import tensorflow as tf

from keras_mmel.counts import check_count

# Rows of the counter's table.
_NEXT = 0  # the epoch of the next pass
_FILLED = 1  # the last epoch that had a batch, or -1


class EpochCounter(keras.callbacks.Callback):
    """Knows the epoch whose views a dataset of groups makes next.

    A pass that is read to its end moves the counter on by one, so that every
    epoch of `fit` gets new views; a look at a few batches does not move it.
    Given to `fit` as a callback, the counter also follows the epochs of Keras:
    `initial_epoch` and `BackupAndRestore` then continue with the right views,
    epochs that stop early (`dataset.take`) still get new ones, and so do
    replicas, which read a few batches ahead and thereby finish passes over a
    very small dataset that nobody asked for.

    `MMELModel.fit` finds the counter of a dataset by itself, also behind a
    `map`, `take` or `prefetch`, but not behind `repeat` or a strategy that
    distributes it: give it to `fit` then. Use one counter for one dataset.

    Args:
        initial_epoch: The first epoch, at least 0, for a run that is continued.

    Raises:
        TypeError: If `initial_epoch` is no integer.
        ValueError: If it is negative.

    Example:

    ```python
    counter = keras_mmel.data.EpochCounter()
    groups = keras_mmel.data.group_views(
        examples, augment, 10, 128, seed=0, epoch_counter=counter
    )
    backup = keras.callbacks.BackupAndRestore("backup")
    model.fit(groups, epochs=200, callbacks=[backup, counter])
    ```
    """

    def __init__(self, initial_epoch: int = 0):
        super().__init__()
        initial_epoch = check_count("initial_epoch", initial_epoch, 0)
        # A table, because a variable made inside the scope of a strategy is
        # mirrored, and one made beside a GPU is out of reach of tf.data.
        with tf.device("CPU:0"):
            self._table = tf.lookup.experimental.MutableHashTable(
                tf.int64, tf.int64, default_value=0
            )
        self.initial_epoch = initial_epoch
        self._model: Callable = lambda: None
        self.set_epoch(initial_epoch)
        self._write(-1, _FILLED)

    @property
    def epoch(self) -> int:
        """The epoch of the next pass."""
        return int(self._read())

    def set_epoch(self, epoch: int) -> None:
        """Makes `epoch` the epoch of the next pass."""
        self._write(epoch)

    def next_for(self, model: keras.Model) -> int:
        """The epoch of the next pass; the initial one for another model."""
        if self._model() is not model:
            self._model = weakref.ref(model)
            return self.initial_epoch
        return self.epoch

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


def numbered_passes(
    counter: EpochCounter, make_pass: Callable
) -> tf.data.Dataset:
    """Makes a dataset that is another one in every epoch.

    Args:
        counter: Says at the beginning of each pass which epoch it is.
        make_pass: From the epoch, an int64 scalar tensor, to the dataset of the
            elements of that epoch.

    Returns:
        A dataset of (epoch, element), for `count_passes` at its other end.
    """

    @tf.autograph.experimental.do_not_convert
    def numbered_pass(epoch):
        epochs = tf.data.Dataset.from_tensors(epoch).repeat()
        return tf.data.Dataset.zip(epochs, make_pass(epoch))

    # Only what has to know the epoch beforehand belongs in here: the functions
    # inside are made anew in each pass, at tens of milliseconds each.
    next_epoch = tf.data.Dataset.range(1).map(lambda unused: counter._read())
    return next_epoch.flat_map(numbered_pass)


def count_passes(
    counter: EpochCounter, batches: tf.data.Dataset, num_batches: int
) -> tf.data.Dataset:
    """Moves the counter on where a pass over the batches ends.

    Args:
        counter: The counter that numbered the passes.
        batches: A dataset of (epoch, batch).
        num_batches: How many there are in a pass; negative if unknown or
            infinite, as `tf.data.Dataset.cardinality` has it.

    Returns:
        A dataset of the batches alone, of the size `num_batches`, in one order
        whatever the threads do. Its attribute `epoch_counter` is the counter,
        for `fit`.
    """
    counted = _counted(counter, batches, num_batches)
    if num_batches != tf.data.UNKNOWN_CARDINALITY:
        size = tf.data.experimental.assert_cardinality(num_batches)
        counted = counted.apply(size)
    options = tf.data.Options()
    # An example is known by its position, which must be the same everywhere.
    options.deterministic = True
    shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    options.experimental_distribute.auto_shard_policy = shard_policy
    # In a tf.data service a copy of the table would count for nobody: every
    # epoch would repeat the views of one.
    state_policy = tf.data.experimental.ExternalStatePolicy.FAIL
    options.experimental_external_state_policy = state_policy
    # An iterator waits at its end for the thread that tunes, which sleeps up to
    # a minute where it misses that it should stop (TensorFlow 2.21).
    options.autotune.enabled = False
    counted = counted.with_options(options)
    counted.epoch_counter = counter
    return counted


def _counted(counter, batches, num_batches):
    """The batches without their epochs; reaching the end moves the counter."""
    if num_batches >= 0:
        # Keras never reads past the last of a known number of batches, so
        # that is where the end has to be seen.
        return _after(batches, num_batches - 1, counter._finish)
    # The end of an unknown number is seen after the last batch, which no
    # longer says its epoch: the first one has left it in the table.
    filled = _after(batches, 0, lambda epoch: counter._write(epoch, _FILLED))

    @tf.autograph.experimental.do_not_convert
    def at_the_end(unused):
        finished = counter._finish(counter._read(_FILLED))
        with tf.control_dependencies([finished]):
            return filled.take(0)

    # Nothing comes out of the second part: reaching it is the end.
    end = tf.data.Dataset.range(1).flat_map(at_the_end)
    return filled.concatenate(end)


def _after(batches, position, act):
    """Drops the epochs of a dataset of (epoch, batch).

    As the batch at `position` is handed out, `act(epoch)` runs.
    """

    @tf.autograph.experimental.do_not_convert
    def pass_on(index, epoch_and_batch):
        epoch, batch = epoch_and_batch

        def act_on_epoch():
            with tf.control_dependencies([act(epoch)]):
                return tf.constant(True)

        has_acted = tf.cond(
            tf.equal(index, position), act_on_epoch, lambda: tf.constant(False)
        )
        # What is handed out waits for it.
        with tf.control_dependencies([has_acted]):
            return tf.nest.map_structure(tf.identity, batch)

    return batches.enumerate().map(pass_on)
