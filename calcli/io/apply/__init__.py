"""Calibrators and thresholds over new files."""
