"""`calcli evaluate` from the shell: files in, streams and folders out."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import resource
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calcli


def metrics(done) -> dict[str, dict]:
    return json.loads(done.out)["results"][0]["metrics"]


def test_tables_on_standard_output_and_nothing_else(run, preds):
    status, out, err = run("evaluate", preds, "--details")
    assert (status, err) == (0, "")
    head, _ = out.split("\nread as   a column for each class: prob_cat, prob_dog\nrows      4\n")
    assert head.replace("\n", "") == str(preds)  # a long path is folded
    assert re.search(rf"^log_loss +{-math.log(0.8):.4f} ", out, re.MULTILINE)


@pytest.mark.parametrize(
    "name", ["cancer_bayes_test.csv", "digits_forest_test.parquet", "iris_logistic_test.csv"]
)
@pytest.mark.parametrize("columns", [60, 80])
def test_the_answer_is_one_screen(run, sample, name, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.chdir(sample)
    lines = run("evaluate", name).out.splitlines()
    assert max(map(len, lines)) <= columns
    assert len(lines) <= 24 or columns < 80
    said = " ".join(" ".join(lines).split())
    for told in (
        "on average" if "cancer" in name else "mean confidence",
        "of the log-loss (",
        "Next: `calcli ",
    ):
        assert told in said
    assert [line.split()[0] for line in lines if line.startswith(("log_loss", "brier", "auroc"))] == [
        "log_loss", "brier", "auroc"
    ]  # fmt: skip
    if columns == 80:
        assert len(run("evaluate", name, "--details", "--draws", 9).out.splitlines()) > 40


def test_json_is_all_of_standard_output(run, preds):
    done = run("evaluate", preds, "--format", "json")
    assert (done.status, done.err) == (0, "")
    assert metrics(done)["log_loss"]["value"] == pytest.approx(-math.log(0.8), abs=1e-12)
    assert metrics(done)["accuracy"]["value"] == 1


def test_metrics_are_computed_in_the_order_asked_for(run, preds):
    done = run("evaluate", preds, "-f", "json", "--metrics", "ks, log_loss,ece:bins=20")
    assert list(metrics(done)) == ["ks", "log_loss", "ece:bins=20"]


def test_options_reach_the_computation(run, sample):
    file = sample / "digits_network_test.npy"
    options = ["--bins", "7", "--level", "0.9", "--draws", "49"]
    done = run("evaluate", file, "-f", "json", *options)
    settings = json.loads(done.out)["settings"]
    assert (settings["bins"], settings["level"], settings["draws"]) == (7, 0.9, 49)
    assert metrics(done)["ece"]["signature"].split("|")[4:-1] == [
        "bins:7", "norm:1", "n:997", "k:10", "dtype:float64", "draws:49", "seed:0"
    ]  # fmt: skip
    assert metrics(done)["log_loss"]["level"] == 0.9


def test_no_intervals_and_no_tests(run, preds):
    found = metrics(run("evaluate", preds, "-f", "json", "--draws", "0"))
    assert "low" not in found["log_loss"]
    assert "p_value" not in found["ece"]


def test_the_same_figures_every_time(run, sample):
    file = sample / "cancer_bayes_test.csv"
    first = run("evaluate", file, "-f", "json")
    assert run("evaluate", file, "-f", "json") == first
    other = calcli.evaluate(file, seed=1).to_dict()["results"][0]["metrics"]
    assert other["ece"]["if_calibrated"] != metrics(first)["ece"]["if_calibrated"]


def test_reading_options_reach_the_reader(run, tmp_path):
    file = tmp_path / "odd.csv"
    file.write_text("truth,extra,p_b,p_a,w\n" + "a,1,0.25,0.75,1\nb,2,0.5,0.5,3\n" * 2)
    done = run(
        "evaluate", file, "-f", "json", "--label-column", "truth", "--scores", "p_*", "--classes", "a,b",
        "--weights", "w", "--kind", "probs", "--metrics", "log_loss",
    )  # fmt: skip
    expected = -(2 * math.log(0.75) + 6 * math.log(0.5)) / 8
    assert metrics(done)["log_loss"]["value"] == pytest.approx(expected, abs=1e-12)
    read = json.loads(done.out)["results"][0]["input"]
    assert (read["rows"], read["class_names"], read["weighted"]) == (4, ["a", "b"], True)


def test_labels_in_a_file_of_their_own(run, tmp_path):
    np.save(tmp_path / "scores.npy", np.log([[0.75, 0.25], [0.5, 0.5]]) + 3)
    np.save(tmp_path / "truth.npy", np.array([0, 1]))
    done = run("evaluate", tmp_path / "scores.npy", "--labels", tmp_path / "truth.npy", "-f", "json")
    expected = -(math.log(0.75) + math.log(0.5)) / 2
    assert metrics(done)["log_loss"]["value"] == pytest.approx(expected, abs=1e-12)


def test_what_expressions_name(run, tmp_path):
    file = tmp_path / "animals.csv"
    file.write_text("label,prob_cat,prob_cow,prob_dog\n" + "cat,0.5,0.3,0.2\ncow,0.5,0.3,0.2\n" * 5)
    (tmp_path / "kind.csv").write_text("cat,pet\ndog,pet\ncow,farm\n")
    of = "expected_miscalibration:lens="
    names = [f"{of}kind", f"{of}alike", "mce:lens=class-0:binning=0/0.5/1"]
    done = run(
        "evaluate", file, "-f", "json", "--class-groups", f"kind={tmp_path / 'kind.csv'}",
        "--class-groups", "alike=cat+cow+dog", "--metrics", ",".join(names),
    )  # fmt: skip
    # pets are promised 0.7 and are half of the rows; one group of all is always right
    assert [metrics(done)[name]["value"] for name in names] == pytest.approx([0.2, 0, 0], abs=1e-12)
    settings = json.loads(done.out)["settings"]
    assert settings["groups"]["kind"] == {"cat": "pet", "dog": "pet", "cow": "farm"}
    wrong = run("evaluate", file, "--class-groups", "kind=cat,cow")
    assert (wrong.status, wrong.out) == (2, "")
    assert "'dog' is in no group" in wrong.err


def test_every_error_is_tested_on_demand(run, sample, monkeypatch):
    file = sample / "iris_logistic_test.csv"
    options = ["--metrics", "cw_ece,ks:lens=class-wise", "-f", "json"]
    tested = metrics(run("evaluate", file, *options, "--test"))
    assert all(0 < entry["p_value"] <= 1 and entry["if_calibrated"]["sd"] > 0 for entry in tested.values())
    assert metrics(run("evaluate", file, *options)) == tested  # unasked, as rows times classes are few
    many = sample / "digits_network_test.npy", "--metrics", "cw_ece", "-f", "json"
    monkeypatch.setattr("calcli.core.evaluating.usual.TESTED", 100)
    assert "p_value" not in metrics(run("evaluate", *many))["cw_ece"]


def test_slices(run, tmp_path):
    file = tmp_path / "animals.csv"
    rows = ["cat,0.9,0.1,de", "dog,0.9,0.1,fr", "dog,0.2,0.8,fr"] * 60
    file.write_text("\n".join(["label,prob_cat,prob_dog,country", *rows]))
    options = ["--by", "country", "--metrics", "accuracy", "--fail-if", "accuracy<0.6"]
    done = run("evaluate", file, "-f", "json", *options)
    assert done.status == 0, "a limit is of all rows"
    whole, *parts = json.loads(done.out)["results"]
    assert [part["slice"]["value"] for part in parts] == ["de", "fr"]
    values = [result["metrics"]["accuracy"]["value"] for result in (whole, *parts)]
    assert values == pytest.approx([2 / 3, 1, 1 / 2])
    assert "\nSlices by country of dog\n" in run("evaluate", file, "--by", "country").out
    wrong = run("evaluate", file, "--by", "land")
    assert (wrong.status, wrong.out) == (2, "")
    assert "no column 'land'; the columns are: country" in wrong.err


def test_classes_are_tested_on_demand(run, sample):
    file, options = sample / "iris_logistic_test.csv", ["--details", "--metrics", "accuracy"]
    assert "Holm" not in run("evaluate", file, *options).out
    tested = run("evaluate", file, *options, "--test").out
    assert "corrected for the number of tests (Holm)" in re.sub(r"\s+", " ", tested)
    assert "Too few rows: less than 30 by label and by probability." in re.sub(r"\s+", " ", tested)


def test_standard_input(run, preds, monkeypatch):
    whole = run("evaluate", preds, "-f", "json")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(preds.read_bytes())))
    piped = run("evaluate", "-", "-f", "json")
    assert metrics(piped) == metrics(whole)
    assert json.loads(piped.out)["results"][0]["input"]["sha256"] is None


def test_several_files_side_by_side(run, sample):
    files = sorted(sample.glob("epochs/*.parquet"))
    status, out, _ = run("evaluate", *files, "--metrics", "log_loss")
    assert status == 0
    scores = out[out.index("Scores") :]
    assert re.findall(r"^epoch_\S+", scores, re.MULTILINE) == [file.name for file in files]
    report = json.loads(run("evaluate", *files, "--metrics", "log_loss", "-f", "json").out)
    assert [result["input"]["path"] for result in report["results"]] == list(map(str, files))


def test_parts_give_what_the_whole_gives(run, preds, tmp_path):
    head, *rows = preds.read_text().splitlines()
    parts = tmp_path / "parts"
    parts.mkdir()
    for n, row in enumerate(rows):
        (parts / f"part-{n}.csv").write_text(f"{head}\n{row}\n")
    whole = metrics(run("evaluate", preds, "-f", "json"))
    assert metrics(run("evaluate", parts, "-f", "json")) == whole
    assert metrics(run("evaluate", *sorted(parts.iterdir()), "--concat", "-f", "json")) == whole


def test_thousands_of_files(run, preds, tmp_path):
    files = [tmp_path / f"{n:04}.csv" for n in range(300)]  # more than may be open at once
    for file in files:
        os.link(preds, file)
    options = ["--metrics", "log_loss", "-f", "csv", "-q"]
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, most[1]))
    try:
        status, out, err = run("evaluate", *files, *options)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)
    assert (status, err) == (0, "")
    assert [line["system"] for line in csv.DictReader(io.StringIO(out))] == [file.name for file in files]


def test_the_terminal_may_be_narrow(run, sample, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    for files in (sorted(sample.glob("*_test.*")), [sample / "digits_network_test.npy"]):
        out = run("evaluate", *files, "--details").out
        assert max(map(len, out.splitlines())) <= 60


def test_markdown_and_csv(run, preds):
    assert "| accuracy | 1.0000 |" in run("evaluate", preds, "-f", "markdown", "--metrics", "accuracy").out
    status, out, err = run("evaluate", preds, "-f", "csv", "--metrics", "accuracy,ece")
    assert status == 0
    assert next(csv.DictReader(io.StringIO(out)))["value"] == "1.0"
    reading, warning = err.splitlines()[:2]
    assert reading.startswith(
        f"calcli: {preds}: read as a column for each class (prob_cat, prob_dog), labels"
    )
    assert warning.startswith(f"calcli: {preds}: 4 rows for 15 bins"), "CSV has no place for either"
    assert run("evaluate", preds, "-f", "csv", "--quiet").err == ""


class TestFolder:
    def test_report_and_figures(self, run, preds, tmp_path):
        folder = tmp_path / "new" / "report"
        done = run("evaluate", preds, "-o", folder, "-f", "json")
        assert done.status == 0
        assert (folder / "report.json").read_text() == done.out
        page = (folder / "report.md").read_text()
        figures = [file.name for file in sorted(folder.glob("*.png"))]
        assert "reliability.png" in figures
        captions = dict(re.findall(r"^!\[(.*)\]\(<(.*)>\)$", page, re.MULTILINE))
        assert set(captions.values()) == set(figures)
        assert all("(n = 4)" in caption for caption in captions)
        assert {file.name for file in folder.iterdir()} == {
            *figures,
            "report.json",
            "report.md",
            "report.html",
        }

    def test_several_files_have_a_folder_of_figures_each(self, run, sample, tmp_path):
        files = [sample / "iris_logistic_test.csv", sample / "cancer_bayes_test.csv"]
        assert run("evaluate", *files, "-o", tmp_path / "out", "--draws", 9).status == 0
        assert (tmp_path / "out" / "iris_logistic_test" / "reliability.png").exists()
        assert "](<cancer_bayes_test/reliability.png>)" in (tmp_path / "out" / "report.md").read_text()

    def test_other_files_stay_and_a_fault_leaves_what_was_there(self, run, preds, tmp_path):
        folder = tmp_path / "report"
        folder.mkdir()
        (folder / "notes.txt").write_text("mine")
        assert run("evaluate", preds, "-o", folder, "--draws", 9).status == 0
        assert (folder / "notes.txt").read_text() == "mine"
        before = {file: file.read_bytes() for file in folder.iterdir()}
        assert run("evaluate", tmp_path / "missing.csv", "-o", folder).status == 2
        assert {file: file.read_bytes() for file in folder.iterdir()} == before

    def test_a_folder_that_cannot_be_written(self, run, preds):
        (file := preds.with_name("file")).touch()
        status, out, err = run("evaluate", preds, "-o", file)
        assert (status, out) == (2, "")
        assert err.startswith(f"calcli: {file} cannot be written as a folder: ")
        assert "-o" in err


class TestFailIf:
    def test_a_limit_that_holds_fails(self, run, preds):
        status, out, err = run("evaluate", preds, "--fail-if", "log_loss>0.2", "-f", "json")
        assert status == 1
        assert json.loads(out)["results"], "the report is shown all the same"
        assert err == f"calcli: {preds}: log_loss>0.2 holds, log_loss is {-math.log(0.8):.4f}\n"

    def test_a_limit_that_does_not_hold_is_fine(self, run, preds):
        assert run("evaluate", preds, "--fail-if", "log_loss>0.3", "--fail-if", "accuracy<1").status == 0

    def test_any_file_and_any_limit_counts(self, run, preds, sample):
        cancer = sample / "cancer_bayes_test.csv"
        done = run("evaluate", preds, cancer, "--fail-if", "log_loss>0.5", "--fail-if", "accuracy<0.9", "-q")
        assert done.status == 1
        assert done.err.count("\n") == 1
        assert done.err.startswith(f"calcli: {cancer}: log_loss>0.5 holds")

    def test_its_metric_need_not_be_asked_for(self, run, preds):
        limit = "ks:lens=class-0>=0.9"
        done = run("evaluate", preds, "--metrics", "accuracy", "--fail-if", limit, "-f", "json")
        assert done.status == 0
        assert list(metrics(done)) == ["accuracy", "ks:lens=class-0"]

    def test_bins_count_for_limits_too(self, run, preds):
        options = ["--bins", "5", "--metrics", "accuracy", "--fail-if", "ece>0.9"]
        done = run("evaluate", preds, "-f", "json", *options)
        assert list(metrics(done)) == ["accuracy", "ece"]
        assert "|bins:5|" in metrics(done)["ece"]["signature"]

    def test_a_limit_and_a_metric_may_say_the_same_in_different_words(self, run, preds):
        asked = "ece:bins=15:binning=equal-mass"
        done = run(
            "evaluate", preds, "--metrics", asked, "--fail-if", "ece:binning=equal-mass>0", "-f", "json"
        )
        assert (done.status, list(metrics(done))) == (1, [asked])
        assert f"ece:binning=equal-mass is {metrics(done)[asked]['value']:.6g}" in done.err

    def test_a_limit_is_told_as_it_was_given(self, run, preds):
        done = run("evaluate", preds, "--bins", "5", "--metrics", "ece", "--fail-if", "ece:bins=15>0", "-q")
        assert ": ece:bins=15>0 holds, ece:bins=15 is " in done.err

    def test_what_cannot_be_judged_never_passes(self, run, tmp_path):
        file = tmp_path / "one.csv"
        file.write_text("label,prob_cat,prob_dog\n" + "cat,0.8,0.2\n" * 9)
        status, _, err = run("evaluate", file, "--fail-if", "auroc<0.5")
        assert status == 2
        assert err == f"calcli: {file}: auroc is undefined on these labels, so auroc<0.5 cannot be judged\n"


@pytest.mark.parametrize("form", ["table", "markdown", "json"])
def test_nobody_is_told_to_fit_to_the_rows_evaluated(run, sample, form):
    done = run("evaluate", sample / "digits_network_test.npy", "--format", form)
    advice = re.findall(r"calcli\s+fit\s+(\S+)", done.out)
    assert set(advice) == {"VALIDATION"}


class TestManyFiles:
    """A line a file first; what cannot be read stops nothing."""

    FEW = ("-q", "--metrics", "log_loss,accuracy")

    @pytest.fixture
    def epochs(self, sample):
        return sorted(str(file) for file in (sample / "epochs").glob("*.parquet"))

    @pytest.mark.parametrize("columns", [60, 80, 120])
    def test_a_line_a_file_answers(self, run, epochs, columns, monkeypatch):
        monkeypatch.setenv("COLUMNS", str(columns))
        files = epochs[:3]
        lines = run("evaluate", *files, "--draws", 19).out.splitlines()
        assert max(map(len, lines)) <= columns
        assert (
            sum(re.search(r"\bgain\b", line) is not None for line in lines) == 2
        )  # a column, and what it is
        lines_of = [line.split() for line in lines if line.startswith("epoch_")]
        assert [words[0] for words in lines_of[:3]] == [Path(file).name for file in files]
        assert len(lines_of) == 3 * (2 if columns == 60 else 1)
        assert "What was read" not in "".join(lines)

    def test_the_page_and_details_have_all_of_many(self, run, epochs, tmp_path):
        page, how = tmp_path / "page.html", (*epochs[:2], "--draws", 9)
        assert "What was read" in run("evaluate", *how, "--details", "--html", page).out
        assert "What was read" in page.read_text(encoding="utf-8")

    def test_failures_come_first_and_have_details(self, run, epochs, monkeypatch):
        monkeypatch.setattr("calcli.report.evaluation.MANY", 8)
        done = run("evaluate", *epochs, *self.FEW, "--fail-if", "log_loss>1")
        assert done.status == 1
        name = Path(epochs[0]).name
        assert done.out.splitlines()[3].split()[:2] == [name, "FAILED"]
        assert f"1 of {len(epochs)} files failed" in done.out
        assert f"{len(epochs) - 1} files without details here" in done.out
        assert done.out.count(Path(epochs[1]).name) == 1
        details = run("evaluate", *epochs, *self.FEW, "--details")
        assert details.out.count(Path(epochs[1]).name) > 1

    def test_a_file_that_cannot_be_read_stops_no_other(self, run, epochs, tmp_path):
        (tmp_path / "x.csv").write_text("nothing\n", encoding="utf-8")
        done = run("evaluate", *epochs[:2], tmp_path / "x.csv", *self.FEW, "-f", "json")
        found = json.loads(done.out)
        assert done.status == 2
        assert done.err.count("\n") == 1
        assert "x.csv" in done.err
        assert len(found["results"]) == 2
        assert found["unread"][0]["reason"] in done.err
        done = run("evaluate", *epochs[:2], tmp_path / "x.csv", *self.FEW, "--fail-if", "log_loss>1")
        assert done.status == 1

    def test_nothing_is_reported_if_no_file_can_be_read(self, run, tmp_path):
        done = run("evaluate", tmp_path / "a.csv", tmp_path / "b.csv")
        assert (done.status, done.out) == (2, "")


def test_warnings_beside_csv_name_their_slice(run, sample, tmp_path):
    rows = pd.read_parquet(sample / "release_1.parquet")[:200]
    rows.to_parquet(tmp_path / "rows.parquet")
    done = run("evaluate", tmp_path / "rows.parquet", "--by", "ink", "--format", "csv")
    said = [line for line in done.err.splitlines() if "fewer than 10 per bin" in line]
    assert said
    assert all(", ink=" in line for line in said)


def test_details_and_json_say_what_else_was_considered(run, tmp_path):
    """The largest of the probabilities beside them is the score of no class."""
    path = tmp_path / "largest.csv"
    rows = [(n % 3 % 2, (n * 7 % 20 + 0.5) / 20) for n in range(200)]
    lines = (f"{y},{1 - p},{p},{max(p, 1 - p)}\n" for y, p in rows)
    path.write_text("label,probability(0),probability(1),probability\n" + "".join(lines))
    found = json.loads(run("evaluate", path, "-f", "json").out)["results"][0]["input"]["considered"]
    reasons = {one["scores"]: one["reason"] for one in found}
    assert "never below one half" in reasons["label label, probs probability (of 1)"]
    assert "Also considered" in run("evaluate", path, "--details").out
    assert "Also considered" not in run("evaluate", path, "--html", tmp_path / "page.html").out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Calibration errors" in page
    assert "Also considered" not in page
    assert "Also considered" in run("inspect", path).out


def test_digits_are_those_asked_for_in_this_command_alone(run, sample):
    file, metrics = sample / "cancer_bayes_test.csv", ("--metrics", "log_loss,ece")
    usual = run("evaluate", file, *metrics).out
    short = run("evaluate", file, *metrics, "--digits", 2).out
    value = json.loads(run("evaluate", file, *metrics, "--digits", 2, "-f", "json").out)["results"][0][
        "metrics"
    ]
    assert re.search(rf"log_loss +{value['log_loss']['value']:.2f} ", short)
    assert re.search(rf"ece +{value['ece']['value']:.2f} ", short)
    assert run("evaluate", file, *metrics).out == usual != short


@pytest.mark.parametrize(
    "command",
    [("evaluate",), ("compare",), ("benchmark", "--methods", "temperature", "--cal")],
    ids=lambda command: command[0],
)
def test_tables_are_written_for_latex(run, sample, command):
    files = [sample / f"release_{number}.parquet" for number in (1, 2)]
    asked = [files[0], "--test", files[1]] if "--cal" in command else files
    done = run(*command, *asked, "-f", "latex")
    assert done.status == 0
    assert (
        done.out.count(r"\toprule") == done.out.count(r"\bottomrule") == done.out.count(r"\begin{table}") > 0
    )
    bare = [line for line in done.out.splitlines() if not line.startswith("%")]
    assert not [line for line in bare if re.search(r"(?<!\\)[%#_]", line)]
