"""The study of intervals and tests: what the guide shows of it, and whether it is still true."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score

from calcli.core.estimators.intervals import Interval
from tests.benchmarks import (
    accidents,
    choices,
    comparisons,
    labelled,
    labelmeans,
    ordered,
    plans,
    promises,
    segmented,
    streams,
    widths,
)
from tests.benchmarks.cells import ERRORS, KINDS, SURE, Cell, Found, drawn, every_cell
from tests.benchmarks.coverage import (
    FIXED,
    PAGE,
    RESULTS,
    TABLES,
    TOLERANCE,
    Results,
    _add,
    _named,
    by_test,
    differing,
    exceeding,
    missed,
    missed_of_shown,
    refreshed,
    rejected,
    repeated,
    tables,
    too_often,
    too_often_of_shown,
    too_often_on_average,
)
from tests.benchmarks.keeping import Kept

STUDY = Results()
SETS = {
    name: number % FIXED for number, name in enumerate(STUDY.cells)
}  # done again here; `make bench` does all


@pytest.mark.parametrize("name", list(STUDY.cells)[::3])
def test_the_study_is_of_what_is_computed(name):
    """Else these cells are to be run again, for the metrics and tests that are named."""
    known = STUDY.cells[name]
    cell = Cell(known["kind"], known["classes"], known["rows"])
    assert differing(cell, known["fixed"], TOLERANCE, [SETS[name]]) == []


def test_the_guide_shows_what_was_found():
    text = PAGE.read_text(encoding="utf-8")
    assert refreshed(text, STUDY) == text
    assert TABLES.read_text(encoding="utf-8") == tables(STUDY)


def test_the_guide_says_how_often_a_threshold_keeps_its_promise():
    """At most as often as promised it is false, beyond chance over all cells; one cell is done again."""
    study, text = promises.Results(), promises.PAGE.read_text(encoding="utf-8")
    assert promises.refreshed(text, study) == text
    cells = study.found["cells"].values()
    p_values = [stats.binom.sf(one["broken"] - 1, one["sets"], 1 - promises.LEVEL) for one in cells]
    assert len(p_values) == len(promises.CURVES) * len(promises.SIZES) * len(promises.RATES)
    assert min(p_values) > 0.01 / len(p_values)
    again = promises.simulated("few values", 300, 0.1)
    assert {**again, "curve": "few values", "rows": 300, "rate": 0.1} in cells


def test_the_guide_says_how_often_streams_alarm_and_how_soon():
    """Without a fault, or a tolerated one, at most as often as promised; one cell is done again."""
    study, text = streams.Results(), streams.PAGE.read_text(encoding="utf-8")
    assert streams.refreshed(text, study) == text
    faulty = ("off", "shocks", "clusters", "late")  # what the options are for
    quiet = {name: one for name, one in study.found["quiet"].items() if name not in faulty}
    assert set(study.found["quiet"]) == set(streams.QUIET)
    p_values = [stats.binom.sf(one["alarms"] - 1, one["streams"], 0.05) for one in quiet.values()]
    p_values += [
        stats.binom.sf(one["early"] - 1, one["streams"], 0.05) for one in study.found["faults"].values()
    ]
    assert min(p_values) > 0.01 / len(p_values)
    assert study.found["quiet"]["late"]["alarms"] == streams.STREAMS
    faults = study.found["faults"]
    assert faults["3 points"]["distance"] <= 9
    assert faults["2 points"]["distance"] <= 5
    assert faults["3 points at first"]["near"] > faults["3 points at first"]["found"] / 2
    number = list(streams.QUIET).index("promise kept")
    assert streams.QUIET["promise kept"][1](number) == study.found["quiet"]["promise kept"]


def test_the_guide_says_how_often_segments_are_found():
    """Of calibrated sets as often as promised; a gap of the size that is printed about four times in five."""
    study, text = segmented.Results(), segmented.PAGE.read_text(encoding="utf-8")
    assert segmented.refreshed(text, study) == text
    bases = study.found["bases"]
    assert set(bases) == set(map(str, segmented.MEANS))
    for one in (*bases.values(), {"flagged": study.found["whole"]["over_confident"], "sets": segmented.SETS}):
        assert stats.binom.sf(one["flagged"] - 1, one["sets"], 0.05) > 0.01 / 4
    for one in bases.values():
        assert stats.binom.sf(one["missed"] - 1, one["sets"], 0.05) > 0.01 / 3
        assert one["first"] > 0.9 * one["found"]
    for one in (*bases.values(), *study.found["quarters"].values()):
        assert stats.binomtest(one["found"], one["sets"], 0.75, "less").pvalue > 0.01
        assert stats.binomtest(one["found"], one["sets"], 0.85, "greater").pvalue > 0.01
    assert len(study.found["frequencies"]) == 2 * len(segmented.PAIRS) * len(segmented.SIZES)
    for one in study.found["frequencies"].values():
        assert stats.binom.sf(one["missed"] - 1, one["sets"], 0.07) > 0.01 / len(study.found["frequencies"])


def test_the_guide_shows_how_often_means_over_labels_are_missed():
    """At most 7% of sets have an interval that misses, beyond chance; widths are as wide as they must be."""
    study, text = labelmeans.Results(), labelmeans.PAGE.read_text(encoding="utf-8")
    assert labelmeans.refreshed(text, study) == text
    assert list(study.found["cells"]) == labelmeans.CELLS
    cells = study.found["cells"].items()
    p_values = [stats.binom.sf(n - 1, one["sets"], 0.07) for _, one in cells for n in one["missed"].values()]
    assert min(p_values) > 0.01 / len(p_values)
    widths = [width for name, one in cells if name.endswith("000") for width in one["width"].values()]
    assert 0.9 < min(widths) <= max(widths) < 1.2


def test_the_guide_shows_that_the_order_of_rows_does_not_matter():
    """At most 7% of sets have an interval that misses, beyond chance; widths are within 10%."""
    study, text = ordered.Results(), ordered.PAGE.read_text(encoding="utf-8")
    assert ordered.refreshed(text, study) == text
    missed = [(one["sets"], n) for one in study.found["cells"].values() for n in one["missed"].values()]
    assert min(stats.binom.sf(n - 1, sets, 0.07) for sets, n in missed) > 0.01 / len(missed)
    for cell in study.found["cells"]:
        assert 0.9 < min(study.ratios(cell)) <= max(study.ratios(cell)) < 1.1


def test_the_guide_shows_what_auto_claims_and_gains():
    """On calibrated rows it claims a gain in at most 5% of data sets, and is not behind temperature.

    Over ten curves at 300 rows its choice is at most .003 nats behind the least cross-validated one.
    """
    study, text = choices.Results(), choices.PAGE.read_text(encoding="utf-8")
    assert choices.refreshed(text, study) == text
    for name, cell in study.cells.items():
        mean, error = choices.behind(cell)
        if cell["kind"] not in choices.CURVES:
            assert mean <= max(0.003, 2 * error), name
        if cell["kind"] in ("calibrated", "rare", "calibrated curve"):
            for what in choices.CLAIMS:
                found = stats.binomtest(choices.claimed(cell, what), len(cell["sets"]), 0.05, "greater")
                assert found.pvalue > 0.01, (name, what)
    curves = [cell["sets"] for cell in study.cells.values() if cell["kind"] in choices.CURVES]
    behind = [[one["excess"]["auto"] - one["excess"]["least"] for one in sets] for sets in curves]
    assert len(curves) == len(choices.CURVES)
    assert np.mean([np.mean(values) for values in behind]) < 0.003


def test_the_guide_shows_how_often_comparisons_are_right():
    """At most 5% of the data sets have a false verdict, beyond chance; exact intervals hold at 95%."""
    study, text = Kept(comparisons.RESULTS).found, comparisons.PAGE.read_text(encoding="utf-8")
    assert comparisons.refreshed(text, study) == text
    for name, cell in study["discordant"].items():
        assert max(cell["missed"], cell["told"] if name.endswith("50%") else 0) <= 0.05, name
        assert cell["width"] < 1.25 * cell["tango"]
        assert cell["tost"] >= cell["95"]
    for cell in study["ranked"].values():
        for what in ("worse than best", "against first"):
            count = round(cell[what] * cell["sets"])
            assert stats.binomtest(count, cell["sets"], 0.05, "greater").pvalue > 0.01, what
        assert cell["power"] > 0.3 * cell["power, uncorrected"]


def test_the_guide_shows_which_accidents_a_first_policy_catches():
    found, text = Kept(accidents.RESULTS).found, accidents.PAGE.read_text(encoding="utf-8")
    assert accidents.refreshed(text, found) == text
    for one in found.values():
        assert one["nothing happened"] == ["passes"] * 2
        caught = [sum(cells[way] != "passes" for cells in one.values()) for way in (0, 1)]
        assert caught[0] < caught[1]


def test_the_guide_shows_how_often_plans_are_enough():
    """Four times in five, at least three in four, beyond chance."""
    study, text = plans.Results(), plans.PAGE.read_text(encoding="utf-8")
    assert plans.refreshed(text, study) == text
    for name, cell in study.found["cells"].items():
        planned, held = plans.proven(cell)
        assert stats.binomtest(held, planned, 0.75, "less").pvalue > 0.01, name


def test_the_guide_shows_that_intervals_by_few_labels_hold():
    study, text = labelled.Results(), labelled.PAGE.read_text(encoding="utf-8")
    assert labelled.refreshed(text, study) == text
    for cells in (study.found["verdicts"], study.found["numbers"]):
        for name, cell in cells.items():
            assert stats.binomtest(cell["missed"], cell["sets"], 0.07, "greater").pvalue > 0.01, name
            assert cell["width"] <= 1.02, name
    for name, cell in study.found["plans"].items():
        assert stats.binomtest(cell["shown"], cell["sets"], 0.75, "less").pvalue > 0.01, name
        assert stats.binomtest(cell["shown"], cell["sets"], 0.9, "greater").pvalue > 0.01, name


def test_no_interval_misses_and_no_test_rejects_more_often_than_is_promised():
    others = repeated(STUDY.cells)
    assert {
        place for place in too_often(STUDY.cells) if place not in missed(others) | rejected(others)
    } == set()
    assert too_often(others) == []


def test_no_interval_that_only_some_data_sets_show_misses_more_often_than_is_promised():
    assert too_often_of_shown(STUDY.cells) == []


def test_no_test_rejects_too_often_on_average():
    assert too_often_on_average(STUDY.cells) == []


def test_balanced_data_have_every_interval_of_the_default_report():
    for name, cell in STUDY.cells.items():
        if cell["kind"] == "balanced" and cell["rows"] >= 500 and cell["classes"] <= 10:
            assert cell["whole"] >= 0.99 * cell["sets"], name


def test_cells_go_on_where_they_ended(tmp_path, monkeypatch):
    cell = Cell("clustered", 2, 50)
    results = Results(tmp_path / "found.json")
    results.found["truths"][cell.of_truth] = dict.fromkeys(cell.found(0).intervals, 0.5)
    monkeypatch.setattr("tests.benchmarks.coverage.STEP", 2)
    results.run(cell, 3)
    again = Results(tmp_path / "found.json")
    again.run(cell, 6)
    whole = Results(tmp_path / "whole.json")
    whole.found["truths"] = results.found["truths"]
    whole.run(cell, 6)
    assert again.cells == whole.cells == json.loads((tmp_path / "whole.json").read_text())["cells"]
    assert differing(cell, whole.cells[str(cell)]["fixed"], 1e-9) == []
    last = whole.cells[str(cell)]["fixed"][4]["intervals"]
    shown = next(name for name, one in last.items() if isinstance(one, list))
    last[shown][0] += 1e-6
    assert differing(cell, whole.cells[str(cell)]["fixed"], 1e-9) == [shown]


@pytest.mark.parametrize("metric", ["brier", "cllr"])
def test_what_is_done_again_is_what_was_done_at_once(metric, tmp_path):
    cell = Cell("clustered", 2, 50)
    results = Results(tmp_path / "found.json")
    results.found["truths"][cell.of_truth] = dict.fromkeys(cell.found(0).intervals, 0.5)
    results.run(cell, 6)
    own = results.cells[str(cell)]
    whole = copy.deepcopy(own)
    own["intervals"][metric], own["fixed"][2]["intervals"][metric] = [6, 6, 6, 0], [0, 1]
    results.again(cell, [metric])
    assert own == whole
    results.repeat(cell, [metric])
    assert list(own["repeated"]["intervals"]) == [metric]
    assert own["repeated"]["intervals"][metric][0] == 6


def test_what_exceeds_is_shown_with_its_repetition():
    cells = {
        "a": {"kind": "balanced", "intervals": {"brier": [400, 400, 30, 30]}, "tests": {"ks": [400, 20]}}
    }
    assert too_often(cells) == [("brier", "a")]
    assert by_test(cells) == {"ks": (20, 400)}
    assert too_often_on_average(cells) == []
    assert too_often_on_average({"a": cells["a"] | {"tests": {"ks": [400, 40]}}}) == ["ks"]
    other = {"a": {"intervals": {"brier": [400, 400, 14, 14]}, "tests": {}}}
    shown = _named(too_often(cells), missed(cells), missed(other))
    assert shown == "`brier` (a): 15.0 ± 1.8, with other seeds 7.0 ± 1.3"


def test_what_is_counted():
    own = {"whole": 0, "intervals": {}, "tests": {}}
    truth = {"log_loss": 0.5}
    for one in (Interval(0.4, 0.6, 0.95), Interval(0.6, 0.7, 0.95), Interval(0.3, 0.4, 0.95), "few"):
        _add(own, FIXED, Found({"log_loss": one}, {"ece": 0.05, "ks": 0.2}), truth)
    assert own["intervals"] == {"log_loss": [4, 3, 1, 1]}
    assert own["tests"] == {"ece": [4, 4], "ks": [4, 0]}
    assert own["whole"] == 3


def test_exceeding_is_corrected_for_the_number_of_cells():
    one = {"a": (24, 200)}
    assert stats.binom.sf(23, 200, 0.07) < 0.01 < 100 * stats.binom.sf(23, 200, 0.07)
    assert exceeding(one, 0.07) == ["a"]
    assert exceeding(one | {str(k): (10, 200) for k in range(99)}, 0.07) == []


def test_of_those_shown_more_than_a_tenth_may_not_miss():
    cells = {
        "few": {"intervals": {"auroc": [400, 39, 30, 0], "brier": [400, 361, 99, 0]}},
        "some": {"intervals": {"auroc": [1600, 400, 60, 0], "brier": [500, 400, 46, 10]}},
        "others": {"intervals": {"auroc": [900, 400, 30, 0], "brier": [500, 400, 20, 10]}},
    }
    assert missed_of_shown(cells)["auroc", "some"] == (60, 400)
    assert set(missed_of_shown(cells)) == {(m, n) for m in ("auroc", "brier") for n in ("some", "others")}
    assert stats.binomtest(60, 400, 0.1, "greater").proportion_ci(0.995, "exact").low > 0.1  # of two cells
    assert stats.binomtest(56, 400, 0.1, "greater").proportion_ci(0.995, "exact").low < 0.1
    assert stats.binomtest(56, 400, 0.1, "greater").proportion_ci(0.99, "exact").low > 0.1
    assert too_often_of_shown(cells) == [("auroc", "some")]


def test_more_data_sets_are_drawn_until_enough_show_an_interval(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.benchmarks.coverage.SHOWN", 5)
    cell, names = Cell("clustered", 2, 50), ["log_loss", "brier", "accuracy"]
    results = Results(tmp_path / "found.json")
    results.found["truths"][cell.of_truth] = dict.fromkeys(cell.found(0).intervals, 0.5)
    results.run(cell, 4)
    before = copy.deepcopy(results.cells[str(cell)])
    results.further(cell, names)
    own = results.cells[str(cell)]
    some = [name for name in names if 0.1 <= before["intervals"][name][1] / 4 <= 0.9]
    assert some
    for name, (sets, shown, high, low) in own["intervals"].items():
        if name not in some:
            assert own["intervals"][name] == before["intervals"][name]
            continue
        assert shown == 5 or not 0.1 <= shown / sets <= 0.9
        found = [cell.found(seed, [name]).intervals[name] for seed in range(sets)]
        seen = [one for one in found if isinstance(one, Interval)]
        assert (len(seen), sum(not one.contains(0.5) for one in seen)) == (shown, high + low)
    assert own["sets"] == 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [2, 10])
def test_true_posteriors_are_calibrated_and_as_wrong_as_they_are_meant_to_be(kind, classes):
    _, truth = drawn(Cell(kind, classes, 40_000), np.random.default_rng(0), of_truth=True)
    logits = truth.scores.array
    probs = np.exp(logits - logits.max(1, keepdims=True))
    probs /= probs.sum(1, keepdims=True)
    wrong = probs.argmax(1) != truth.labels
    assert abs(wrong.mean() - (1 - probs.max(1)).mean()) < 4 * np.sqrt(wrong.var() / 40_000)
    if kind != "rare class":
        meant = (SURE if kind == "near-perfect" else ERRORS)[classes]
        assert wrong.mean() == pytest.approx(meant, abs=4 * np.sqrt(meant / 40_000))


def test_the_core_comes_first():
    cells = list(every_cell())
    assert len(cells) == len(set(cells)) == 5 * 3 * 5 + 2 * 2 * 2
    assert all(cell.classes <= 10 and cell.rows <= 5_000 for cell in cells[:38])
    assert RESULTS.exists()


def test_the_guide_says_how_wide_intervals_are_where_few_rows_tell():
    """They hold, and where the bootstrap's do they are not much wider; one cell is done again."""
    study, text = widths.Results(), widths.PAGE.read_text(encoding="utf-8")
    assert widths.refreshed(text, study) == text
    cells = study.cells
    assert len(cells) == sum(len(one.metrics) * len(one.sizes) for one in widths.KINDS.values())
    counts = {name: (sum(cell["calcli"][1:3]), cell["sets"]) for name, cell in cells.items()}
    assert exceeding(counts, widths.MISSED) == []
    assert [name for name, cell in cells.items() if widths.too_wide(cell)] == []
    known = cells["errors at the top, aurc, n=100"]
    again = widths.simulated("errors at the top", "aurc", 100)
    for of in ("calcli", "bootstrap"):
        assert again[of] == pytest.approx(known[of], rel=1e-9)


def test_the_values_that_are_resampled_are_those_of_others():
    rng = np.random.default_rng(0)
    probs, labels = widths.KINDS["rare class of 1%"].draw(3_000, rng)
    times = rng.integers(0, 4, 3_000).astype(float)
    of = {"sample_weight": times}
    assert widths.auroc((probs, labels), times) == pytest.approx(roc_auc_score(labels, probs[:, 1], **of))
    expected = average_precision_score(labels, probs[:, 1], **of)
    assert widths.average_precision((probs, labels), times) == pytest.approx(expected)
    ones, right = np.ones(3_000), probs.argmax(axis=1) == labels
    wrong = ~right[np.argsort(-probs.max(axis=1))]
    rates = [wrong[:kept].mean() for kept in range(1, 3_001)]
    assert widths.aurc((probs, labels), ones) == pytest.approx(np.mean(rates))
    brier = 2 * brier_score_loss(labels, probs[:, 1])
    assert widths.VALUES["brier"]((probs, labels), ones) == pytest.approx(brier)
    assert widths.VALUES["log_loss"]((probs, labels), ones) == pytest.approx(log_loss(labels, probs))
