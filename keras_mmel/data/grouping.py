"""From a dataset of examples to a dataset of groups of views."""

import functools
import warnings
from collections.abc import Callable

import tensorflow as tf

from keras_mmel import ranges
from keras_mmel.data import arguments
from keras_mmel.data import chance
from keras_mmel.data import lifting
from keras_mmel.data import seeds as seeds_lib
from keras_mmel.data.epochs import EpochCounter
from keras_mmel.data.epochs import count_passes
from keras_mmel.data.epochs import counter_from
from keras_mmel.data.epochs import numbered_passes


def group_views(
    dataset: tf.data.Dataset,
    augment: Callable,
    num_views: int,
    batch_size: int,
    *,
    seed: int,
    augment_original: bool = False,
    pool: int | None = None,
    epoch_counter: EpochCounter | None = None,
    shard: tuple[int, int] | None = None,
    shuffle: bool = True,
    shuffle_buffer: int | None = None,
    drop_remainder: bool = True,
    postprocess: Callable | None = None,
    num_parallel_calls: int = tf.data.AUTOTUNE,
    prefetch: int = tf.data.AUTOTUNE,
    fixed: bool = False,
    initial_epoch: int = 0,
) -> tf.data.Dataset:
    """Turns (image, label) examples into batches of groups of views.

    Yields `({"views": x}, y)`, or `({"views": x}, y, sample_weight)`, what
    `MMELModel.fit` takes. View 0 is the untouched original, views 1 to
    `num_views` - 1 are augmented. What they are depends on `seed`, the epoch,
    the example's position in `dataset` and the view's position in its group,
    and on nothing else: not on the batch size, the order, the number of
    threads, or where a run was restarted. So is the order of the examples.

    Every pass that is read to its end is one epoch, and the next pass makes
    new views. A pass that stops early is repeated: cut a dataset short with
    `dataset.take` before the views, not after, or let an `EpochCounter` follow
    the epochs of `fit`.

    Args:
        dataset: (x, y) or (x, y, sample_weight), one example at a time, in the
            same order in every pass; leave the shuffling to this function.
            x is one tensor or a nest of them, y any nest of numbers.
        augment: From a batch of x and seeds (batch, views, 2) to
            (batch, views, ...) in the same range of values: `crop_and_flip`,
            `per_view`, or a function of your own that draws with
            `tf.random.stateless_*` from the seeds.
        num_views: Size of a group, the original included.
        batch_size: Groups per batch.
        seed: The same seed makes the same views in the same order.
        augment_original: Whether view 0 is augmented as well.
        pool: How many augmented views an example has in all, made once from
            the seed; every epoch draws those of its group from them, none
            twice. `None` makes new views in every epoch. With as many as a
            group takes every epoch repeats the same views (the paper's
            algorithm 1, line 1), in a new order. `dataset` may then not be
            shuffled anew in each pass.
        epoch_counter: Counts the epochs; `MMELModel.fit` finds it by itself.
            `EpochCounter(n)` continues a run after n epochs.
        shard: (index, count): of every batch the part of one of `count`
            processes, which makes no other views. All of them together yield
            what one process does; `batch_size` is that of all.
        shuffle: Whether to shuffle the examples, before views are made.
        shuffle_buffer: How many examples are held to shuffle among; `None`
            means all of them.
        drop_remainder: Whether to leave out a last batch that is not full.
            Replicas need full batches.
        postprocess: Function of the views (batch, num_views, ...) that runs
            last, such as a `keras.layers.Rescaling`.
        num_parallel_calls: Batches made at the same time.
        prefetch: Batches made ahead.
        fixed: Deprecated: `pool` of as many as a group takes.
        initial_epoch: Deprecated: `epoch_counter=EpochCounter(initial_epoch)`.

    Returns:
        A `tf.data.Dataset` of batches with a known size, if `dataset` has one.

    Raises:
        TypeError: If `dataset` is no `tf.data.Dataset`, or `augment` is no
            augmentation.
        ValueError: If a count, the elements of `dataset`, their number, or
            what `augment` makes of them do not fit.

    Example:

    ```python
    images = np.zeros((100, 32, 32, 3), "uint8")
    labels = np.zeros((100,), "int32")
    examples = tf.data.Dataset.from_tensor_slices((images, labels))
    groups = keras_mmel.data.group_views(
        examples, keras_mmel.data.crop_and_flip(), 10, 20, seed=0
    )
    groups.element_spec[0]["views"].shape  # (20, 10, 32, 32, 3)
    ```
    """
    arguments.check_augment(augment)
    seed = arguments.check_count("seed", seed, None)
    num_views = arguments.check_count("num_views", num_views, 1)
    batch_size = arguments.check_count("batch_size", batch_size, 1)
    first = 0 if augment_original else 1
    if fixed:
        warnings.warn(
            "`fixed` is deprecated, and goes in the next release: give "
            f"`pool={num_views - first}`, as many views as a group takes.",
            DeprecationWarning,
            stacklevel=2,
        )
        pool = num_views - first
    if pool is not None:
        pool = arguments.check_count("pool", pool, num_views - first)
    if shard is not None:
        shard = arguments.check_shard(shard, batch_size)
    arguments.check_elements(dataset)
    examples = int(dataset.cardinality())
    num_batches = arguments.count_batches(examples, batch_size, drop_remainder)
    if pool is not None:
        arguments.check_same_order(dataset)
    buffer = _buffer_size(examples, shuffle_buffer) if shuffle else None
    epoch_counter = counter_from(epoch_counter, initial_epoch)

    def ordered(epoch):
        examples = dataset.enumerate()
        if shuffle:
            examples = _shuffle(examples, buffer, seed, epoch)
        return examples

    def make_views(x, example_ids, epoch):
        if num_views == first:
            return tf.nest.map_structure(lambda t: t[:, None], x)
        view_ids = tf.range(first, num_views)
        if pool is not None:
            view_ids = first + seeds_lib.drawn_from(
                pool, num_views - first, seed, epoch, example_ids
            )
            epoch = 0
        seeds = seeds_lib.view_seeds(seed, epoch, example_ids, view_ids)
        # `per_view` looks at what it lifts by itself: layers draw to be built.
        is_lifted = getattr(augment, "__module__", "") == lifting.__name__
        make = augment if is_lifted else of_batch
        return tf.nest.map_structure(join, x, make(x, seeds))

    def of_batch(x, seeds):
        try:
            return _checked(augment, x, seeds)
        except (TypeError, ValueError) as error:
            error.add_note(
                "`augment` gets a batch of x and seeds (batch, views, 2): "
                "lift a function or layer of one image with `per_view`."
            )
            raise

    def join(original, augmented):
        arguments.check_view(original, augmented, num_views - first)
        shape = original.shape
        augmented = tf.ensure_shape(augmented, [shape[0], None, *shape[1:]])
        if augment_original:
            return augmented
        original = tf.cast(original, augmented.dtype)[:, None]
        return tf.concat([original, augmented], axis=1)

    def own_rows(rows):
        size = rows.shape[0] or tf.shape(rows)[0]
        index, count = shard
        return rows[size * index // count : size * (index + 1) // count]

    @tf.autograph.experimental.do_not_convert
    def to_groups(number, numbered):
        epochs, indexed = numbered
        epoch = epochs[0]
        if shard is not None:
            indexed = tf.nest.map_structure(own_rows, indexed)
        example_ids, (x, *rest) = indexed
        views = make_views(x, example_ids, epoch)
        if not augment_original:
            _look(number == 0, views)
        if postprocess is not None:
            views = _checked(postprocess, views)
            arguments.check_postprocessed(views, num_views)
        return epoch, ({"views": views}, *rest)

    examples = numbered_passes(epoch_counter, ordered)
    batches = examples.batch(batch_size, drop_remainder=drop_remainder)
    batches = batches.enumerate().map(
        to_groups, num_parallel_calls=num_parallel_calls, deterministic=True
    )
    batches = batches.prefetch(prefetch)
    groups = count_passes(epoch_counter, batches, num_batches)
    groups.is_shard = shard is not None  # for `fit`
    return groups


def _checked(function, *args):
    """Returns `function(*args)`, which must not draw without a seed."""
    specs = tf.nest.map_structure(tf.TensorSpec.from_tensor, args)

    def make():
        return tf.function(lambda *given: function(*given), autograph=False)

    with tf.init_scope():
        chance.checked(function, make, *specs)
    return function(*args)


def _buffer_size(examples, shuffle_buffer):
    if shuffle_buffer is not None:
        return arguments.check_count("shuffle_buffer", shuffle_buffer, 1)
    if examples < 0:
        raise ValueError(
            "`shuffle_buffer` must be given for a dataset of unknown or "
            "infinite size. Received: shuffle_buffer=None"
        )
    return examples


def _look(is_first, views):
    """Warns where the views of the first batch are nothing like originals."""
    said = []

    def warn(*leaves):
        for seen in filter(None, map(ranges.unlike_originals, leaves)):
            if said:
                break  # in an earlier epoch, with other numbers
            said.append(seen)
            warnings.warn(
                f"{seen} The original is a view as well and is not augmented, "
                "so an augmentation must keep the range of values: scale in "
                "`postprocess` or in the model, and give layers the right "
                "`value_range`.",
                stacklevel=1,
            )
        return True

    leaves = [
        leaf
        for leaf in tf.nest.flatten(views)
        if leaf.dtype.is_floating or leaf.dtype.is_integer
    ]
    look = functools.partial(tf.numpy_function, warn, leaves, tf.bool)
    tf.cond(is_first, look, lambda: True)


def _shuffle(examples, buffer, seed, epoch):
    # Inside the function of a dataset this sets the seed of that function
    # only. It shields the order from the program's own tf.random.set_seed.
    tf.random.set_seed(1)
    key = seeds_lib.fold(seed, seeds_lib.SHUFFLE, epoch)
    return examples.shuffle(
        buffer, seed=tf.bitcast(key, tf.int64), reshuffle_each_iteration=False
    )
