"""Event files for TensorBoard: scalars, histograms, images and text.

Written by TensorFlow alone, so that the package `tensorboard` is needed where
the files are looked at, not where they are written.
"""

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from keras_mmel.pages import pictures

_BUCKETS = 30
# The plugins of TensorBoard, with the classes of data they declare.
_SCALAR, _TENSOR, _BLOBS = 1, 2, 3


class Writer:
    """Writes summaries into a folder, inside of `with writer.record(step)`.

    Args:
        log_dir: The folder; TensorBoard shows it as one run.

    Raises:
        ImportError: If TensorFlow is not installed.
    """

    def __init__(self, log_dir: str | os.PathLike):
        try:
            import tensorflow as tf
        except ImportError as error:
            raise ImportError(
                "`log_dir` needs TensorFlow, which writes the files that "
                "TensorBoard reads: `pip install tensorflow`."
            ) from error
        self._tf = tf
        self._summary = tf.compat.v1.Summary()
        with tf.device("CPU:0"):
            self._writer = tf.summary.create_file_writer(os.fspath(log_dir))

    @contextlib.contextmanager
    def record(self, step: int) -> Iterator[None]:
        """Writes what is given inside, at its end and all at once.

        Args:
            step: The step that TensorBoard shows it at.
        """
        tf = self._tf
        self._summary.Clear()
        yield
        data = self._summary.SerializeToString()
        with (
            tf.device("CPU:0"),
            self._writer.as_default(),
            # Keras's own callback turns recording off for most steps.
            tf.summary.record_if(True),
        ):
            tf.summary.experimental.write_raw_pb(data, step=step)
            self._writer.flush()

    def scalar(self, tag: str, value: float) -> None:
        """One number."""
        self._write(tag, np.float32(value), "scalars", _SCALAR)

    def histogram(self, tag: str, values: Any) -> None:
        """The distribution of some numbers; what is not finite is left out."""
        values = np.asarray(values, dtype="float64").ravel()
        values = values[np.isfinite(values)]
        if not values.size:
            return
        low, high = values.min(), values.max()
        if low == high:
            # TensorBoard draws a single value as one bucket around it.
            buckets = np.array([[low - 0.5, high + 0.5, values.size]])
        else:
            counts, edges = np.histogram(values, _BUCKETS)
            buckets = np.stack([edges[:-1], edges[1:], counts], axis=1)
        self._write(tag, buckets, "histograms", _TENSOR)

    def image(self, tag: str, picture: np.ndarray) -> None:
        """A picture, uint8 `(height, width, channels)`."""
        height, width = picture.shape[:2]
        sizes = [str(width).encode(), str(height).encode()]
        data = np.array([*sizes, pictures.png(picture)], dtype=object)
        self._write(tag, data, "images", _BLOBS)

    def text(self, tag: str, markdown: str) -> None:
        """Text in Markdown."""
        self._write(tag, markdown, "text", _TENSOR)

    def close(self) -> None:
        """Ends the file."""
        self._writer.close()

    def _write(self, tag, tensor, plugin, data_class):
        value = self._summary.value.add()
        value.tag = tag
        value.metadata.plugin_data.plugin_name = plugin
        value.metadata.data_class = data_class
        value.tensor.CopyFrom(self._tf.make_tensor_proto(tensor))
