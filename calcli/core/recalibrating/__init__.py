"""Fits of calibrators, chosen and judged by cross-validation."""
