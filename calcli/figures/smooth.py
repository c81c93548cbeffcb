"""The flexible calibration curve, drawn as the isotonic one."""

from __future__ import annotations

from calcli.core.curves.unbinned import flexible_reliability
from calcli.figures.corp import make_curves
from calcli.figures.drawing import Evaluations, Made, View


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the flexible curve of each system."""
    return make_curves(flexible_reliability, evaluations, view)
