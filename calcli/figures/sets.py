"""The figures that go with a report."""

from __future__ import annotations

from pathlib import Path

from calcli.core.miscalibration import BinnedError
from calcli.core.reliability import reliability as reliability_of
from calcli.core.results import Evaluation
from calcli.figures.output import save
from calcli.figures.reliability import reliability


def standard_set(evaluation: Evaluation, folder: Path) -> list[Path]:
    """Write the figures that fit any evaluation.

    Parameters
    ----------
    evaluation
        What to draw.
    folder
        An existing folder.

    Returns
    -------
    The files written, in the order in which a report shows them.
    """
    settings = evaluation.settings
    result = reliability_of(
        evaluation.confidence,
        estimator=BinnedError(bins=settings.bins),
        estimates=evaluation.estimates,
        seed=settings.seed,
    )
    path = folder / "reliability.png"
    save(reliability({_title(evaluation): result}), path)
    return [path]


def _title(evaluation: Evaluation) -> str:
    return Path(evaluation.predictions.provenance.path).name
