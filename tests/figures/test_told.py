"""What figures tell on a page, where people point at them, are the numbers of their tables."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import calcli
from calcli.figures.inline import AREAS, inline_svg

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data"
CANCER, IRIS = SAMPLE / "cancer_bayes_test.csv", SAMPLE / "iris_logistic_test.csv"
FEW = {"draws": 19, "intervals": False}


def told(drawing: calcli.figures.Drawing) -> list[dict[str, float]]:
    """Return the numbers that a drawing tells, by the word before them."""
    texts = [text for area in AREAS[drawing.figure] for text in area.texts]
    pair = re.compile(r"([a-z_][\w ()%-]*?) (-?[\d.]+(?:e[-+]\d+)?)(?=,|\n|$)")
    return [{word.strip(): float(value) for word, value in pair.findall(text)} for text in texts]


@pytest.mark.parametrize(
    ("figure", "x", "y", "columns"),
    [
        ("rejection", "rejected", "error rate", ("rejected", "error_rate")),
        ("precision-recall", "recall", "precision", ("recall", "precision")),
        ("roc", "false positive rate", "recall", ("false_positive_rate", "recall")),
        ("gains", "share", "recall", ("share", "recall")),
        ("net-benefit", "threshold", "net benefit", ("threshold", "net_benefit")),
        ("temperature", "temperature", "log-loss", ("temperature", "log_loss")),
        ("risk", "threshold", "mean cost", ("threshold", "risk")),
        ("weighted-risk", "a_1", "weighted risk", ("a_1", "risk")),
        ("smooth", "score", "frequency", ("score", "frequency")),
        ("corp", "score", "frequency", ("score", "frequency")),
        ("ks", "score", "frequency", ("score", "frequency")),
    ],
)
def test_curves_tell_points_of_their_table(figure, x, y, columns):
    drawing = calcli.plot(CANCER, figure=figure, **FEW)
    table = drawing.tables["cancer_bayes_test.csv"]
    points = [one for one in told(drawing) if x in one and y in one]
    assert 20 < len(points) <= 150
    for point in points[:50]:
        two_digits = 0.05 if point[x] < 0.01 else 1e-3
        near = np.isclose(table[columns[0]], point[x], rtol=two_digits)
        assert np.isclose(table[columns[1]][near], point[y], atol=1e-4).any() or figure == "weighted-risk"


def test_bins_of_the_simplex_and_of_a_map_tell_their_rows(tmp_path):
    drawing = calcli.plot(IRIS, figure="simplex", **FEW)
    texts = [text for area in AREAS[drawing.figure] for text in area.texts]
    table = drawing.tables["iris_logistic_test.csv"]
    assert sorted(int(text.split()[0]) for text in texts) == sorted(table["rows"].tolist())
    fitted = calcli.fit(SAMPLE / "cancer_bayes_calibration.csv", method="platt", folds=0)
    fitted.save(tmp_path / "cal.json")
    drawing = calcli.plot(CANCER, figure="calibration-map", calibrator=tmp_path / "cal.json", **FEW)
    texts = [text for area in AREAS[drawing.figure] for text in area.texts]
    assert sum(int(text.split()[0]) for text in texts if "observed" in text) == 269


def test_epochs_tell_the_value_of_each_file():
    files = {f"epoch_{n:02}": SAMPLE / f"epochs/epoch_{n:02}.parquet" for n in (1, 2, 3)}
    drawing = calcli.plot(files, figure="epochs", metrics="log_loss,accuracy", **FEW)
    lines = [text for area in AREAS[drawing.figure] for text in area.texts]
    for number, file in enumerate(files.values(), 1):
        value = calcli.evaluate(file, metrics="log_loss", **FEW)["log_loss"].value
        assert f"file {number}\nlog_loss {value:.4f}" in lines


def test_cells_of_a_heat_map_tell_their_gaps():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(40, 0.1), 300)
    drawing = calcli.plot(probs, rng.integers(0, 40, 300), figure="class-wise", **FEW)
    table = drawing.tables["predictions"]
    shown = [one for one in told(drawing) if "frequency" in one]
    filled = table["rows"] > 0
    assert len(shown) == filled.sum()
    expected = np.sort(table["frequency"][filled])
    np.testing.assert_allclose(np.sort([one["frequency"] for one in shown]), expected, atol=1e-4)


@pytest.mark.parametrize("figure", ["divergence"])
def test_they_are_boxes_on_the_page(figure):
    data = {"a": calcli.evaluate(CANCER, **FEW).evaluation} if figure == "divergence" else {}
    drawing = calcli.figures.draw(figure, data)
    assert inline_svg(drawing.figure, "x", "what").count('class="tip"') >= 150
