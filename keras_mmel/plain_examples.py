"""What takes plain examples reports nothing about views and refuses groups."""

import contextlib
import functools

import keras


def _on_plain_examples(method):
    """Marks what takes plain examples, and reports no statistics of views."""

    @functools.wraps(method)
    def wrapper(self, *args, **kwargs):
        with self._plain_examples():
            return method(self, *args, **kwargs)

    return wrapper


class PlainExamples(keras.Model):
    """The methods of `MMELModel` that take plain examples.

    Attributes:
        takes_plain: Whether such a method is running.
        view_statistics: Metric that only training on groups updates. It is
            hidden meanwhile, or `evaluate` would log its zeros.
    """

    takes_plain = False
    view_statistics = None

    evaluate = _on_plain_examples(keras.Model.evaluate)
    predict = _on_plain_examples(keras.Model.predict)
    test_on_batch = _on_plain_examples(keras.Model.test_on_batch)
    predict_on_batch = _on_plain_examples(keras.Model.predict_on_batch)

    @property
    def metrics(self) -> list:
        found = super().metrics
        if not self.takes_plain:
            return found
        return [m for m in found if m is not self.view_statistics]

    @contextlib.contextmanager
    def _plain_examples(self):
        before, self.takes_plain = self.takes_plain, True
        try:
            yield
        finally:
            self.takes_plain = before
