"""Files to predictions, and calibrator files in and out."""
