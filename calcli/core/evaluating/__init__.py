"""Predictions and metrics in, estimates out."""
