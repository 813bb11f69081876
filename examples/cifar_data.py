"""CIFAR-10 and CIFAR-100: loading, statistics, balanced subsets."""

import hashlib

import numpy as np

TRAINING_IMAGES = 50_000
CLASSES = {"cifar10": 10, "cifar100": 100}
# Of the training images, per channel, in units of pixel values.
MEAN = {
    "cifar10": (125.307, 122.950, 113.865),
    "cifar100": (129.304, 124.070, 112.434),
}
STD = {
    "cifar10": (62.993, 62.089, 66.705),
    "cifar100": (68.170, 65.392, 70.418),
}


def load_tfds(dataset, data_dir):
    """Training and test set as (images, labels), uint8 and int64 arrays."""
    import tensorflow_datasets as tfds

    sets = tfds.load(
        dataset,
        split=["train", "test"],
        data_dir=data_dir,
        download=data_dir is None,
        batch_size=-1,
        as_supervised=True,
    )
    return tuple(tfds.as_numpy(sets))


def balanced_subset(images, labels, size):
    """The same `size` examples wherever they stand in the data set.

    Class by class, those whose pixels have the smallest hash. Classes differ
    by one example at most.
    """
    if size is None:
        return images, labels
    order = np.argsort(
        [hashlib.sha256(image.tobytes()).hexdigest() for image in images],
        kind="stable",
    )
    by_class = [order[labels[order] == c] for c in np.unique(labels)]
    shares = [size // len(by_class)] * len(by_class)
    for i in range(size % len(by_class)):
        shares[i] += 1
    if any(len(c) < s for c, s in zip(by_class, shares, strict=True)):
        raise ValueError(
            "The limit must leave every class with enough examples. "
            f"Received: {size} of {len(images)}"
        )
    chosen = np.concatenate(
        [c[:s] for c, s in zip(by_class, shares, strict=True)]
    )
    # Sorted by class, a small shuffle buffer would give one-class batches.
    chosen = chosen[np.argsort(np.argsort(order)[chosen])]
    return images[chosen], labels[chosen]
