"""The reliability diagram in characters says what the JSON of the report says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from calcli.cli.main import status_of
from calcli.report.diagram import CHANCE, OBSERVED, PLACES

NETWORK = "sample_data/digits_network_test.npy"


def shown(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert status_of(["evaluate", NETWORK, "-q", "--metrics", "ece,ks", *options]) == 0
    return capsys.readouterr().out


def lines_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if " to " in line and line[:1] in "01" and "." in line[:4]]


@pytest.mark.parametrize("width", ["60", "80", "200"])
def test_each_bin_stands_where_it_was_observed(
    width: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    text = shown(capsys, "--diagram")
    found = json.loads(shown(capsys, "-f", "json"))["results"][0]
    lines = lines_of(text)
    lines = [line for line in lines if OBSERVED in line]  # JSON leaves empty bins out
    start = next(line.index("0  ") for line in text.splitlines() if "observed" in line and "gap" in line)
    for line, one in zip(lines, found["reliability"], strict=True):
        place = line.index(OBSERVED) - start
        assert place == min(int(one["observed"] * PLACES), PLACES - 1)
        assert f"{one['predicted'] - one['observed']:+.4f}" in line
        share = 100 * one["rows"] / found["input"]["rows"]
        assert f"{share:.{1 if share >= 0.95 else 2}f}%" in line
    assert any(CHANCE in line for line in lines)


def test_without_draws_it_shows_the_mean_score(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(lines_of(shown(capsys, "--diagram", "--draws", "0")))
    assert CHANCE not in text
    assert "|" in text


def test_gaps_of_an_over_confident_system_are_above_zero(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sign everywhere: what is predicted minus what is observed."""
    rng = np.random.default_rng(0)
    true = rng.normal(1, 1, 4000)
    table = {"label": (rng.random(4000) < expit(true)).astype(int), "prob": expit(2 * true)}
    pd.DataFrame(table).to_csv(tmp_path / "two.csv", index=False)

    def run(command: str, *options: str) -> str:
        assert status_of([command, str(tmp_path / "two.csv"), "-q", *options]) == 0
        return capsys.readouterr().out

    asked = "mean_gap,ks,spiegelhalter_z"
    found = json.loads(run("evaluate", "--metrics", asked, "-f", "json"))["results"][0]
    metrics = found["metrics"]
    assert found["verdict"]["word"] == "over-predicted"
    assert min(found["verdict"]["gap"], metrics["ks"]["parts"]["signed"], metrics["mean_gap"]["value"]) > 0
    assert metrics["spiegelhalter_z"]["value"] > 0
    above = table["prob"].mean() - table["label"].mean()
    assert metrics["mean_gap"]["value"] == pytest.approx(above)
    text = run("evaluate", "--diagram", "--metrics", "ece")
    assert all(" +0." in line for line in lines_of(text)[-8:])
    for figure in ("deviation", "reliability"):
        run("plot", "--figure", figure, "--lens", "top-1", "--data", "-o", str(tmp_path / figure))
        bins = pd.read_csv(next((tmp_path / figure).glob("*.csv")))
        filled = bins[bins["beyond_chance"] == 1]
        assert len(filled) > 4
        assert (filled["gap"] > 0).all()
        assert (filled["gap"] - filled["mean_score"] + filled["frequency"]).abs().max() < 1e-12


def test_it_comes_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert OBSERVED not in shown(capsys)
