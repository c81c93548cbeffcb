"""Calibrators: maps from log-probabilities to better ones, learned from labels."""
