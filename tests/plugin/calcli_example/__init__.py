"""A package that adds a metric, a calibrator and a format to calcli."""

from __future__ import annotations

from pyarrow import csv

from calcli.core.calibrators.base import Calibrator
from calcli.core.data.arrays import log_softmax
from calcli.core.evaluating.metrics.scores import RowScore
from calcli.core.language.entries import arg, method, metric
from calcli.io.formats import Format
from calcli.io.tables.table import in_memory


@metric("missed_by", "Mean distance to 1")
class MissedBy(RowScore):
    """what the probability of the label lacks, to some power

    Formula: mean of (1 - p_y)^power
    """

    power: int = arg("the power", default=1, least=1, most=9)

    def of_rows(self, block):
        return (1 - block.label_prob) ** self.power


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
