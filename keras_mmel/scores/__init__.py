"""Scores of a model on groups of views: original, mean, worst view."""

from keras_mmel.scores.by_view import ScoresByView
from keras_mmel.scores.of_views import evaluate_views

__all__ = ["ScoresByView", "evaluate_views"]
