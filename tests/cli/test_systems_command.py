"""Systems with names, one table for a paper, seeds of a system, and figures as they are wanted."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread


@pytest.fixture
def seeds(tmp_path):
    """Write three seeds of a system, and another system, for the same labels."""
    rng = np.random.default_rng(0)
    score = rng.uniform(0.05, 0.95, 400)
    label = (rng.random(400) < score).astype(int)
    for name, noise in (("good_1", 0.2), ("good_2", 0.3), ("good_3", 0.4), ("bad", 2.0)):
        noisy = 1 / (1 + np.exp(-(np.log(score / (1 - score)) + noise * rng.normal(size=400))))
        pd.DataFrame({"p": noisy, "label": label}).to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def table_of(run, *arguments):
    return list(csv.DictReader(io.StringIO(run(*arguments, "-f", "csv", "-q").out)))


def test_names_are_in_every_table_and_in_json(run, seeds):
    files = f"rf={seeds}/good_1.csv", f"lr={seeds}/bad.csv"
    assert "\nrf " in run("evaluate", *files).out
    assert "lr against rf" in run("compare", *files).out
    document = json.loads(run("evaluate", *files, "-f", "json").out)
    inputs = [result["input"] for result in document["results"]]
    assert [(given["name"], given["path"]) for given in inputs] == [
        ("rf", f"{seeds}/good_1.csv"),
        ("lr", f"{seeds}/bad.csv"),
    ]
    assert "seeds" not in document


def test_several_systems_are_one_table_in_every_form_for_papers(run, seeds):
    files = f"rf={seeds}/good_1.csv", f"lr={seeds}/bad.csv"
    rows = table_of(run, "evaluate", *files, "--metrics", "log_loss,auroc")
    assert [row["system"] for row in rows] == ["rf", "lr"]
    best, half = float(rows[0]["log_loss"]), float(rows[0]["log_loss high"]) - float(rows[0]["log_loss"])
    latex = run("evaluate", *files, "--metrics", "log_loss,auroc", "-f", "latex").out
    assert latex.count(r"\begin{table}") == 1
    assert latex.startswith("% What was read\n")
    assert rf"rf & \textbf{{{best:.4f}" in latex
    markdown = run("evaluate", *files, "--metrics", "log_loss,auroc", "-f", "markdown").out
    assert markdown.count("| --: |") == 1
    assert f"± {half:.4f}" in markdown or f"({best - half:.2f}" in markdown
    assert "read as" in markdown.partition("<!--")[2]
    compared = table_of(run, "compare", *files, "--metrics", "log_loss")
    change = float(compared[1]["log_loss"]) - float(compared[0]["log_loss"])
    assert float(compared[1]["log_loss change"]) == pytest.approx(change)
    assert run("compare", *files, "--metrics", "log_loss", "-f", "latex").out.count(r"\begin{table}") == 1


def test_files_of_one_name_are_seeds_of_one_system(run, seeds):
    files = f"good={seeds}/good_*.csv", f"{seeds}/bad.csv"
    values = [float(row["log_loss"]) for row in table_of(run, "evaluate", *sorted(seeds.glob("good_*.csv")))]
    good, bad = table_of(run, "evaluate", *files, "--metrics", "log_loss")
    assert (good["system"], good["files"], bad["files"]) == ("good", "3", "1")
    assert float(good["log_loss"]) == pytest.approx(np.mean(values))
    assert float(good["log_loss sd"]) == pytest.approx(np.std(values, ddof=1))
    assert f"{np.mean(values):.4f} ± {np.std(values, ddof=1):.4f}" in run("evaluate", *files).out
    seeds_of = json.loads(run("evaluate", *files, "-f", "json").out)["seeds"]
    assert seeds_of["good"]["log_loss"]["sd"] == pytest.approx(np.std(values, ddof=1))
    pair = "--pair", f"good={seeds}/good_*.csv", f"{seeds}/good_*.csv"
    (trial, _) = table_of(run, "benchmark", *pair, "--methods", "temperature", "--metrics", "log_loss")
    assert (trial["model"], float(trial["log_loss"])) == ("good", pytest.approx(np.mean(values)))
    assert run("benchmark", "--pair", pair[1], f"{seeds}/bad.csv").status == 2


def test_figures_have_the_title_size_and_style_that_are_wanted(run, seeds, tmp_path):
    style = tmp_path / "paper.mplstyle"
    style.write_text("axes.grid: True\nsavefig.dpi: 100\n", encoding="utf-8")
    look = "--title", "Two systems", "--width", "4", "--height", "3", "--style", style
    files = f"rf={seeds}/good_1.csv", f"lr={seeds}/bad.csv"
    done = run("plot", *files, "--figure", "net-benefit", *look, "-f", "svg", "-o", tmp_path / "out")
    assert done.status == 0, done.err
    text = (tmp_path / "out" / "net-benefit.svg").read_text(encoding="utf-8")
    assert all(f">{words}</text>" in text for words in ("Two systems", "rf", "lr"))
    band = "--figure", "reliability:band=true"
    assert run("plot", *files, *band, *look, "--data", "-o", tmp_path / "png").status == 0
    assert imread(tmp_path / "png" / "reliability.png").shape[:2] == (300, 400)
    bins = pd.read_csv(tmp_path / "png" / "reliability.csv")
    bins = bins[(bins["name"] == "rf") & (bins["rows"] > 0)]
    assert ((bins["low"] <= bins["frequency"]) & (bins["frequency"] <= bins["high"])).all()
    style.unlink()
    assert "paper.mplstyle cannot be read" in run("plot", *files, *look, "-o", tmp_path / "none").err


def test_a_question_has_its_readings_as_json_too(run, tmp_path):
    rng = np.random.default_rng(0)
    score = rng.random(300)
    columns = {name: (rng.random(300) < score).astype(int) for name in ("sold", "bought")}
    pd.DataFrame({"risk": score} | columns).to_csv(tmp_path / "two.csv", index=False)
    done = run("evaluate", tmp_path / "two.csv", "--format", "json")
    question = json.loads(done.out)
    assert (done.status, len(question["readings"])) == (2, 2)
    assert question["error"] in done.err
    for reading in question["readings"]:
        assert reading["command"] in done.err
        assert run(*reading["command"].split()[1:], "-q").status == 0


def test_a_table_for_a_clinical_model_marks_scores_alone_and_says_what_is_missing(run, seeds, sample):
    files = f"rf={seeds}/good_1.csv", f"lr={seeds}/bad.csv"
    of_calibration = ["oe_ratio", "calibration_slope", "calibration_intercept"]
    metrics = [*of_calibration, "auroc", "brier", "net_benefit:threshold=0.1"]
    asked = ("evaluate", *files, "--metrics", ",".join(metrics))
    rows = table_of(run, *asked)
    assert list(rows[0])[2:] == [f"{name}{end}" for name in metrics for end in ("", " low", " high")]
    latex = run(*asked, "-f", "latex").out
    cells = next(line for line in latex.splitlines() if line.startswith("rf &")).split(" & ")[1:]
    assert [r"\textbf" in cell for cell in cells[:3]] == [False] * 3
    assert any(r"\textbf" in line for line in latex.splitlines() if line.startswith(("rf", "lr")))
    for name, cell in zip(metrics, cells, strict=True):
        value = float(cell.removeprefix(r"\textbf{").split()[0].rstrip("}"))
        assert value == pytest.approx(float(rows[0][name]), abs=1e-3)
    cancer = sample / "cancer_bayes_test.csv", sample / "cancer_bayes_calibration.csv"
    latex = run("evaluate", *cancer, "--metrics", "calibration_slope,auroc", "-f", "latex").out
    assert r"No interval for calibration\_slope: " in latex
