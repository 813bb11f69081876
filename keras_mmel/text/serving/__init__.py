"""A text classifier as a SavedModel that takes strings."""
