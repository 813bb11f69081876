"""What the weights of the views do during training: records and pictures."""

from keras_mmel.diagnostics.callback import ViewWeights
from keras_mmel.diagnostics.plots import plot_groups
from keras_mmel.diagnostics.plots import plot_run
from keras_mmel.diagnostics.report import write_report
from keras_mmel.diagnostics.robustness import write_robustness_report
from keras_mmel.diagnostics.run import Run

__all__ = [
    "Run",
    "ViewWeights",
    "plot_groups",
    "plot_run",
    "write_report",
    "write_robustness_report",
]
