"""Scores of a compiled model on groups: original, mean and worst view."""

import contextlib
import functools
import itertools
import warnings
from collections.abc import Callable
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_mmel import arrays
from keras_mmel import contract
from keras_mmel.counts import check_count
from keras_mmel.losses import checks
from keras_mmel.scores import view_values
from keras_mmel.scores.by_view import ScoresByView
from keras_mmel.scores.by_view import choices_of
from keras_mmel.scores.by_view import names_of_views
from keras_mmel.scores.held_out import batches_of
from keras_mmel.scores.held_out import first_epoch
from keras_mmel.scores.summary import named_scores
from keras_mmel.tasks import nests
from keras_mmel.tasks import preprocessing


def evaluate_views(
    model: keras.Model,
    x: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    batch_size: int = 32,
    steps: int | None = None,
    by_view: bool = False,
) -> dict[str, float]:
    r"""Scores a compiled model on groups of views.

    A model is asked about every view $z_j$ of an example, against the label of
    the example, or its own where labels move (`{"views": y}`). For the compiled
    loss, and for every compiled metric that is a mean over examples, the result
    has three entries:

    - `original_NAME`: the mean over examples of view 0, as `evaluate` gives it;
    - `mean_NAME`: the mean over examples of the mean over their views;
    - `worst_NAME`: the mean over examples of their worst view,
      $\max_j l(f(z_j), y)$ for a loss. For an accuracy, the share of the
      examples that are right under all views. A metric of which Keras does not
      know whether more is better has no such entry.

    Classifiers (an output trained with a crossentropy) also have the negative
    log-likelihood, `original_nll`, `mean_nll`, `worst_nll`, in nats and without
    label smoothing, and the expected calibration error of the top class,
    `original_ece`, and `mean_ece` over all views. With several outputs the
    names of metrics begin with that of their output, as in Keras.

    What a task of keras-hub prepares in `evaluate` it prepares here, too.
    Padding views (`"mask"`) do not count; a teacher's predictions are not
    looked at. What a Keras mask hides of a prediction (padding tokens) does not
    count either: an example counts by what is left of its original, as in
    `evaluate`. `sample_weight` weighs the loss and `weighted_metrics`, as in
    `evaluate`; losses are averaged, whatever their `reduction`. On replicas,
    the first computes, of each worker that asks. Views whose loss is not finite
    are warned of, and views on another scale than their originals.

    Args:
        model: A compiled `keras.Model` or `MMELModel`.
        x: Batches of groups, such as `keras_mmel.data.grid_views` makes, or
            `{"views": x}` with arrays `(examples, num_views, ...)`.
        y: Labels, where `x` holds arrays.
        sample_weight: Weights `(examples,)`, where `x` holds arrays, or a nest
            of them by output.
        batch_size: Groups in a batch, where `x` holds arrays.
        steps: Batches to take; all where it is None.
        by_view: Whether to tell each view and each class apart.

    Returns:
        Names and values of the scores. With `by_view` this dict is a
        `keras_mmel.scores.ScoresByView`: it has each score by view and by
        class, and that of the mean prediction over the views, and shows them
        as a table. Views have the names that `grid_views` was given.

    Raises:
        ValueError: If the model is not compiled, `x` holds no groups, or no
            batch at all.

    Example:

    ```python
    scores = keras_mmel.evaluate_views(model, groups, by_view=True)
    scores["worst_accuracy"]  # right under every view
    scores.by_view["accuracy"]["turned"]
    print(scores)
    ```
    """
    batch_size = check_count("batch_size", batch_size, 1)
    if steps is not None:
        steps = check_count("steps", steps, 1)
    data = x
    if isinstance(x, dict) and y is not None:
        if isinstance(y, list) and not np.ndim(y[0]):
            y = np.asarray(y)  # of classes, not of outputs
        data = (x, y) if sample_weight is None else (x, y, sample_weight)
        if preprocessing.preprocess_of(model) is not None:
            data = preprocessing.as_arrays(data)
    elif isinstance(x, dict) or y is not None or sample_weight is not None:
        raise ValueError(
            "`y` and `sample_weight` go with arrays of groups, "
            'x={"views": x}, which need `y`; batches bring their own. '
            f"Received: x of type {type(x).__name__}, y={type(y).__name__}"
        )
    return ViewScorer(model, by_view)(batches_of(data, batch_size), steps)


class ViewScorer:
    """Scores one model on groups, traced once for several data sets.

    Args:
        model: A compiled model.
        by_view: Whether to tell views and classes apart.

    Raises:
        ValueError: If it is not compiled.
    """

    def __init__(self, model: keras.Model, by_view: bool = False):
        if not getattr(model, "compiled", False) or not model._compile_loss:
            raise ValueError(
                "`evaluate_views` needs a compiled loss. Call `compile()` "
                f"before. Received: model={model!r}"
            )
        self._model, self._by_view = model, by_view
        self._metrics: Any = None  # found with the first batch
        self._step: Callable = self._values
        if keras.backend.backend() == "tensorflow" and not model.run_eagerly:
            import tensorflow as tf

            # TensorFlow counts traces by function, of all scorers of a process,
            # and warns of the fifth: this one is of this scorer alone.
            values = functools.partial(self._values)
            self._step = tf.function(values, reduce_retracing=True)

    def __call__(
        self, batches: Iterable, steps: int | None = None
    ) -> dict[str, float]:
        """Computes the scores, as `evaluate_views` does.

        Args:
            batches: Batches of groups.
            steps: Batches to take; all where it is None.

        Returns:
            Names and values of the scores.

        Raises:
            ValueError: If a batch holds no groups, or there is none.
        """
        with first_epoch(batches):
            taken = itertools.islice(batches, steps)
            of_batches = [self._arrays(batch) for batch in taken]
        if not of_batches:
            raise ValueError(
                "There was no batch to evaluate: `x` is empty. "
                f"Received: x of type {type(batches).__name__}"
            )
        values = keras.tree.map_structure(_joined, *of_batches)
        if not np.isfinite(values.loss[values.mask.astype(bool)]).all():
            # An accuracy would not show it: it takes NaN for the first class.
            warnings.warn(
                "The loss of some views is not finite: what a metric counts "
                "their predictions as says nothing.",
                stacklevel=3,
            )
        if self._by_view:
            names = names_of_views(batches, values.mask.shape[1])
            return ScoresByView(values, self._metrics, names)
        return named_scores(values, self._metrics)

    def _arrays(self, batch):
        """The values of one batch as float64 arrays, after its checks."""
        data = keras.utils.unpack_x_y_sample_weight(batch)
        x, y, weight = preprocessing.prepare(self._model, *data)
        contract.check_groups(x, "evaluate_views")
        labels = contract.split_labels(y)
        checks.check_labels(labels, contract.sizes_of(x))
        if labels.teacher is not None:
            y = labels.label
        x, y, weight = nests.map_arrays(ops.convert_to_tensor, (x, y, weight))
        if self._metrics is None:
            if "mask" not in x:
                _warn_of_unlike(x["views"])
            self._metrics = view_values.find_metrics(self._model, x, y)
        choices = None
        if self._by_view:
            views = keras.tree.flatten(x["views"])[0].shape[1]
            choices = ops.convert_to_tensor(choices_of(views))
        with _no_gradient():
            values = self._step(x, y, weight, choices)
        return keras.tree.map_structure(
            lambda value: arrays.to_numpy(value).astype("float64"), values
        )

    def _values(self, *batch):
        return view_values.view_values(self._model, self._metrics, *batch)


def _warn_of_unlike(views):
    """Warns of a view that is nothing like its original: of another scale."""
    for leaf in keras.tree.flatten(views):
        if not ("float" in str(leaf.dtype) or "int" in str(leaf.dtype)):
            continue
        leaf = arrays.to_numpy(leaf)
        for place in range(1, leaf.shape[1]):
            if contrast := arrays.unlike_originals(leaf[:, [0, place]]):
                warnings.warn(
                    f"View {place}: {contrast} The model is asked about both.",
                    stacklevel=5,
                )


def _joined(*batches):
    """One array of all batches; groups of fewer views are padded."""
    most = max(batch.shape[1] for batch in batches)
    padded = [np.pad(t, ((0, 0), (0, most - t.shape[1]))) for t in batches]
    return np.concatenate(padded)


def _no_gradient():
    if keras.backend.backend() == "torch":
        import torch

        return torch.no_grad()
    return contextlib.nullcontext()
