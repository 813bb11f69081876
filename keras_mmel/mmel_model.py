"""MMELModel: groups in, a training step out."""

import dataclasses
import os
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_mmel import contract
from keras_mmel import objectives
from keras_mmel.arrays import to_numpy
from keras_mmel.losses import checks
from keras_mmel.losses.of_groups import group_losses
from keras_mmel.scores.of_views import evaluate_views
from keras_mmel.tasks import preprocessing
from keras_mmel.training import replicas
from keras_mmel.training import settings
from keras_mmel.training.fit import GroupTrainer


@keras.saving.register_keras_serializable(package="keras_mmel")
class MMELModel(GroupTrainer):
    r"""Trains a Keras model on groups of views, weighted by their losses.

    `fit` takes groups of views, and each group enters the loss as one number
    $R$, the maximal expected loss over its views (equations 7 to 10 of the
    paper), instead of their mean. Its gradient is
    $\sum_j w_j \, dl_j / d\theta$ with $w = \mathrm{softmax}(l / \lambda_P)$:
    the views that the model finds harder count more.

    A batch says by its structure that it carries views:

    - `({"views": x}, y)`: `x` is any nest of tensors `(batch, num_views, ...)`
      with the original first; `y`, `(batch, ...)`, is shared by the views.
    - `({"views": x, "mask": m}, y)`: `m`, bool `(batch, num_views)`, is `False`
      where a view is padding.
    - `({"views": x}, {"views": y})`: `y`, any nest of tensors `(batch,
      num_views, ...)`, holds a label for each view, the original's first, such
      as masks that move with the pixels.
    - `({"views": x}, {"label": y, "teacher": t})`: `t`,
      `(batch, num_views, ...)`, holds a teacher's predictions (probabilities or
      values), which become the labels of the augmented views.
    - `(..., sample_weight)`: one weight per example.

    `evaluate`, `predict`, `validation_data` and `export` take plain examples,
    as the wrapped model does. The training log has `loss` ($R$),
    `original_loss` (the compiled loss of view 0, comparable to `val_loss`),
    `effective_views` (exp of the entropy of the weights: from 1, all on one
    view, to `num_views`, all alike, one less with a soft objective, which
    weighs the augmented views) and the compiled metrics of view 0, as means
    over the epoch.

    A task of keras-hub prepares its inputs by its `preprocessor` in `fit`,
    `evaluate` and `predict`. So does its wrapper, each view by itself: give it
    what the task takes, such as strings or pictures of values from 0 to 255, as
    arrays or a `tf.data.Dataset`.

    A view whose loss is not finite makes the loss of its batch NaN, as in
    plain Keras: the log shows it and `keras.callbacks.TerminateOnNaN` stops.
    With `run_eagerly=True` an error names the example and the view.

    Args:
        model: The `keras.Model` to train. It is what is evaluated, exported
            and deployed. Its weights are shared, not copied.
        objective: `"hard"` (MMEL-H), `"soft"` (MMEL-S), `"uniform"` (the mean)
            or a `keras_mmel.objectives.Objective`.
        soft_loss: Optional loss `(target, y_pred)` for predicted targets, for
            compiled losses without a known soft form. A nest like the compiled
            loss where the model has several outputs. The target is the
            predicted distribution where the compiled loss is a Keras
            crossentropy, else the model's output as it is.
        name: Optional name.

    Attributes:
        model: The wrapped model.
        objective: The objective, with the current `lambda_p`.
        lambda_p: The KL coefficient. Assign to it to change it during
            training, without retracing; see
            `keras_mmel.callbacks.LambdaSchedule`.
        radius: The same for the ball of `keras_mmel.objectives.KLBall`.

    Raises:
        TypeError: If `model` is not a `keras.Model`, or an `MMELModel`.
        ValueError: If the objective is unknown or its settings are invalid.

    Example:

    ```python
    model = keras.Sequential(
        [keras.Input((8,)), keras.layers.Dense(3, activation="softmax")]
    )
    mmel = keras_mmel.MMELModel(model, "hard")
    mmel.compile(
        "sgd", "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    views = np.random.rand(64, 5, 8).astype("float32")  # 64 groups of 5 views
    labels = np.random.randint(0, 3, 64)
    mmel.fit({"views": views}, labels, epochs=2)
    mmel.predict(views[:, 0])  # plain examples
    mmel.model.save("model.keras")
    ```

    Reference:
        Yi et al., Reweighting Augmented Samples by Minimizing the Maximal
        Expected Loss, ICLR 2021.
    """

    _setting = None  # the variable of `lambda_p` or `radius`

    def __init__(
        self,
        model: keras.Model,
        objective: "str | objectives.Objective" = "hard",
        *,
        soft_loss: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ):
        if not isinstance(model, keras.Model) or isinstance(model, MMELModel):
            raise TypeError(
                "`model` must be a `keras.Model`, not a wrapper around it. "
                f"Received: {model!r} of type {type(model).__name__}"
            )
        if contract.is_group(getattr(model, "input", None)):
            raise ValueError(
                'No input of `model` may be called "views", as groups are. '
                f"Received: inputs {sorted(model.input)}"
            )
        names = {"lambda_p", "lambda_t", "stop_gradient"} & kwargs.keys()
        if names:
            raise TypeError(
                "Settings go into an objective, as in `MMELModel(model, "
                "keras_mmel.objectives.Hard(lambda_p=0.5))`. "
                f"Received: objective={objective!r} and {sorted(names)}"
            )
        super().__init__(model, name=name, **kwargs)
        self._objective = objective = objectives.get(objective)
        self._soft_loss = soft_loss
        # Past Keras's tracking: a setting, which no way of getting, setting or
        # saving weights should see.
        object.__setattr__(self, "_setting", settings.variable_of(objective))

    # Settings

    @property
    def objective(self) -> objectives.Objective:
        if self._setting is None:
            return self._objective
        name = self._objective.scheduled
        current = {name: getattr(self, name)}
        return dataclasses.replace(self._objective, **current)

    @objective.setter
    def objective(self, value):
        raise AttributeError(
            "`objective` is fixed; `lambda_p` may be set. Wrap the same model "
            "anew: `MMELModel(mmel.model, objective)`. "
            f"Received: objective={value!r}"
        )

    lambda_p = settings.scheduled("lambda_p")
    radius = settings.scheduled("radius")

    @property
    def variables(self) -> list:
        # On JAX a step sees new values of what is listed here, and no others.
        own = [] if self._setting is None else [self._setting]
        return own + super().variables

    def get_state_tree(self, *args, **kwargs):
        # A setting is no state of the weights, as in `get_weights`.
        tree = super().get_state_tree(*args, **kwargs)
        tree["non_trainable_variables"].pop(self._objective.scheduled, None)
        return tree

    # Forward

    def call(self, inputs, training=None):
        options = {"training": training} if self._call_has_training_arg else {}
        if not contract.is_group(inputs):
            return self.model(inputs, **options)
        if self.takes_plain:
            raise ValueError(
                "`evaluate` and `predict` take plain examples, not groups: "
                'give the originals. Received: x with the key "views"'
            )
        contract.check_groups(inputs)
        return self.model(contract.flatten_views(inputs), **options)

    # Training

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        if not contract.is_group(x):
            if training:
                contract.check_groups(x)
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        # Read before replicas wait for each other: they share the layers whose
        # lists of losses the next forward pass clears.
        layer_losses = [
            ops.sum(ops.cast(loss, "float32")) / replicas.count()
            for loss in self.losses
        ]
        sizes = contract.sizes_of(x)
        batch = self._group_losses(sizes, y, y_pred, sample_weight)

        def of_batch(group_values):
            """The loss of the whole batch, also of that on other replicas."""
            numerator, size = batch.reduce(group_values)
            return sum(layer_losses, start=replicas.divide(numerator, size))

        if self.run_eagerly and not hasattr(self.optimizer, "inner_optimizer"):
            # Loss scaling meets overflows on purpose and skips the step.
            checks.check_finite(batch.losses, sizes.mask)
        values, weights = self._value_and_weights(batch.losses, sizes.mask)
        if sizes.mask is not None:
            # A group without its original is a mistake: seen, not trained on.
            values = ops.where(sizes.mask[:, 0], values, float("nan"))
        original_loss, loss = of_batch(batch.original), of_batch(values)
        original_loss, size = replicas.for_tracking(original_loss, sizes.batch)
        effective = objectives.effective_views(weights)
        self.view_statistics.update_state(original_loss, effective, size)
        if isinstance(y_pred, (dict, list, tuple)):
            # For the log of each output's loss, of which only Keras knows the
            # trackers: it computes what it logs itself, on the originals.
            label = contract.split_labels(y).label
            originals = sizes.originals(y_pred)
            self._compile_loss(label, originals, batch.logged_weight)
        return loss

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        if contract.is_group(x):
            sizes = contract.sizes_of(x)
            compiled = self._compile_metrics
            if compiled is not None and not compiled.built:
                # Keras may build the metrics before the loss sees the labels.
                self._group_losses(sizes, y, y_pred)
            y, y_pred = contract.split_labels(y).label, sizes.originals(y_pred)
            sample_weight = contract.split_weights(sample_weight)
            sample_weight = checks.beside_masks(sample_weight, y_pred)
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def train_step(self, *args, **kwargs):
        """One optimizer step; TensorFlow's is here, others are Keras's own."""
        if keras.backend.backend() != "tensorflow":
            return super().train_step(*args, **kwargs)
        from keras_mmel.training import tensorflow_step

        return tensorflow_step.train_step(self, *args, **kwargs)

    def view_weights(self, x: Any, y: Any) -> np.ndarray:
        """Weights of the views of a batch of groups, for looking at.

        Runs the model in inference mode, so that dropout and batch statistics
        do not blur the picture.

        Args:
            x: A batch of groups, as for `fit`.
            y: Its labels, as for `fit`.

        Returns:
            Float32 array `(batch, num_views)` (equation 6). Rows sum to 1;
            padding has weight 0, and so has the original if soft.

        Raises:
            ValueError: If the model is not compiled or `x` has no views.

        Example:

        ```python
        mmel.view_weights({"views": views[:1]}, labels[:1]).shape  # (1, 5)
        ```
        """
        return to_numpy(self._losses_and_weights(x, y)[1])

    def evaluate_views(
        self, x: Any, y: Any = None, **options: Any
    ) -> dict[str, float]:
        """Scores on groups: original, mean over views, worst view, NLL, ECE.

        Args:
            x: Batches of groups, or `{"views": x}` with arrays.
            y: Labels, where `x` holds arrays.
            **options: As for `keras_mmel.evaluate_views`.

        Returns:
            Names and values of the scores, as `keras_mmel.evaluate_views`
            describes them.

        Raises:
            ValueError: If the model is not compiled or `x` holds no groups.

        Example:

        ```python
        scores = mmel.evaluate_views({"views": views}, labels)
        scores["worst_accuracy"]  # right under every view
        ```
        """
        self._assert_compile_called("evaluate_views")
        return evaluate_views(self, x, y, **options)

    def _losses_and_weights(self, x, y):
        """View losses and weights of a batch of groups, in inference mode."""
        x, y, _ = preprocessing.prepare(self.model, x, y)
        contract.check_groups(x)
        x = keras.tree.map_structure(ops.convert_to_tensor, x)
        sizes = contract.sizes_of(x)
        losses = self._group_losses(sizes, y, self(x)).losses
        return losses, self._value_and_weights(losses, sizes.mask)[1]

    def _group_losses(self, sizes, y, y_pred, sample_weight=None):
        compiled = self._compile_loss
        if compiled is None:
            self._assert_compile_called()
            raise ValueError(
                "No loss to compute. Provide a `loss` argument in `compile()`."
            )
        return group_losses(
            self._objective,
            sizes,
            y,
            y_pred,
            sample_weight,
            loss=compiled._user_loss,
            loss_weights=compiled._user_loss_weights,
            soft_loss=self._soft_loss,
            output_names=getattr(self.model, "output_names", None),
            total=replicas.total,
        )

    def _value_and_weights(self, losses, mask):
        current = None if self._setting is None else self._setting.value
        return checks.value_and_weights(self._objective, losses, mask, current)

    # Saving

    def get_config(self) -> dict:
        config = super().get_config()
        model = keras.saving.serialize_keras_object(self.model)
        # The wrapper is what is compiled; a compiled model inside would bring
        # an optimizer of its own along.
        model.pop("compile_config", None)
        config.update(
            model=model,
            objective=keras.saving.serialize_keras_object(self.objective),
            soft_loss=keras.saving.serialize_keras_object(self._soft_loss),
        )
        return config

    @classmethod
    def from_config(cls, config: dict, custom_objects=None) -> "MMELModel":
        config = dict(config)
        read = keras.saving.deserialize_keras_object
        for key in ("model", "objective", "soft_loss", "dtype"):
            config[key] = read(config[key], custom_objects)
        # Functional and Sequential models forget their policy in a file, and
        # with it goes the scaling of the loss.
        policy = config.pop("dtype")
        if config["model"].dtype_policy != policy:
            config["model"].dtype_policy = policy
        return cls(**config)

    def export(
        self, filepath: str | os.PathLike, *args: Any, **kwargs: Any
    ) -> Any:
        """Exports the wrapped model; arguments as of `keras.Model.export`.

        The serving signature takes plain examples, in batches of any size.

        Args:
            filepath: Folder to write the artifact to.
            *args: Passed to `self.model.export`.
            **kwargs: Passed to `self.model.export`.
        """
        return self.model.export(filepath, *args, **kwargs)
