"""Look at augmented files: what was replaced, and how good it is."""

from keras_mmel.text.inspection.page import to_html
from keras_mmel.text.inspection.report import Report
from keras_mmel.text.inspection.report import inspect_records
from keras_mmel.text.inspection.terminal import to_terminal

__all__ = ["Report", "inspect_records", "to_html", "to_terminal"]
