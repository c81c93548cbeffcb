"""Fitting: learning a recalibration from memory or a file, applying it, and writing its file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from calcli.core.calibrators.arguments import column_names
from calcli.core.calibrators.base import Calibrator
from calcli.core.calibrators.record import CalibratorRecord, FitRows, recalibrate
from calcli.core.data.arrays import Doubles
from calcli.core.data.inmemory import as_array
from calcli.core.data.predictions import Predictions, require_classes
from calcli.core.language.declaring import PATH, TEXT, Setting, checked, documented, names, texts
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import MethodExpression, parse_methods
from calcli.core.language.methods import CHOICE, METHODS
from calcli.core.language.settings import FitSettings
from calcli.core.language.text import Watcher, unwatched
from calcli.core.recalibrating.choosing import POOL, candidates_for
from calcli.core.recalibrating.fitting import ASKED, Fit, cross_validated, deals, fits, record_of, with_folds
from calcli.core.recalibrating.fitting import fit as fit_predictions
from calcli.core.state.state import rows_left
from calcli.io.layouts import HARNESS
from calcli.io.messages import listed
from calcli.io.options import ReadOptions
from calcli.io.places.outputs import atomic_path, refuse_folders, refuse_nowhere, together
from calcli.io.places.paths import path_of
from calcli.io.read import read
from calcli.io.reading.multilabel import SeveralLabels
from calcli.io.saved import calibrators
from calcli.report.files import sha256
from calcli.report.fit import FitReport, LabelFits
from calcli.report.progress import Remark, unsaid
from calcli.work.distributed import engine_of, predictions_in
from calcli.work.idle import idle_of_fit, idle_of_keys, warn
from calcli.work.read import OF_TABLES, is_file_or_table, predictions_of, split_reading

AUTO = CHOICE.name
REDUCED = "reduced"
USUAL = FitSettings()
ROWS = 1 << 14  # rows recalibrated at once
METHOD = replace(TEXT, expected='a method by its name, such as "temperature"')
CANDIDATES = Setting(texts("temperature", commas=True), "Methods for auto.", keyword="candidates")


class Fitted(FitReport):
    """A fitted recalibration; printed, it shows the tables of the command line."""

    @property
    def calibrator(self) -> Calibrator:
        """The fitted calibrator."""
        return self.fit.calibrator

    def __repr__(self) -> str:
        return f"<Fitted {self.fit.method} on {self.fit.predictions.provenance.path}>"

    def apply(self, data: Any) -> Doubles:
        """Return recalibrated probabilities.

        Parameters
        ----------
        data : array-like (N, K), (..., K) or (N,), path, table or Predictions
            Scores of the same kind as in the fit, as for `predict_proba` of the calibrator: an array, or a
            table of only their columns. Or predictions as for `read`, with labels.

        Returns
        -------
        (N, K) or (..., K) probabilities in the order of the classes of the fit.

        Raises
        ------
        InputError
            If these are not scores of the same classes.
        """
        fitted = self.fit.predictions
        is_predictions = isinstance(data, Predictions)
        if not (is_predictions or is_file_or_table(data)):
            scores = as_array(data, "scores")
            axes = scores.shape[:-1] or scores.shape
            rows = scores.reshape(-1, scores.shape[-1]) if scores.ndim > 2 else scores
            probs = self.calibrator.predict_proba(rows)
            return probs.reshape(*axes, probs.shape[1])
        if not is_predictions and sorted(column_names(data)) == sorted(fitted.provenance.taken):
            return self.calibrator.predict_proba(data)
        predictions = predictions_of(data, None, {})
        origin = predictions.provenance
        if fitted.provenance.per_character and origin.read_as == HARNESS.name and not origin.per_character:
            raise InputError(
                f"{origin.path} has log-likelihoods as they are, but those of the fit were divided by the "
                "characters of their options; give read(..., --per-character)"
            )
        if not fitted.of_answers:
            require_classes(predictions, fitted.classes, fitted.provenance.path)
        record = record_of_fit(self.fit)
        record.refuse_kind(predictions.kind, predictions.provenance.path)
        blocks = predictions.scores.blocks(ROWS)
        return np.exp(np.concatenate([recalibrate(record, part, predictions.kind) for part in blocks]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the calibrator's file, which `calcli apply` takes: JSON, or .npz by its ending.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        save_fit(self.fit, PATH.checked("path", path))


@documented(FitSettings)
@documented(ReadOptions, *OF_TABLES)
def fit(
    data: Any = None,
    labels: Any = None,
    *,
    method: str = "auto",
    candidates: str | Sequence[str] | None = None,
    lens: str | None = None,
    **settings: Any,
) -> Fitted:
    """Fit a recalibration.

    Parameters
    ----------
    data, labels
        Predictions, as `evaluate` takes them.
    method : str
        A method expression, or `auto`, which chooses by cross-validation.
    candidates : str or sequence of str, optional
        Methods for `auto` to choose from; text has commas between them.
    lens : str, optional
        What methods of one score act on, or `reduced`.
    {ReadOptions}
    {FitSettings}

    Returns
    -------
    Fitted
        The fit and its effect, with `apply` and `save`.

    Raises
    ------
    InputError
        If these cannot be predictions, or are unsuitable for the method.
    UsageError
        If a method or setting is unknown, or does not fit.
    """
    method = METHOD.checked("method", method)
    lens = None if lens is None else TEXT.checked("lens", lens)
    scored_by = {"score": settings.pop("score")} if "score" in settings else {}  # not the scorer in a log
    predictions, settings = split_reading(data, labels, settings)
    candidates = CANDIDATES.checked(candidates, "keyword")
    keywords = {"workers": 1, **settings, **scored_by}  # other workers would import the calling script again
    chosen = FitSettings(**checked(FitSettings, keywords, "keyword"))
    with ExitStack() as limits:
        if find_spec("threadpoolctl"):  # one thread for matrix products, as in the command
            threads = int(os.environ.get("OPENBLAS_NUM_THREADS", 1))
            limits.enter_context(import_module("threadpoolctl").threadpool_limits(threads, "blas"))
        return Fitted(_fit_to(lambda: predictions, method, chosen, candidates, lens, remark=warn))


@together()
def fit_file(
    file: str,
    options: ReadOptions,
    method: str,
    settings: FitSettings = USUAL,
    *,
    candidates: Sequence[str] | None = None,
    lens: str | None = None,
    output: str | None = None,
    cross_validated: str | None = None,
    engine: str | None = None,
    watcher: Watcher = unwatched,
    remark: Remark = unsaid,
) -> FitReport | LabelFits:
    """Fit to a file of predictions, and write all requested files or none.

    Parameters
    ----------
    file, options
        The input, and how to read it.
    method, settings
        A method expression, or `auto`; and how it is fitted.
    candidates
        Methods for `auto` to choose from; None for the default ones.
    lens
        What methods of one score act on, or `reduced`.
    output
        The path of the calibrator, `-` for no file; a wrong ending is refused
        before the fit.
    cross_validated
        A file for the rows with their probabilities from fits to the other folds.
    engine
        Makes the state of a folder in workers, and the fit uses its sample of rows; None to read here.
    watcher, remark
        Starts a progress bar, and receives remarks on settings without effect.

    Raises
    ------
    InputError
        If the file cannot be read, or its rows are unsuitable for the method.
    UsageError
        If a method is unknown, or an option does not fit it.
    """
    for sentence in idle_of_keys(options):
        remark(sentence)
    if output is not None:
        calibrators.refuse_ending(output)
    refuse_folders(output, cross_validated)
    refuse_nowhere(output, cross_validated)
    reader = engine_of(engine, watcher)

    def fitted_to(path: str) -> Fit:
        arguments = method, settings, candidates, lens, watcher, remark
        return _fit_to(lambda: predictions_in([path], options, reader, lambda _: ASKED), *arguments)

    try:
        fitted = fitted_to(file)
    except SeveralLabels as several:
        return _label_fits(several, fitted_to, output, cross_validated)
    if cross_validated is not None:
        for note in _write_cross_validated(fitted, file, cross_validated, options):
            remark(note)
    if output is None:
        remark("nothing was saved; -o cal.json keeps the calibrator")
    elif output != "-":
        save_fit(fitted, output)
    return FitReport(fitted)


def _label_fits(
    several: SeveralLabels, fitted_to: Callable[[str], Fit], output: str | None, cross_validated: str | None
) -> LabelFits:
    """Fit a map for each label of a file, and write one file with all maps."""
    if cross_validated is not None:
        raise several
    report = LabelFits({name: fitted_to(f"{several.path}/{name}") for name in several.names})
    if output is not None and output != "-":
        with atomic_path(output) as temporary:
            temporary.write_text(calibrator_text(report), encoding="utf-8")
    return report


def _fit_to(
    predictions: Callable[[], Predictions],
    method: str,
    settings: FitSettings,
    candidates: Sequence[str] | None,
    lens: str | None,
    watcher: Watcher = unwatched,
    remark: Remark = unsaid,
) -> Fit:
    """Return a fit to predictions, which are read after all other checks; see `fit_file`."""
    reduced = lens == REDUCED
    chosen, lens = replace(settings, reduced=reduced), None if reduced else lens
    # raises errors before reading
    calls = _calls(method, candidates, lens, chosen, classes=2, rows=0)
    if chosen.fold_column is not None and chosen.folds != FitSettings.folds:
        raise UsageError(f"--folds is {chosen.folds}, but a column holds the folds; leave out one")
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
    """Return the requested method, or the methods from which auto chooses."""
    names = [method]
    if method == AUTO:
        names = [*(candidates or candidates_for(classes, rows, raw=settings.raw, quick=settings.quick))]
        if not candidates and settings.wraps:  # members are fitted without a wrapper
            names = [name for name in names if name != POOL]
    common: dict[str, Any] = {}
    if lens is not None:
        common["lens"] = lens
    if settings.raw:
        common["input"] = "raw"
    calls = parse_methods(names, common)
    if lens is not None and not any("lens" in link.arguments for call in calls for link in call.chain):
        lenses = ", ".join(name for name, method in METHODS.items() if "lens" in method.arguments)
        raise UsageError(
            f"--lens {lens} is for methods that act on one score, {lenses}; leave it out with {method}, or "
            f"say --lens {REDUCED}"
        )
    return calls


def _write_cross_validated(fit: Fit, file: str, target: str, options: ReadOptions) -> tuple[str, ...]:
    """Write the file of a fit with the rows' probabilities from fits to the other folds.

    Returns
    -------
    Sentences for the user.

    Raises
    ------
    InputError
        If the target cannot be written.
    UsageError
        If the fit does not use one whole file, or has no folds.
    """
    from calcli.io.apply.apply import Wanted, recalibrate_file  # this loads the modules of tables

    part = options.against_rest is not None
    if file == "-" or path_of(file).is_dir() or part or options.drop_missing or options.ignore_label:
        raise UsageError(
            "--cross-validated writes one whole file anew; fit to a file, without --against-rest, "
            "--drop-missing and --ignore-label"
        )
    if not fit.settings.folds:
        raise UsageError("--cross-validated needs --folds of 2 or more")
    if fit.predictions.weights is not None and (n_out := read(file, options).n_rows - fit.predictions.n_rows):
        raise UsageError(
            f"--cross-validated writes every row of {file}, but {n_out:,} have weight 0 and are left out of "
            "the fit; remove them"
        )
    labels = options.labels if file.endswith(".npy") else None
    wanted = Wanted(log_probs=cross_validated(fit))
    written = recalibrate_file(record_of_fit(fit), file, target, replace(options, labels=labels), wanted)
    dealt = deals(fit.settings, fit.predictions) if fit.candidates else 1
    if dealt == 1:
        return written.notes
    note = f"{target} has the first of {dealt} deals of the folds; the metrics are the mean over all of them"
    return (*written.notes, note)


def calibrator_text(report: FitReport | LabelFits) -> str:
    """Return the file of a fitted calibrator, or of several labels, as JSON text."""
    if isinstance(report, LabelFits):
        return calibrators.labels_text({label: record_of_fit(fit) for label, fit in report.fits.items()})
    return calibrators.calibrator_text(record_of_fit(report.fit))


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
    """Return the content of the file of a fitted calibrator."""
    return record_of(fit, sha256(fit.predictions.provenance.files))


CLASSES = Setting(names("cat"), "Names in the order of the scores.", keyword="classes")


def save(
    calibrator: Calibrator,
    path: str | os.PathLike[str],
    classes: str | Iterable[object] | None = None,
    priors: Sequence[float] = (),
) -> None:
    """Write a calibrator file, as `calcli fit -o` does.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted one.
    path : path
        JSON, or .npz by its ending.
    classes : iterable, or text with commas, optional
        The name of each class in the order of the scores, which `calcli apply` matches, such as `range(10)`.
        Default: `calibrator.classes_`.
    priors : sequence of float
        None, or the K class frequencies in the rows of the fit, for `calcli apply --shift-to-priors`.

    Raises
    ------
    InputError
        If the file cannot be written.
    UsageError
        If the calibrator is not fitted, or there is not one name and one prior per class.
    """
    if not isinstance(calibrator, Calibrator):
        raise UsageError(f"save takes a calibrator, not {type(calibrator).__name__}; fits have save()")
    target: str = PATH.checked("path", path)
    if not calibrator.parameters:
        raise UsageError(f"{type(calibrator).__name__} has not been fitted; call fit(scores, y) first")
    names = _checked_classes(calibrator, classes)
    if len(priors) not in (0, len(names)):
        raise UsageError(f"{len(priors)} priors are given for {len(names)} classes; expected one per class")
    numbers = tuple(map(float, priors))
    if numbers and (wrong := calibrators.wrong_priors(numbers)):
        raise UsageError(wrong)
    record = CalibratorRecord(calibrator, names, calibrator.takes_raw(), numbers, _rows_of(calibrator))
    calibrators.save_calibrator(record, target)


def load(path: str | os.PathLike[str]) -> Calibrator:
    """Read the calibrator in a file that `save` or `calcli fit -o` wrote.

    Parameters
    ----------
    path : path
        JSON, or .npz by its ending.

    Returns
    -------
    Calibrator
        A fitted calibrator, ready for `predict_proba` of scores like the scores of the fit; its `classes_`
        are the names in the file.

    Raises
    ------
    InputError
        If there is no such file, or it is damaged or of an unknown version.
    """
    return calibrators.load_calibrator(PATH.checked("path", path)).calibrator


def _checked_classes(calibrator: Calibrator, classes: str | Iterable[object] | None) -> tuple[str, ...]:
    """Return names for the classes of a calibrator.

    Raises
    ------
    UsageError
        If their number differs, one occurs twice or cannot be written, or they are the names of the fit in
        another order.
    """
    stored = getattr(calibrator, "classes_", None)
    if classes is None and stored is None:
        raise UsageError(
            "the classes have no names; give classes=, a name for each in the order of the scores"
        )
    names: tuple[str, ...] = CLASSES.checked(stored if classes is None else classes, "keyword")
    if repeated := [name for name, times in Counter(names).items() if times > 1]:
        raise UsageError(f"classes names {listed(repeated)} more than once; give each class another name")
    fits = calibrators.takes(calibrator, len(names)) if stored is None else len(names) == len(stored)
    if not fits:
        fitted = "" if stored is None else f" of {len(stored)} classes"
        raise UsageError(
            f"classes names {len(names)} classes, but the calibrator was fitted to scores{fitted}; give one "
            "name for each class of the fit"
        )
    if stored is not None and stored.dtype.kind == "U" and set(names) == set(stored) and names != (*stored,):
        raise UsageError(
            f"classes names {listed(names)}, but the order of the fit is {listed(stored.tolist())}; "
            "leave it out"
        )
    if any("\ud800" <= letter <= "\udfff" for name in names for letter in name):
        raise UsageError("classes has a name with half a character; give names that are text")
    return names


def _rows_of(calibrator: Calibrator) -> FitRows:
    """Return the facts about the rows of the fit for the file."""
    percent, turned = calibrator.scores_are == "percent", calibrator.turned_
    return {
        "kind": "probs" if percent else calibrator.scores_are,
        "percent": percent,
        "columns": list(calibrator.columns_[:: -1 if turned else 1]),
        "reordered": calibrator.reordered_,
        "turned": turned,
    }
