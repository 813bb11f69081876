"""What a view costs: the input pipeline beside its alternatives.

    python -m experiments.benchmarks.pipeline

Makes the same groups (the original, and random crops of padded 32 x 32 images
with random flips) in five ways, in turns within one process, and compares the
CPU time of whole passes:

    group_views           `group_views` with `crop_and_flip`, uint8
    group_views_float     the same, then standardized to float32
    group_views_per_view  `group_views` with Keras layers through `per_view`
    tf_image              `tf.image` functions in a map over single images
    keras_layers          Keras layers, once per view, in such a map

Keras layers on whole batches are left out: `RandomCrop` then cuts all images
at the same place. Prints microseconds of CPU time per view, and the median
ratio to `group_views` with its quartiles; writes both to
experiments/results/benchmarks/pipeline.json.

About 3 minutes on two cores. CPU time counts all threads, so that the ratios
hold on a machine that does other work as well.
"""

import functools
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

from experiments.benchmarks.rounds import in_turns
from experiments.benchmarks.rounds import make_parser
from experiments.benchmarks.rounds import quartiles
from experiments.benchmarks.rounds import write
from keras_mmel import data

PADDING = 4
SIZE = 32


def layers() -> keras.layers.Pipeline:
    return keras.layers.Pipeline(
        [
            keras.layers.ZeroPadding2D(PADDING),
            keras.layers.RandomCrop(SIZE, SIZE),
            keras.layers.RandomFlip("horizontal"),
        ]
    )


def source(examples: int) -> tf.data.Dataset:
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (examples, SIZE, SIZE, 3), "uint8")
    labels = random.integers(0, 10, examples)
    return tf.data.Dataset.from_tensor_slices((images, labels))


def grouped(augment, **options):
    def make(examples, views, batch_size):
        return data.group_views(
            source(examples), augment, views, batch_size, seed=0, **options
        )

    return make


def mapped(one_view):
    """The usual pipeline: shuffle, map over single images, batch, prefetch."""

    def make(examples, views, batch_size):
        def group(image, label):
            augmented = [one_view(image) for _ in range(views - 1)]
            original = tf.cast(image, augmented[0].dtype)
            return {"views": tf.stack([original, *augmented])}, label

        dataset = source(examples).shuffle(examples)
        dataset = dataset.map(group, num_parallel_calls=tf.data.AUTOTUNE)
        dataset = dataset.batch(batch_size, drop_remainder=True)
        return dataset.prefetch(tf.data.AUTOTUNE)

    return make


def by_tf_image(image):
    padded = tf.pad(image, [[PADDING] * 2, [PADDING] * 2, [0, 0]])
    return tf.image.random_flip_left_right(
        tf.image.random_crop(padded, (SIZE, SIZE, 3))
    )


def by_keras(layer):
    return lambda image: layer(image[None], training=True)[0]


CASES = {
    # name: (pipeline, examples in one pass, in batches)
    "group_views": (grouped(data.crop_and_flip(PADDING)), 50),
    "group_views_float": (
        grouped(
            data.crop_and_flip(PADDING),
            postprocess=keras.layers.Rescaling(1 / 64, offset=-127.5 / 64),
        ),
        50,
    ),
    "group_views_per_view": (grouped(data.per_view(layers())), 20),
    "tf_image": (mapped(by_tf_image), 50),
    "keras_layers": (mapped(by_keras(layers())), 20),
}
REFERENCE = "group_views"


def measure(views: int, batch_size: int, rounds: int) -> dict:
    """CPU microseconds per view of each pipeline, interleaved."""
    passes, counts = {}, {}
    for name, (make, batches) in CASES.items():
        passes[name] = make(batches * batch_size, views, batch_size)
        counts[name] = batches * batch_size * views
        _read(passes[name])

    def measured(name):
        start = time.process_time()
        _read(passes[name])
        return 1e6 * (time.process_time() - start) / counts[name]

    spent = in_turns(
        {name: functools.partial(measured, name) for name in CASES}, rounds
    )
    reference = np.array(spent[REFERENCE])
    return {
        name: {
            "cpu_us_per_view": quartiles(spent[name]),
            f"ratio_to_{REFERENCE}": quartiles(spent[name] / reference),
        }
        for name in CASES
    }


def _read(dataset):
    for _ in dataset:
        pass


def main() -> None:
    parser = make_parser(__doc__, "pipeline", 9)
    parser.add_argument("--views", type=int, default=10)
    parser.add_argument("--batch_size", type=int, default=128)
    args = parser.parse_args()
    results = measure(args.views, args.batch_size, args.rounds)
    for name, figures in results.items():
        cost = figures["cpu_us_per_view"]
        ratio = figures[f"ratio_to_{REFERENCE}"]
        print(
            f"{name:21} {cost['median']:8.1f} us CPU per view"
            f"   x {ratio['median']:.2f}"
            f"  ({ratio['q25']:.2f} to {ratio['q75']:.2f})"
        )
    about = {"views": args.views, "batch_size": args.batch_size}
    write(args, **about, image=[SIZE, SIZE, 3], pipelines=results)


if __name__ == "__main__":
    main()
