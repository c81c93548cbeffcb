"""Calibration errors: lenses, bins, estimators, and what they would be if calibrated."""
