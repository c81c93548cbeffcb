"""Evaluate, recalibrate and guard the probabilities of classifiers, from saved prediction files."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from calcli.core.language.version import __version__ as __version__

if TYPE_CHECKING:
    from calcli import figures as figures
    from calcli.core.calibrators.histogram import BBQ as BBQ
    from calcli.core.calibrators.histogram import CenteredIsotonic as CenteredIsotonic
    from calcli.core.calibrators.histogram import Histogram as Histogram
    from calcli.core.calibrators.histogram import Isotonic as Isotonic
    from calcli.core.calibrators.histogram import ScalingBinning as ScalingBinning
    from calcli.core.calibrators.histogram import VectorHistogram as VectorHistogram
    from calcli.core.calibrators.logistic import Beta as Beta
    from calcli.core.calibrators.logistic import Platt as Platt
    from calcli.core.calibrators.pool import Pool as Pool
    from calcli.core.calibrators.softmax import BiasOnly as BiasOnly
    from calcli.core.calibrators.softmax import Dirichlet as Dirichlet
    from calcli.core.calibrators.softmax import DPAffine as DPAffine
    from calcli.core.calibrators.softmax import MatrixODIR as MatrixODIR
    from calcli.core.calibrators.softmax import MatrixScaling as MatrixScaling
    from calcli.core.calibrators.softmax import VectorScaling as VectorScaling
    from calcli.core.calibrators.spline import Spline as Spline
    from calcli.core.calibrators.structured import SMS as SMS
    from calcli.core.calibrators.structured import SVS as SVS
    from calcli.core.calibrators.structured import BentDP as BentDP
    from calcli.core.calibrators.structured import BentTemperature as BentTemperature
    from calcli.core.calibrators.structured import StructuredScaling as StructuredScaling
    from calcli.core.calibrators.temperature import EnsembleTemperature as EnsembleTemperature
    from calcli.core.calibrators.temperature import Temperature as Temperature
    from calcli.core.calibrators.temperature import TemperatureMix as TemperatureMix
    from calcli.core.calibrators.wrappers import PerPredictedClass as PerPredictedClass
    from calcli.core.calibrators.wrappers import PreserveTop1 as PreserveTop1
    from calcli.core.calibrators.wrappers import Reduced as Reduced
    from calcli.report.check import CheckReport as CheckReport
    from calcli.report.comparison import ComparisonReport as ComparisonReport
    from calcli.report.evaluation import Report as Report
    from calcli.report.monitor import MonitorReport as MonitorReport
    from calcli.report.segments import SegmentsReport as SegmentsReport
    from calcli.report.threshold import ThresholdReport as ThresholdReport
    from calcli.work.check import check as check
    from calcli.work.compare import compare as compare
    from calcli.work.evaluate import evaluate as evaluate
    from calcli.work.fit import Fitted as Fitted
    from calcli.work.fit import fit as fit
    from calcli.work.fit import load as load
    from calcli.work.fit import save as save
    from calcli.work.monitor import monitor as monitor
    from calcli.work.plan import plan as plan
    from calcli.work.plot import plot as plot
    from calcli.work.read import read as read
    from calcli.work.segments import segments as segments
    from calcli.work.simulate import simulate as simulate
    from calcli.work.state import State as State
    from calcli.work.threshold import threshold as threshold

_FUNCTIONS = "check compare evaluate fit monitor plan plot read segments simulate threshold"
_REPORTS = "check comparison monitor segments threshold"
_HOMES = {name: f"calcli.work.{name}" for name in _FUNCTIONS.split()}
_HOMES |= {f"{name.title()}Report": f"calcli.report.{name}" for name in _REPORTS.split()}
_HOMES |= {"Report": "calcli.report.evaluation", "State": "calcli.work.state"}
_HOMES |= dict.fromkeys(("Fitted", "load", "save"), "calcli.work.fit")


def __getattr__(name: str) -> Any:
    """Import the Python interface when it is first used, so that the command line starts quickly."""
    if name == "figures":
        return importlib.import_module("calcli.figures")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name == "__all__":
        return ["__version__", "figures", *_HOMES, *(kind.__name__ for kind in _calibrators())]
    for kind in () if name.startswith("_") else _calibrators():
        if kind.__name__ == name:
            return kind
    raise AttributeError(f"module 'calcli' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__getattr__("__all__"))


def _calibrators() -> list[type]:
    from calcli.core.language.methods import METHODS

    return [method.made for method in METHODS.values()]
