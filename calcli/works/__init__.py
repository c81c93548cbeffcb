"""Procedures of the five works beyond evaluation: simulations, true errors, other objectives."""
