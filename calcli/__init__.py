"""Evaluate, recalibrate and guard the probabilities of classifiers, from saved prediction files."""

__version__ = "0.1.0"
