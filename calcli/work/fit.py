"""Fitting: learning a recalibration, and writing it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.data.predictions import Predictions
from calcli.core.language.declaring import Spelling, checked
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MethodExpression, parse_methods
from calcli.core.language.methods import CHOICE, METHODS
from calcli.core.language.settings import FitSettings
from calcli.core.language.text import Watcher, unwatched
from calcli.core.recalibrating.choosing import POOL, candidates_for
from calcli.core.recalibrating.fitting import (
    ASKED,
    Fit,
    cross_validated,
    deals,
    fits,
    record_of,
    with_folds,
)
from calcli.core.recalibrating.fitting import fit as fit_predictions
from calcli.core.state.state import rows_left
from calcli.io.options import ReadOptions
from calcli.io.places.outputs import refuse_folders, refuse_nowhere, together
from calcli.io.places.paths import path_of
from calcli.io.read import read
from calcli.io.saved import calibrators
from calcli.report.fit import FitReport
from calcli.report.hashing import sha256
from calcli.work.cluster import Engine, predictions_in
from calcli.work.idle import idle_of_fit

AUTO = CHOICE.name
REDUCED = "reduced"


def fit_file(
    file: str,
    options: ReadOptions,
    method: str,
    *,
    candidates: Sequence[str] | None = None,
    lens: str | None = None,
    output: str | None = None,
    beside: Sequence[str | None] = (),
    engine: Engine | None = None,
    watcher: Watcher = unwatched,
    remark: Callable[[str], None] = lambda text: None,
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
    output
        Where the calibrator is to go; another ending than that of its file is refused before anything is
        done.
    beside
        Other files that are to be written.
    engine
        Makes the state of a folder elsewhere, whose sample of rows is fitted to; None to read here.
    watcher
        Starts a progress bar.
    remark
        Called with what is said of options that change nothing.
    **settings
        As for `FitSettings`.

    Raises
    ------
    InputError
        If the file cannot be read, or its rows are unsuitable for the method.
    UsageError
        If a method is unknown, or an option does not go with it.
    """
    if output is not None:
        calibrators.refuse_ending(output)
    for refuse in (refuse_folders, refuse_nowhere):
        refuse(output, *beside)
    given = {"candidates": candidates, "lens": lens, "watcher": watcher, "remark": remark, **settings}
    return FitReport(
        fit_to(lambda: predictions_in([file], options, engine, lambda _: ASKED), method, "option", **given)
    )


def fit_to(
    predictions: Callable[[], Predictions],
    method: str,
    spelling: Spelling,
    *,
    candidates: Sequence[str] | None = None,
    lens: str | None = None,
    watcher: Watcher = unwatched,
    remark: Callable[[str], None] = lambda text: None,
    **settings: Any,
) -> Fit:
    """Return a fit to predictions, which are read when all else is known to be right; see `fit_file`."""
    reduced = lens == REDUCED
    chosen = FitSettings(**checked(FitSettings, settings | {"reduced": reduced}, spelling))
    lens = None if reduced else lens
    calls = _calls(
        method, candidates, lens, chosen, classes=2, rows=0
    )  # refuses what is wrong before reading
    if chosen.fold_column is not None and chosen.folds != FitSettings.folds:
        raise UsageError(
            f"--folds is {chosen.folds}, and a column says how many folds there are; leave out one"
        )
    for sentence in idle_of_fit(method, calls, chosen, candidates):
        remark(sentence)
    rows = rows_left(predictions())
    calls = _calls(method, candidates, lens, chosen, 2 if reduced else rows.n_classes, rows.n_rows)
    if rows.of_answers and not candidates:
        calls = [call for call in calls if method != AUTO or not call.entry.needs_classes]
    chosen = with_folds(chosen, rows)
    return fit_predictions(rows, calls, chosen, watcher("fits", fits(calls, chosen, rows)))


def _calls(
    method: str,
    candidates: Sequence[str] | None,
    lens: str | None,
    settings: FitSettings,
    classes: int,
    rows: int,
) -> list[MethodExpression]:
    """Return the one method asked for, or those that auto is to choose from."""
    names = [method]
    if method == AUTO:
        own = candidates_for(classes, rows, raw=settings.raw, quick=settings.quick)
        names = list(candidates or own)
        if not candidates and settings.wraps:  # members are fitted as they are
            names = [name for name in names if name != POOL]
    common: dict[str, Any] = {}
    if lens is not None:
        common["lens"] = lens
    if settings.raw:
        common["input"] = "raw"
    calls = parse_methods(names, common)
    if lens is not None and not any("lens" in one.arguments for call in calls for one in call.chain):
        lenses = ", ".join(name for name, method in METHODS.items() if "lens" in method.arguments)
        raise UsageError(
            f"--lens {lens} is for methods that act on one score, {lenses}; leave it out with {method}, or "
            f"say --lens {REDUCED}"
        )
    return calls


@together()
def write_fitted(
    found: FitReport,
    file: str,
    options: ReadOptions,
    output: str | None,
    *,
    cross_validated: str | None,
    html: str | None,
) -> tuple[str, ...]:
    """Write what is asked for of a fit to a file: all of it, or nothing.

    Returns
    -------
    Sentences for the user.
    """
    notes: tuple[str, ...] = ()
    if cross_validated is not None:
        notes = _write_cross_validated(found.fit, file, cross_validated, options)
    if html is not None:
        from calcli.work.page import write_page  # which loads what figures need

        write_page(replace(found, details=True), html)
    if output is not None and output != "-":
        save_fit(found.fit, output)
    return notes


def _write_cross_validated(fit: Fit, file: str, target: str, options: ReadOptions) -> tuple[str, ...]:
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
    from calcli.io.apply.apply import Wanted, recalibrate_file  # which loads what tables need

    part = options.against_rest is not None
    if file == "-" or path_of(file).is_dir() or part or options.drop_missing or options.ignore_label:
        raise UsageError(
            "--cross-validated writes one whole file anew; fit to a file, without --against-rest, "
            "--drop-missing and --ignore-label"
        )
    if not fit.settings.folds:
        raise UsageError("--cross-validated needs --folds of 2 or more")
    if fit.predictions.weights is not None and (left := read(file, options).n_rows - fit.predictions.n_rows):
        raise UsageError(
            f"--cross-validated writes every row of {file}, but {left:,} have weight 0 and are left out of "
            "the fit; remove them"
        )
    labels = options.labels if file.endswith(".npy") else None
    wanted = Wanted(log_probs=cross_validated(fit))
    done = recalibrate_file(record_of_fit(fit), file, target, replace(options, labels=labels), wanted)
    dealt = deals(fit.settings, fit.predictions) if fit.candidates else 1
    if dealt == 1:
        return done.notes
    told = f"{target} has the first of {dealt} deals of the folds; the metrics are the mean over all of them"
    return (*done.notes, told)


def calibrator_text(fit: Fit) -> str:
    """Return the file of a fitted calibrator as JSON text."""
    return calibrators.calibrator_text(record_of_fit(fit))


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
        if path == file or (Path(path).exists() and Path(file).exists() and Path(path).samefile(file)):
            raise UsageError(f"-o {path} would overwrite the predictions; choose another file")
    calibrators.save_calibrator(record_of_fit(fit), path)


def record_of_fit(fit: Fit) -> CalibratorRecord:
    """Return what the file of a fitted calibrator holds."""
    return record_of(fit, sha256(fit.predictions.provenance.files))
