"""What needs rows, from a sample of them where they are many or only a state of them is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from calcli.core.data.blocks import LOG_ODDS, Block
from calcli.core.data.predictions import Predictions
from calcli.core.evaluating.families import FAMILIES, by_family
from calcli.core.evaluating.families.base import Findings
from calcli.core.evaluating.measurements import Measurements, Pass
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings
from calcli.core.state.hashing import of_numbers
from calcli.core.state.sample import Sample


def needs_rows(call: MetricExpression, predictions: Predictions, settings: Settings) -> bool:
    """Tell whether sums, bins and scores of lenses are not enough for a metric."""
    family = call.entry.family
    if family.fits:
        return True
    made = Pass(predictions, settings)
    FAMILIES[family].needs(call, made)
    sums = all(isinstance(key, tuple) and key[0] == "bins" for key in made.collectors)
    return not sums or bool(made.statistics.keys() & LOG_ODDS.keys())


class SampledRows:
    """Collects a sample of the rows."""

    def __init__(self, predictions: Predictions) -> None:
        self.sample = Sample(predictions.n_classes, predictions.weights is not None)

    def add(self, block: Block) -> None:
        """Take what belongs to it of one block."""
        hashes = of_numbers(block.rows.start, block.rows.stop)
        self.sample.add(hashes, block.labels, block.weights, block.scores)


def of_sample(sample: Sample, whole: Measurements, calls: Sequence[MetricExpression]) -> Findings:
    """Return what is found out about metrics from a sample of the rows; its size stands with each."""
    measured = measured_sample(sample, whole, calls)
    found = [family.estimates(own, measured, measured.settings) for family, own in by_family(calls)]
    joined = Findings.joined(found)
    if measured.of_rows is None:
        return joined
    rows = measured.predictions.n_rows
    estimates = {name: replace(one, rows=rows) for name, one in joined.estimates.items()}
    return replace(joined, estimates=estimates)


def measured_sample(sample: Sample, whole: Measurements, calls: Sequence[MetricExpression]) -> Measurements:
    """Return what a pass over a sample of the rows finds for metrics."""
    rows, settings = sample.of(whole.predictions), replace(whole.settings, precision="auto")
    made = Pass(rows, settings)
    for call in calls:
        FAMILIES[call.entry.family].needs(call, made)
    measured = made.run()
    if rows.n_rows < whole.predictions.n_rows:
        measured.of_rows = whole.predictions.n_rows
    return measured
