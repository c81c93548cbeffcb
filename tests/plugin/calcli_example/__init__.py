"""A package that adds a metric, a calibrator and a format to calcli."""

from __future__ import annotations

from pyarrow import csv

from calcli.core.calibrators.base import Calibrator
from calcli.core.data.arrays import log_softmax
from calcli.core.language.entries import SCORE, Argument, Metric, method
from calcli.io.formats import Format
from calcli.io.tables.table import in_memory

MISSED = Metric(
    name="missed_by",
    title="Mean distance to 1",
    family=SCORE,
    direction="lower",
    range="0 to 1",
    unit="fraction",
    meaning="what the probability of the label lacks, to some power",
    formula="mean of (1 - p_y)^power",
    arguments={"power": Argument(1, least=1, most=9)},
    where="calcli_example:missed",
)


def missed(block, power):
    return (1 - block.label_prob) ** power


@method("halved", "Halved logits", family="softmax", parameters="0")
class Halved(Calibrator):
    """Softmax of half the scores.

    Learns: nothing: the scores are halved
    Keeps: the ranking of classes
    """

    def learn(self, scores, labels, weights, start):
        self.parameters = {"factor": 0.5}

    def apply(self, scores):
        return log_softmax(scores * self.learned("factor"))


BARS = Format("bars", (".bars",), where="calcli_example")


def open_file(path, name):
    options = csv.ParseOptions(delimiter="|")
    return in_memory(name, csv.read_csv(str(path), parse_options=options))
