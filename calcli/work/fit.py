"""Fitting: learning a recalibration, and the files of calibrators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from calcli.core.calibrators.base import Calibrator
from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.language.declaring import checked
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MethodExpression, parse_methods
from calcli.core.language.methods import METHODS
from calcli.core.language.progress import Watcher, unwatched
from calcli.core.language.settings import FitSettings
from calcli.core.recalibrating.fitting import Fit, candidates_for, cross_validated, fits, record_of
from calcli.core.recalibrating.fitting import fit as fit_predictions
from calcli.io import calibrators
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.io.recalibrating import Wanted, recalibrate_file
from calcli.report.fit import FitReport
from calcli.report.hashing import sha256

AUTO = "auto"
REDUCED = "reduced"
LENSES = ", ".join(name for name, method in METHODS.items() if "lens" in method.arguments)


def fit_file(
    file: str,
    options: ReadOptions,
    method: str,
    *,
    candidates: Sequence[str] | None = None,
    lens: str | None = None,
    watcher: Watcher = unwatched,
    **settings: Any,
) -> FitReport:
    """Fit to a file of predictions.

    Parameters
    ----------
    file, options
        What to read, and how.
    method
        A method expression, or `auto`.
    candidates
        Methods for `auto` to choose from; None for the usual ones.
    lens
        What methods of one score act on, or `reduced`.
    watcher
        Starts a progress bar.
    **settings
        As for `FitSettings`.

    Raises
    ------
    InputError
        If the file cannot be read, or its rows are unsuitable for the method.
    UsageError
        If a method is unknown, or an option does not go with it.
    """
    reduced = lens == REDUCED
    chosen = FitSettings(**checked(FitSettings, settings | {"reduced": reduced}, "option"))
    calls = _calls(method, candidates, None if reduced else lens, raw=chosen.raw)
    _refuse_idle(method, chosen)
    predictions = read(file, options)
    return FitReport(fit_predictions(predictions, calls, chosen, watcher("fits", fits(calls, chosen))))


def _refuse_idle(method: str, chosen: FitSettings) -> None:
    """Raise a UsageError for settings that would change nothing."""
    if method != AUTO and chosen.score != FitSettings.score:
        raise UsageError(
            f"--score {chosen.score} is for -m auto, which chooses by it, not for -m {method}; leave it out"
        )
    if chosen.min_rows != FitSettings.min_rows and not chosen.per_predicted_class:
        raise UsageError(f"--min-rows {chosen.min_rows} is for --per-predicted-class; give both, or neither")


def _calls(
    method: str, candidates: Sequence[str] | None, lens: str | None, *, raw: bool
) -> list[MethodExpression]:
    """Return the one method asked for, or those that auto is to choose from."""
    names = [method]
    if method == AUTO:
        names = list(candidates or ()) or candidates_for(raw)
    elif candidates is not None:
        raise UsageError(f"--candidates is for -m auto, not for -m {method}; leave it out")
    common: dict[str, Any] = {}
    if lens is not None:
        common["lens"] = lens
    if raw:
        common["input"] = "raw"
    calls = parse_methods(names, common)
    if lens is not None and not any("lens" in one.arguments for call in calls for one in call.chain):
        raise UsageError(
            f"--lens {lens} is for methods that act on one score, {LENSES}; leave it out with {method}, or "
            f"say --lens {REDUCED}"
        )
    return calls


def write_cross_validated(fit: Fit, file: str, target: str, options: ReadOptions) -> tuple[str, ...]:
    """Write the file of a fit with the probabilities that its rows get from fits to the other folds.

    Returns
    -------
    Sentences for the user.

    Raises
    ------
    InputError
        If the target cannot be written.
    UsageError
        If the fit is not to one whole file, or has no folds.
    """
    if file == "-" or Path(file).is_dir() or options.limit is not None or options.against_rest is not None:
        raise UsageError(
            "--cross-validated writes one whole file anew; fit to a file, without --limit and --against-rest"
        )
    if not fit.settings.folds:
        raise UsageError("--cross-validated needs --folds of 2 or more")
    labels = options.labels if file.endswith(".npy") else None
    wanted = Wanted(log_probs=cross_validated(fit))
    return recalibrate_file(_record(fit), file, target, replace(options, labels=labels), wanted).notes


def calibrator_text(fit: Fit) -> str:
    """Return the file of a fitted calibrator as JSON text."""
    return calibrators.calibrator_text(_record(fit))


def save_fit(fit: Fit, path: str) -> None:
    """Write the file of a fitted calibrator: JSON, or .npz by its ending.

    Raises
    ------
    InputError
        If it cannot be written.
    UsageError
        If it would replace the predictions.
    """
    for file in fit.predictions.provenance.files:
        if Path(path).exists() and Path(file).exists() and Path(path).samefile(file):
            raise UsageError(f"-o {path} would replace the predictions; expected another file")
    calibrators.save_calibrator(_record(fit), path)


def _record(fit: Fit) -> CalibratorRecord:
    return record_of(fit, sha256(fit.predictions.provenance.files))


def save(
    calibrator: Calibrator,
    path: str | Path,
    classes: Iterable[object],
    priors: Sequence[float] = (),
) -> None:
    """Write a calibrator file, as `calcli fit -o` does.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one.
    path : str or Path
        JSON, or .npz by its ending.
    classes : iterable
        The name of each class in the order of the scores; `range(10)` will do. `calcli apply` matches them.
    priors : sequence of float
        None, or the K class frequencies in the rows of the fit, for `calcli apply --shift-to-priors`.

    Raises
    ------
    InputError
        If the file cannot be written.
    UsageError
        If the calibrator is not fitted, or there is not one prior per class.
    """
    names = tuple(map(str, classes))
    if not calibrator.parameters:
        raise UsageError(f"{type(calibrator).__name__} has not been fitted; call fit(scores, labels) first")
    if len(priors) not in (0, len(names)):
        raise UsageError(f"{len(priors)} priors are given for {len(names)} classes; expected one per class")
    record = CalibratorRecord(calibrator, names, _takes_raw(calibrator), tuple(map(float, priors)), {})
    calibrators.save_calibrator(record, path)


def load(path: str | Path) -> Calibrator:
    """Read the calibrator in a file that `save` or `calcli fit -o` wrote.

    Parameters
    ----------
    path : str or Path
        JSON, or .npz by its ending.

    Returns
    -------
    Calibrator
        Fitted, ready for `predict_proba`.

    Raises
    ------
    InputError
        If there is no such file, or it is damaged or of an unknown version.
    """
    return calibrators.load_calibrator(path).calibrator


def _takes_raw(calibrator: Calibrator) -> bool:
    settings = calibrator.get_params()
    return _takes_raw(settings["calibrator"]) if "calibrator" in settings else settings.get("input") == "raw"
