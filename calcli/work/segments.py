"""Segments of predictions with differences beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calcli.core.comparing.segmenting import find_segments
from calcli.core.data.predictions import Predictions
from calcli.core.language.declaring import checked, declared, documented
from calcli.core.language.settings import SegmentSettings
from calcli.io.options import ReadOptions
from calcli.io.read import read_concat
from calcli.report.segments import SegmentsReport
from calcli.work.read import OF_TABLES, split_reading

ASKED = frozenset(declared(SegmentSettings))


@documented(SegmentSettings)
@documented(ReadOptions, *OF_TABLES)
def segments(data: Any = None, labels: Any = None, **settings: Any) -> SegmentsReport:
    """Find segments with outcomes that differ from predictions beyond chance, corrected for their number.

    Parameters
    ----------
    data, labels
        Predictions, as `evaluate` takes them, with columns.
    {ReadOptions}
    {SegmentSettings}

    Returns
    -------
    SegmentsReport
        The segments beyond chance, and all tested segments.

    Raises
    ------
    InputError
        If these cannot be predictions, a column is missing, or no segment has enough rows.
    UsageError
        If `columns` is missing, or an option does not fit.
    """
    options = {name: settings.pop(name) for name in [*settings] if name in ASKED}
    predictions, keywords = split_reading(data, labels, settings)
    return _found(predictions, SegmentSettings(**checked(SegmentSettings, options | keywords, "keyword")))


def segments_files(files: Sequence[str], options: ReadOptions, settings: SegmentSettings) -> SegmentsReport:
    """Find segments of the files of one data set; otherwise as `segments`."""
    return _found(read_concat(files, options), settings)


def _found(predictions: Predictions, settings: SegmentSettings) -> SegmentsReport:
    made_of = predictions.provenance.path, predictions.n_rows, find_segments(predictions, settings)
    adjective = "predicted" if predictions.n_classes == 2 and not predictions.of_answers else "confident"
    return SegmentsReport(*made_of, settings, predictions.reading(settings.cluster), adjective)
