from __future__ import annotations

import pytest

from calcli.core.evaluating import sections as classwise
from calcli.core.language.expressions import parse_metrics
from calcli.report.estimates import assumed_bins
from calcli.report.files import short_names
from tests.report.conftest import tables_of


def cells(table) -> dict[str, tuple[str, ...]]:
    return {row[0]: row[1:] for row in table.rows}


def by_title(tables) -> dict:
    return {table.title: table for table in tables}


def test_order_of_a_report(sure):
    titles = [table.title for table in tables_of([sure])]
    assert titles == [
        "arrays",
        "Scores of yes",
        "What recalibration would gain",
        "Calibration errors of yes",
        "Calibration of yes",
        "Classes",
        "Warnings",
    ]


def test_what_was_read(impossible):
    read = cells(tables_of([impossible])[0])
    assert read["rows"] == ("4",)
    assert read["classes"] == ("3, 0.0% (eel) to 50.0% (dog) of the rows",)
    assert read["absent"] == ("eel",)
    assert read["scores"] == ("probs: all values lie in [0, 1]",)
    assert read["type"] == ("float64, computed in float64",)
    assert read["row sums"] == ("1 in all rows",)
    assert read["exact"] == ("6 probabilities of 0, 2 rows with a 1",)
    assert read["ties"] == ("1 row with more than one most probable class",)


def test_every_metric_has_its_row(sure):
    tables = by_title(tables_of([sure]))
    sections = (
        "Scores of yes",
        "Calibration errors of yes",
        "Calibration of yes",
    )
    shown = {name for title in sections for name in cells(tables[title])}
    lost = {name for name in sure.metrics if name.startswith("relative_calibration_loss")}
    assert shown == set(sure.metrics) - lost
    assert len(tables["What recalibration would gain"].rows) == len(lost)


def test_cells_are_the_numbers(sure):
    tables = by_title(tables_of([sure]))
    value, interval, constant, better, _ = cells(tables["Scores of yes"])["accuracy"]
    accuracy = sure.metrics["accuracy"]
    assert (value, constant, better) == ("0.5000", "0.5000", "higher")
    assert cells(tables["Scores of yes"])["brier"][2] == "0.2500"
    assert interval == f"{accuracy.interval.low:.4f} to {accuracy.interval.high:.4f}"
    value, expected, p, *_ = cells(tables["Calibration errors of yes"])["ece"]
    null = sure.metrics["ece"].if_calibrated
    assert (value, expected, p) == ("0.4000", f"{null.mean:.4f} ± {null.sd:.4f}", "0.001")


def test_the_interval_says_its_level(summarized):
    result = summarized([[0.9, 0.1]] * 20, [0, 1] * 10, level=0.9)
    assert by_title(tables_of([result]))["Scores of class 1"].columns[2].head == "90% interval"


def test_the_verdict_is_the_first_note(sure):
    assert by_title(tables_of([sure]))["Scores of yes"].notes[0] == sure.verdict.sentence


def test_classes_without_rows_are_marked(impossible):
    classes = cells(by_title(tables_of([impossible]))["Classes"])
    assert classes["eel"][0] == "0"
    assert classes["eel"][3] == "no rows"
    assert classes["dog"][:4] == ("2", "0.5000", "0.5750", "0.5000")


def test_warnings_come_last(impossible):
    last = tables_of([impossible])[-1]
    assert last.title == "Warnings"
    assert last.notes == tuple(warning.message for warning in impossible.warnings)


def test_several_results_have_a_row_each(sure, impossible):
    tables = by_title(tables_of([sure, impossible]))
    for title in ("What was read", "Scores", "Calibration errors"):
        assert len(tables[title].rows) == 2
    scores = tables["Scores"]
    heads = [column.head for column in scores.columns]
    half = (sure.metrics["accuracy"].interval.high - sure.metrics["accuracy"].interval.low) / 2
    assert scores.rows[0][heads.index("accuracy")] == f"0.5000 ± {half:.4f}"
    assert scores.rows[1][heads.index("log_loss")] == "inf"
    errors = tables["Calibration errors"]
    heads = [column.head for column in errors.columns]
    assert errors.rows[0][heads.index("cw_ece")] == "-", "with two classes it is the ece"
    assert errors.rows[0][heads.index("ece")] == "0.4000 p 0.001"


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a/b/x.csv", "a/b/y.csv"], ["x.csv", "y.csv"]),
        (["a/x.csv", "a/b/y.csv"], ["x.csv", "b/y.csv"]),
        (["one.csv"], ["one.csv"]),
        (["a/1/x.csv", "b/1/x.csv"], ["a/1/x.csv", "b/1/x.csv"]),
        (["r/a/1/v/x.csv", "r/b/1/v/x.csv"], ["a/.../x.csv", "b/.../x.csv"]),
        (["r/a/1/v/x.csv", "r/b/1/v/x.csv", "r/x.csv"], ["a/1/v/x.csv", "b/1/v/x.csv", "x.csv"]),
        (["r/1/v/x.csv", "1/v/x.csv"], ["r/1/v/x.csv", "1/v/x.csv"]),
        (["/r/x.csv", "/s/x.csv"], ["/r/x.csv", "/s/x.csv"]),
        (["-", "a/x.csv"], ["standard input", "x.csv"]),
        (["-"], ["standard input"]),
    ],
)
def test_names_leave_out_the_folders_they_share(paths, names):
    assert short_names(paths) == names


def test_what_was_not_tested_still_has_its_ideal(summarized):
    result = summarized([[0.5, 0.5]] * 6, [0, 1] * 3, metrics=("spiegelhalter_z",))
    (row,) = by_title(tables_of([result]))["Calibration of class 1"].rows
    assert row[2:] == ("-", "0", "-")


def test_classes_that_more_draws_could_tell_are_no_secret(summarized, monkeypatch):
    probs, labels = [[0.2, 0.6, 0.2]] * 200, [0, 1] * 100
    title = "Classes"
    enough = summarized(probs, labels, test=True, draws=9)
    notes = by_title(tables_of([enough]))[title].notes
    assert not [note for note in notes if "draws" in note]
    monkeypatch.setattr(classwise, "MOST_DRAWN", 0)
    few = summarized(probs, labels, test=True, draws=9)
    notes = by_title(tables_of([few]))[title].notes
    assert "9 draws cannot give a p below 0.3 for 3 tests; --draws 119 would be enough." in notes


@pytest.mark.parametrize(
    ("asked", "bins", "said"),
    [("ece", 10, True), ("ece", 15, False), ("ece:bins=10", 15, False), ("ks,ece:bins=15", 10, False)],
)
def test_a_number_of_bins_that_nobody_names_is_told(asked, bins, said):
    calls = parse_metrics(asked.split(","), {"bins": bins})
    assert assumed_bins(calls) == (["10 bins, unless the name says otherwise."] if said else [])
