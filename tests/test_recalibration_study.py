"""The study of recalibration: what the guide shows of it, what it finds, and whether it is still true."""

from __future__ import annotations

import copy
import json
import math
import tomllib

import numpy as np
import pytest
from scipy import special, stats

from tests.benchmarks import recalibration
from tests.benchmarks.harness import ROOT
from tests.benchmarks.recalibration import PAGE, TABLES, Results, halves, log_loss, outcome
from tests.benchmarks.recalibrators import CONTESTANTS, PEERS, logarithms
from tests.benchmarks.scoresets import ScoreSet, every_set, simulated, smoothed_labels
from tests.benchmarks.verdicts import (
    AUTO,
    average,
    beyond_chance,
    complete,
    contestants,
    excess,
    excesses,
    is_peer,
    page,
    refreshed,
    tables,
)

STUDY = Results()
SETS = complete(STUDY.sets)
SAMPLES = [data for data in every_set() if data.kind == "sample data" and data.name in SETS]
AGAIN = ("temperature", "dp", "svs")  # of what is computed anew here; `make bench` does all


def test_the_guide_shows_what_was_found():
    text = PAGE.read_text(encoding="utf-8")
    assert refreshed(text, STUDY.found) == text
    assert TABLES.read_text(encoding="utf-8") == tables(STUDY.found)


def test_auto_is_worse_than_no_other_library_beyond_chance_and_on_average():
    peers = [name for name in contestants(SETS) if is_peer(name)]
    assert len(peers) >= 30
    assert len(SETS) >= 30
    assert beyond_chance(excesses(SETS, peers)) == []
    for name in peers:
        if own := excesses(SETS, [name]):
            mean, error = average(own)
            assert mean <= error, name


@pytest.mark.parametrize("data", SAMPLES, ids=lambda data: data.name)
def test_the_study_is_of_what_is_computed(data):
    """Else these contestants, and with them `auto`, are to be done again."""
    scores, labels = data.made()
    kept, out = next(halves(scores))
    known = STUDY.sets[data.name]["contestants"]
    for name in AGAIN:
        found = log_loss(CONTESTANTS[name](scores[kept], labels[kept])(scores[out]), labels[out])
        assert found == pytest.approx(known[name]["losses"][0], abs=2e-6), name


def test_errors_are_corrected_for_rows_that_halves_share():
    one = excess("a", "b", [0.5, 0.6, 0.7, 0.6, 0.6], [0.4, 0.6, 0.5, 0.6, 0.6])
    assert one.mean == pytest.approx(0.06)
    spread = (0.04**2 + 0.06**2 * 3 + 0.14**2) / 4  # of 0.1, 0, 0.2, 0, 0 about 0.06, with four degrees
    assert one.error == pytest.approx(math.sqrt((1 / 5 + 1) * spread))
    assert one.p_value == pytest.approx(1 - stats.t.cdf(one.mean / one.error, 4))
    assert excess("a", "b", [0.5] * 3, [0.5] * 3).p_value == 1
    assert excess("a", "b", [0.6] * 3, [0.5] * 3).p_value < 1e-6


def test_an_auto_that_is_worse_is_found_out():
    sets = copy.deepcopy(SETS)
    name, entry = next(iter(sets.items()))
    entry["contestants"][AUTO]["losses"] = [loss + 2 + i * 1e-3 for i, loss in enumerate(_best(entry))]
    peers = [other for other in contestants(sets) if is_peer(other)]
    assert {one.data for one in beyond_chance(excesses(sets, peers))} == {name}
    assert f"`auto` is worse beyond chance (Holm, 5%) in {len(beyond_chance(excesses(sets, peers)))}" in page(
        {**STUDY.found, "sets": sets}
    )


def _best(entry):
    return next(
        own["losses"] for name, own in entry["contestants"].items() if is_peer(name) and "losses" in own
    )


def test_runs_go_on_where_they_ended(tmp_path, monkeypatch):
    tried = []

    def contestant(name):
        def fitted(scores, labels):
            tried.append(name)
            if name == "fails":
                raise ValueError("as it must")
            return lambda others: others

        return fitted

    monkeypatch.setattr(
        recalibration, "CONTESTANTS", {name: contestant(name) for name in ("a", "b", "fails")}
    )
    monkeypatch.setattr(recalibration, "PACKAGES", ("numpy",))
    data = ScoreSet("simulated", "simulated", lambda: simulated(60, 3, smoothed_labels, 0))
    results = Results(tmp_path / "found.json")
    results.run(data, ["a"])
    results.run(data, ["a", "b", "fails"])
    assert tried == ["a"] * 5 + ["b"] * 5 + ["fails"]
    found = json.loads((tmp_path / "found.json").read_text())["sets"]["simulated"]
    assert (found["rows"], found["classes"]) == (60, 3)
    assert found["contestants"]["a"]["losses"] == found["contestants"]["b"]["losses"]
    assert found["contestants"]["fails"] == {"fault": "ValueError: as it must"}
    Results(tmp_path / "found.json").run(data, ["b"], again=["b"])
    assert tried[-5:] == ["b"] * 5


def test_halves_share_no_row_and_differ():
    scores = np.zeros((101, 2))
    pairs = list(halves(scores))
    for kept, out in pairs:
        assert not set(kept) & set(out)
        assert (len(kept), len(out)) == (50, 51)
    assert len({tuple(sorted(kept)) for kept, _ in pairs}) == len(pairs) == 5


def test_losses_are_those_of_scipy_but_of_probabilities_of_0():
    scores, labels = simulated(200, 4, smoothed_labels, 3)
    assert log_loss(scores, labels) == pytest.approx(
        -special.log_softmax(scores, axis=1)[np.arange(200), labels].mean(), abs=1e-7
    )
    sure = np.log(np.array([[1.0, 1e-300], [1e-300, 1.0]]))
    assert log_loss(sure, np.array([1, 1])) == pytest.approx(26 * np.log(2), abs=1e-6)
    assert "rows do not sum to 1" in outcome(lambda *_: lambda others: others + 1, scores, labels)["fault"]


def test_rows_of_nothing_but_zeros_are_uniform_and_negative_ones_are_zeros():
    np.testing.assert_allclose(
        np.exp(logarithms(np.array([[0.0, 0.0], [3.0, 1.0], [-0.1, 1.1]]))),
        [[0.5, 0.5], [0.75, 0.25], [0, 1]],
    )


def test_the_study_was_done_with_the_versions_that_are_pinned():
    group = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]["bench"]
    pinned = dict(one.split("==") for one in group if "==" in one)
    assert STUDY.found["versions"] == {name: pinned[name] for name in STUDY.found["versions"]}


def test_every_other_library_is_named():
    assert {name.partition(" ")[0] for name in PEERS} == {
        "probmetrics", "netcal", "betacal", "psrcal", "scikit-learn",
    }  # fmt: skip
    assert all(is_peer(name) for name in PEERS)
