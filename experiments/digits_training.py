"""The digits: groups of views, a look at the bad ones, and training."""

import time

import keras
import numpy as np
import tensorflow as tf

import keras_mmel
from examples import quickstart
from experiments import digits_views

OBJECTIVES = {
    "uniform": "uniform",
    "hard": "hard",
    "soft": "soft",
    "uniform-whole": "uniform",
    "hard-whole": "hard",
    "uniform-fewer": "uniform",
    "hard-fewer": "hard",
}


def _is_whole(x):
    """Which views have lost no more of their ink than is allowed."""
    ink = tf.reduce_sum(tf.cast(x["views"], tf.float32), axis=[2, 3, 4])
    # Ink is whole numbers: the margin is for rounding alone.
    return ink > (1 - digits_views.CUT) * ink[:, :1] - 1e-3


def only_whole(x, y):
    """Mask the views that have lost more of their ink than is allowed."""
    return x | {"mask": _is_whole(x)}, y


def as_few(x, y):
    """Mask as many views of a group, whatever they have lost.

    The shifts of a group are drawn independently, so its last views are as
    good a choice as a drawn one.
    """
    whole = _is_whole(x)
    left = tf.reduce_sum(tf.cast(whole, tf.int32), axis=1, keepdims=True)
    return x | {"mask": tf.range(tf.shape(whole)[1])[None] < left}, y


# By what follows the objective in the name of a method.
_MASKS = {"whole": only_whole, "fewer": as_few}


def _mask_of(settings):
    return _MASKS.get(settings["method"].partition("-")[2])


def training_data(settings, seed):
    """Batches of groups; of originals for plain training."""
    (images, labels), _ = digits_views.load()
    examples = tf.data.Dataset.from_tensor_slices((images, labels))
    groups = keras_mmel.data.group_views(
        examples.repeat(settings["passes"]),
        keras_mmel.data.crop_and_flip(settings["shift"] or 0, flip=False),
        settings["num_views"],
        settings["batch_size"],
        seed=seed,
        num_parallel_calls=1,
    )
    if settings["method"] == "plain":
        groups = groups.map(lambda x, y: (x["views"][:, 0], y))
    elif _mask_of(settings):
        groups = groups.map(_mask_of(settings))
    single = tf.data.Options()
    single.threading.private_threadpool_size = 1
    return groups.with_options(single)


class Look(keras.callbacks.Callback):
    """Before every epoch: which views are bad, and what they weigh.

    The groups are those of the first pass of that epoch.

    Args:
        settings: those of the run.
        seed: its seed.
        cut, lost: of `digits_views.what_is_lost`.
    """

    def __init__(self, settings, seed, cut, lost):
        super().__init__()
        self.curves = {}
        self._settings, self._seed = settings, seed
        self._bad = {"cut": cut > settings["cut"], "lost": lost}

    def on_epoch_begin(self, epoch, logs=None):
        shift, views = self._settings["shift"], self._settings["num_views"]
        (_, labels), _ = digits_views.load()
        groups, down, right = digits_views.groups_of(
            shift, views, self._seed, epoch
        )
        x = {"views": groups}
        mask = np.ones(down.shape, bool)
        if _mask_of(self._settings):
            x, _ = _mask_of(self._settings)(x, labels)
            mask = x["mask"].numpy()
        weights = self.model.view_weights(x, labels)
        rows = np.arange(len(labels))[:, None]
        for name, table in self._bad.items():
            bad = table[rows, down + shift, right + shift] & mask
            for what, value in (
                (f"{name}_views", bad.sum() / mask.sum()),
                (f"{name}_weight", (weights * bad).sum() / weights.sum()),
            ):
                self.curves.setdefault(what, []).append(round(float(value), 5))


class Trainer:
    """Trains one method with one shift; every seed anew in the same model."""

    def __init__(self, settings):
        self.settings = settings
        self.network = quickstart.make_network()
        self.model, method = self.network, settings["method"]
        if method != "plain":
            # Its default settings: lambda_p = lambda_t = 1.
            self.model = keras_mmel.MMELModel(self.network, OBJECTIVES[method])
            self.lost = digits_views.what_is_lost(settings["shift"])
        self.model.compile(
            keras.optimizers.Adam(settings["learning_rate"]),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
        self.model.optimizer.build(self.model.trainable_variables)
        self._start = [v.numpy() for v in self.model.optimizer.variables]

    def run(self, seed):
        """Train with a seed; return its part of the record."""
        keras.utils.set_random_seed(seed)
        self.network.set_weights(quickstart.make_network().get_weights())
        for variable, value in zip(
            self.model.optimizer.variables, self._start, strict=True
        ):
            variable.assign(value)
        looks = []
        if self.settings["method"] != "plain":
            looks.append(Look(self.settings, seed, *self.lost))
        start = time.process_time()
        log = self.model.fit(
            training_data(self.settings, seed),
            epochs=self.settings["epochs"],
            verbose=0,
            shuffle=False,
            callbacks=looks,
        ).history
        curves = {
            name: [round(value, 5) for value in log[name]]
            for name in ("loss", "effective_views")
            if name in log
        }
        for look in looks:
            curves |= look.curves
        _, (images, labels) = digits_views.load()
        loss, accuracy = quickstart.loss_and_accuracy(
            self.network, images, labels
        )
        _, shifted = quickstart.loss_and_accuracy(
            self.network, quickstart.shifted(images), np.tile(labels, 8)
        )
        scores = {
            "accuracy": accuracy,
            "accuracy_shifted": shifted,
            "test_loss": loss,
            "cpu_seconds": round(time.process_time() - start, 2),
        }
        for name, curve in curves.items():
            if name != "loss":
                scores[name] = float(np.mean(curve))
        return {"seed": seed, "scores": scores, "curves": curves}
