"""Results to figures: `draw` one, write the `standard_set`, or call the drawing functions themselves."""

from __future__ import annotations

from calcli.figures.classwise import class_wise
from calcli.figures.curves import reliability_curve
from calcli.figures.deviation import deviation
from calcli.figures.forest import forest
from calcli.figures.ks import ks_graphs
from calcli.figures.maps import calibration_map, temperature_curve
from calcli.figures.output import save
from calcli.figures.reliability import reliability
from calcli.figures.risk import rejection_curves, risk_curves
from calcli.figures.sets import Drawing, View, draw, standard_set
from calcli.figures.simplex import simplex
from calcli.figures.systems import epochs, score_bars

__all__ = [
    "Drawing",
    "View",
    "calibration_map",
    "class_wise",
    "deviation",
    "draw",
    "epochs",
    "forest",
    "ks_graphs",
    "rejection_curves",
    "reliability",
    "reliability_curve",
    "risk_curves",
    "save",
    "score_bars",
    "simplex",
    "standard_set",
    "temperature_curve",
]
