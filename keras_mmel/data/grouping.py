"""From a dataset of examples to a dataset of groups of views."""

from collections.abc import Callable

import tensorflow as tf

from keras_mmel.data import arguments
from keras_mmel.data import seeds as seeds_lib
from keras_mmel.data.epochs import EpochCounter
from keras_mmel.data.epochs import count_passes
from keras_mmel.data.epochs import counter_from
from keras_mmel.data.epochs import numbered_passes


def make_groups(
    x,
    example_ids: tf.Tensor,
    epoch,
    *,
    augment: Callable,
    num_views: int,
    seed: int,
    augment_original: bool = False,
    pool: int | None = None,
):
    """Return the views of a batch of examples, view 0 first.

    Args:
        x: nest of (batch, ...).
        example_ids: (batch,), the position of each example in its dataset.
        epoch: scalar.
        augment: from x and seeds (batch, views, 2) to (batch, views, ...).
        num_views: size of a group.
        seed: the seed of the run.
        augment_original: whether view 0 is augmented as well.
        pool: how many augmented views an example has in all, those of epoch
            0, of which each epoch draws; None makes new ones.

    Returns:
        Nest of (batch, num_views, ...).
    """
    first = 0 if augment_original else 1
    if num_views == first:
        return tf.nest.map_structure(lambda t: t[:, None], x)
    view_ids = tf.range(first, num_views)
    if pool is not None:
        view_ids = first + seeds_lib.drawn_from(
            pool, num_views - first, seed, epoch, example_ids
        )
        epoch = 0
    seeds = seeds_lib.view_seeds(seed, epoch, example_ids, view_ids)
    views = augment(x, seeds)
    arguments.check_views(x, views, num_views - first)

    def join(original, augmented):
        shape = original.shape
        augmented = tf.ensure_shape(augmented, [shape[0], None, *shape[1:]])
        if augment_original:
            return augmented
        original = tf.cast(original, augmented.dtype)[:, None]
        return tf.concat([original, augmented], axis=1)

    return tf.nest.map_structure(join, x, views)


def group_views(
    dataset: tf.data.Dataset,
    augment: Callable,
    num_views: int,
    batch_size: int,
    *,
    seed: int,
    augment_original: bool = False,
    fixed: bool = False,
    pool: int | None = None,
    initial_epoch: int = 0,
    epoch_counter: EpochCounter | None = None,
    shuffle: bool = True,
    shuffle_buffer: int | None = None,
    drop_remainder: bool = True,
    postprocess: Callable | None = None,
    num_parallel_calls: int = tf.data.AUTOTUNE,
    prefetch: int = tf.data.AUTOTUNE,
) -> tf.data.Dataset:
    """Turn (image, label) examples into batches of groups of views.

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
        augment: from a batch of x and seeds (batch, views, 2) to
            (batch, views, ...): `crop_and_flip`, `per_view`, or a function of
            your own that draws with `tf.random.stateless_*` from the seeds.
        num_views: size of a group, the original included.
        batch_size: groups per batch.
        seed: the same seed makes the same views in the same order.
        augment_original: whether view 0 is augmented as well.
        fixed: whether every epoch repeats the same views (the paper's
            algorithm 1, line 1), in a new order.
        pool: how many augmented views an example has in all, made once from
            the seed; every epoch draws those of its group from them, none
            twice. None makes new views in every epoch. With as many as a
            group takes it is `fixed`.
        initial_epoch: epoch of the first pass, for a run that is continued.
        epoch_counter: the counter to use, in place of `initial_epoch`; give
            it to `fit` as a callback too.
        shuffle: whether to shuffle the examples, before views are made.
        shuffle_buffer: how many examples are held to shuffle among; None
            means all of them.
        drop_remainder: whether to leave out a last batch that is not full.
            Replicas need full batches.
        postprocess: function of the views (batch, num_views, ...) that runs
            last, such as `standardize`.
        num_parallel_calls: batches made at the same time.
        prefetch: batches made ahead.

    Returns:
        A `tf.data.Dataset` of batches with a known size, if `dataset` has one.

    Raises:
        TypeError: if `dataset` is no `tf.data.Dataset` or holds strings, or
            `augment` is no augmentation.
        ValueError: if a count, the elements of `dataset`, their number, or
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
    drawn = num_views - (not augment_original)
    pool = arguments.check_pool(pool, fixed, drawn)
    arguments.check_elements(dataset)
    num_batches = arguments.count_batches(dataset, batch_size, drop_remainder)
    buffer = _buffer_size(dataset, shuffle_buffer) if shuffle else None
    epoch_counter = counter_from(initial_epoch, epoch_counter)

    def ordered(epoch):
        examples = dataset.enumerate()
        if shuffle:
            examples = _shuffle(examples, buffer, seed, epoch)
        return examples

    @tf.autograph.experimental.do_not_convert
    def to_groups(epochs, indexed):
        example_ids, (x, *rest) = indexed
        epoch = epochs[0]
        views = make_groups(
            x,
            example_ids,
            epoch,
            augment=augment,
            num_views=num_views,
            seed=seed,
            augment_original=augment_original,
            pool=pool,
        )
        if postprocess is not None:
            views = postprocess(views)
            arguments.check_postprocessed(views, num_views)
        return epoch, ({"views": views}, *rest)

    examples = numbered_passes(epoch_counter, ordered)
    batches = examples.batch(batch_size, drop_remainder=drop_remainder)
    batches = batches.map(
        to_groups, num_parallel_calls=num_parallel_calls, deterministic=True
    )
    groups = count_passes(
        epoch_counter, batches.prefetch(prefetch), num_batches
    )
    options = tf.data.Options()
    # An example is known by its position, which must be the same everywhere.
    options.deterministic = True
    options.experimental_distribute.auto_shard_policy = (
        tf.data.experimental.AutoShardPolicy.DATA
    )
    return groups.with_options(options)


def _buffer_size(dataset, shuffle_buffer):
    if shuffle_buffer is not None:
        return arguments.check_count("shuffle_buffer", shuffle_buffer, 1)
    examples = int(dataset.cardinality())
    if examples < 0:
        raise ValueError(
            "`shuffle_buffer` must be given for a dataset of unknown or "
            "infinite size. Received: shuffle_buffer=None"
        )
    return examples


def _shuffle(examples, buffer, seed, epoch):
    # Inside the function of a dataset this sets the seed of that function
    # only. It shields the order from the program's own tf.random.set_seed.
    tf.random.set_seed(1)
    key = seeds_lib.fold(seed, seeds_lib.SHUFFLE, epoch)
    return examples.shuffle(
        buffer,
        seed=tf.bitcast(key, tf.int64),
        reshuffle_each_iteration=False,
    )
