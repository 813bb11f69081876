"""Augmented samples of a text by a masked LM (algorithm 2)."""
