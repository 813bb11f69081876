"""What a Keras trainer must learn: `fit` on groups, the rest on examples."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from keras_mmel import contract
from keras_mmel.losses import checks
from keras_mmel.scores import held_out
from keras_mmel.scores import summary
from keras_mmel.tasks import preprocessing
from keras_mmel.training import replicas
from keras_mmel.training import settings
from keras_mmel.training import wrapped
from keras_mmel.training.view_statistics import ViewStatistics

_FIT = inspect.signature(keras.Model.fit)


def _on_examples(method, plain=True):
    """Prepares what a task prepares, and marks what takes plain examples.

    That reports no statistics of views.
    """
    signature = inspect.signature(method)

    @functools.wraps(method)
    def wrapper(self, *args, **kwargs):
        bound = signature.bind(self, *args, **kwargs)
        # That of `fit` has batches which `fit` prepared.
        if "_use_cached_eval_dataset" not in kwargs:
            preprocessing.prepare_arguments(self.model, bound.arguments)
        before, self.takes_plain = self.takes_plain, plain
        try:
            return method(*bound.args, **bound.kwargs)
        finally:
            self.takes_plain = before

    return wrapper


class GroupTrainer(keras.Model):
    """Trains a model on groups, and runs it on plain examples.

    Args:
        model: The model to train.
        **kwargs: Of `keras.Model`.

    Attributes:
        model: The model that is trained.
        takes_plain: Whether a method that takes plain examples is running.
        view_statistics: Metric that only training on groups updates. It is
            hidden meanwhile, or `evaluate` would log its zeros.
    """

    takes_plain = False
    _is_fitting = False

    def __init__(self, model: keras.Model, **kwargs: Any):
        # Keras chooses loss scaling by the policy of the outermost model, and
        # the wrapped model casts its inputs itself.
        kwargs.update(dtype=model.dtype_policy, autocast=False)
        super().__init__(**kwargs)
        wrapped.warn_of(model)
        self.model = model
        self.view_statistics = ViewStatistics()
        # Keras trains a model whose `call` does not take `training` as in
        # inference, without dropout, and so does its wrapper.
        self._call_has_training_arg = model._call_has_training_arg

    @property
    def preprocess_samples(self) -> Callable | None:
        # As a task says it, so that the wrapper is asked like one.
        return preprocessing.preprocess_of(self.model)

    # Building: the wrapper is built when what it wraps is.

    @property
    def built(self) -> bool:
        model = self.__dict__.get("model")
        return model is not None and model.built

    @built.setter
    def built(self, value):
        """Keras marks a layer after its `build` or its first call."""

    def build(self, input_shape=None):
        # What has no `build` of its own is built when it is called, and so is
        # what is called on groups.
        has_own = type(self.model).build is not keras.layers.Layer.build
        plain = input_shape is not None and not contract.is_group(input_shape)
        if has_own and plain and not self.model.built:
            self.model.build(input_shape)

    @property
    def output_names(self) -> list[str]:
        # Keras asks the compiled model for the names of its outputs. A model
        # that has none must look here as it does by itself.
        return self.model.output_names

    # Training and evaluation

    def _assert_compile_called(self, method_name=None):
        if not self.compiled and self.model.compiled:
            raise ValueError(
                "Call `compile()` of the `MMELModel` itself, with its loss and "
                "optimizer. Received: only the wrapped model is compiled"
            )
        super()._assert_compile_called(method_name)

    @functools.wraps(keras.Model.fit)
    def fit(self, *args, **kwargs):
        arguments = _FIT.bind(self, *args, **kwargs).arguments
        del arguments["self"]
        x = arguments.get("x")
        callbacks = keras.tree.flatten(arguments.get("callbacks") or ())
        _check_arguments(arguments, getattr(self, "distribute_strategy", None))
        if hasattr(x, "element_spec"):
            # A dataset is shuffled, or not, by who made it; Keras would warn.
            arguments.setdefault("shuffle", False)
        for callback in callbacks:
            # Keras knows the direction of compiled metrics alone.
            mode = summary.direction(str(getattr(callback, "monitor", "")))
            if mode and getattr(callback, "mode", None) == "auto":
                callback.mode = mode
            if hasattr(callback, "beside"):  # `ViewScores`
                callback.beside = callbacks
        y, weight = arguments.get("y"), arguments.get("sample_weight")
        if isinstance(weight, dict) and any(contract.split_labels(y)[1:]):
            # Keras wants it in the form of y, of which outputs are a part.
            if set(weight) != set(y):
                arguments["sample_weight"] = dict.fromkeys(y, weight)
        for counter in held_out.epoch_counters_of(x):
            if counter not in callbacks:
                callbacks = [*callbacks, _EpochFollower(counter)]
                arguments["callbacks"] = callbacks
        preprocessing.prepare_arguments(self.model, arguments)
        self._is_fitting = True
        try:
            history = super().fit(**arguments)
        except Exception:
            # A step that failed while it was traced cannot be traced again.
            self.train_function = None
            raise
        finally:
            self._is_fitting = False
        if history is not None and history.epoch and not history.history:
            raise ValueError(
                "There was no batch to train on: `x` is empty. "
                f"Received: x of type {type(x).__name__}"
            )
        if history is not None and arguments.get("verbose") != 0:
            # As it was prepared: lists have no shape.
            self._say_what_weights_did(arguments["x"], history.history)
        return history

    def _say_what_weights_did(self, x, log):
        if isinstance(spec := getattr(x, "element_spec", None), tuple):
            x = spec[0]
        if not contract.is_group(x) or "mask" in x:
            return
        # What a strategy has distributed says no shapes.
        views = keras.tree.flatten(x["views"])[0]
        size = getattr(views, "shape", (None, None))[1]
        effective = log.get("effective_views", ())
        if size and (
            remark := settings.remark(self.objective, size, effective)
        ):
            print(remark)

    train_on_batch = _on_examples(keras.Model.train_on_batch, plain=False)

    @_on_examples
    @functools.wraps(keras.Model.evaluate)
    def evaluate(self, *args, **kwargs):
        # That of a callback uses the metrics of the epoch, whose log goes on.
        variables = self.metrics_variables if self._is_fitting else []
        before = [keras.ops.convert_to_numpy(v) for v in variables]
        logs = super().evaluate(*args, **kwargs)
        for variable, value in zip(variables, before, strict=True):
            variable.assign(value)
        return logs

    def test_step(self, *args, **kwargs):
        return replicas.for_log(super().test_step(*args, **kwargs))

    predict = _on_examples(keras.Model.predict)
    test_on_batch = _on_examples(keras.Model.test_on_batch)
    predict_on_batch = _on_examples(keras.Model.predict_on_batch)

    @property
    def metrics(self) -> list:
        metrics = super().metrics
        if not self.takes_plain:
            return metrics
        return [m for m in metrics if m is not self.view_statistics]

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        # Under a strategy Keras averages the first batch over the replicas to
        # learn its shapes, which fails for a mask and for an uneven split.
        strategy = self._distribute_strategy
        if strategy is not None and iterator is not None:
            # Older releases of Keras yield pairs here, newer ones triples.
            for *_, batches in iterator:
                data_batch = keras.tree.map_structure(
                    lambda v: strategy.experimental_local_results(v)[0],
                    next(batches),
                )
                break
            iterator = None
        return super()._maybe_symbolic_build(iterator, data_batch)

    # Saving: Keras leaves out the random states of the layers, without which
    # a resumed run is another one.

    def save_own_variables(self, store):
        super().save_own_variables(store)
        for index, state in enumerate(self._random_states()):
            store[f"random_state_{index}"] = state

    def load_own_variables(self, store):
        # Keras refuses entries that are not its own. A random state that the
        # file lacks stays as it is.
        names = [name for name in store.keys() if name.startswith("random")]
        rest = {name: store[name] for name in store.keys() if name not in names}
        super().load_own_variables(rest)
        for index, state in enumerate(self._random_states()):
            if f"random_state_{index}" in names:
                state.assign(store[f"random_state_{index}"])

    def _random_states(self):
        """Variables of the wrapped model that are not weights."""
        saved = {id(weight) for weight in self.model.weights}
        return [
            v for v in self.model.non_trainable_variables if id(v) not in saved
        ]


class _EpochFollower(keras.callbacks.Callback):
    """Keeps the epochs of the data, if nothing else does, with those of `fit`.

    A run that starts at a later epoch is continued there. One that starts at
    epoch 0 goes on with the next views, as a second `fit` always did; another
    model begins where the first one did, with the same views.
    """

    def __init__(self, counter):
        super().__init__()
        self._counter = counter
        self._before = None

    def on_epoch_begin(self, epoch, logs=None):
        if self._before is None:
            following = self._counter.next_for(self.model)
            self._before = 0 if epoch else following
        self._counter.set_epoch(self._before + epoch)


def _check_arguments(arguments, strategy):
    """Raises ValueError where `fit` is given what cannot be trained on."""
    x, y = arguments.get("x"), arguments.get("y")
    # Keras would take a part of a part of a batch.
    if getattr(x, "is_shard", False) and replicas.splits_batches(strategy):
        raise ValueError(
            "`x` must be whole batches, of which Keras gives each process its "
            "part. Leave `shard` out; or hand over what each process makes by "
            "`strategy.distribute_datasets_from_function`, on JAX by "
            "`DataParallel(auto_shard_dataset=False)`. "
            "Received: groups made with `shard`"
        )
    checks.check_numbers(y)
    for weight in keras.tree.flatten(arguments.get("sample_weight")):
        # Before Keras, which knows another way.
        if contract.is_group(x) and np.ndim(weight) > 1:
            checks.per_example(weight)
    class_weight = arguments.get("class_weight")
    _, *of_views = contract.split_labels(y)
    if class_weight and any(nest is not None for nest in of_views):
        raise ValueError(
            "`class_weight` cannot be used with teacher predictions or labels "
            "of views. Give each example its weight with `sample_weight`. "
            f"Received: class_weight={class_weight!r}"
        )
    data = arguments.get("validation_data")
    if data is None and arguments.get("validation_split"):
        data = (x,)
    batch = getattr(data, "element_spec", data)
    if isinstance(batch, (list, tuple)) and contract.is_group(batch[0]):
        raise ValueError(
            "`validation_data` and `validation_split` take plain examples, not "
            "groups: give the originals. Received: groups"
        )
