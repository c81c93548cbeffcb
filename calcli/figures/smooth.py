"""The kernel reliability curve, drawn as the isotonic one."""

from __future__ import annotations

from calcli.core.curves.unbinned import kernel_curve
from calcli.figures.corp import make_curves
from calcli.figures.drawing import Evaluations, Made, View


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the kernel curve of each system."""
    return make_curves(kernel_curve, evaluations, view)
