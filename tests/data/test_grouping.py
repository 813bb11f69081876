"""Groups of views: what is in them, and that it can be repeated."""

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


def test_batches_are_in_the_contract():
    batch, labels = next(iter(groups()))
    assert list(batch) == ["views"]
    assert batch["views"].shape == (3, 4, 8, 6, 3)
    assert batch["views"].dtype == tf.uint8
    assert labels.shape == (3,)


def test_every_example_once_with_its_own_views():
    by_label, order = read(groups())
    assert sorted(order) == list(LABELS)
    for label, views in by_label.items():
        np.testing.assert_array_equal(views[0], IMAGES[label])


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 4},
        {"batch_size": 12},
        {"num_parallel_calls": 1},
        {"num_parallel_calls": 4, "prefetch": 5},
        {"shuffle": False},
        {"shuffle_buffer": 3},
    ],
)
def test_views_depend_on_the_seed_alone(options):
    reference = groups()
    other = groups(**options)
    for _ in range(3):
        assert same(read(reference)[0], read(other)[0])


def test_views_and_order_change_with_the_epoch():
    dataset = groups()
    first, first_order = read(dataset)
    second, second_order = read(dataset)
    assert not same(first, second)
    assert first_order != second_order


def test_views_and_order_change_with_the_seed():
    first, first_order = read(groups(seed=1))
    second, second_order = read(groups(seed=2))
    assert not same(first, second)
    assert first_order != second_order
