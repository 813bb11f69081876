"""What of a wrapped model a wrapper would pass over, or train otherwise."""

import warnings

import keras

_STEPS = (
    "train_step",
    "test_step",
    "predict_step",
    "compute_loss",
    "compute_metrics",
)
# Those of tasks of keras-hub, and of ours, only prepare data, or look at them,
# as a wrapper does for them.
_LOOPS = (
    "fit",
    "evaluate",
    "predict",
    "train_on_batch",
    "test_on_batch",
    "predict_on_batch",
    "make_train_function",
    "make_test_function",
    "make_predict_function",
)
# Each has a random state where it draws something.
_ImageLayer = keras.layers.RandomFlip.__base__


def own_methods(model: keras.Model) -> list[str]:
    """Methods of Keras's trainer that a model, or its class, overrides.

    Args:
        model: Any model.

    Returns:
        Their names.
    """

    def is_own(name):
        if name in vars(model):
            return True
        definer = next(c for c in type(model).__mro__ if name in vars(c))
        of_task = definer.__module__.startswith(("keras_hub.", "keras_mmel."))
        return definer not in keras.Model.__mro__ and not (
            of_task and name in _LOOPS
        )

    return [name for name in (*_STEPS, *_LOOPS) if is_own(name)]


def warn_of(model: keras.Model) -> None:
    """Warns of methods that are not called, and of layers that augment.

    Args:
        model: The model that is wrapped.
    """
    own = own_methods(model)
    if own:
        warnings.warn(
            f"An `MMELModel` has methods of its own, and {own} of `model` will "
            "not be called. Put penalties into layers (`add_loss`) and the "
            "rest into the optimizer, loss and metrics; or override the method "
            "in a subclass of `MMELModel`. "
            f"Received: model of type {type(model).__name__}",
            stacklevel=4,
        )
    augmenting = [
        layer.name
        for layer in model._flatten_layers()
        if isinstance(layer, _ImageLayer) and hasattr(layer, "generator")
    ]
    if augmenting:
        warnings.warn(
            "Layers of `model` augment the original, too, while it trains: "
            "`original_loss` and soft targets are then of an augmented one, "
            "and equal views differ. Give `group_views` such layers, by "
            f"`keras_mmel.data.per_view`. Received: layers {augmenting}",
            stacklevel=4,
        )
