"""Layers and functions of one image, lifted to groups."""

import os
import pathlib
import random
import subprocess
import sys
import time

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from keras_mmel import data

IMAGES = np.random.default_rng(0).integers(1, 256, (4, 8, 8, 3), "uint8")


def groups(augment, num_views=4, batch_size=2, images=IMAGES, **options):
    source = tf.data.Dataset.from_tensor_slices((images, np.arange(4)))
    options = {"seed": 0, **options}
    return data.group_views(source, augment, num_views, batch_size, **options)


def read(dataset):
    """Return the views of one pass, (example, view, ...)."""
    views = {}
    for x, y in dataset:
        views.update(zip(y.numpy(), x["views"].numpy(), strict=True))
    return np.stack([views[label] for label in sorted(views)])


def random_crop(size, padding, seed=None):
    pad = layers.ZeroPadding2D(padding)
    return layers.Pipeline([pad, layers.RandomCrop(size, size, seed=seed)])


MAKERS = {
    "flip": lambda seed: layers.RandomFlip(seed=seed),
    "pipeline": lambda seed: random_crop(8, 2, seed),
    "sequential": lambda seed: keras.Sequential(
        [layers.RandomFlip(seed=seed), layers.RandomTranslation(0.2, 0.2)]
    ),
    "noise": lambda seed: layers.GaussianNoise(0.5, seed=seed),
    "jitter": lambda seed: layers.RandomColorJitter(
        (0, 255), 0.3, 0.3, 0.3, 0.3, seed=seed
    ),
}


@pytest.mark.parametrize("name", MAKERS)
def test_layers_draw_from_the_seed_of_the_view_alone(name):
    first = groups(data.per_view(MAKERS[name](1)))
    keras.utils.set_random_seed(77)
    second = groups(
        data.per_view(MAKERS[name](2)), batch_size=4, num_parallel_calls=1
    )
    epochs = [read(first) for _ in range(2)]
    for epoch in epochs:
        np.testing.assert_array_equal(epoch, read(second))
    np.testing.assert_array_equal(epochs[0][:, 0], IMAGES)
    assert epochs[0].dtype == np.float32
    assert np.any(epochs[0][:, 1:] != epochs[1][:, 1:])
    assert np.any(epochs[0][:, 1] != epochs[0][:, 2])


SCRIPT = """
import hashlib
import keras
import numpy as np
import tensorflow as tf
from keras_mmel import data

images = np.arange(4 * 6 * 6 * 3, dtype="uint8").reshape(4, 6, 6, 3)
layer = keras.Sequential(
    [keras.layers.RandomFlip(), keras.layers.RandomErasing(1.0)]
)
digest = hashlib.sha256()
for augment in (data.crop_and_flip(2), data.per_view(layer)):
    source = tf.data.Dataset.from_tensor_slices((images, np.arange(4)))
    groups = data.group_views(source, augment, 4, 2, seed=5)
    for _ in range(2):
        for x, y in groups:
            digest.update(x["views"].numpy().tobytes())
"""


ON_JAX = """
print(digest.hexdigest())
inner = keras.Sequential([keras.layers.Dense(3)])
augment = data.per_view(keras.Sequential([inner]))
try:
    data.group_views(source, augment, 4, 2, seed=5)
except ValueError as error:
    print(str(error).partition(" Received")[0].split()[-1])
"""


@pytest.mark.slow
def test_views_where_keras_runs_on_jax_equal_those_on_tensorflow():
    pytest.importorskip("jax")
    here = {}
    exec(SCRIPT, here)
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT + ON_JAX],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        cwd=pathlib.Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.split()[-2] == here["digest"].hexdigest()
    # What tf.data cannot run there is told in a line.
    assert result.stdout.split()[-1] == "keras.layers.Pipeline."


def test_random_crop_draws_for_every_view():
    # A batch would share one offset: keras-team/keras#16399.
    images = np.repeat(IMAGES[:1], 4, axis=0)
    layer = random_crop(8, 4)
    views = read(groups(data.per_view(layer), 31, images=images))
    distinct = {view.tobytes() for view in views[:, 1:].reshape(120, -1)}
    # 120 draws of 81 offsets give 63 in the mean, with a deviation of 3.
    assert 48 <= len(distinct) <= 78
    # The layer is left as it was.
    generator = layer.layers[1].generator
    before = int(generator.state.value[1])
    layer(IMAGES)
    assert int(generator.state.value[1]) > before


class TwoNoises(layers.Layer):
    """Keeps its generators in a list."""

    def __init__(self, seed):
        super().__init__()
        self.generators = [
            keras.random.SeedGenerator(seed + i) for i in range(2)
        ]

    def call(self, images):
        for generator in self.generators:
            images += keras.random.normal(images.shape, seed=generator)
        return images


def test_generators_in_a_list_draw_from_the_seed_of_the_view():
    first, second = (
        read(groups(data.per_view(TwoNoises(seed)))) for seed in (1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert np.any(first[:, 1] != first[:, 2])


DRAWERS = {
    "crops": data.crop_and_flip(20),
    "seed": data.per_view(
        lambda x, seed: x + tf.random.stateless_normal([], seed)
    ),
    "rng": data.per_view(lambda x, rng: x + rng.random(dtype="float32")),
    "layer": data.per_view(layers.GaussianNoise(1.0)),
}


@pytest.mark.parametrize("name", DRAWERS)
def test_both_halves_of_a_seed_count(name):
    image = np.random.default_rng(0).random((1, 24, 24, 1), "float32")
    seeds = np.int32([[[5, 1], [5, 2], [6, 1], [5, 1]]])
    views = np.asarray(DRAWERS[name](image, seeds))[0]
    np.testing.assert_array_equal(views[0], views[3])
    assert len({view.tobytes() for view in views}) == 3


def test_flips_equal_numpy_and_are_one_half():
    augment = data.per_view(layers.RandomFlip("horizontal"))
    views = read(groups(augment, 101))[:, 1:]
    flipped = 0
    for image, group in zip(IMAGES, views, strict=True):
        for view in group:
            is_flipped = np.array_equal(view, image[:, ::-1])
            assert is_flipped or np.array_equal(view, image)
            flipped += is_flipped
    assert abs(flipped - 200) < 5 * 10


def brighten(image, seed):
    shift = tf.random.stateless_uniform([], seed, 0, 20, tf.int32)
    return tf.cast(tf.minimum(tf.cast(image, tf.int32) + shift, 255), "uint8")


def test_function_of_image_and_seed():
    dataset = groups(data.per_view(brighten), 6)
    views = read(dataset)
    assert views.dtype == np.uint8
    shifts = set()
    for image, group in zip(IMAGES.astype(int), views, strict=True):
        for view in group[1:]:
            shift = np.max(view - image)
            np.testing.assert_array_equal(view, np.minimum(image + shift, 255))
            shifts.add(int(shift))
    assert len(shifts) > 8
    assert np.any(views != read(dataset))

    def by_name(image, *, strength=3, seed=None):
        assert strength == 3
        return brighten(image, seed)

    other = groups(data.per_view(by_name), 6, 4, num_parallel_calls=1)
    np.testing.assert_array_equal(views, read(other))


class Pipeline:
    """As albumentations has it: a state that one view after the other uses."""

    def set_random_seed(self, seed):
        self.left = list(np.random.default_rng(seed).integers(0, 9, 3))

    def __call__(self, image):
        while self.left:
            time.sleep(0)  # for the other threads
            image = image // 2 + self.left.pop()
        return {"image": image}


def of_albumentations():
    library = pytest.importorskip("albumentations")
    return library.Compose(
        [library.Rotate(30, p=1), library.RandomBrightnessContrast(p=1)]
    )


@pytest.mark.parametrize("make", [Pipeline, of_albumentations])
def test_function_of_image_and_rng_with_a_shared_pipeline(make):
    pipeline = make()

    def augment(image, rng):
        pipeline.set_random_seed(int(rng.integers(2**31)))
        view = pipeline(image=image)["image"]
        image[:] = 0  # a copy
        return view.astype("uint8")

    first = groups(data.per_view(augment), 40, 1, num_parallel_calls=4)
    second = groups(data.per_view(augment), 40, 4, num_parallel_calls=1)
    views = read(first)
    np.testing.assert_array_equal(views, read(second))
    np.testing.assert_array_equal(views[:, 0], IMAGES)
    assert len(np.unique(views[0], axis=0)) > 20
    assert np.any(views != read(first))


def test_doubles_of_numpy_go_back_to_the_type_that_went_in():
    def noisy(nest, rng):
        return {name: x + rng.normal(size=x.shape) for name, x in nest.items()}

    x = {"a": np.ones((4, 3), "float32"), "b": np.ones((4, 1), "float64")}
    ((x, _),) = groups(data.per_view(noisy), 3, 4, x)
    views = x["views"]
    assert views["a"].dtype == tf.float32 and views["b"].dtype == tf.float64
    assert len(np.unique(views["a"][:, 1:])) == 24


def test_what_takes_arrays_is_pointed_to_the_generator():
    def pipeline(image):
        if not isinstance(image, np.ndarray):
            raise TypeError("image must be numpy array type")
        return image

    with pytest.raises(TypeError, match="numpy array type") as caught:
        data.per_view(lambda image: pipeline(image))(
            IMAGES, np.zeros((4, 1, 2))
        )
    assert "f(image, rng)" in caught.value.__notes__[-1]


def test_half_precision_of_a_layer_is_not_that_of_the_views():
    keras.config.set_dtype_policy("mixed_bfloat16")
    images = IMAGES.astype("float32")
    views = read(groups(data.per_view(layers.RandomFlip()), images=images))
    assert views.dtype == np.float32


def test_function_of_image_and_control_flow():
    def invert_if_bright(image):
        if tf.reduce_mean(tf.cast(image, tf.float32)) > 128:
            return 255 - image
        return image

    views = read(groups(data.per_view(invert_if_bright)))
    for image, group in zip(IMAGES, views, strict=True):
        expected = 255 - image if image.mean() > 128 else image
        np.testing.assert_array_equal(group[2], expected)


def test_nests():
    def augment(x, seed):
        shift = tf.random.stateless_uniform([], seed)
        return {"image": x["image"], "number": x["number"] + shift}

    numbers = np.arange(4, dtype="float32")
    x = {"image": IMAGES, "number": numbers}
    source = tf.data.Dataset.from_tensor_slices((x, np.arange(4)))
    dataset = data.group_views(source, data.per_view(augment), 3, 2, seed=0)
    for batch, labels in dataset:
        shift = batch["views"]["number"].numpy() - numbers[labels][:, None]
        assert np.all(shift[:, 0] == 0)
        assert len(np.unique(shift[:, 1:])) == 4


def unseeded(image):
    return tf.image.random_flip_left_right(image)


def unseeded_in_a_loop(image):
    for _ in tf.range(2):
        image = image + tf.cast(tf.random.uniform([]) > 0.5, image.dtype)
    return image


def from_python(image):
    return image[:, ::-1] if random.random() < 0.5 else image


def from_numpy(image, seed):
    return image + np.random.randint(0, 2)


def hidden_in_numpy(image, seed):
    return tf.numpy_function(lambda x: x, [image], tf.uint8)


GENERATOR = np.random.default_rng(0)


def from_own_generator(image, seed):
    return tf.cast(image, tf.float32) * GENERATOR.uniform()


def from_another_generator(image, *, rng):
    return image + GENERATOR.integers(0, 2, dtype="uint8")


def rarely_from_numpy(image, rng):
    return image[:, ::-1] if np.random.rand() < 1e-9 else image


def test_a_shared_generator_may_be_set_by_that_of_the_view():
    def augment(image, rng):
        np.random.seed(rng.integers(2**31))
        return image + np.random.randint(0, 2, image.shape).astype("uint8")

    assert len(list(groups(data.per_view(augment))))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (unseeded, "must draw its numbers from the seed"),
        (unseeded_in_a_loop, "must draw its numbers from the seed"),
        (from_python, "must not draw from Python's `random`"),
        (from_numpy, "must not draw from Python's `random`"),
        (from_own_generator, "must not draw from Python's `random`"),
        (hidden_in_numpy, "must draw its numbers from the seed"),
        (from_another_generator, "must draw all of its numbers from `rng`"),
        (rarely_from_numpy, "must draw all of its numbers from `rng`"),
        (layers.RandomCrop(4, 4), "of the shape of the original"),
    ],
)
def test_numbers_without_a_seed(source, message):
    with pytest.raises(ValueError, match=f"{message}(.|\n)*Received: "):
        groups(data.per_view(source))


def test_a_function_of_a_batch_without_a_seed():
    def augment(x, seeds):
        return tf.random.shuffle(tf.repeat(x[:, None], 3, axis=1))

    with pytest.raises(ValueError, match="must draw.*RandomShuffle"):
        groups(augment)


@pytest.mark.parametrize(
    "forgets", [lambda image: None, lambda image: {"image": image}]
)
def test_views_have_the_structure_of_their_images(forgets):
    with pytest.raises(ValueError, match="must return what it takes.*Received"):
        groups(data.per_view(forgets))
    with pytest.raises(ValueError, match="must return what it takes.*Received"):
        groups(lambda x, seeds: forgets(x))


def test_a_layer_moves_one_picture():
    x = {"images": IMAGES, "depth": IMAGES[..., :1]}
    source = tf.data.Dataset.from_tensor_slices((x, np.arange(4)))
    flip = data.per_view(layers.RandomFlip())
    with pytest.raises(ValueError, match="that is called 'images'.*'depth'"):
        data.group_views(source, flip, 3, 2, seed=0)
    boxes = {"boxes": np.zeros((4, 1, 4), "float32"), "labels": np.ones((4, 1))}
    x = {"images": IMAGES, "bounding_boxes": boxes}  # which Keras moves
    source = tf.data.Dataset.from_tensor_slices((x, np.arange(4)))
    flip = data.per_view(layers.RandomFlip(bounding_box_format="xyxy"))
    data.group_views(source, flip, 3, 2, seed=0)


def test_what_cannot_be_lifted():
    class OwnMix(layers.CutMix):
        """A kind of one that is refused."""

    for layer in (layers.MixUp(), OwnMix(), layers.AugMix()):
        with pytest.raises(ValueError, match="keeps images apart"):
            data.per_view(layers.Pipeline([layer]))
    with pytest.raises(TypeError, match="3 is not a callable"):
        data.per_view(3)
    for source in (lambda: 0, lambda seed: 0, lambda image, seed, more: image):
        with pytest.raises(TypeError, match="`layer_or_function` must take"):
            groups(data.per_view(source))


def test_a_seed_may_be_positional_only():
    def flip(image, seed, /):
        return tf.image.stateless_random_flip_left_right(image, seed)

    def flip_by_name(image, seed):
        return flip(image, seed)

    images = np.arange(32, dtype="float32").reshape(2, 4, 4, 1)
    seeds = np.arange(12, dtype="int32").reshape(2, 3, 2)
    np.testing.assert_array_equal(
        data.per_view(flip)(images, seeds),
        data.per_view(flip_by_name)(images, seeds),
    )


def test_a_layer_may_hold_a_list_that_holds_itself():
    layer = keras.layers.RandomFlip()
    layer.links = links = []
    links.append(links)
    views = data.per_view(layer)(
        np.ones((2, 4, 4, 1), "float32"), np.zeros((2, 3, 2), "int32")
    )
    assert views.shape == (2, 3, 4, 4, 1)
