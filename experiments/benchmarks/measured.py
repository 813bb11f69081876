"""What the package that is imported costs: run by `earlier`, in new processes.

    python -P experiments/benchmarks/measured.py CASE [ARGUMENT ...]

Prints a JSON object of figures. It stands alone, since it is run with the
package of an earlier commit, too.
"""

import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

import keras_mmel
from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import TokenTable
from keras_mmel.text import load_masked_lm
from keras_mmel.text import load_table
from keras_mmel.text import read_augmented

ROWS = 21
MEGABYTE = 2**20


def memory(name: str) -> float:
    """Megabytes of this process: "VmRSS" now, "VmHWM" at its peak."""
    with open("/proc/self/status", encoding="ascii") as file:
        lines = dict(line.split(":", 1) for line in file)
    return int(lines[name].split()[0]) / 1024


def forget_peak() -> None:
    """Lets the peak begin anew."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def crops(*num_views: str) -> dict[str, float]:
    """CPU microseconds of a view of a CIFAR image, at so many views."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (6400, 32, 32, 3), "uint8")
    examples = tf.data.Dataset.from_tensor_slices((images, range(6400)))
    augment = keras_mmel.data.crop_and_flip(4)
    found = {}
    for views in map(int, num_views):
        groups = keras_mmel.data.group_views(
            examples, augment, views, 128, seed=0
        )
        found[f"`crop_and_flip`, {views} views: a view, CPU us"] = (
            1e6 * second_pass(groups) / 6400 / views
        )
    return found


def second_pass(groups: tf.data.Dataset) -> float:
    """CPU seconds of going over groups, when all has been set up."""
    for _ in range(2):
        start = time.process_time()
        for _ in groups:
            pass
        spent = time.process_time() - start
    return spent


def steps(rounds: str) -> dict[str, float]:
    """What a step of a tiny network costs, and beside that of plain Keras."""
    examples, views, turn = 16, 10, 40
    random = np.random.default_rng(0)
    x = random.normal(size=(examples, views, 64)).astype("float32")
    y = random.integers(0, 10, examples)
    batches = {
        "plain": (x.reshape(-1, 64), y.repeat(views)),
        "hard": ({"views": x}, y),
    }
    functions, spent = {}, {name: [] for name in batches}
    for name, batch in batches.items():
        dense = [keras.layers.Dense(64, activation="relu") for _ in range(2)]
        model = keras.Sequential([*dense, keras.layers.Dense(10)])
        if name == "hard":
            model = keras_mmel.MMELModel(model, "hard")
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(1e-3, momentum=0.9), loss)
        data = tf.data.Dataset.from_tensors(batch).repeat()
        model.fit(data, steps_per_epoch=3, shuffle=False, verbose=0)
        functions[name] = model.train_function, iter(data)
    for _ in range(int(rounds)):
        for name, (function, batches_left) in functions.items():
            start = time.process_time()
            for _ in range(turn):
                logs = function(batches_left)
            float(logs["loss"])
            spent[name].append(1e3 * (time.process_time() - start) / turn)
    ratios = np.array(spent["hard"]) / np.array(spent["plain"])
    return {
        "a step of a tiny network, hard, CPU ms": np.median(spent["hard"]),
        "a step of a tiny network, hard to plain Keras": np.median(ratios),
    }


def normalized(model: keras.Model, kind: str) -> keras.Model:
    """The network anew, with another normalization."""

    class OfGroups(keras.layers.GroupNormalization):
        def call(self, inputs, **_):  # a mask, as the other has it
            return super().call(inputs)

    def clone(layer):
        if not isinstance(layer, keras.layers.BatchNormalization):
            return layer.__class__.from_config(layer.get_config())
        if kind == "GroupNormalization":
            return OfGroups(8, name=layer.name)
        config = layer.get_config() | {"synchronized": kind == "synchronized"}
        return keras.layers.BatchNormalization.from_config(config)

    return keras.models.clone_model(model, clone_function=clone)


def worker(kind: str) -> dict[str, float]:
    """CPU milliseconds of a step of ResNet-20 by the worker of TF_CONFIG."""
    groups, views, warm_up, count = 16, 5, 4, 12
    strategy = tf.distribute.get_strategy()
    if "TF_CONFIG" in os.environ:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rng = np.random.default_rng(0)
    x = rng.normal(size=(groups, views, 32, 32, 3)).astype("float32")
    batch = {"views": x}, rng.integers(0, 10, groups)
    data = tf.data.Dataset.from_tensors(batch).unbatch().repeat().batch(groups)
    with strategy.scope():
        network = keras_mmel.models.cifar_resnet(20, 10)
        mmel = keras_mmel.MMELModel(normalized(network, kind))
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        mmel.compile(keras.optimizers.SGD(1e-3, momentum=0.9), loss)
    mmel.fit(data, steps_per_epoch=warm_up, verbose=0)
    start = time.process_time()
    mmel.fit(data, steps_per_epoch=count, verbose=0)
    return {"cpu_ms": 1e3 * (time.process_time() - start) / count}


def layers(num_views: str) -> dict[str, float]:
    """CPU microseconds of a view of a CIFAR image by RandAugment of Keras."""
    views, count = int(num_views), 1280
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (count, 32, 32, 3), "uint8")
    groups = keras_mmel.data.group_views(
        tf.data.Dataset.from_tensor_slices((images, range(count))),
        keras_mmel.data.per_view(keras.layers.RandAugment()),
        views,
        128,
        seed=0,
    )
    return {
        f"`per_view(RandAugment())`, {views} views: a view, CPU us": (
            1e6 * second_pass(groups) / count / views
        )
    }


def photographs(folder: str, num_views: str) -> dict[str, float]:
    """What a photograph costs from its file to its group, without a cache."""
    views = int(num_views)
    photos = keras.utils.image_dataset_from_directory(
        folder,
        image_size=(224, 224),
        batch_size=None,
        shuffle=False,
        verbose=False,
    )
    changes = [
        keras.layers.RandomFlip("horizontal"),
        keras.layers.RandomRotation(0.05),
        keras.layers.RandomBrightness(0.2),
    ]
    groups = keras_mmel.data.group_views(
        photos,
        keras_mmel.data.per_view(keras.Sequential(changes)),
        views,
        16,
        seed=0,
    )
    spent = {
        f"{views} views": second_pass(groups),
        "read and resized alone": second_pass(photos),
    }
    return {
        f"a folder of JPEGs to 224x224, {what}: a photograph, CPU ms": (
            1e3 * seconds / len(photos)
        )
        for what, seconds in spent.items()
    }


def augmenting(folder: str, *dtype: str) -> dict[str, float]:
    """CPU seconds of four samples of a sentence, by the masked LM in a folder.

    Without `dtype` none is given, which an earlier commit does not know.
    """
    settings = {"dtype": dtype[0]} if dtype else {}
    augmenter = MaskedLMAugmenter(load_masked_lm(folder), **settings)
    sentence = "the film is a long and very good story of an old house"
    texts = [f"{sentence} in the year {1900 + number}" for number in range(12)]
    augmenter.augment(texts)  # the second one counts
    start = time.process_time()
    augmenter.augment(texts)
    spent = time.process_time() - start
    kind = " ".join(["a masked LM as large as BERT-base", *dtype])
    return {f"{kind}: a sentence, CPU s": spent / len(texts)}


def loading(small: str, folder: str) -> dict[str, float]:
    """What `load_table` costs a row, and its peak beside the table."""
    load_table(small)
    forget_peak()
    before, start = memory("VmRSS"), time.process_time()
    table = load_table(folder)
    spent, peak = time.process_time() - start, memory("VmHWM") - before
    return {
        "`load_table`: a row, CPU us": 1e6 * spent / len(table.borders),
        "`load_table`: what its peak adds, to the table": (
            peak / megabytes(table)
        ),
    }


def megabytes(table: TokenTable) -> float:
    """Megabytes of the arrays of a table and of its ids."""
    size = sum(getattr(one, "nbytes", 0) for one in vars(table).values())
    return (size + sum(map(sys.getsizeof, table.example_ids))) / MEGABYTE


def make(examples: int, length: int) -> TokenTable:
    """A table of so many originals with 20 views each, of one length."""
    rows = examples * ROWS
    return TokenTable(
        np.full(rows * length, 7, np.int32),
        np.arange(rows + 1) * length,
        np.full(rows, length, np.int32),
        np.arange(examples + 1) * ROWS,
        np.arange(examples) % 3,
        None,
        np.random.default_rng(0).integers(0, 2**62, examples),
        tuple(map(str, range(examples))),
    )


def saving(folder: str, examples: str, length: str) -> dict[str, float]:
    """Saves a table, for `saved`."""
    make(int(examples), int(length)).save(folder)
    return {}


def saved(folder: str) -> dict[str, float]:
    """CPU seconds to load a table that was saved."""
    start = time.process_time()
    TokenTable.load(folder)
    return {
        "`TokenTable.load` at the size of MNLI with 20 views, CPU s": (
            time.process_time() - start
        )
    }


def reading(examples: str, length: str) -> dict[str, float]:
    """Memory of a reader up to the first batch, and what a batch costs."""
    start = memory("VmRSS")
    table = make(int(examples), int(length))
    batches = iter(read_augmented(table, num_views=5, batch_size=32))
    next(batches)
    size, count = table.token_ids.nbytes / MEGABYTE, 400
    now, peak = memory("VmRSS"), memory("VmHWM")
    before = time.process_time()
    for _ in range(count):
        next(batches)
    spent = time.process_time() - before
    name = f"`read_augmented`, {int(examples):,} x {ROWS} rows of {length}"
    return {
        f"{name}: what the process adds to its start, to the ids": (
            (now - start) / size
        ),
        f"{name}: the same at its peak": (peak - start) / size,
        f"{name}: the process, GB": now * MEGABYTE / 1e9,
        f"{name}: the same at its peak, GB": peak * MEGABYTE / 1e9,
        f"{name}: a batch of 32 groups of 5, CPU ms": 1e3 * spent / count,
    }


CASES = {
    case.__name__: case
    for case in (
        steps,
        worker,
        crops,
        layers,
        photographs,
        augmenting,
        loading,
        saving,
        saved,
        reading,
    )
}

if __name__ == "__main__":
    print(json.dumps(CASES[sys.argv[1]](*sys.argv[2:])))
