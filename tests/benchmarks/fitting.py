"""Speed of fits, with the log-loss that each reaches on the rows it was fitted to and on others."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.harness import Contest, Job, hold
from tests.benchmarks.samples import arrays, held_out, softmax_pass, write_distorted

MODULE = "tests.benchmarks.fitting"
CLOSE = 1e-6  # relative distance of two losses that count as the same
STEPS = 200  # after which torch's search ends, wherever it is

Map = Callable[[np.ndarray], Any]


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Return log-probabilities in the precision of the logits."""
    shifted = logits - logits.max(1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(1, keepdims=True))
    return shifted


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return probabilities in the precision of the logits."""
    return np.exp(log_softmax(logits))


def log_loss(path: str, fitted: Map) -> float:
    """Return the mean log-loss, in double precision, of logits that a map makes of those in the file."""
    logits, labels = arrays(path)
    log_probs = log_softmax(np.asarray(fitted(logits), np.float64))
    return -float(log_probs[np.arange(len(labels)), labels].mean())


def both_losses(path: str, fitted: Map) -> Callable[[], str]:
    """Return a function that gives the log-loss on the rows of the fit and on others."""
    return lambda: f"{log_loss(path, fitted):.7f} / {log_loss(held_out(path), fitted):.5f}"


def calcli(method: str) -> Callable[[str], Job]:
    """Fit a method by its expression."""

    def contestant(path: str) -> Job:
        from calcli.core.calibrators.base import make
        from calcli.core.language.expressions import parse_method

        logits, labels = arrays(path)
        return lambda: both_losses(path, make(parse_method(method)).fit(logits, labels).apply)

    return contestant


def scikit_learn_temperature(path: str) -> Job:
    """Fit `CalibratedClassifierCV` around a classifier that hands on its input."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class Saved(ClassifierMixin, BaseEstimator):
        def fit(self, logits: np.ndarray, labels: np.ndarray) -> Saved:
            self.classes_ = np.unique(labels)
            return self

        def decision_function(self, logits: np.ndarray) -> np.ndarray:
            return logits

        def predict(self, logits: np.ndarray) -> np.ndarray:
            return logits.argmax(1)

    logits, labels = arrays(path)
    saved = FrozenEstimator(Saved().fit(logits, labels))

    def job() -> Callable[[], str]:
        fitted = CalibratedClassifierCV(saved, method="temperature").fit(logits, labels)
        alpha = fitted.calibrated_classifiers_[0].calibrators[0].beta_
        return both_losses(path, lambda scores: alpha * scores)

    return job


def probmetrics_temperature(path: str) -> Job:
    """Fit probmetrics' temperature scaling, by bisection."""
    import torch
    from probmetrics.calibrators import TemperatureScalingCalibrator
    from probmetrics.distributions import CategoricalLogits

    logits, labels = arrays(path)
    given = CategoricalLogits(torch.from_numpy(logits)), torch.from_numpy(labels)

    def job() -> Callable[[], str]:
        fitted = TemperatureScalingCalibrator().fit_torch(*given)
        return both_losses(path, lambda scores: fitted.invtemp_ * scores)

    return job


def probmetrics_vector(path: str) -> Job:
    """Fit probmetrics' structured vector scaling, which is penalized."""
    from probmetrics.calibrators import SVSCalibrator

    logits, labels = arrays(path)
    probs = softmax(logits.astype(np.float64))

    def job() -> Callable[[], str]:
        fitted = SVSCalibrator().fit(probs, labels)
        return both_losses(path, lambda scores: np.log(fitted.predict_proba(softmax(np.float64(scores)))))

    return job


def netcal_temperature(path: str) -> Job:
    """Fit netcal's temperature scaling."""
    from netcal.scaling import TemperatureScaling

    logits, labels = arrays(path)
    probs = softmax(logits)

    def job() -> Callable[[], str]:
        fitted = TemperatureScaling().fit(probs, labels)
        return both_losses(path, lambda scores: np.log(fitted.transform(softmax(scores))))

    return job


def psrcal(bias: bool) -> Callable[[str], Job]:
    """Fit psrcal's affine transform, or its temperature alone."""

    def contestant(path: str) -> Job:
        import torch
        from psrcal.calibration import AffineCalLogLoss

        def prepared(logits: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(log_softmax(logits.astype(np.float64)))

        logits, labels = arrays(path)
        given = prepared(logits), torch.from_numpy(labels)

        def job() -> Callable[[], str]:
            fitted = AffineCalLogLoss(*given, bias=bias)
            fitted.train()
            return both_losses(path, lambda scores: fitted.calibrate(prepared(scores)).detach().numpy())

        return job

    return contestant


def torch_lbfgs(method: str) -> Callable[[str], Job]:
    """Fit with torch's L-BFGS and line search, ended as soon as its loss is that of calcli."""

    def contestant(path: str) -> Job:
        import torch

        from calcli.core.calibrators.base import make
        from calcli.core.language.expressions import parse_method

        logits, labels = arrays(path)
        reached = log_loss(path, make(parse_method(method)).fit(logits, labels).apply)
        given = torch.from_numpy(log_softmax(logits)), torch.from_numpy(labels)

        def job() -> Callable[[], str]:
            size = 1 if method == "temperature" else logits.shape[1]
            scale = torch.ones(size, requires_grad=True)
            intercept = torch.zeros(size, requires_grad=method != "temperature")
            learned = [scale, intercept] if intercept.requires_grad else [scale]
            options = {"max_iter": 1, "max_eval": 50, "line_search_fn": "strong_wolfe"}
            search = torch.optim.LBFGS(learned, history_size=20, **options)

            def loss() -> Any:
                search.zero_grad()
                value = torch.nn.functional.cross_entropy(scale * given[0] + intercept, given[1])
                value.backward()
                return value

            for _ in range(STEPS):
                if search.step(loss).item() <= reached * (1 + CLOSE):
                    break
            factor, addend = scale.detach().numpy(), intercept.detach().numpy()
            return both_losses(path, lambda scores: factor * log_softmax(scores) + addend)

        return job

    return contestant


TEMPERATURE = {
    "softmax pass": softmax_pass,
    "calcli": calcli("temperature"),
    "scikit-learn": scikit_learn_temperature,
    "probmetrics": probmetrics_temperature,
    "torch L-BFGS": torch_lbfgs("temperature"),
    "psrcal": psrcal(bias=False),
    "netcal": netcal_temperature,
}
VECTOR = {
    "softmax pass": softmax_pass,
    "calcli": calcli("vector"),
    "torch L-BFGS": torch_lbfgs("vector"),
    "probmetrics SVS": probmetrics_vector,
}
DP = {"softmax pass": softmax_pass, "calcli": calcli("dp"), "psrcal": psrcal(bias=True)}
FOUND = "log-loss of the fit / on other rows"
CONTESTS = {
    "temperature": Contest("Temperature scaling", TEMPERATURE, FOUND),
    "vector": Contest("Vector scaling", VECTOR, FOUND),
    "dp": Contest("DP affine calibration", DP, FOUND),
}


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as name:
        small = write_distorted(Path(name), 10_000, 100)
        large = write_distorted(Path(name), 25_000, 1_000)
        for contest in CONTESTS:
            hold(MODULE, contest, "10,000 x 100", small)
        for contest in ("temperature", "vector"):
            hold(MODULE, contest, "25,000 x 1,000", large)
