"""Labels that move with the views: a mask is the mask of its view's pixels."""

import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from keras_mmel import data
from keras_mmel.data import lifting
from tests import older

IMAGES = np.random.default_rng(0).integers(1, 256, (8, 10, 6, 2), "uint8")
SEEDS = np.random.default_rng(1).integers(0, 2**31, (8, 5, 2), "int32")


def mask_of(images):
    """The class of each pixel, which its first channel tells."""
    return (np.asarray(images)[..., 0] // 64).astype("int32")


def examples(labels=None, *weights):
    labels = mask_of(IMAGES) if labels is None else labels
    return tf.data.Dataset.from_tensor_slices((IMAGES, labels, *weights))


def groups(augment, dataset=None, num_views=5, **options):
    options = {"seed": 3, "augment_labels": True, **options}
    dataset = examples() if dataset is None else dataset
    return data.group_views(dataset, augment, num_views, 4, **options)


def both(augment, labels=None):
    """What an augmentation makes of all images and their labels."""
    labels = mask_of(IMAGES) if labels is None else labels
    return tf.nest.map_structure(np.asarray, augment(IMAGES, labels, SEEDS))


def of_batch(images, masks, seeds):
    crop = data.crop_and_flip(2)
    return crop(images, seeds), crop(masks[..., None], seeds)[..., 0]


def rolled(image, mask, seed):
    shift = tf.random.stateless_uniform([], seed, 0, 9, tf.int32)
    return tf.roll(image, shift, 0), tf.roll(mask, shift, 0)


class Pipeline:
    """As albumentations has it: a state, and names for what it takes."""

    def set_random_seed(self, seed):
        self.rng = np.random.default_rng(seed)

    def __call__(self, image, mask):
        turns, shift = 2 * self.rng.integers(2), self.rng.integers(6)
        image, mask = (np.rot90(a, turns) for a in (image, mask))
        image, mask = (np.roll(a, shift, axis=1) for a in (image, mask))
        return {"image": image, "mask": mask}


def of_albumentations():
    library = pytest.importorskip("albumentations")
    return library.Compose([library.HorizontalFlip(), library.VerticalFlip()])


def of_pipeline(pipeline):
    def augment(image, mask, rng):
        pipeline.set_random_seed(int(rng.integers(2**31)))
        view = pipeline(image=image, mask=mask)
        image[:] = 0  # a copy
        return view["image"], view["mask"]

    return data.per_view(augment)


def of_layer(*some_layers):
    return data.per_view(keras.Sequential([*some_layers]), "segmentation_masks")


NEAREST = {"interpolation": "nearest", "fill_mode": "constant"}
MAKERS = {
    "crop_and_flip": lambda: data.crop_and_flip(2),
    "batch": lambda: of_batch,
    "seed": lambda: data.per_view(rolled),
    "rng": lambda: of_pipeline(Pipeline()),
    "albumentations": lambda: of_pipeline(of_albumentations()),
    "flip": lambda: of_layer(layers.RandomFlip()),
    "layers": lambda: of_layer(
        layers.RandomRotation(0.2, **NEAREST),
        layers.RandomTranslation(0.3, 0.3, **NEAREST),
        layers.RandomZoom((-0.4, 0.4), **NEAREST),
        layers.RandomShear(0.3, 0.3, **NEAREST),
        layers.RandomPerspective(1.0, 0.3, interpolation="nearest"),
    ),
}


SLOW = {"layers"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in MAKERS
    ],
)
def test_a_mask_is_that_of_the_pixels_of_its_view(name):
    images, masks = both(MAKERS[name]())
    assert masks.shape == images.shape[:-1] == (8, 5, 10, 6)
    assert masks.dtype == "int32"
    np.testing.assert_array_equal(masks, mask_of(images))
    moved = [group[0] != mask_of(IMAGES)[i] for i, group in enumerate(masks)]
    assert np.mean([view.any() for view in moved]) > 0.4
    # Each view draws its own.
    assert len({view.tobytes() for view in masks[0]}) > 1


def test_layers_that_change_colours_leave_masks():
    images, masks = both(of_layer(layers.RandomBrightness(0.5)))
    assert np.all(masks == mask_of(IMAGES)[:, None])
    assert np.mean(images != IMAGES[:, None]) > 0.7


@pytest.mark.parametrize("flat", [True, False])
def test_masks_come_in_nests_and_with_channels(flat):
    labels = mask_of(IMAGES) if flat else mask_of(IMAGES)[..., None]
    images, found = both(data.crop_and_flip(2), {"a": labels, "b": [IMAGES]})
    np.testing.assert_array_equal(found["b"][0], images)
    expected = mask_of(images)
    expected = expected if flat else expected[..., None]
    np.testing.assert_array_equal(found["a"], expected)
    images, found = both(of_layer(layers.RandomFlip()), labels)
    assert found.shape[2:] == labels.shape[1:]


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"pool": 4}, marks=pytest.mark.slow),
        pytest.param({"pool": 6, "shuffle": False}, marks=pytest.mark.slow),
        pytest.param({"shard": (1, 2)}, marks=pytest.mark.slow),
        pytest.param({"augment_original": True}, marks=pytest.mark.slow),
        pytest.param(
            {"postprocess": lambda views: tf.cast(views, tf.float32) / 2},
            marks=pytest.mark.slow,
        ),
        {"num_views": 1},
    ],
    ids=lambda options: "-".join(options),
)
def test_groups_keep_each_mask_with_its_view(options):
    weight = np.arange(8.0)
    source = examples(None, weight)
    found = groups(MAKERS["crop_and_flip"](), source, **options)
    still = groups(
        MAKERS["crop_and_flip"](), source, **options, augment_labels=False
    )
    epochs = []
    for _ in range(2):
        epochs.append([])
        for batch, of_still in zip(found, still, strict=True):
            (x, y, weights), (x_still, y_still, _) = batch, of_still
            # The same views as without labels, and their masks.
            np.testing.assert_array_equal(x["views"], x_still["views"])
            times = 2 if "postprocess" in options else 1
            masks = mask_of(times * x["views"].numpy())
            np.testing.assert_array_equal(y["views"], masks)
            rows = weights.numpy().astype(int)
            if "augment_original" not in options:
                np.testing.assert_array_equal(y["views"][:, 0], y_still)
            np.testing.assert_array_equal(y_still, mask_of(IMAGES)[rows])
            epochs[-1].append(dict(zip(rows, y["views"].numpy(), strict=True)))
    first, second = ({k: v for d in e for k, v in d.items()} for e in epochs)
    is_new = [np.any(first[k] != second[k]) for k in first.keys() & second]
    assert any(is_new) == (options not in ({"pool": 4}, {"num_views": 1}))


BOXES = {
    "boxes": np.float32([[[1, 2, 3, 5], [0, 0, 3, 5]]] * 8),
    "labels": np.arange(16).reshape(8, 2),
}


@pytest.mark.parametrize(
    "box_format", ["xyxy", pytest.param("xywh", marks=pytest.mark.slow)]
)
def test_boxes_move_with_a_layer(box_format):
    layer = layers.RandomFlip(bounding_box_format=box_format)
    flip = data.per_view(layer, labels="bounding_boxes")
    images, found = both(flip, BOXES)
    assert {k: v.dtype for k, v in found.items()} == {
        k: v.dtype for k, v in BOXES.items()
    }
    kinds = set()
    for image, views, boxes, view_boxes in zip(
        IMAGES, images, BOXES["boxes"], found["boxes"], strict=True
    ):
        for view, of_view in zip(views, view_boxes, strict=True):
            x, y, *end = boxes.T
            w, h = end if box_format == "xywh" else (end[0] - x, end[1] - y)
            is_turned = np.array_equal(view[::-1, ::-1], image)
            assert is_turned or np.array_equal(view, image)
            x = 6 - x - w if is_turned else x
            y = 10 - y - h if is_turned else y
            end = (w, h) if box_format == "xywh" else (x + w, y + h)
            expected = np.stack([x, y, *end], axis=1)
            np.testing.assert_allclose(of_view, expected, atol=1e-5)
            kinds.add(is_turned)
    assert len(kinds) == 2
    np.testing.assert_array_equal(found["labels"][:, 4], BOXES["labels"])


def test_a_function_of_numpy_may_move_boxes():
    def flip(image, boxes, rng):
        x0, y0, x1, y1 = boxes["boxes"].T
        assert np.all(x0 <= x1) and np.all(y0 <= y1)  # as libraries ask for
        if rng.random() < 0.5:
            image, x0, x1 = image[:, ::-1], 6 - x1, 6 - x0
        moved = np.stack([x0, y0, x1, y1], axis=1)
        return image, {"boxes": moved, "labels": boxes["labels"]}

    images, found = both(data.per_view(flip), BOXES)
    is_flipped = [
        np.any(v != IMAGES[i]) for i, g in enumerate(images) for v in g
    ]
    left = found["boxes"][..., 0, 0].ravel()
    np.testing.assert_array_equal(left, np.where(is_flipped, 3, 1))
    assert len(set(is_flipped)) == 2


def masked(layer):
    return data.per_view(layer, labels="segmentation_masks")


def boxed(layer):
    return data.per_view(layer, labels="bounding_boxes")


class HalfFlip(layers.RandomFlip):
    def __init__(self):
        super().__init__(dtype="float16")


ELASTIC = layers.RandomElasticTransform(1.0, 0.5)
YXYX = {"bounding_box_format": "yxyx"}


@pytest.mark.parametrize(
    ("lift", "message"),
    [
        (lambda: masked(layers.GaussianNoise(1.0)), "takes images alone"),
        (
            lambda: masked(keras.Sequential([layers.Rescaling(1.0)])),
            "Rescaling takes images alone",
        ),
        pytest.param(
            lambda: masked(layers.RandomGrayscale()),
            "RandomGrayscale takes images alone",
            marks=older.not_before(12, "has no RandomGrayscale"),
        ),
        (lambda: masked(HalfFlip()), "HalfFlip computes in half precision"),
        (
            lambda: groups(masked(ELASTIC)),
            "interpolates masks"
            if older.is_before(12)
            else "draws other numbers for them",
        ),
        (lambda: boxed(layers.RandomShear(0.1)), "RandomShear moves boxes oth"),
        (lambda: boxed(layers.RandomCrop(2, 2)), "RandomCrop moves boxes oth"),
        (lambda: boxed(layers.RandAugment()), "RandAugment moves boxes other"),
        (
            lambda: boxed(
                layers.Pipeline([layers.RandomRotation(0.1, **YXYX)])
            ),
            "RandomRotation moves boxes otherwise .* 'yxyx'",
        ),
        (lambda: boxed(layers.RandomPerspective(**YXYX)), "RandomPerspective"),
        (lambda: masked(layers.MixUp()), "mixes the images"),
        (lambda: masked(rolled), r"with a layer; a function.*\(image, label"),
        (
            lambda: data.per_view(layers.RandomFlip(), labels="labels"),
            "`labels` must be one of",
        ),
    ],
)
def test_layers_that_do_not_move_labels_as_pixels_are_refused(lift, message):
    with pytest.raises(ValueError, match=f"(?s){message}.*Received: "):
        lift()
    boxed(layers.RandomRotation(0.1, bounding_box_format="xyxy"))


def test_masks_that_an_older_keras_interpolates_are_refused(monkeypatch):
    monkeypatch.setattr(lifting, "_TO_NEAREST", False)
    with pytest.raises(ValueError, match="interpolates masks.*'nearest'.*Rec"):
        masked(layers.Pipeline([layers.RandomRotation(0.1)]))
    masked(layers.RandomRotation(0.1, interpolation="nearest"))


def test_numbers_that_float32_has_not_are_refused():
    flip = data.per_view(layers.RandomFlip(), labels="segmentation_masks")
    masks = np.full(IMAGES.shape[:3], 2**24, "int32")
    assert np.all(both(flip, masks)[1] == 2**24)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"up to 2\*\*24"):
        both(flip, masks + 1)


def test_classes_between_classes_are_refused():
    """Keras enlarges by interpolation, of masks as well."""
    larger = [layers.RandomCrop(20, 12), layers.CenterCrop(10, 6)]
    with pytest.raises(tf.errors.InvalidArgumentError, match="gave fractions"):
        both(of_layer(*larger))


def of_three(image, mask, seed):
    return image, mask, seed


@pytest.mark.parametrize(
    ("augment", "options", "error", "message"),
    [
        (lambda x, y, seeds: x, {}, ValueError, r"must give both, \(image, la"),
        (data.per_view(of_three), {}, ValueError, r"must give both"),
        (data.per_view(lambda image, mask: image), {}, ValueError, "give both"),
        (
            lambda x, y, seeds: of_batch(x, tf.cast(y, tf.float32), seeds),
            {},
            ValueError,
            "must keep their dtype",
        ),
        (
            lambda x, y, seeds: (of_batch(x, y, seeds)[0], y),
            {},
            ValueError,
            "of the shape",
        ),
        # What takes labels, without; and what takes none, with.
        (
            data.per_view(rolled),
            {"augment_labels": False},
            TypeError,
            r"and with `augment_labels=True`",
        ),
        (
            masked(layers.RandomFlip()),
            {"augment_labels": False},
            TypeError,
            "moves labels where it knows what they are",
        ),
        (data.per_view(layers.RandomFlip()), {}, TypeError, "it knows what th"),
        (
            data.per_view(lambda image, seed: image),
            {},
            TypeError,
            r"\(image, label, seed\)",
        ),
        (
            data.per_view(lambda image: image),
            {},
            TypeError,
            "image, label, rng",
        ),
    ],
)
def test_wrong_augmentations_are_named(augment, options, error, message):
    with pytest.raises(error, match=f"(?s){message}.*Received: "):
        groups(augment, **options)


def test_what_takes_no_labels_is_told_what_it_was_given():
    with pytest.raises(TypeError) as raised:
        groups(data.turn_and_shift())
    assert "a batch of x, one of y and seeds" in raised.value.__notes__[-1]
    classes = examples(np.arange(8))
    with pytest.raises(ValueError, match="labels that are masks.*Received: y"):
        groups(data.crop_and_flip(2), classes)


def test_classes_move_as_the_function_says():
    """A label of each view, with none of an image's axes."""

    def invert(image, label, seed):
        is_odd = seed[0] % 2
        return tf.where(is_odd == 1, 255 - image, image), label + 10 * is_odd

    labels = np.arange(8, dtype="int32")
    for x, y in groups(data.per_view(invert), examples(labels)):
        own = y["views"].numpy()
        originals = IMAGES[own[:, 0]]
        for j in range(5):
            odd = own[:, j] >= 10
            np.testing.assert_array_equal(own[:, j] % 10, own[:, 0])
            expected = np.where(
                odd[:, None, None, None], 255 - originals, originals
            )
            np.testing.assert_array_equal(x["views"][:, j], expected)


# Grids


def test_grids_move_labels():
    moves = {
        "up": lambda image, mask: (image[::-1], mask[::-1]),
        "roll": lambda image, mask: (tf.roll(image, 2, 1), tf.roll(mask, 2, 1)),
    }
    weights = np.arange(8)
    found = data.grid_views(
        examples(None, weights), moves.values(), 3, augment_labels=True
    )
    seen = []
    for x, y, weight in found:
        seen += [*weight.numpy()]
        views = x["views"].numpy()
        images = IMAGES[weight]
        np.testing.assert_array_equal(views[:, 0], images)
        np.testing.assert_array_equal(views[:, 1], images[:, ::-1])
        np.testing.assert_array_equal(views[:, 2], np.roll(images, 2, 2))
        np.testing.assert_array_equal(y["views"], mask_of(views))
    assert seen == [*range(8)]


@pytest.mark.parametrize("is_lifted", [True, False])
def test_a_layer_is_for_groups_that_are_drawn(is_lifted):
    layer = layers.RandomRotation((0.1, 0.1), interpolation="nearest")
    move = masked(layer) if is_lifted else layer
    with pytest.raises(TypeError, match=r"functions f\(image, label\) that"):
        data.grid_views(examples(), [move], 3, augment_labels=True)


@pytest.mark.parametrize(
    ("move", "message"),
    [
        (lambda image, mask: image, "must give both"),
        (lambda image, mask: (image, mask[:2]), "keep the shape"),
        (
            lambda image, mask: (image, tf.cast(mask, tf.float32)),
            "must keep their dtype",
        ),
    ],
)
def test_wrong_moves_of_a_grid_are_named(move, message):
    with pytest.raises(ValueError, match=f"(?s){message}.*Received: "):
        data.grid_views(examples(), [move], 3, augment_labels=True)


# Without


@pytest.mark.parametrize("labels", [mask_of(IMAGES), {"a": IMAGES[..., :1]}])
def test_masks_that_would_stay_are_warned_of(labels):
    source, crop = examples(labels), data.crop_and_flip(2)
    with pytest.warns(UserWarning, match="`augment_labels=True`.*Received: y"):
        groups(crop, source, num_views=1, augment_labels=None)
    with pytest.warns(UserWarning, match="`augment_labels=True`.*Received: y"):
        data.grid_views(source, [lambda image: image], 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data.grid_views(source, [lambda x: x], 2, augment_labels=False)
        for others in (np.arange(8), np.zeros((8, 6)), np.zeros((8, 6, 10))):
            data.grid_views(examples(others), [lambda image: image], 2)
