"""The mathematics: values, their spread, and their distribution under perfect calibration."""
