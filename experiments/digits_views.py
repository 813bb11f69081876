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
        down: Rows by which they are shifted; negative is up.
        right: Columns; negative is left.

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
        shift: The largest shift, in pixels.

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


def neighbours(images: np.ndarray) -> np.ndarray:
    """The images in the eight positions one pixel away, `(8 * n, ...)`."""
    padded = np.pad(images, [(0, 0), (1, 1), (1, 1), (0, 0)])
    places = [place for place in np.ndindex(3, 3) if place != (1, 1)]
    return np.concatenate(
        [padded[:, r : r + SIZE, c : c + SIZE] for r, c in places]
    )


# Groups for training


def _is_whole(x):
    """Which views have lost no more of their ink than is allowed."""
    ink = tf.reduce_sum(tf.cast(x["views"], tf.float32), axis=[2, 3, 4])
    # Ink is whole numbers: the margin is for rounding alone.
    return ink > (1 - CUT) * ink[:, :1] - 1e-3


def only_whole(x: dict, y):
    """Mask the views that have lost more of their ink than is allowed."""
    return x | {"mask": _is_whole(x)}, y


def as_few(x: dict, y):
    """Mask as many views of a group, whatever they have lost.

    The shifts of a group are drawn independently, so its last views are as
    good a choice as a drawn one.
    """
    whole = _is_whole(x)
    left = tf.reduce_sum(tf.cast(whole, tf.int32), axis=1, keepdims=True)
    return x | {"mask": tf.range(tf.shape(whole)[1])[None] < left}, y


def mask_of(method: str):
    """What masks views, by what follows the objective in a method's name."""
    return {"whole": only_whole, "fewer": as_few}.get(method.partition("-")[2])


def training_data(settings: dict, seed: int) -> tf.data.Dataset:
    """Batches of groups; of originals for plain training."""
    (images, labels), _ = load()
    examples = tf.data.Dataset.from_tensor_slices((images, labels))
    groups = data.group_views(
        examples.repeat(settings["passes"]),
        data.crop_and_flip(settings["shift"] or 0, flip=False),
        settings["num_views"],
        settings["batch_size"],
        seed=seed,
        num_parallel_calls=1,
    )
    if settings["method"] == "plain":
        groups = groups.map(lambda x, y: (x["views"][:, 0], y))
    elif masked := mask_of(settings["method"]):
        groups = groups.map(masked)
    single = tf.data.Options()
    single.threading.private_threadpool_size = 1
    return groups.with_options(single)
