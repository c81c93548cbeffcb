"""The reliability diagram in characters says what the JSON of the report says."""

from __future__ import annotations

import json

import pytest

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
        assert place == min(int(one["accuracy"] * PLACES), PLACES - 1)
        assert f"{one['accuracy'] - one['confidence']:+.3f}" in line
        assert f"{100 * one['rows'] / found['input']['rows']:.1f}%" in line
    assert any(CHANCE in line for line in lines)


def test_without_draws_it_shows_the_mean_score(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(lines_of(shown(capsys, "--diagram", "--draws", "0")))
    assert CHANCE not in text
    assert "|" in text


def test_it_comes_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert OBSERVED not in shown(capsys)
