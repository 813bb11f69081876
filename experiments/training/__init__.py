"""Runs of the tables of the paper: settings, progress, records."""
