"""Scores of a model on groups of views: original, mean, worst view."""

from keras_mmel.scores.of_views import evaluate_views

__all__ = ["evaluate_views"]
