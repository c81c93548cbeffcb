"""Methods of calcli and of other libraries, fitted in one way: log-probabilities and labels in, a map out."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from calcli.core.calibrators.base import make
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.language.expressions import parse_method, parse_methods
from calcli.core.language.settings import FitSettings
from calcli.core.recalibrating.benchmark import DEFAULT_METHODS
from calcli.core.recalibrating.choosing import candidates_for
from calcli.core.recalibrating.fitting import fit

AUTO = "auto"
AS_THEY_ARE = "as they are"
SMALLEST = np.finfo(np.float64).smallest_normal

Map = Callable[[np.ndarray], np.ndarray]  # of (N, K) log-probabilities to such
Fitted = Callable[[np.ndarray, np.ndarray], Map]  # of (N, K) log-probabilities and (N,) labels to a map


def _own(method: str) -> Fitted:
    return lambda scores, labels: make(parse_method(method)).fit(scores, labels).apply


def _auto(quick: bool) -> Fitted:
    def fitted(scores: np.ndarray, labels: np.ndarray) -> Map:
        count, classes = scores.shape
        rows = Predictions(ArrayScores(scores, "log-probs"), labels, tuple(map(str, range(classes))))
        return fit(
            rows, parse_methods(candidates_for(classes, count, quick=quick)), FitSettings()
        ).calibrator.apply

    return fitted


def logarithms(probs: np.ndarray) -> np.ndarray:
    """Return log-probabilities of rows that are made to sum to 1; those of nothing but 0 are uniform.

    What is below 0, as splines may be, counts as 0.
    """
    probs = np.maximum(probs, 0)
    total = probs.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, probs / np.where(total > 0, total, 1), 1 / probs.shape[1])
    with np.errstate(divide="ignore"):
        return np.log(shares)


def _of_probs(fitted: Callable[[np.ndarray, np.ndarray], Map]) -> Fitted:
    """Let a library fit to probabilities and return such; of two classes it may return the second alone."""

    def mapped(scores: np.ndarray, labels: np.ndarray) -> Map:
        transform = fitted(np.exp(scores), labels)

        def apply(others: np.ndarray) -> np.ndarray:
            probs = np.asarray(transform(np.exp(others)), np.float64)
            return logarithms(np.column_stack([1 - probs, probs]) if probs.ndim == 1 else probs)

        return apply

    return mapped


def _only_two(fitted: Fitted) -> Fitted:
    def refusing(scores: np.ndarray, labels: np.ndarray) -> Map:
        if scores.shape[1] > 2:
            raise NotImplementedError("for two classes")
        return fitted(scores, labels)

    return refusing


def _probmetrics(name: str) -> Fitted:
    def fitted(probs: np.ndarray, labels: np.ndarray) -> Map:
        from probmetrics.calibrators import get_calibrator

        return get_calibrator(name).fit(probs, labels).predict_proba

    return _of_probs(fitted)


def _probmetrics_class(name: str, **settings: Any) -> Fitted:
    def fitted(probs: np.ndarray, labels: np.ndarray) -> Map:
        calibrator = getattr(importlib.import_module("probmetrics.calibrators"), name)(**settings)
        return calibrator.fit(probs, labels).predict_proba

    return _of_probs(fitted)


def _netcal(module: str, name: str) -> Fitted:
    def fitted(probs: np.ndarray, labels: np.ndarray) -> Map:
        calibrator = getattr(importlib.import_module(f"netcal.{module}"), name)()
        two = probs.shape[1] == 2  # which it takes as the probability of the second
        calibrator.fit(probs[:, 1] if two else probs, labels)
        return lambda others: calibrator.transform(others[:, 1] if two else others).squeeze()

    return _of_probs(fitted)


def _betacal(parameters: str) -> Fitted:
    def fitted(probs: np.ndarray, labels: np.ndarray) -> Map:
        from betacal import BetaCalibration

        calibrator = BetaCalibration(parameters=parameters).fit(probs[:, 1], labels)
        return lambda others: calibrator.predict(others[:, 1])

    return _only_two(_of_probs(fitted))


def _psrcal(bias: bool) -> Fitted:
    def fitted(scores: np.ndarray, labels: np.ndarray) -> Map:
        import torch
        from psrcal.calibration import AffineCalLogLoss

        def tensor(values: np.ndarray) -> Any:
            return torch.from_numpy(np.maximum(values, np.log(SMALLEST)))

        calibrator = AffineCalLogLoss(tensor(scores), torch.from_numpy(labels), bias=bias)
        calibrator.train()
        return lambda others: calibrator.calibrate(tensor(others)).detach().numpy()

    return fitted


def _psrcal_histogram(scores: np.ndarray, labels: np.ndarray) -> Map:
    import torch
    from psrcal.calibration import HistogramBinningCal

    calibrator = HistogramBinningCal(torch.from_numpy(scores), torch.from_numpy(labels))
    calibrator.train()
    return lambda others: calibrator.calibrate(torch.from_numpy(others)).numpy()


def _log_odds(probs: np.ndarray) -> np.ndarray:
    """Return the log-odds of each class, of two those of the second."""
    probs = np.clip(probs, SMALLEST, 1 - np.finfo(np.float64).epsneg)
    odds = np.log(probs) - np.log1p(-probs)
    return odds[:, 1] if odds.shape[1] == 2 else odds


def _scikit_learn(method: str) -> Fitted:
    """Let scikit-learn see log-odds where it fits a sigmoid, else probabilities."""

    def fitted(probs: np.ndarray, labels: np.ndarray) -> Map:
        from sklearn.base import BaseEstimator, ClassifierMixin
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.frozen import FrozenEstimator

        class Saved(ClassifierMixin, BaseEstimator):
            def fit(self, probs: np.ndarray, labels: np.ndarray) -> Saved:
                self.classes_ = np.arange(probs.shape[1])
                return self

            def predict_proba(self, probs: np.ndarray) -> np.ndarray:
                return probs

            def predict(self, probs: np.ndarray) -> np.ndarray:
                return probs.argmax(axis=1)

        class WithLogOdds(Saved):
            def decision_function(self, probs: np.ndarray) -> np.ndarray:
                return _log_odds(probs)

        saved = FrozenEstimator((WithLogOdds if method == "sigmoid" else Saved)().fit(probs, labels))
        return CalibratedClassifierCV(saved, method=method).fit(probs, labels).predict_proba

    return _of_probs(fitted)


OWN: Mapping[str, Fitted] = {
    AUTO: _auto(quick=False),
    "auto --quick": _auto(quick=True),
    **{name: _own(name) for name in DEFAULT_METHODS},
    "ensemble-temperature:joint=true": _own("ensemble-temperature:joint=true"),
}
PEERS: Mapping[str, Fitted] = {
    "probmetrics temp-scaling": _probmetrics("temp-scaling"),
    "probmetrics ts-mix": _probmetrics("ts-mix"),
    "probmetrics svs": _probmetrics("svs"),
    "probmetrics sms": _probmetrics("sms"),
    "probmetrics logistic": _probmetrics("logistic"),
    "probmetrics logistic-mix": _probmetrics("logistic-mix"),
    "probmetrics quadratic-scaling": _only_two(_probmetrics("quadratic-scaling")),
    "probmetrics affine-scaling": _only_two(_probmetrics("affine-scaling")),
    "probmetrics platt": _probmetrics("platt"),
    "probmetrics isotonic": _probmetrics("isotonic"),
    "probmetrics cir": _probmetrics("cir"),
    "probmetrics ivap-ovr": _probmetrics("ivap-ovr"),
    "probmetrics ets": _probmetrics_class("ETSCalibrator"),
    "probmetrics ets-ce": _probmetrics_class("ETSCalibrator", loss="ce"),
    "probmetrics vector": _probmetrics_class("VectorScalingCalibrator"),
    "probmetrics matrix": _probmetrics_class("MatrixScalingCalibrator"),
    "probmetrics dircal": _probmetrics("dircal"),
    "probmetrics softplus": _probmetrics_class("SoftPlusCalibrator"),
    "probmetrics cdf-spline": _only_two(_probmetrics_class("CDFSplineCalibrator")),
    "probmetrics mli-spline": _probmetrics_class("MLISplineCalibrator"),
    "probmetrics guo-ts": _probmetrics("guo-ts"),
    "probmetrics autogluon-ts": _probmetrics("autogluon-ts"),
    "netcal temperature": _netcal("scaling", "TemperatureScaling"),
    "netcal logistic": _netcal("scaling", "LogisticCalibration"),
    "netcal logistic-dependent": _only_two(_netcal("scaling", "LogisticCalibrationDependent")),
    "netcal beta": _netcal("scaling", "BetaCalibration"),
    "netcal histogram": _netcal("binning", "HistogramBinning"),
    "netcal isotonic": _netcal("binning", "IsotonicRegression"),
    "netcal bbq": _netcal("binning", "BBQ"),
    "netcal enir": _netcal("binning", "ENIR"),
    "betacal abm": _betacal("abm"),
    "betacal am": _betacal("am"),
    "betacal ab": _betacal("ab"),
    "psrcal temperature": _psrcal(bias=False),
    "psrcal dp": _psrcal(bias=True),
    "psrcal histogram": _only_two(_psrcal_histogram),
    "scikit-learn sigmoid": _scikit_learn("sigmoid"),
    "scikit-learn isotonic": _scikit_learn("isotonic"),
    "scikit-learn temperature": _scikit_learn("temperature"),
}
CONTESTANTS: Mapping[str, Fitted] = {
    AS_THEY_ARE: lambda scores, labels: lambda others: others,
    **OWN,
    **PEERS,
}
