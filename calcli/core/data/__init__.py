"""Predictions, and the preparation of their rows before anything is estimated."""
