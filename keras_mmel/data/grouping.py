"""From a dataset of examples to a dataset of groups of views.

`group_views` is a pipeline of datasets; how one batch of examples becomes a
batch of groups is `_GroupRecipe`, from its method `groups` downwards.
"""

import dataclasses
import functools
import warnings
from collections.abc import Callable

import keras
import tensorflow as tf

from keras_mmel import arrays
from keras_mmel import counts
from keras_mmel.data import arguments
from keras_mmel.data import epochs
from keras_mmel.data.lifting import PerView
from keras_mmel.data.randomness import chance
from keras_mmel.data.randomness import seeds as seeds_lib


def group_views(
    dataset: tf.data.Dataset,
    augment: Callable,
    num_views: int,
    batch_size: int,
    *,
    seed: int,
    augment_labels: bool | None = None,
    augment_original: bool = False,
    pool: int | None = None,
    epoch_counter: epochs.EpochCounter | None = None,
    shard: tuple[int, int] | None = None,
    shuffle: bool = True,
    shuffle_buffer: int | None = None,
    drop_remainder: bool = True,
    postprocess: Callable | None = None,
    num_parallel_calls: int = tf.data.AUTOTUNE,
    prefetch: int = tf.data.AUTOTUNE,
) -> tf.data.Dataset:
    """Turns (image, label) examples into batches of groups of views.

    Yields `({"views": x}, y)`, or `({"views": x}, y, sample_weight)`, what
    `MMELModel.fit` takes; y is `{"views": y}`, a label for each view, with
    `augment_labels`. View 0 is the untouched original, views 1 to
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
        augment_labels: Whether labels move with the views, such as masks of
            pixels: `augment` then gets a batch of x, one of y and the seeds,
            and gives the views of both, (x, y). `crop_and_flip` does so, and
            `per_view` of `f(image, label, seed)`, `f(image, label, rng)` or of
            a layer with `labels`. With `None` labels are shared by the views,
            and those with the height and width of an image are warned of;
            `False` says that they stay right.
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
    if isinstance(postprocess, keras.Layer):
        arguments.refuse_mixing("postprocess", postprocess)
    seed = counts.check_count("seed", seed)
    num_views = counts.check_count("num_views", num_views, 1)
    batch_size = counts.check_count("batch_size", batch_size, 1)
    num_originals = 0 if augment_original else 1
    num_augmented = num_views - num_originals
    if shard is not None:
        groups_of_all = "the groups of `batch_size`, that of all shards"
        shard = counts.check_share("shard", shard, batch_size, groups_of_all)
    arguments.check_elements(dataset, augment_labels)
    size = int(dataset.cardinality())
    num_batches = arguments.count_batches(size, batch_size, drop_remainder)
    if pool is not None:
        pool = counts.check_count("pool", pool, num_augmented)
        arguments.check_same_order(dataset)
    buffer = _buffer_size(size, shuffle_buffer) if shuffle else None
    recipe = _GroupRecipe(
        augment=augment,
        augment_labels=bool(augment_labels),
        num_originals=num_originals,
        num_augmented=num_augmented,
        seed=seed,
        pool=pool,
        shard=shard,
        postprocess=postprocess,
    )

    counter = epoch_counter or epochs.EpochCounter()
    examples_of = functools.partial(_examples_of, dataset, buffer, seed)
    examples = epochs.numbered_passes(counter, examples_of)
    batches = examples.batch(batch_size, drop_remainder=drop_remainder)
    groups = batches.enumerate().map(
        recipe.groups, num_parallel_calls=num_parallel_calls, deterministic=True
    )
    made_ahead = groups.prefetch(prefetch)
    groups = epochs.count_passes(counter, made_ahead, num_batches)
    groups.is_shard = shard is not None  # for `fit`
    return groups


@dataclasses.dataclass(frozen=True)
class _GroupRecipe:
    """How a batch of examples becomes a batch of groups, in any epoch.

    Attributes:
        augment: From a batch of x and seeds to augmented views.
        augment_labels: Whether it also takes y, and makes its views.
        num_originals: 1, or 0 where view 0 is augmented as well.
        num_augmented: How many views `augment` makes for a group.
        seed: The seed of the run.
        pool: How many augmented views an example has in all, or None.
        shard: Which part of a batch is made, (index, count), or None for all.
        postprocess: What runs on all views in the end, or None.
    """

    augment: Callable
    augment_labels: bool
    num_originals: int
    num_augmented: int
    seed: int
    pool: int | None
    shard: tuple[int, int] | None
    postprocess: Callable | None

    @tf.autograph.experimental.do_not_convert
    def groups(self, batch_number, batch):
        """Makes groups of one batch; what is not augmented stays.

        Args:
            batch_number: Which batch of the pass it is, from 0.
            batch: (epochs, (example_ids, (x, y) or (x, y, sample_weight))),
                all of (batch, ...). The epochs are one and the same.

        Returns:
            The epoch and `({"views": views}, y)`, or with sample weights; y is
            `{"views": y}` where labels are augmented.
        """
        epoch_of_rows, numbered = batch
        epoch = epoch_of_rows[0]
        if self.shard is not None:
            numbered = tf.nest.map_structure(self._rows_of_shard, numbered)
        example_ids, example = numbered
        augmented = 2 if self.augment_labels else 1  # x and y, or x alone
        views, *labels = self.views(example[:augmented], example_ids, epoch)
        rest = [*({"views": label} for label in labels), *example[augmented:]]
        if self.num_originals:
            _warn_of_unlike(views, batch_number == 0)
        if self.postprocess is not None:
            views = chance.call_checked(self.postprocess, views)
            num_views = self.num_originals + self.num_augmented
            arguments.check_postprocessed(views, num_views)
        return epoch, ({"views": views}, *rest)

    def views(self, inputs, example_ids, epoch):
        """Returns the views (batch, num_views, ...) of (x,) or (x, y)."""
        if self.num_augmented == 0:
            return tf.nest.map_structure(lambda leaf: leaf[:, None], inputs)
        augmented = self._augmented(inputs, self._seeds(example_ids, epoch))
        augmented = tf.nest.map_structure(_to_float_of, inputs, augmented)
        tf.nest.map_structure(arguments.check_label, inputs[1:], augmented[1:])
        return tf.nest.map_structure(self._with_original, inputs, augmented)

    def _rows_of_shard(self, rows):
        size = rows.shape[0] or tf.shape(rows)[0]
        return rows[counts.share_of(size, *self.shard)]

    def _seeds(self, example_ids, epoch):
        """The seeds (batch, num_augmented, 2) of the augmented views."""
        places = tf.range(self.num_augmented)
        if self.pool is not None:
            places = seeds_lib.drawn_from(
                self.pool, self.num_augmented, self.seed, epoch, example_ids
            )
            # The views of a pool are those of the first epoch, in all epochs.
            epoch = 0
        view_ids = self.num_originals + places
        return seeds_lib.view_seeds(self.seed, epoch, example_ids, view_ids)

    def _augmented(self, inputs, seeds):
        """What `augment` makes of a batch, which is looked at for chance."""
        if isinstance(self.augment, PerView):
            # It looks by itself at what it lifts: layers draw to be built.
            views = self.augment(*inputs, seeds)
        else:
            try:
                views = chance.call_checked(self.augment, *inputs, seeds)
            except (TypeError, ValueError) as error:
                given = "x, one of y" if self.augment_labels else "x"
                error.add_note(
                    f"`augment` gets a batch of {given} and seeds (batch, "
                    "views, 2): lift a function or layer of one image with "
                    "`per_view`. With `augment_labels` it must make views of "
                    "both, as `turn_and_shift` does not."
                )
                raise
        views = arguments.check_pair(views) if self.augment_labels else (views,)
        arguments.check_structure(tuple(inputs), views)
        return views

    def _with_original(self, original, augmented):
        """Joins (batch, ...) and (batch, num_augmented, ...) to groups."""
        arguments.check_view(original, augmented, self.num_augmented)
        shape = original.shape
        augmented = tf.ensure_shape(augmented, [shape[0], None, *shape[1:]])
        if not self.num_originals:
            return augmented
        original = tf.cast(original, augmented.dtype)[:, None]
        return tf.concat([original, augmented], axis=1)


def _to_float_of(original, views):
    """Views in the dtype of their originals, where both are floats.

    NumPy draws doubles, and layers may compute in half precision.
    """
    if original.dtype.is_floating and views.dtype.is_floating:
        return tf.cast(views, original.dtype)
    return views


def _buffer_size(size, shuffle_buffer):
    """How many examples are held to shuffle among: by default all of them."""
    if shuffle_buffer is not None:
        return counts.check_count("shuffle_buffer", shuffle_buffer, 1)
    if size < 0:
        raise ValueError(
            "`shuffle_buffer` must be given for a dataset of unknown or "
            "infinite size. Received: shuffle_buffer=None"
        )
    return size


def _examples_of(dataset, buffer, seed, epoch):
    """The examples of an epoch in its order, each with its position."""
    numbered = dataset.enumerate()
    if buffer is None:
        return numbered
    # Inside the function of a dataset this sets the seed of that function
    # only. It shields the order from the program's own tf.random.set_seed.
    tf.random.set_seed(1)
    key = seeds_lib.fold(seed, seeds_lib.SHUFFLE, epoch)
    seed = tf.bitcast(key, tf.int64)
    return numbered.shuffle(buffer, seed, reshuffle_each_iteration=False)


def _warn_of_unlike(views, is_first_batch):
    """Warns where views of the first batch are nothing like their originals."""
    warned = []

    def warn(*leaves):
        for difference in map(arrays.unlike_originals, leaves):
            # Once: a later epoch would say it with other numbers.
            if difference is not None and not warned:
                warned.append(difference)
                warnings.warn(
                    f"{difference} The original is a view as well and is not "
                    "augmented, so an augmentation must keep the range of "
                    "values: scale in `postprocess` or in the model, and give "
                    "layers the right `value_range`.",
                    stacklevel=1,
                )
        return True

    numbers = [
        leaf
        for leaf in tf.nest.flatten(views)
        if leaf.dtype.is_floating or leaf.dtype.is_integer
    ]

    def look():
        return tf.numpy_function(warn, numbers, tf.bool)

    tf.cond(is_first_batch, look, lambda: True)
