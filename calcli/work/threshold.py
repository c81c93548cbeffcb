"""Thresholds on the confidence: made, written, and applied."""

from __future__ import annotations

from typing import Any

from calcli.core.data.predictions import Predictions, event_name
from calcli.core.estimators.thresholds import make_threshold
from calcli.core.language.declaring import checked, declared, documented
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import ThresholdSettings
from calcli.core.language.text import Watcher, unwatched
from calcli.io.options import ReadOptions
from calcli.io.read import read_concat
from calcli.io.saved.policies import refuse_ending, save_threshold
from calcli.report.files import sha256
from calcli.report.progress import Remark, unsaid
from calcli.report.threshold import ThresholdReport
from calcli.work.read import OF_TABLES, split_reading

ASKED = frozenset(declared(ThresholdSettings))


@documented(ThresholdSettings)
@documented(ReadOptions, *OF_TABLES)
def threshold(data: Any = None, labels: Any = None, **settings: Any) -> ThresholdReport:
    """Find the smallest threshold on the confidence above which an error rate is promised.

    With a probability of at least `level` over data sets of independent rows, the error rate among rows with
    a confidence of at least the threshold is at most `max_error`. `min_precision`, `min_recall` and
    `max_alerts` find a threshold on the probability of a class.

    Parameters
    ----------
    data, labels
        Predictions, as `evaluate` takes them: rows that no calibrator was fitted to.
    {ReadOptions}
    {ThresholdSettings}

    Returns
    -------
    ThresholdReport
        The result, with `save`.

    Raises
    ------
    InputError
        If these cannot be predictions.
    UsageError
        If not exactly one promise is requested, or rows have weights.
    """
    options = {name: settings.pop(name) for name in [*settings] if name in ASKED}
    predictions, keywords = split_reading(data, labels, settings)
    return _made(predictions, ThresholdSettings(**checked(ThresholdSettings, options | keywords, "keyword")))


def threshold_file(
    files: list[str],
    options: ReadOptions,
    settings: ThresholdSettings,
    output: str | None,
    watcher: Watcher = unwatched,
    remark: Remark = unsaid,
) -> ThresholdReport:
    """Make a threshold from the files of one data set, and write it if there is a promise.

    Raises
    ------
    InputError
        If files cannot be read, or it cannot be written.
    UsageError
        If an option does not fit.
    """
    if output is not None:
        refuse_ending(output)
    watcher("threshold", None)
    report = _made(read_concat(files, options), settings)
    if output is not None and report.threshold.promises:
        save_threshold(report.threshold, output)
        remark(f"wrote {output}; mark the rows at or above it with calcli apply {output} FILE -o OUT")
    return report


def _made(predictions: Predictions, settings: ThresholdSettings) -> ThresholdReport:
    (max_error, target), origin = _promise(settings), predictions.provenance
    promise = make_threshold(
        predictions, max_error, settings.level, by=settings.by, target=target, cluster=settings.cluster,
        seed=settings.seed, sha256=sha256(origin.files),
    )  # fmt: skip
    name = event_name((promise.target or "").partition(":")[2], origin.labels)
    return ThresholdReport(promise, origin.repeats if settings.cluster is None else (), name)


def _promise(settings: ThresholdSettings) -> tuple[float, str | None]:
    """Return the greatest error rate, and its target, such as ``recall:fraud``."""
    limit = settings.max_error
    promises: list[tuple[float, str | None]] = [] if limit is None else [(limit, None)]
    for measure, least in (("precision", settings.min_precision), ("recall", settings.min_recall)):
        if least is not None:
            promises.append((round(1 - least[1], 12), f"{measure}:{least[0]}"))
    if settings.max_alerts is not None:
        promises.append((settings.max_alerts[1], f"alerts:{settings.max_alerts[0]}"))
    if len(promises) != 1:
        raise UsageError(
            "expected one of --max-error 0.05, --min-precision CLASS=0.9, --min-recall CLASS=0.8 and "
            f"--max-alerts 2%, but {len(promises) or 'none'} were given"
        )
    return promises[0]
