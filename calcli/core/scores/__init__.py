"""Proper scores, risks of decisions, rankings, and what a recalibration would win back."""
