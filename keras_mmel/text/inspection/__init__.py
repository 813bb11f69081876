"""Look at augmented files: what was replaced, and how good it is."""

from keras_mmel.text.inspection.findings import Findings
from keras_mmel.text.inspection.findings import inspect_records
from keras_mmel.text.inspection.show import to_html
from keras_mmel.text.inspection.show import to_terminal

__all__ = ["Findings", "inspect_records", "to_html", "to_terminal"]
