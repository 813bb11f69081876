"""The digits, how far their views are shifted, and what that cuts away."""

import functools

import numpy as np
import sklearn.datasets
import sklearn.svm
import tensorflow as tf

from keras_mmel import data

SIZE = 8
TRAINING_DIGITS = 200
# A view that has lost more of its ink than this is a cut one.
CUT = 0.2


@functools.cache
def load() -> tuple:
    """Training and test digits, the same in every run.

    Returns:
        Two pairs of images, uint8 `(n, 8, 8, 1)` from 0 to 16, and labels.
        The training digits are 20 of each class.
    """
    digits = sklearn.datasets.load_digits()
    images = digits.images[..., None].astype("uint8")
    labels = digits.target.astype("int32")
    order = np.random.default_rng(0).permutation(len(labels))
    each = TRAINING_DIGITS // 10
    chosen = [order[labels[order] == digit][:each] for digit in range(10)]
    train = np.sort(np.concatenate(chosen))
    test = np.setdiff1d(np.arange(len(labels)), train)
    return (images[train], labels[train]), (images[test], labels[test])


def cut_back(images: np.ndarray, down: int, right: int) -> np.ndarray:
    """Images without the rows and columns that such a shift moves out.

    Args:
        images: `(n, 8, 8, 1)`.
        down: rows by which they are shifted; negative is up.
        right: columns; negative is left.

    Returns:
        The shifted images, moved back to where they were.
    """
    kept = images.copy()
    for axis, by in ((1, down), (2, right)):
        lines = np.arange(SIZE) + by
        out = (lines < 0) | (lines >= SIZE)
        np.moveaxis(kept, axis, 0)[out] = 0
    return kept


@functools.cache
def what_is_lost(shift: int) -> tuple[np.ndarray, np.ndarray]:
    """What every shift of the training digits loses.

    Whether the label is lost says a support vector machine that has learned
    all digits, these among them, as they are: it is asked about what a shift
    has left, moved back to its place. So it is misled by what is missing and
    by nothing else.

    Args:
        shift: the largest shift, in pixels.

    Returns:
        The share of the ink that is cut away and whether the label is lost,
        each `(200, 2 * shift + 1, 2 * shift + 1)`: by digit, shift down (from
        `-shift`), shift right.
    """
    (images, labels), (others, other_labels) = load()
    judge = sklearn.svm.SVC(gamma=0.001)
    judge.fit(
        np.concatenate([images, others]).reshape(-1, SIZE**2),
        np.concatenate([labels, other_labels]),
    )
    count = 2 * shift + 1
    cut = np.zeros((len(images), count, count))
    lost = np.zeros((len(images), count, count), bool)
    ink = images.sum(axis=(1, 2, 3), dtype=float)
    for down in range(-shift, shift + 1):
        for right in range(-shift, shift + 1):
            at = (slice(None), down + shift, right + shift)
            kept = cut_back(images, down, right)
            cut[at] = 1 - kept.sum(axis=(1, 2, 3)) / ink
            lost[at] = judge.predict(kept.reshape(len(kept), -1)) != labels
    return cut, lost


def groups_of(
    shift: int, num_views: int, seed: int, epoch: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The groups of the first pass of an epoch, as a run sees them.

    Returns:
        Views `(200, num_views, 8, 8, 1)`, and by how much they are shifted,
        down and right, each `(200, num_views)` and 0 in column 0.
    """
    (images, _), _ = load()
    # A second channel, where every pixel holds its own number.
    places = np.arange(SIZE**2, dtype="uint8").reshape(SIZE, SIZE, 1)
    numbered = np.concatenate(
        [images, np.broadcast_to(places, images.shape)], axis=-1
    )
    groups = data.group_views(
        tf.data.Dataset.from_tensor_slices((numbered, range(len(images)))),
        data.crop_and_flip(shift, flip=False),
        num_views,
        len(images),
        seed=seed,
        epoch_counter=data.EpochCounter(epoch),
        shuffle=False,
    )
    views = next(iter(groups))[0]["views"].numpy()
    # No shift by less than four moves the middle out.
    middle = SIZE // 2
    source = views[:, :, middle, middle, 1].astype(int)
    down, right = middle - source // SIZE, middle - source % SIZE
    return views[..., :1], down, right
