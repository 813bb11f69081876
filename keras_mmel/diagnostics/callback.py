"""The callback that looks at view weights during `fit`."""

import os
import time
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_mmel import counts
from keras_mmel.arrays import to_numpy
from keras_mmel.callbacks import OfMMELModel
from keras_mmel.diagnostics import probe as probes
from keras_mmel.diagnostics import tensorboard
from keras_mmel.diagnostics.run import Run

# Half of the 2 % that the last record of a run may fill up.
_SHARE = 0.01


class ViewWeights(OfMMELModel):
    """Records the view weights of fixed groups while a model trains.

    At each look the model sees the groups of the probe in inference mode, and
    the weights of their views (equation 6), their losses and `lambda_p` are
    kept in `run`. Nothing that training depends on is touched: the weights
    after `fit` are the same, bit for bit, with and without the callback.

    By default it looks at the end of epochs: of every epoch where that takes
    at most 1 % of the time of training, else of as many as that share allows
    (the first look, which warms up, is not counted), and always of the first
    and the last. Give `every_n_steps` for looks at fixed times, whatever they
    take.

    Inputs of shape `(batch, num_views, height, width, channels)` are kept as
    small images, and labels that are whole numbers or one-hot as classes.

    Give the callback as the last one, so that its logs have what others add.

    Args:
        probe: Groups with labels: `(x, y)` in the data contract, or an
            iterable of such batches, for example a `tf.data.Dataset`, which is
            read once, at once. Make the dataset for the probe alone: reading
            the one that `fit` gets would move its shuffling on. At most 32
            groups, and no more than a batch of the dataset, go through the
            model at once.
        every_n_steps: None, or look after every n optimizer steps.
        num_groups: How many groups of the probe to use at most.
        view_names: A name for each view index, for example of augmentations.
        class_names: Names of the classes, by number.
        tokenizer: None, or what made the `"token_ids"` among the inputs, to
            show them as text; its attribute `vocabulary` lists the pieces.
        log_dir: None, or the folder of TensorBoard; the summaries go into
            `view_weights` below it. Needs the extra `tensorboard`.
        save_to: None, or the `.npz` file that keeps the run; it is written at
            each look.

    Attributes:
        run: The `keras_mmel.diagnostics.Run`.

    Raises:
        ValueError: If an argument does not fit the probe.
        TypeError: If `every_n_steps` is no integer, or the model that is
            trained is no `MMELModel`.

    Example:

    ```python
    watch = keras_mmel.diagnostics.ViewWeights(
        ({"views": views[:64]}, labels[:64]), log_dir="logs"
    )
    mmel.fit(groups, epochs=20, callbacks=[watch])
    keras_mmel.diagnostics.plot_run(watch.run)
    keras_mmel.diagnostics.write_report(watch.run, "report.html")
    ```

    Reference:
        Yi et al., Reweighting Augmented Samples by Minimizing the Maximal
        Expected Loss, ICLR 2021.
    """

    def __init__(
        self,
        probe: Any,
        *,
        every_n_steps: int | None = None,
        num_groups: int = 64,
        view_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        tokenizer: Any = None,
        log_dir: str | os.PathLike | None = None,
        save_to: str | os.PathLike | None = None,
    ):
        super().__init__()
        if every_n_steps is not None:
            counts.check_count("every_n_steps", every_n_steps, minimum=1)
            # Keras waits for the log of every step where a callback has this
            # method, so that it is only there where it is needed.
            self.on_train_batch_end = self._after_batch
        self.every_n_steps = every_n_steps
        self.save_to = save_to
        self.probe = probes.make_probe(probe, num_groups)
        views = [x["views"] for x, _ in self.probe.batches]
        self.run = Run(
            mask=self.probe.mask,
            view_names=[str(name) for name in view_names or ()],
            classes=probes.classes_of(self.probe),
            class_names=None if class_names is None else [*class_names],
            images=probes.images_of(views),
            texts=probes.texts_of(views, tokenizer),
        )
        self.log_dir = log_dir
        self._writer: Any = None
        self._epoch = 0

    def on_train_begin(self, logs=None):
        if not self.run.steps:
            objective = self.model.objective
            name = type(objective).__name__
            self.run.objective = {"name": name, **objective.get_config()}
            self.run.original_counts = not objective.soft_targets
        if self.log_dir is not None:
            folder = os.path.join(self.log_dir, "view_weights")
            self._writer = tensorboard.open_writer(folder)
        self._steps_seen = 0
        self._began = time.perf_counter()
        self._spent = self._last = 0.0

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch, self._batch = epoch + 1, -1

    def on_epoch_end(self, epoch, logs=None):
        step = self._step()
        # A metric may give one number a class, which no curve shows.
        values = {
            n: float(v) for n, v in (logs or {}).items() if not np.ndim(v)
        }
        self.run.logs.append({"epoch": epoch + 1, "step": step, **values})
        # One more look, as long as the last, must stay within the share of all
        # other time.
        others = time.perf_counter() - self._began - self._spent
        within = self._spent + self._last <= _SHARE * others
        if within and not self.every_n_steps:
            self._look(step)

    def on_train_end(self, logs=None):
        step = self._step()
        if not self.run.steps or self.run.steps[-1] != step:
            self._look(step)
        elif self.save_to is not None:
            self.run.save(self.save_to)
        if self._writer is not None:
            self._writer.close()

    def _after_batch(self, batch, logs=None):
        before = self._steps_seen // self.every_n_steps
        self._steps_seen += batch - self._batch
        self._batch = batch
        if self._steps_seen // self.every_n_steps > before:
            self._look(self._step())

    def _look(self, step):
        began = time.perf_counter()
        weights, losses = probes.measure(self.model, self.probe)
        has_lambda = hasattr(self.model.objective, "lambda_p")
        lambda_p = self.model.lambda_p if has_lambda else np.nan
        self.run.add(
            weights, losses, step=step, epoch=self._epoch, lambda_p=lambda_p
        )
        if self._writer is not None:
            tensorboard.write_record(self._writer, self.run)
        if self.save_to is not None:
            self.run.save(self.save_to)
        took = time.perf_counter() - began
        if len(self.run.steps) > 1:
            self._last = took
            self._spent += took
        else:
            # The first look loads and allocates what later ones find in
            # place, and tells nothing about their time: as if it had not been.
            self._began += took

    def _step(self):
        """Steps so far; what is read of the model afterwards is of them."""
        # On JAX the values are outside of the model while it trains.
        if hasattr(self.model, "jax_state_sync"):
            self.model.jax_state_sync()
        iterations = self.model.optimizer.iterations
        return int(to_numpy(keras.ops.convert_to_tensor(iterations)))
