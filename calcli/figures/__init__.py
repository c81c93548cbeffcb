"""Figures of results: `draw` one, write the `standard_set`, or call the drawing functions directly."""

from __future__ import annotations

from calcli.core.language.errors import InputError

try:
    import matplotlib  # noqa: F401
except UnicodeDecodeError as fault:  # in a file of the user that matplotlib reads on import
    raise InputError(
        "matplotlibrc, of this folder or the user: expected UTF-8; correct or remove it"
    ) from fault

from calcli.figures.calibration_map import calibration_map
from calcli.figures.class_wise import class_wise
from calcli.figures.corp import reliability_curve
from calcli.figures.deviation import deviation
from calcli.figures.divergence import divergence_curves
from calcli.figures.drawing import Drawing, View, draw, standard_drawings, standard_set
from calcli.figures.epochs import epochs
from calcli.figures.gains import gain_curves
from calcli.figures.ks import ks_graphs
from calcli.figures.net_benefit import decision_curves
from calcli.figures.output import save
from calcli.figures.precision_recall import precision_recall_curves
from calcli.figures.rejection import rejection_curves
from calcli.figures.reliability import reliability
from calcli.figures.risk import risk_curves
from calcli.figures.roc import roc_curves
from calcli.figures.scores import score_bars
from calcli.figures.simplex import simplex
from calcli.figures.slices import forest
from calcli.figures.temperature import temperature_curve
from calcli.figures.weighted_risk import weighted_risks

__all__ = [
    "Drawing",
    "View",
    "calibration_map",
    "class_wise",
    "decision_curves",
    "deviation",
    "divergence_curves",
    "draw",
    "epochs",
    "forest",
    "gain_curves",
    "ks_graphs",
    "precision_recall_curves",
    "rejection_curves",
    "reliability",
    "reliability_curve",
    "risk_curves",
    "roc_curves",
    "save",
    "score_bars",
    "simplex",
    "standard_drawings",
    "standard_set",
    "temperature_curve",
    "weighted_risks",
]
