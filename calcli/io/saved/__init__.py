"""Saved files: calibrators, states, policies and their settings."""
