"""The files of calibrators, from and into Python."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence

from calcli.core.calibrators.base import Calibrator
from calcli.core.calibrators.record import CalibratorRecord, FitRows
from calcli.core.language.declaring import PATH, Setting, names
from calcli.core.language.errors import UsageError
from calcli.io.messages import listed
from calcli.io.saved import calibrators

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
        The name of each class in the order of the scores, which `calcli apply` matches; `range(10)` will do.
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
    named = _checked_classes(calibrator, classes)
    if len(priors) not in (0, len(named)):
        raise UsageError(f"{len(priors)} priors are given for {len(named)} classes; expected one per class")
    numbers = tuple(map(float, priors))
    if numbers and (wrong := calibrators.wrong_priors(numbers)):
        raise UsageError(wrong)
    record = CalibratorRecord(calibrator, named, calibrator.takes_raw(), numbers, _rows_of(calibrator))
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
        Fitted, ready for `predict_proba` of scores such as those it was fitted to; its `classes_` are the
        names in the file.

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
        If there are more or fewer of them, one is there twice or cannot be written, or they are those of the
        fit in another order.
    """
    known = getattr(calibrator, "classes_", None)
    if classes is None and known is None:
        raise UsageError(
            "the classes have no names; give classes=, a name for each in the order of the scores"
        )
    found: tuple[str, ...] = CLASSES.checked(known if classes is None else classes, "keyword")
    if repeated := [name for name, times in Counter(found).items() if times > 1]:
        raise UsageError(f"classes names {listed(repeated)} more than once; give each class another name")
    fits = calibrators.takes(calibrator, len(found)) if known is None else len(found) == len(known)
    if not fits:
        fitted = "" if known is None else f" of {len(known)} classes"
        raise UsageError(
            f"classes names {len(found)} classes, but the calibrator was fitted to scores{fitted}; give one "
            "name for each class of the fit"
        )
    if known is not None and known.dtype.kind == "U" and set(found) == set(known) and found != (*known,):
        raise UsageError(
            f"classes names {listed(found)}, but the order of the fit is {listed(known.tolist())}; "
            "leave it out"
        )
    if any("\ud800" <= letter <= "\udfff" for name in found for letter in name):
        raise UsageError("classes has a name with half a character; give names that are text")
    return found


def _rows_of(calibrator: Calibrator) -> FitRows:
    """Return what the file is to tell of the rows of the fit."""
    percent, turned = calibrator.scores_are == "percent", calibrator.turned_
    return {
        "kind": "probs" if percent else calibrator.scores_are,
        "percent": percent,
        "columns": list(calibrator.columns_[:: -1 if turned else 1]),
        "reordered": calibrator.reordered_,
        "turned": turned,
    }
