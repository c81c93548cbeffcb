"""Predictions and what is done to their rows before anything is estimated."""
