"""What reports say of slices."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from calcli.core.language.settings import Settings
from calcli.io.handed import from_arrays
from calcli.report.evaluation import Report
from calcli.report.shown import render
from calcli.report.slices import EXCESS, worst_slices
from calcli.work.evaluate import evaluate
from tests.report.conftest import tables_of


@pytest.fixture(scope="module")
def sliced():
    """Return a function of settings: results on 500 rows, of which 180 are wrong, and on their slices."""

    def results(**settings):
        country = np.repeat(["de", "fr", "is"], [200, 280, 20])
        right = np.concatenate([np.ones(200), np.zeros(180), np.ones(120)]).astype(int)
        columns = {"country": country, "half": np.tile([2, 10], 250)}
        predictions = from_arrays(np.full((500, 2), [0.2, 0.8]), right, columns=columns)
        return list(evaluate(predictions, by=list(columns), **{"draws": 199, **settings}).results)

    return results


def of_title(results, title):
    return next(table for table in tables_of(results) if table.title == title)


def test_a_row_a_slice_with_the_worst_named(sliced):
    results = sliced()
    table = of_title(results, "Slices by country of class 1")
    assert [column.head for column in table.columns] == [
        "country", "rows", "observed", "predicted", "log_loss", "ece",
    ]  # fmt: skip
    assert [row[:2] for row in table.rows] == [
        ("de", "200"), ("fr", "280"), ("is *", "20"), ("all rows", "500"),
    ]  # fmt: skip
    assert table.rows[0][2:4] == ("1.0000", "0.8000")
    # Holm: twice 1 / (199 + 1) for two slices; Iceland has too few rows to be judged
    assert [row[5] for row in table.rows] == ["0.2000 p 0.010", "0.4429 p 0.010", "0.2000", "0.1600 p 0.005"]
    assert table.notes[0].startswith("The worst by log_loss is country=fr: ")
    assert "* not compared with others; 100 rows would be enough." in table.notes
    halves = of_title(results, "Slices by half of class 1")
    assert [row[0] for row in halves.rows] == ["2", "10", "all rows"]
    assert halves.notes[0] == "No slice is worse by log_loss than chance explains."
    assert not any(note.startswith("*") for note in halves.notes)


def test_values_without_ink_are_seen():
    columns = {"city": np.repeat(["", "  ", "Bern"], 150)}
    predictions = from_arrays(np.full((450, 2), [0.2, 0.8]), np.arange(450) < 140, columns=columns)
    results = list(evaluate(predictions, by=["city"], draws=0, metrics=["accuracy"]).results)
    table = of_title(results, "Slices by city of class 1")
    assert [row[0] for row in table.rows] == ["(empty)", '"  "', "Bern", "all rows"]
    assert any(note.startswith("The worst by accuracy is city=") for note in table.notes)


def test_p_values_are_explained_only_where_there_are_any(sliced):
    explained = "It is corrected for the number of tests (Holm)."
    tested, untested = (
        of_title(results, "Slices by half of class 1").notes for results in (sliced(), sliced(draws=0))
    )
    assert any(explained in note for note in tested)
    assert not any(explained in note for note in untested)


def test_of_many_slices_it_is_said_how_many_were_not_compared():
    days = np.repeat([f"day {n}" for n in range(30)], [20] * 10 + [120] * 20)
    predictions = from_arrays(np.full((2600, 2), [0.2, 0.8]), np.arange(2600) % 5 > 0, columns={"day": days})
    report = evaluate(predictions, by=["day"], draws=0, metrics=["accuracy"])
    notes = next(table for table in report.tables() if table.title == "Slices by day of class 1").notes
    hidden = "30 slices not shown here, 10 of them with fewer than 100 rows and not compared."
    assert hidden in notes
    assert not any(note.startswith("*") for note in notes)


def test_metrics_that_were_asked_for_are_shown(sliced):
    table = of_title(sliced(metrics=("ks", "brier")), "Slices by country of class 1")
    assert [column.head for column in table.columns[2:]] == ["ks", "brier"]
    assert table.notes[0].startswith("The worst by brier is country=fr: ")


def test_the_worst_is_that_of_least_accuracy_or_of_the_most_error_beyond_chance(sliced):
    notes = of_title(sliced(metrics=("mean_confidence", "accuracy")), "Slices by country of class 1").notes
    assert notes[0] == "The worst by accuracy is country=fr: 0.3571, 0.6400 on all rows."
    results = sliced(metrics=("mean_confidence", "ece"))
    assert of_title(results, "Slices by country of class 1").notes[:2] == (
        "The worst by ece is country=fr: 0.4429, 0.1600 on all rows.", EXCESS,
    )  # fmt: skip
    report = Report(results, Settings()).to_dict()["results"]
    assert [result["slices_ranked_by"] for result in report[:2]] == ["ece", None]
    notes = of_title(sliced(metrics=("mean_confidence",)), "Slices by country of class 1").notes
    assert not any("worst" in note for note in notes)


def test_errors_are_ranked_by_what_chance_does_not_explain():
    # the error of few calibrated rows is larger than that of many that are a little off
    rng = np.random.default_rng(0)
    place = np.repeat(["few", "many"], [120, 40_000])
    score = rng.uniform(0.5, 1, len(place))
    labels = (rng.random(len(place)) < np.where(place == "few", score, score - 0.03)).astype(int)
    predictions = from_arrays(np.stack([1 - score, score], 1), labels, columns={"place": place})
    whole, few, many = evaluate(predictions, by="place", metrics="ece:lens=class-1", draws=99).results
    values = [part.metrics["ece:lens=class-1"].value for part in (few, many)]
    assert values[0] > values[1]
    assert worst_slices(whole, [few, many]) == {"place": many}


def test_json_and_csv_hold_the_slices(sliced):
    results = sliced()
    report = json.loads(render(Report(results, Settings()), "json"))["results"]
    assert [result["slice"] for result in report[:4]] == [
        None,
        {"column": "country", "value": "de", "compared": True},
        {"column": "country", "value": "fr", "compared": True},
        {"column": "country", "value": "is", "compared": False},
    ]
    assert report[0]["worst_slices"] == {"country": "fr"}  # the halves differ by chance alone
    assert [result["metrics"]["ece"].get("corrected_p") for result in report[:4]] == [None, 0.01, 0.01, None]
    lines = list(csv.DictReader(io.StringIO(render(Report(results, Settings()), "csv"))))
    accuracy = {line["slice"]: line["value"] for line in lines if line["metric"] == "accuracy"}
    assert (accuracy[""], accuracy["country=de"]) == ("0.64", "1.0")
    corrected = {line["slice"]: line["corrected_p"] for line in lines if line["metric"] == "ece"}
    assert (corrected["country=fr"], corrected["country=is"]) == ("0.01", "")


def test_slices_stand_behind_their_file(sliced):
    first, second = sliced(), sliced()
    first = [replace(result, input=replace(result.input, path="a/x.csv")) for result in first]
    second = [replace(result, input=replace(result.input, path="a/y.csv")) for result in second]
    titles = [table.title for table in tables_of([*first, *second])]
    assert [title for title in titles if title.startswith("Slices")] == [
        "Slices by country of x.csv", "Slices by half of x.csv",
        "Slices by country of y.csv", "Slices by half of y.csv",
    ]  # fmt: skip


def test_observed_and_expected_of_two_classes_with_the_slope_of_slices_that_tell_it():
    rng = np.random.default_rng(3)
    log_odds = rng.normal(-1, 1.2, 900)
    score = 1 / (1 + np.exp(-log_odds))
    hospital = np.repeat(["north", "south", "tiny", "none"], [400, 300, 40, 160])
    label = (rng.random(900) < np.where(hospital == "south", score**2, score)).astype(int)
    label[hospital == "none"] = 0
    data = from_arrays(np.stack([1 - score, score], 1), label, columns={"hospital": hospital})
    results = list(evaluate(data, by="hospital", draws=0).results)
    table = of_title(results, "Observed and expected by hospital")
    rows = {row[0]: row[1:] for row in table.rows}
    for part in ("north", "south"):
        inside = hospital == part
        assert rows[part][:2] == (f"{label[inside].sum()}", f"{score[inside].sum():.1f}")
        assert float(rows[part][2].split()[0]) == pytest.approx(
            label[inside].sum() / score[inside].sum(), abs=1e-3
        )
        fit = LogisticRegression(C=np.inf, tol=1e-9).fit(log_odds[inside, None], label[inside])
        assert float(rows[part][3].split()[0]) == pytest.approx(fit.coef_[0, 0], abs=1e-3)
    assert rows["tiny"][3] == rows["none"][3] == "-"
    assert "No slope for tiny: fewer than 100 rows." in table.notes
    assert any(note.startswith("No slope for none: ") for note in table.notes)
    assert "segments" in table.notes[-1]
