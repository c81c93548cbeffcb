"""The metrics: the class of each declares, estimates and compares it."""
