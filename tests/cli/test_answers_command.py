"""Every command on answers that are right or wrong: files of a confidence and of what is right."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.isotonic import IsotonicRegression

import calcli

FAST = ("--draws", 99)


@pytest.fixture
def log(tmp_path, run):
    """Return a file of simulated answers, of which 30% have a confidence below one half."""
    file = tmp_path / "log.jsonl"
    assert (
        run("simulate", "answers", "--rows", 600, "--slope", 1.2, "--intercept", 0.3, "-o", file).status == 0
    )
    return file


def columns(file):
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return np.array([row["confidence"] for row in rows]), np.array([row["correct"] for row in rows])


def test_evaluate_tells_how_sure_and_how_right(log, run):
    confidence, right = columns(log)
    found = run("evaluate", log, *FAST, "-f", "json")
    (result,) = json.loads(found.out)["results"]
    assert result["input"]["class_names"] == ["wrong", "right"]
    assert result["metrics"]["brier"]["value"] == pytest.approx(metrics.brier_score_loss(right, confidence))
    assert result["verdict"]["gap"] == pytest.approx(confidence.mean() - right.mean())
    shown = run("evaluate", log, *FAST).out
    assert "of answers" not in shown
    assert f"answers, {100 * right.mean():.1f}% right" in " ".join(shown.split())
    assert "class" not in shown.replace("classifier", "")


def test_python_says_the_same(log, run):
    confidence, right = columns(log)
    found = calcli.evaluate(confidence=confidence, correct=right, draws=99)
    (shown,) = json.loads(run("evaluate", log, *FAST, "-f", "json").out)["results"]
    assert found.to_dict()["results"][0]["metrics"] == shown["metrics"]
    assert calcli.read(log).of_answers
    assert "600 answers" in repr(found)


def test_python_takes_answers_or_classes(log):
    confidence, right = columns(log)
    with pytest.raises(calcli.core.language.errors.UsageError, match="confidence and correct"):
        calcli.evaluate(confidence=confidence)
    with pytest.raises(calcli.core.language.errors.UsageError, match="neither scores"):
        calcli.evaluate(confidence=confidence, correct=right, classes=["a", "b"])


def test_metrics_of_classes_say_why_not(log, run):
    for name in ("cw_ece", "top5_accuracy", "bayes_risk", "ece:lens=class-1"):
        done = run("evaluate", log, "--metrics", name)
        assert done.status == 2
        assert "right or wrong" in done.err


def test_costs_of_using_an_answer(log, run, tmp_path):
    """Accept what costs less: a wrong answer costs 4 if used, a right one 1 if it is looked at again."""
    costs = tmp_path / "costs.csv"
    costs.write_text("class,use,review\nwrong,4,1\nright,0,1\n")
    done = run("evaluate", log, "--costs", costs, "--metrics", "bayes_risk", "-f", "json", *FAST)
    (result,) = json.loads(done.out)["results"]
    confidence, right = columns(log)
    used = confidence > 0.75
    expected = np.where(used, 4 * ~right, 1).mean()
    assert next(iter(result["metrics"].values()))["value"] == pytest.approx(expected)


def test_a_fit_gives_back_a_column_of_confidences(log, run, tmp_path):
    calibrator, output = tmp_path / "cal.json", tmp_path / "out.jsonl"
    expression = "isotonic:smoothing=0:interpolation=steps"
    assert run("fit", log, "-m", expression, "-o", calibrator).status == 0
    done = run("apply", calibrator, log, "-o", output)
    assert done.err.endswith("600 rows recalibrated\n")
    confidence, right = columns(log)
    expected = IsotonicRegression().fit_transform(confidence, right)
    again, same = columns(output)
    np.testing.assert_allclose(again, expected, atol=1e-12)
    np.testing.assert_array_equal(same, right)
    assert list(json.loads(output.read_text().splitlines()[0])) == ["confidence", "correct"]
    assert "Consistent" in run("evaluate", output, *FAST).out


@pytest.mark.parametrize("form", ["csv", "parquet", "npz"])
def test_what_is_right_need_not_be_known_to_apply(log, run, tmp_path, form):
    calibrator = tmp_path / "cal.json"
    run("fit", log, "-m", "platt", "-o", calibrator)
    confidence, _ = columns(log)
    new, output = tmp_path / f"new.{form}", tmp_path / f"out.{form}"
    if form == "npz":
        np.savez(new, confidence=confidence)
    else:
        table = pd.DataFrame({"id": range(600), "confidence": confidence})
        table.to_csv(new, index=False) if form == "csv" else table.to_parquet(new)
    assert run("apply", calibrator, new, "-o", output).status == 0
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "npz": np.load}[form](output)
    assert set(read) == ({"confidence"} if form == "npz" else {"id", "confidence"})
    after = np.asarray(read["confidence"])
    order = np.argsort(confidence)
    assert np.all(np.diff(after[order]) >= 0)
    assert abs(after.mean() - columns(log)[1].mean()) < 1e-3


def test_as_logits_are_log_odds(log, run, tmp_path):
    calibrator = tmp_path / "cal.json"
    run("fit", log, "-m", "platt", "-o", calibrator)
    run("apply", calibrator, log, "-o", tmp_path / "p.jsonl")
    run("apply", calibrator, log, "--as", "logits", "-o", tmp_path / "l.jsonl")
    probs, logits = (columns(tmp_path / name)[0] for name in ("p.jsonl", "l.jsonl"))
    np.testing.assert_allclose(1 / (1 + np.exp(-logits)), probs, rtol=1e-9)


@pytest.mark.parametrize("method", ["matrix", "vector", "reduced:calibrator=platt", "isotonic:lens=top-1"])
def test_methods_of_classes_say_why_not(log, run, method):
    done = run("fit", log, "-m", method)
    assert done.status == 2
    assert "right or wrong" in done.err


def test_auto_and_benchmarks_leave_methods_of_classes_out(log, run):
    shown = run("fit", log, "-m", "auto").out
    assert "vector" not in shown
    assert "beta" in shown
    found = json.loads(run("benchmark", "--cal", log, "--folds", 2, "--workers", 1, "-f", "json").out)
    assert "matrix" not in json.dumps(found)
    assert "isotonic" in json.dumps(found)


def test_compare_and_check(log, run, tmp_path):
    better = tmp_path / "better.jsonl"
    run("simulate", "answers", "--rows", 600, "--slope", 1, "--intercept", 0, "-o", better)
    done = run("compare", log, better, *FAST, "-f", "json")
    assert done.status == 0
    assert "cw_ece" not in done.out
    policy = tmp_path / "policy.toml"
    policy.write_text('[[rules]]\nmetric = "mean_gap"\nmax = 0.01\n[[rules]]\nmetric = "ece"\nmax = 0.5\n')
    done = run("check", log, "--policy", policy)
    assert done.status == 1
    assert "mean_gap" in done.out


def test_figures_of_classes_say_why_not(log, run, tmp_path):
    done = run("plot", log, "-o", tmp_path / "figures", "--draws", 19, "--data")
    assert done.status == 0
    assert {file.stem for file in (tmp_path / "figures").iterdir()} == {
        "reliability",
        "deviation",
        "ks",
        "risk",
    }
    for options in (("--figure", "class-wise"), ("--figure", "divergence"), ("--lens", "class-1")):
        done = run("plot", log, "-o", tmp_path / "none", *options)
        assert done.status == 2
        assert "right or wrong" in done.err


def test_the_area_of_risk_is_the_brier_score_of_the_report(log, run, tmp_path):
    run("plot", log, "-o", tmp_path / "figures", "--figure", "risk", "--data")
    table = pd.read_csv(tmp_path / "figures" / "risk.csv")
    linear = table.iloc[401:]
    confidence, right = columns(log)
    area = 2 * np.trapezoid(linear["risk"], linear["threshold"])
    assert area == pytest.approx(metrics.brier_score_loss(right, confidence), rel=5e-3)


def test_slices_of_predicted_classes_are_not_there(log, run):
    done = run("evaluate", log, "--by", "predicted-class")
    assert done.status == 2
    assert "answers" in done.err
    assert "Classes" not in run("evaluate", log, "--details").out


def test_rows_left_out_are_not_paired_by_their_order(log, run, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text('[[rules]]\nmetric = "brier"\nmax_increase = 0.01\n')
    for command in (("compare", log, log), ("check", log, "--policy", policy, "--baseline", log)):
        done = run(*command, "--drop-missing")
        assert done.status == 2
        assert "--key COLUMN" in done.err
        assert run(*command, "--drop-missing", "--unpaired").status == 0


def test_captions_speak_of_confidences(log, run, tmp_path):
    figures = ("reliability", "deviation", "ks", "corp", "smooth")
    run("plot", log, "-o", tmp_path, "--figure", ",".join(figures), "--draws", 19, "--data", "-q")
    for name in figures:
        said = (tmp_path / f"{name}.txt").read_text()
        assert "confidence" in said
        assert "score" not in said.replace("Brier score", "")


def test_plot_and_benchmark_say_how_files_were_read(log, run, tmp_path):
    sentence = 'read as answers, right or wrong (confidence), right by column "correct"'
    done = run("plot", log, "-o", tmp_path / "f", "--figure", "risk")
    assert f"{log}: {sentence}" in done.err
    assert "read as" not in run("plot", log, "-o", tmp_path / "f", "--figure", "risk", "-q").err
    tried = ("benchmark", "--cal", log, "--folds", 2, "--workers", 1, "--methods", "temperature", "--details")
    assert "What was read" in run(*tried).out
    (read,) = json.loads(run(*tried, "-f", "json").out)["input"]
    assert read["reading"][0].startswith(sentence)
    assert sentence in run(*tried, "-f", "csv").err
