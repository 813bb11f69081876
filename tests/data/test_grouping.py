"""Groups of views: what is in them, and that it can be repeated."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_mmel import data

IMAGES = np.random.default_rng(0).integers(1, 256, (12, 8, 6, 3), "uint8")
LABELS = np.arange(12)


def examples():
    return tf.data.Dataset.from_tensor_slices((IMAGES, LABELS))


def groups(dataset=None, num_views=4, batch_size=3, *, seed=7, **options):
    return data.group_views(
        examples() if dataset is None else dataset,
        data.crop_and_flip(2),
        num_views,
        batch_size,
        seed=seed,
        **options,
    )


def read(dataset):
    """Return the groups of one pass by label, and the order of the labels."""
    by_label, order = {}, []
    for x, y in dataset:
        for views, label in zip(x["views"].numpy(), y.numpy(), strict=True):
            by_label[int(label)] = views
            order.append(int(label))
    return by_label, order


def same(a, b):
    assert sorted(a) == sorted(b)
    return all(np.array_equal(a[label], b[label]) for label in a)


@pytest.fixture(scope="module")
def epochs():
    """The first epochs of `groups()`."""
    dataset = groups()
    return [read(dataset) for _ in range(2)]


@pytest.fixture(scope="module")
def many():
    """The first epoch of larger groups."""
    return read(groups(num_views=9))[0]


def test_batches_are_in_the_contract():
    batch, labels = next(iter(groups()))
    assert list(batch) == ["views"]
    assert batch["views"].shape == (3, 4, 8, 6, 3)
    # Its thread may hold up the end of a pass.
    assert not groups().options().autotune.enabled
    assert batch["views"].dtype == tf.uint8
    assert labels.shape == (3,)


def test_every_example_once_with_its_own_views(epochs):
    by_label, order = epochs[0]
    assert sorted(order) == list(LABELS)
    for label, views in by_label.items():
        np.testing.assert_array_equal(views[0], IMAGES[label])


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 12},
        {"num_parallel_calls": 1},
        {"batch_size": 4, "num_parallel_calls": 4, "prefetch": 5},
        {"shuffle": False},
        {"shuffle_buffer": 3},
        {"dataset": examples().filter(lambda x, y: True), "shuffle_buffer": 12},
    ],
)
def test_views_depend_on_the_seed_alone(options, epochs):
    other = groups(**options)
    for expected, _ in epochs:
        assert same(expected, read(other)[0])


def test_views_and_order_change_with_epoch_and_seed(epochs):
    (first, first_order), second = epochs
    for other, order in (second, read(groups(seed=2))):
        assert not same(first, other)
        assert first_order != order


def test_the_seed_of_the_program_is_ignored_and_left(epochs):
    tf.random.set_seed(5)
    expected = tf.random.uniform([3]).numpy()
    tf.random.set_seed(5)
    assert read(groups())[1] == epochs[0][1]
    np.testing.assert_array_equal(tf.random.uniform([3]), expected)


def test_a_view_is_the_same_in_a_larger_group(epochs, many):
    for label in LABELS:
        np.testing.assert_array_equal(epochs[0][0][label], many[label][:4])


def test_views_of_a_group_differ(many):
    for views in many.values():
        # 50 crops are possible: 9 draws give 8 or so.
        assert len({view.tobytes() for view in views}) >= 5


@pytest.mark.parametrize("augment_original", [False, True])
def test_a_pool_of_a_group_repeats_views_in_a_new_order(augment_original):
    options = {"augment_original": augment_original}
    dataset = groups(pool=3 + augment_original, **options)
    first, first_order = read(dataset)
    second, second_order = read(dataset)
    assert same(first, second)
    assert first_order != second_order
    assert same(first, read(groups(**options))[0])


@pytest.mark.slow
@pytest.mark.parametrize("augment_original", [False, True])
def test_a_pool_is_made_once_and_drawn_from(augment_original):
    first = 0 if augment_original else 1
    pool, _ = read(groups(num_views=6, augment_original=augment_original))
    dataset = groups(
        num_views=3, pool=6 - first, augment_original=augment_original
    )
    drawn = {label: [] for label in LABELS}
    for _ in range(8):
        epoch, _ = read(dataset)
        for label, views in epoch.items():
            # As bytes: where two of the pool are equal, either will do.
            pool_bytes = [view.tobytes() for view in pool[label]]
            places = [pool_bytes.index(view.tobytes()) for view in views]
            assert places[:first] == [0] * first
            drawn[label].append(tuple(places))
    # Not all epochs of all examples alike.
    assert np.mean([len(set(d)) for d in drawn.values()]) > 3
    assert len({d[0] for d in drawn.values()}) > 3
    # A run goes on where it stopped.
    counter = data.EpochCounter(7)
    again = groups(
        num_views=3,
        pool=6 - first,
        augment_original=augment_original,
        epoch_counter=counter,
    )
    assert same(epoch, read(again)[0])


def test_one_view_of_a_pool():
    dataset = groups(num_views=1, pool=2, augment_original=True)
    pool, _ = read(groups(num_views=2, augment_original=True))
    shown = {label: set() for label in LABELS}
    for _ in range(8):
        for label, views in read(dataset)[0].items():
            shown[label].add(views[0].tobytes())
    for label in LABELS:
        assert shown[label] <= {view.tobytes() for view in pool[label]}
    assert sum(len(views) == 2 for views in shown.values()) > len(LABELS) / 2


def test_augmented_original(epochs):
    by_label, _ = read(groups(augment_original=True))
    assert any(not np.array_equal(by_label[n][0], IMAGES[n]) for n in LABELS)
    for label, views in epochs[0][0].items():
        np.testing.assert_array_equal(by_label[label][1:], views[1:])


def test_one_view_is_the_original():
    by_label, _ = read(groups(num_views=1))
    for label in LABELS:
        np.testing.assert_array_equal(by_label[label], IMAGES[label][None])
    alone, _ = read(groups(num_views=1, augment_original=True))
    assert any(not np.array_equal(alone[n][0], IMAGES[n]) for n in LABELS)


@pytest.mark.parametrize("options", [{}, {"drop_remainder": False}])
def test_shards_are_the_parts_of_each_batch(options):
    batch_sizes = []

    def augment(x, seeds):
        batch_sizes.append(x.shape[0])
        return data.crop_and_flip(2)(x, seeds)

    whole = groups(batch_size=5, **options)
    shards = [
        data.group_views(
            examples(), augment, 4, 5, seed=7, shard=(index, 2), **options
        )
        for index in range(2)
    ]
    for _ in range(2):
        parts = [list(shard) for shard in shards]
        for number, (x, y) in enumerate(whole):
            (a, b), (c, d) = (part[number] for part in parts)
            joined = np.concatenate([a["views"], c["views"]])
            np.testing.assert_array_equal(joined, x["views"])
            np.testing.assert_array_equal(np.concatenate([b, d]), y)
    # No shard has made the views of another.
    assert set(batch_sizes) == ({None} if options else {2, 3})


@pytest.mark.parametrize("drop_remainder", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_last_batch(drop_remainder, known):
    source = examples()
    if not known:
        source = source.filter(lambda x, y: True)
    dataset = groups(
        source, batch_size=5, drop_remainder=drop_remainder, shuffle_buffer=12
    )
    sizes = [len(y) for _, y in dataset]
    assert sizes == ([5, 5] if drop_remainder else [5, 5, 2])
    expected = len(sizes) if known else tf.data.UNKNOWN_CARDINALITY
    assert int(dataset.cardinality()) == expected


def test_infinite_dataset():
    dataset = groups(examples().repeat(), shuffle=False)
    assert int(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY
    batches = list(dataset.take(8))
    first, again = batches[0][0]["views"], batches[4][0]["views"]
    np.testing.assert_array_equal(first[:, 0], again[:, 0])
    assert not np.array_equal(first, again)


def test_labels_and_weights_of_any_kind():
    labels = {"a": LABELS, "b": (np.eye(12, dtype="float32"), LABELS * 2)}
    weights = np.linspace(0, 1, 12, dtype="float32")
    source = tf.data.Dataset.from_tensor_slices((IMAGES, labels, weights))
    order = []
    for x, y, weight in groups(source):
        for i, label in enumerate(y["a"].numpy()):
            order.append(label)
            np.testing.assert_array_equal(x["views"][i, 0], IMAGES[label])
            np.testing.assert_array_equal(y["b"][0][i], np.eye(12)[label])
            assert y["b"][1][i] == 2 * label
            assert weight[i] == weights[label]
    assert sorted(order) == list(LABELS)


def test_inputs_of_any_nest_with_an_augmentation_of_ones_own():
    def augment(x, seeds):
        shift = tf.cast(seeds[..., 0] % 5, tf.float32)
        images = tf.cast(x["image"], tf.float32)[:, None]
        return {
            "image": tf.repeat(images, seeds.shape[1], axis=1),
            "number": x["number"][:, None] + shift,
        }

    x = {"image": IMAGES, "number": LABELS.astype("float32")}
    source = tf.data.Dataset.from_tensor_slices((x, LABELS))
    dataset = data.group_views(source, augment, 6, 4, seed=0)
    for batch, labels in dataset:
        views = batch["views"]
        assert views["image"].shape == (4, 6, 8, 6, 3)
        assert views["image"].dtype == tf.float32
        np.testing.assert_array_equal(views["image"][:, 0], IMAGES[labels])
        np.testing.assert_array_equal(views["number"][:, 0], labels)
        assert np.any(views["number"][:, 1:] != views["number"][:, :1])


def test_postprocess_runs_on_all_views(epochs):
    mean, std = np.array([100.0, 130.0, 150.0]), np.array([50.0, 60.0, 80.0])
    to_floats = keras.layers.Normalization(mean=mean, variance=std**2)
    to_floats.build((None, 8, 8, 3))
    dataset = groups(postprocess=to_floats)
    for label, views in read(dataset)[0].items():
        expected = (epochs[0][0][label] - mean) / std
        np.testing.assert_allclose(views, expected, rtol=0, atol=1e-5)
        assert views.dtype == np.float32


def test_postprocess_mixes_no_images():
    with pytest.raises(ValueError, match="`postprocess` must.*MixUp mixes"):
        groups(postprocess=keras.layers.MixUp())


def test_a_cache_before_the_views_is_kept():
    reads = []

    def count(x, y):
        tf.py_function(lambda: reads.append(1), [], [])
        return x, y

    dataset = groups(examples().map(count).cache())
    first, second = read(dataset)[0], read(dataset)[0]
    assert len(reads) == 12
    assert not same(first, second)
