"""Runnable scripts, one experiment each."""
