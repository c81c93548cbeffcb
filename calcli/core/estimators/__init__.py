"""The mathematics: values, their spread, and what they would be if calibrated."""
