"""The same two-class file has the same calibration error and Brier score wherever it is asked for."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss

import calcli
from calcli.cli.main import status_of


def binned_error(prob, label):
    """Return the error over 15 bins of equal width, summed bin by bin."""
    places = np.minimum((prob * 15).astype(int), 14)
    return sum(abs((prob - label)[places == place].sum()) for place in range(15)) / len(prob)


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(3)
    log_odds = rng.normal(-1, 1.5, 600)
    prob = 1 / (1 + np.exp(-log_odds - 0.7))
    label = (rng.random(600) < 1 / (1 + np.exp(-log_odds))).astype(int)
    path = tmp_path / "fraud.csv"
    pd.DataFrame({"label": label, "prob": prob, "half": np.arange(600) % 2}).to_csv(path, index=False)
    return path


def test_one_value_everywhere(file, tmp_path, capsys):
    table = pd.read_csv(file)
    expected = {
        "ece": binned_error(table.prob.to_numpy(), table.label.to_numpy()),
        "brier": brier_score_loss(table.label, table.prob),
        "mean_gap": (table.prob - table.label).mean(),
        "oe_ratio": table.label.mean() / table.prob.mean(),
    }

    def document(*words):
        capsys.readouterr()
        assert status_of([*map(str, words), "-q", "-f", "json"]) == 0
        return json.loads(capsys.readouterr().out)

    def values(metrics):
        return {name: metrics[name]["value"] for name in expected if name in metrics}

    asked = ["--metrics", ",".join(expected)]
    evaluated = document("evaluate", file, *asked)["results"][0]["metrics"]
    assert values(evaluated) == pytest.approx(expected, abs=1e-12)
    by_half = document("evaluate", file, *asked, "--by", "half")["results"][0]["metrics"]
    assert values(by_half) == pytest.approx(expected, abs=1e-12)
    state = tmp_path / "fraud.calcli"
    document("evaluate", file, *asked, "--save-state", state)
    assert values(document("evaluate", state)["results"][0]["metrics"]) == pytest.approx(expected, abs=1e-12)
    report = calcli.evaluate(table[["label", "prob"]], metrics=list(expected))
    assert {name: report[name].value for name in expected} == pytest.approx(expected, abs=1e-12)
    fitted = calcli.fit(table[["label", "prob"]], method="temperature", folds=0).fit
    assert fitted.before["ece"] == pytest.approx(expected["ece"], abs=1e-12)
    assert fitted.before["brier"] == pytest.approx(expected["brier"], abs=1e-12)
    compared = calcli.compare(table[["label", "prob"]], table[["label", "prob"]], metrics=list(expected))
    differences = compared.comparisons[0].differences[0]
    assert differences["ece"].baseline == pytest.approx(expected["ece"], abs=1e-12)
    assert differences["brier"].candidate == pytest.approx(expected["brier"], abs=1e-12)
    (tmp_path / "policy.toml").write_text(
        "".join(f'[[rules]]\nmetric = "{name}"\nmax = 9\n' for name in expected), encoding="utf-8"
    )
    rules = document("check", file, "-p", tmp_path / "policy.toml")["results"][0]["rules"]
    assert {rule["metric"]: rule["value"] for rule in rules} == pytest.approx(expected, abs=1e-12)
    trials = document("benchmark", "--cal", file, "--test", file, "--methods", "temperature", *asked)[
        "trials"
    ]
    assert {name: trials[0]["values"][name] for name in expected} == pytest.approx(expected, abs=1e-12)
    figure = report.plot("reliability")
    assert f"ECE {expected['ece']:.4f}, if calibrated" in figure.caption
    gap = sum(row["gap"] * row["rows"] for row in figure.records() if "gap" in row) / len(table)
    assert gap == pytest.approx(expected["mean_gap"], abs=1e-12)
