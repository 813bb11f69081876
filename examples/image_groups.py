"""From images to what a method of the image scripts is trained on."""

from collections.abc import Callable
from collections.abc import Mapping

import tensorflow as tf

import keras_mmel


def training_data(
    settings: Mapping,
    examples: tf.data.Dataset,
    augment: Callable,
    initial_epoch: int,
    **options,
) -> tf.data.Dataset:
    """Groups of views, or single augmented views for the baselines.

    Args:
        settings: those of the run.
        examples: (image, label), one at a time.
        augment: an augmentation of `keras_mmel.data`.
        initial_epoch: epoch of the first pass.
        options: further ones of `group_views`.
    """
    single = settings["num_views"] == 1
    groups = keras_mmel.data.group_views(
        examples,
        augment,
        settings["num_views"],
        settings["batch_size"],
        seed=settings["seed"],
        augment_original=single or settings.get("augment_original", False),
        pool=settings.get("fixed_views"),
        epoch_counter=keras_mmel.data.EpochCounter(initial_epoch),
        **options,
    )
    if single:
        groups = groups.map(lambda x, y: (x["views"][:, 0], y))
    return groups
