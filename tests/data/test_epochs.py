"""Every epoch of `fit` gets the views of its own number."""

import contextlib
import gc

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_mmel
from keras_mmel import data

IMAGES = np.random.default_rng(0).integers(1, 256, (24, 6, 6, 1), "uint8")
EPOCHS = 3


def groups(examples=24, unknown=False, start=0, **options):
    source = tf.data.Dataset.from_tensor_slices((IMAGES, np.arange(24)))
    source = source.take(examples)
    if unknown:
        source = source.filter(lambda x, y: True)
        options["shuffle_buffer"] = examples
    options = {"epoch_counter": data.EpochCounter(start), **options}
    return data.group_views(
        source, data.crop_and_flip(1), 3, 2, seed=1, **options
    )


def weights():
    """Return weights that make the sum over a group's pixels a fingerprint."""
    return np.random.default_rng(1).random((3, 6, 6, 1)).astype("float32")


def fingerprint(dataset):
    views = np.concatenate([x["views"].numpy() for x, _ in dataset])
    return float(np.sum(views * weights())) / len(views)


@pytest.fixture(scope="module")
def expected():
    """The fingerprints of the epochs, each read from a dataset of its own."""
    prints = [fingerprint(groups(start=e)) for e in range(EPOCHS + 2)]
    assert len(np.unique(np.round(prints, 2))) == len(prints)
    return np.array(prints)


class Fingerprint(keras.Model):
    """A model whose only output is the fingerprint of its input."""

    def __init__(self):
        super().__init__()
        self.anything = self.add_weight(shape=(), initializer="zeros")
        self.built = True

    def call(self, x):
        pixels = tf.cast(x["views"], "float32") * weights()
        return tf.reduce_sum(pixels, axis=(1, 2, 3, 4)) + 0 * self.anything


def fit(dataset, strategy=None, **options):
    """Return the fingerprints of the epochs that Keras saw."""
    with strategy.scope() if strategy else contextlib.nullcontext():
        model = Fingerprint()
        model.compile(keras.optimizers.SGD(0.0), lambda _, prints: prints)
    options = {"epochs": EPOCHS, "verbose": 0, "shuffle": False, **options}
    return model.fit(dataset, **options).history["loss"]


@pytest.fixture(scope="module")
def strategy():
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def close(result, wanted):
    np.testing.assert_allclose(result, wanted, rtol=1e-5)
    return True


def test_a_second_fit_continues(expected):
    dataset = groups()
    assert close(fit(dataset), expected[:EPOCHS])
    assert close(fit(dataset, epochs=1), expected[EPOCHS : EPOCHS + 1])


@pytest.mark.slow
@pytest.mark.own_process
def test_epochs_of_one_fit_on_replicas(expected, strategy):
    assert close(fit(groups(), strategy), expected[:EPOCHS])
    with strategy.scope():
        dataset = groups()
    assert close(fit(dataset, strategy), expected[:EPOCHS])


def test_steps_per_epoch(expected):
    repeated = groups().repeat().prefetch(2)
    assert close(fit(repeated, steps_per_epoch=12), expected[:EPOCHS])


def test_restart(expected):
    assert close(fingerprint(groups(start=4)), expected[4])


def test_a_look_does_not_move_the_counter(expected):
    dataset = groups()
    next(iter(dataset))
    list(dataset.take(5))
    assert close(fingerprint(dataset), expected[0])
    next(iter(dataset))
    assert close(fingerprint(dataset), expected[1])


def test_overlapping_passes_do_not_turn_the_counter_back(expected):
    dataset = groups()
    early = iter(dataset)
    next(early)
    fingerprint(dataset)
    fingerprint(dataset)
    list(early)
    assert close(fingerprint(dataset), expected[2])


def test_counter_follows_keras(expected):
    counter = data.EpochCounter()
    dataset = groups(epoch_counter=counter)
    fingerprint(dataset)
    assert counter.epoch == 1
    options = {"callbacks": [counter], "initial_epoch": 1, "epochs": 4}
    assert close(fit(dataset, **options), expected[1:4])
    assert counter.epoch == 4


def test_fit_follows_keras_by_itself():
    counter, seen = data.EpochCounter(2), []
    mmel = keras_mmel.MMELModel(
        keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(1)])
    )
    mmel.compile("sgd", "mse")
    watch = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: seen.append(counter.epoch)
    )

    def fit(dataset, *epochs):
        seen.clear()
        options = {"callbacks": watch, "steps_per_epoch": 2, "verbose": 0}
        first, last = epochs
        mmel.fit(dataset, initial_epoch=first, epochs=last, **options)
        return seen[::2]

    dataset = groups(examples=4, epoch_counter=counter)
    assert fit(dataset, 0, 2) == [2, 3]
    assert fit(dataset, 0, 1) == [4]
    assert fit(dataset, 1, 3) == [1, 2]
    # Another model sees what the first one saw.
    mmel = keras_mmel.MMELModel(keras.models.clone_model(mmel.model))
    mmel.compile("sgd", "mse")
    assert fit(dataset, 0, 2) == [2, 3]
    # Also behind what changes its batches, but not behind several passes.
    changed = dataset.map(lambda x, y: (x, y)).prefetch(1).take(9)
    assert fit(changed, 7, 8) == [7]
    assert fit(dataset.repeat(), 3, 4) == [8]


def test_counter_follows_keras_through_passes_that_stop_early():
    counter = data.EpochCounter()
    dataset = groups(epoch_counter=counter).take(6)
    result = fit(dataset, callbacks=[counter])
    assert len(np.unique(np.round(result, 1))) == EPOCHS


@pytest.mark.slow
@pytest.mark.own_process
def test_counter_is_exact_for_a_tiny_dataset_on_replicas(strategy):
    # Replicas read so far ahead that they finish passes nobody asked for.
    wanted = [fingerprint(groups(examples=4, start=e)) for e in range(EPOCHS)]
    counter = data.EpochCounter()
    dataset = groups(examples=4, epoch_counter=counter)
    result = fit(dataset, strategy, callbacks=[counter])
    assert close(result, wanted)


@pytest.mark.slow
def test_unknown_size_and_a_counter_without_a_name(expected):
    dataset = groups(unknown=True).map(lambda x, y: (x, y))
    for wanted in expected[:EPOCHS]:
        gc.collect()
        assert close(fingerprint(dataset), wanted)


def test_restored_by_backup_and_restore(expected, tmp_path):
    class Interrupt(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 2:
                raise KeyboardInterrupt

    def run(*callbacks):
        counter = data.EpochCounter()
        backup = keras.callbacks.BackupAndRestore(tmp_path / "backup")
        return fit(
            groups(epoch_counter=counter),
            callbacks=[backup, counter, *callbacks],
            epochs=4,
        )

    with pytest.raises(KeyboardInterrupt):
        run(Interrupt())
    assert close(run(), expected[2:4])


def test_the_tf_data_service_is_refused():
    service = tf.data.experimental.service
    dispatcher = service.DispatchServer()
    address = dispatcher.target.removeprefix("grpc://")
    worker = service.WorkerServer(service.WorkerConfig(address))
    elsewhere = service.distribute("parallel_epochs", dispatcher.target)
    with pytest.raises(tf.errors.FailedPreconditionError, match="is stateful"):
        next(iter(groups().apply(elsewhere)))
    del worker


@pytest.mark.slow
def test_memory_is_flat_over_epochs():
    resource = pytest.importorskip("resource")
    images = np.zeros((2000, 32, 32, 3), "uint8")
    source = tf.data.Dataset.from_tensor_slices((images, np.zeros(2000)))
    dataset = data.group_views(source, data.crop_and_flip(4), 10, 100, seed=0)

    def peak_after(epochs):
        for _ in range(epochs):
            for _ in dataset:
                pass
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    # In units of the platform; one epoch of views is 61 MB.
    warm = peak_after(10)
    assert peak_after(60) < 1.1 * warm
