"""The methods of a comparison: objectives, and their compiled models."""

import contextlib
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

import keras

from keras_mmel.mmel_model import MMELModel
from keras_mmel.objectives import Objective
from keras_mmel.objectives import get
from keras_mmel.training import replicas

PLAIN = "plain"


def named_methods(
    objectives: Objective | str | Iterable[Any] | Mapping[str, Any], plain: bool
) -> dict[str, Any]:
    """Gives every method its name.

    Args:
        objectives: One objective or several, as `compare` takes them.
        plain: Whether plain training is one more method.

    Returns:
        From the name of each method to an objective or its name, a function
        that wraps a model, or None for plain training.

    Raises:
        ValueError: If an objective is unknown, or one is called "plain".
    """
    if isinstance(objectives, (str, Objective)):
        objectives = [objectives]
    if not isinstance(objectives, Mapping):
        objectives = {_name(objective): objective for objective in objectives}
    methods = dict(objectives)
    for objective in methods.values():
        if not callable(objective):
            get(objective)
    if PLAIN in methods:
        raise ValueError(
            f"`objectives` must name none {PLAIN!r}, which `plain=True` adds. "
            f"Received: {list(methods)}"
        )
    if plain:
        methods[PLAIN] = None
    return methods


def model_of(model: Any, objective: Any) -> keras.Model:
    """The model of a method, compiled like the one that it is made from.

    Args:
        model: A compiled model of one process.
        objective: From `named_methods`.

    Returns:
        An `MMELModel` around the model; for plain training, the model itself.

    Raises:
        ValueError: If the model is not compiled, or belongs to several workers.
    """
    if not getattr(model, "compiled", False):
        raise ValueError(
            "`make_model` must give a compiled model: the optimizer, loss and "
            f"metrics of all methods. Received: {model!r}"
        )
    strategy = getattr(model, "distribute_strategy", None)
    if replicas.has_workers(strategy):
        raise ValueError(
            "`make_model` must give a model of one process: runs are shared "
            "among machines by their seeds. Give each machine `seeds` of its "
            "own, and all of them one folder as `records`. "
            f"Received: a model under {type(strategy).__name__}"
        )
    if objective is None:
        return model
    loss, metrics = model._compile_loss, model._compile_metrics
    with strategy.scope() if strategy else contextlib.nullcontext():
        if isinstance(objective, (str, Objective)):
            wrapper = MMELModel(model, objective)
        else:
            wrapper = objective(model)
        # As the user compiled it: what Keras made of that keeps states.
        wrapper.compile(
            optimizer=model.optimizer,
            loss=loss and loss._user_loss,
            loss_weights=loss and loss._user_loss_weights,
            metrics=metrics and metrics._user_metrics,
            weighted_metrics=metrics and metrics._user_weighted_metrics,
            run_eagerly=model.run_eagerly,
            steps_per_execution=model.steps_per_execution,
            jit_compile=model.jit_compile,
        )
    return wrapper


def _name(objective):
    if isinstance(objective, str):
        return objective
    return repr(get(objective))
