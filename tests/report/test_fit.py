"""What is said of a fit: numbers as computed, and the warnings that they call for."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from calcli.core.calibrators.crossvalidation import PairedDifference
from calcli.core.language.expressions import parse_methods
from calcli.core.language.settings import FitSettings
from calcli.core.recalibrating.fitting import Candidate, Fit, fit
from calcli.io.handed import from_arrays
from calcli.report.fit import FitReport, fit_warnings
from calcli.report.shown import render


def rows(count: int, classes: int = 3, sure: float = 3.0):
    """Return random logits, larger by a factor than those the labels are drawn from."""
    rng = np.random.default_rng(count)
    scores = rng.normal(size=(count, classes)) * 2
    return from_arrays(scores * sure, (scores + rng.gumbel(size=scores.shape)).argmax(1), kind="logits")


@pytest.fixture(scope="module")
def plain() -> Fit:
    """Return a temperature on 400 rows."""
    return fit(rows(400), parse_methods(["temperature"]))


@pytest.fixture(scope="module")
def chosen() -> Fit:
    """Return a choice among methods, one of which cannot be fitted."""
    return fit(rows(60, 2), parse_methods(["temperature", "isotonic", "spline:lens=within-top-2"]))


def codes(found: Fit) -> list[str]:
    return [warning.code for warning in fit_warnings(found)]


def test_a_sound_fit_has_no_warnings(plain):
    assert codes(plain) == []
    first, effect = FitReport(plain).tables()
    assert (first.title, effect.title) == ("arrays: 400 rows, 3 classes, logits", "What it does")
    before, after = plain.before["log_loss"], plain.cross_validated["log_loss"]
    change = f"{before:.4f} -> {after:.4f}, {after / before - 1:+.1%}"
    assert first.notes == (f"temperature: log_loss {change}, on unseen rows.",)


def test_rows_of_one_label_teach_to_predict_it():
    scores = np.random.default_rng(0).normal(size=(80, 2))
    first, *_ = FitReport(
        fit(from_arrays(scores, np.ones(80, int), kind="logits"), parse_methods(["dp"]))
    ).tables()
    assert first.notes[0].endswith(": all rows have the same label, which it learns to predict.")


def test_tables_show_the_numbers(plain):
    effect = {row[0]: row[1:4] for row in FitReport(plain).tables()[1].rows}
    for name, cells in effect.items():
        values = (plain.before[name], plain.after[name], plain.cross_validated[name])
        assert cells == tuple(f"{value:.4f}" for value in values)
    learned = dict(FitReport(plain, details=True).tables()[1].rows)
    assert learned["temperature"] == f"{plain.calibrator.parameters['temperature']:.4f}"


def test_json_has_everything(plain, chosen):
    found = FitReport(plain).to_dict()
    assert found["schema"] == "calcli.fit/1"
    assert found["learned"] == plain.calibrator.parameters
    assert (found["before"], found["after"]) == (plain.before, plain.after)
    assert json.loads(render(FitReport(chosen), "json")) == json.loads(
        json.dumps(FitReport(chosen).to_dict())
    )


def test_the_table_of_candidates(chosen):
    table = next(table for table in FitReport(chosen).tables() if table.title.startswith("Candidates"))
    names = [row[0] for row in table.rows]
    assert names[0] == "none (as they are)"
    assert names[-1] == "spline:lens=within-top-2"
    assert table.rows[-1][1] == "failed"
    assert [name for name in names if name.endswith(" *")] == [f"{chosen.method} *"]
    assert any("needs more than the 2 classes" in note for note in table.notes)


def test_infinite_candidates_are_shown_without_an_error(chosen):
    infinite = Candidate(chosen.method, chosen.candidates[1].values, PairedDifference(np.inf, np.nan))
    table = FitReport(replace(chosen, candidates=(infinite,))).tables()[2]
    assert table.rows[0][2] == "inf"


def test_a_fit_that_makes_things_worse_says_so(plain):
    worse = replace(plain, cross_validated=plain.before | {"log_loss": 9.0})
    warning = fit_warnings(worse)[0]
    assert warning.code == "worse"
    assert f"by cross-validation: log_loss {plain.before['log_loss']:.4f} to 9.0000" in warning.message
    rising = replace(worse, gain=PairedDifference(-1.5, 0.25))
    assert "the log_loss rises by 1.5000 (standard error 0.2500)" in FitReport(rising).tables()[1].notes[1]


def test_scores_that_are_calibrated_are_left_alone():
    calibrated = fit(rows(400, sure=1.0), parse_methods(["temperature"]))
    assert abs(calibrated.gain.mean) < calibrated.gain.standard_error
    assert codes(calibrated) == ["no_gain"]


def test_without_folds_the_fitting_rows_are_judged(plain):
    unchecked = replace(plain, cross_validated=None, gain=None, after=plain.before | {"brier": 1.9})
    assert "on the rows of the fit: brier" in fit_warnings(unchecked)[0].message
    assert "Not cross-validated" in FitReport(unchecked).tables()[1].notes[0]
    assert [column.head for column in FitReport(unchecked).tables()[1].columns] == [
        "",
        "before",
        "after",
        "better",
    ]


def test_accuracy_lost_names_the_option(plain):
    lost = replace(plain, cross_validated=plain.cross_validated | {"accuracy": 0.1})
    assert codes(lost) == ["accuracy_lost"]
    assert "--preserve-top1" in fit_warnings(lost)[0].message
    assert "chance" not in fit_warnings(lost)[0].message
    n, before = plain.predictions.n_rows, plain.before["accuracy"]
    for hits, changed, said in ((3, 62, True), (20, 62, False), (3, 2, False)):
        slight = plain.cross_validated | {"accuracy": before - hits / n}
        (told,) = fit_warnings(replace(plain, cross_validated=slight, changed_rows=changed))
        assert ("which may be chance" in told.message) == said
    rounded = plain.before["accuracy"] - 2e-16
    assert codes(replace(plain, cross_validated=plain.cross_validated | {"accuracy": rounded})) == []


def test_few_rows():
    settings = FitSettings(folds=0)
    few = fit(rows(40, 5), parse_methods(["vector"]), settings)
    assert {"few_rows_a_class", "few_rows_a_parameter"} <= set(codes(few))
    assert any("40 rows for 9 parameters" in warning.message for warning in fit_warnings(few))
    two = from_arrays(
        [[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]] * 20, [2, 0] * 20, kind="logits", classes=list("abc")
    )
    absent = fit_warnings(fit(two, parse_methods(["temperature"]), settings))
    assert [warning.message for warning in absent] == ["1 class without a row: b."]
    weights = [1.0, 1.0, 0.0] * 20
    weightless = from_arrays(
        [[0.0, 1.0, 2.0], [2.0, 1.0, 0.0], [0.0, 2.0, 1.0]] * 20,
        [2, 0, 1] * 20,
        kind="logits",
        classes=list("abc"),
        weights=weights,
    )
    assert fit_warnings(fit(weightless, parse_methods(["temperature"]), settings)) == absent


@pytest.mark.parametrize(
    ("mean", "words"), [(np.inf, "fewer rows than"), (-np.inf, "more rows than"), (0.0, "as many rows as")]
)
def test_infinite_losses_are_compared_by_their_number(plain, mean, words):
    found = replace(plain, gain=PairedDifference(mean, np.nan))
    assert (
        f"By cross-validation {words} before have an infinite log_loss." in FitReport(found).tables()[1].notes
    )
    assert FitReport(found).to_dict()["gain"]["standard_error"] == "nan"


def test_a_plain_fit_that_makes_losses_infinite_is_warned_of():
    found = fit(rows(300), parse_methods(["isotonic:smoothing=0"]))
    assert (found.gain.mean, found.cross_validated["log_loss"]) == (-np.inf, np.inf)
    assert "more rows than before have an infinite" in FitReport(found).tables()[1].notes[1]
    assert "log_loss" in fit_warnings(found)[0].message
    assert "to inf" in fit_warnings(found)[0].message


def test_many_parameters_are_summed_up():
    settings = FitSettings(folds=0, per_predicted_class=True, min_rows=1)
    many = fit(rows(300, 20), parse_methods(["dp"]), settings)
    lines = FitReport(many, details=True).tables()[1].rows
    assert len(lines) < 25
    assert lines[-1][1].startswith("and ")
    assert (lines[8][0], lines[8][1].split(",")[0]) == ("others.beta", "20 numbers")


def test_markdown(plain):
    assert "## What it does\n\n|  | before | after | cross-validated | better |" in render(
        FitReport(plain), "markdown"
    )
