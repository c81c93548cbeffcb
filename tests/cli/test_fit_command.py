"""`calcli fit` and `calcli apply` from the shell, and what they give each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss

from tests.cli.conftest import put_on_path

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def digits(sample):
    """Return a function: part -> a file of logits."""
    return lambda part: sample / f"digits_network_{part}.npy"


NOT_SAVED = "calcli: nothing was saved; -o cal.json keeps the calibrator\n"


@pytest.fixture
def cal(run, digits, tmp_path) -> Path:
    """Return a temperature fitted to digits."""
    path = tmp_path / "cal.json"
    assert run("fit", digits("calibration"), "-m", "temperature", "-o", path).status == 0
    return path


def fitted(run, *arguments) -> dict:
    done = run("fit", *arguments, "--format", "json")
    assert (done.status, done.err) in ((0, ""), (0, NOT_SAVED))
    return json.loads(done.out)


def sentence(done) -> str:
    """Return the one line of a call that was wrong, of which nothing went to standard output."""
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1
    return done.err


def test_what_was_learned_and_what_it_does(run, digits, tmp_path):
    done = run("fit", digits("calibration"), "-m", "temperature", "-o", tmp_path / "cal.json", "--details")
    assert (done.status, done.err) == (0, "")
    learned = json.loads((tmp_path / "cal.json").read_text())["parameters"]["temperature"]
    assert f"\ntemperature  {learned:.4f}\n" in done.out
    assert "before   after  cross-validated  better" in done.out
    assert "The predicted class changes in 0 of 650 rows" in done.out


def test_the_file_tells_where_it_comes_from(digits, cal):
    document = json.loads(cal.read_text())
    assert document["fitted_on"]["path"] == str(digits("calibration"))
    assert document["fitted_on"]["rows"] == 650
    assert len(document["fitted_on"]["sha256"]) == 64
    assert document["classes"] == [str(k) for k in range(10)]


def test_apply_gives_what_the_file_says(run, digits, cal, tmp_path):
    done = run("apply", cal, digits("test"), "-o", tmp_path / "out.npy")
    assert (done.status, done.out) == (0, "")
    labels = "the labels were written to out_labels.npy beside out.npy"
    rows = "997 rows recalibrated; the predicted class changed in 0"
    assert done.err == f"calcli: {labels}\ncalcli: {rows}\n"
    logits = np.load(digits("test")).astype(float) / json.loads(cal.read_text())["parameters"]["temperature"]
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, rtol=1e-12)


def test_recalibrated_files_evaluate_to_the_same_loss(run, digits, cal, tmp_path):
    labels = np.load(str(digits("test")).replace(".npy", "_labels.npy"))
    for name in ("out.csv", "out.parquet", "out.npz", "out.arrow", "out.jsonl"):
        assert run("apply", cal, digits("test"), "-o", tmp_path / name, "--quiet") == (0, "", "")
        done = run("evaluate", tmp_path / name, "-f", "json", "--metrics", "log_loss")
        found = json.loads(done.out)["results"][0]["metrics"]["log_loss"]["value"]
        run("apply", cal, digits("test"), "-o", tmp_path / "probs.npy", "--quiet")
        assert found == pytest.approx(log_loss(labels, np.load(tmp_path / "probs.npy")), rel=1e-12)


def shell(command: str, folder: Path) -> subprocess.CompletedProcess:
    environment = os.environ | {"PATH": put_on_path(folder / "bin"), "D": str(folder)}
    return subprocess.run(
        ["sh", "-c", command], cwd=ROOT / "sample_data", env=environment, capture_output=True, text=True
    )


def test_the_whole_way_through_pipes(tmp_path):
    done = shell(
        "calcli fit cancer_bayes_calibration.csv --candidates platt,isotonic "
        "-o $D/cal.json > $D/table.txt && "
        "calcli apply $D/cal.json cancer_bayes_test.csv -o - | "
        "calcli evaluate - -f csv --metrics log_loss,accuracy",
        tmp_path,
    )
    assert done.returncode == 0
    assert done.stdout.splitlines()[1].startswith("-,,,log_loss,0.")
    assert float(done.stdout.splitlines()[1].split(",")[4]) < 0.5447  # what it is before
    assert "Candidates, by cross-validation" in (tmp_path / "table.txt").read_text()


def test_formats_without_text_are_piped_as_an_arrow_stream(tmp_path, cal):
    made = "calcli apply {} {} | calcli evaluate - -f csv --metrics accuracy"
    calls = [made.format(cal, file) for file in ("digits_network_test.npy", "release_1.parquet")]
    found = shell("; ".join(calls), tmp_path).stdout.splitlines()
    assert [line.partition("0.9117")[0] for line in found if "0.9117" in line] == ["-,,,accuracy,"] * 2


def test_a_reader_that_has_seen_enough(tmp_path, cal):
    done = shell(
        f"calcli apply {cal} release_1.parquet -o $D/wide.csv -q; "
        "(cat $D/wide.csv; for i in 1 2 3 4 5 6 7 8 9; do tail -n +2 $D/wide.csv; done) > $D/long.csv; "
        f"{{ calcli apply {cal} $D/long.csv; echo $? >&2; }} | head -1",
        tmp_path,
    )
    assert done.stdout == "id,ink,label," + ",".join(f"prob_{k}" for k in range(10)) + "\n"
    assert done.stderr == "0\n"


def test_the_calibrator_on_standard_output(run, digits):
    done = run("fit", digits("calibration"), "-m", "bias", "-o", "-")
    assert json.loads(done.out)["method"] == "bias"
    assert "What it does" in done.err
    assert run("fit", digits("calibration"), "-m", "bias", "-o", "-", "-q").err == ""


def test_auto_chooses_and_shows_the_candidates(run, digits):
    found = fitted(run, digits("calibration"), "-m", "auto", "--candidates", "temperature,isotonic")
    names = [one["method"] for one in found["candidates"]]
    assert names == [None, "temperature", "isotonic"]
    assert [one["chosen"] for one in found["candidates"]].count(True) == 1
    by_brier = fitted(
        run, digits("calibration"), "-m", "auto", "--candidates", "temperature,bias", "--score", "brier"
    )
    best = min(one["values"]["brier"] for one in by_brier["candidates"] if one["method"])
    for one in by_brier["candidates"]:
        assert one["difference_to_best"]["mean"] == pytest.approx(one["values"]["brier"] - best, abs=1e-12)


def test_options_reach_the_fit(run, digits):
    options = ["--per-predicted-class", "--min-rows", "60", "--preserve-top1", "--folds", "3", "--seed", "4"]
    found = fitted(run, digits("calibration"), "-m", "histogram:bins=5", "--lens", "top-1", *options)
    assert found["method"] == "histogram:lens=top-1:bins=5"
    expected = {"folds": 3, "seed": 4, "per_predicted_class": True, "min_rows": 60, "preserve_top1": True}
    assert expected.items() <= found["settings"].items()
    assert found["after"]["accuracy"] == found["before"]["accuracy"]
    assert fitted(run, digits("calibration"), "-m", "temperature", "--folds", "0")["cross_validated"] is None


def test_any_method_on_the_confidence(run, digits, tmp_path):
    found = fitted(run, digits("calibration"), "-m", "temperature", "--lens", "reduced", "--folds", "0")
    assert (found["method"], found["settings"]["reduced"]) == ("temperature", True)
    top = fitted(run, digits("calibration"), "-m", "platt", "--lens", "top-1", "--folds", "0")["after"]
    reduced = fitted(run, digits("calibration"), "-m", "platt", "--lens", "reduced", "--folds", "0")["after"]
    assert reduced == pytest.approx(top, abs=1e-9)
    saved = tmp_path / "reduced.json"
    done = run("fit", digits("calibration"), "-m", "dp", "--lens", "reduced", "-o", saved, "--details")
    assert "on the confidence alone: two classes, right and wrong" in done.out
    assert run("apply", saved, digits("test"), "-o", tmp_path / "out.npy").status == 0


@pytest.mark.parametrize(
    ("options", "expression"),
    [
        (["--preserve-top1"], "preserve-top1:calibrator=histogram/bins=5"),
        (["--lens", "reduced"], "reduced:calibrator=histogram/bins=5"),
        (
            ["--lens", "reduced", "--per-predicted-class", "--min-rows", "60", "--preserve-top1"],
            "preserve-top1:calibrator=per-predicted-class/min_rows=60/calibrator=reduced/calibrator=histogram"
            "/bins=5",
        ),
    ],
)
def test_a_wrapper_is_an_option_or_in_the_expression(run, digits, tmp_path, options, expression):
    by_option, by_expression = tmp_path / "option.json", tmp_path / "expression.json"
    first = run("fit", digits("calibration"), "-m", "histogram:bins=5", *options, "-o", by_option)
    second = run("fit", digits("calibration"), "-m", expression, "-o", by_expression)
    assert by_option.read_bytes() == by_expression.read_bytes()
    shown = "".join(second.out.split()).replace(expression, "histogram:bins=5")
    assert shown == "".join(first.out.split())
    assert fitted(run, digits("calibration"), "-m", expression, "--folds", "0")["method"] == expression


def test_auto_chooses_among_wrapped_methods(run, digits):
    candidates = "preserve-top1:calibrator=dp,dp,preserve-top1:calibrator=temperature"
    found = fitted(run, digits("calibration"), "-m", "auto", "--candidates", candidates)
    names = [one["method"] for one in found["candidates"]]
    assert names == [None, "preserve-top1:calibrator=temperature", "dp", "preserve-top1:calibrator=dp"]


def test_options_reach_the_wrapped_method(run, digits):
    method = "preserve-top1:calibrator=vector"
    found = fitted(run, digits("calibration"), "-m", method, "--input", "raw", "--folds", "0")
    assert found["method"] == "preserve-top1:calibrator=vector/input=raw"
    done = run("fit", digits("calibration"), "-m", "reduced:calibrator=vector", "--input", "raw")
    assert "a confidence has no raw logits" in sentence(done)
    done = run("fit", digits("calibration"), "-m", "preserve-top1:calibrator=beta", "--input", "raw")
    assert "beta acts on probabilities" in sentence(done)
    done = run("fit", digits("calibration"), "-m", "preserve-top1:calibrator=dp", "--lens", "top-1")
    assert "--lens top-1 is for methods that act on one score" in sentence(done)


def test_probabilities_are_not_fitted_as_logits(run, sample):
    done = run("fit", sample / "digits_forest_calibration.parquet", "-m", "temperature", "--kind", "logits")
    assert "has probabilities, which --kind takes for logits" in sentence(done)


def test_raw_logits_and_then_probabilities(run, digits, sample, tmp_path):
    run("fit", digits("calibration"), "-m", "vector", "--input", "raw", "-o", tmp_path / "raw.json")
    assert run("apply", tmp_path / "raw.json", digits("test"), "-o", tmp_path / "out.npy").status == 0
    done = run(
        "apply", tmp_path / "raw.json", sample / "digits_forest_test.parquet", "-o", tmp_path / "x.csv"
    )
    assert "has probs, but the calibrator was fitted on raw logits" in sentence(done)
    assert not (tmp_path / "x.csv").exists()


def test_shift_to_priors(run, cal, digits, tmp_path):
    run("apply", cal, digits("test"), "-o", tmp_path / "plain.npy")
    priors = json.loads(cal.read_text())["priors"]
    run("apply", cal, digits("test"), "-o", tmp_path / "even.npy", "--shift-to-priors", "uniform")
    shifted = np.load(tmp_path / "plain.npy") / priors
    expected = shifted / shifted.sum(1, keepdims=True)
    np.testing.assert_allclose(np.load(tmp_path / "even.npy"), expected, rtol=1e-9)
    (tmp_path / "priors.json").write_text(json.dumps({str(k): 0.1 for k in reversed(range(10))}))
    for text in (tmp_path / "priors.json", ",".join(["0.1"] * 10)):
        run("apply", cal, digits("test"), "-o", tmp_path / "same.npy", "--shift-to-priors", text)
        np.testing.assert_allclose(np.load(tmp_path / "same.npy"), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "magic"], "unknown method 'magic'"),
        (["-m", "temperature", "--lens", "top-1"], "--lens top-1 is for methods that act on one score"),
        (["-m", "platt", "--lens", "sideways"], "platt cannot act on lens 'sideways'"),
        (["-m", "beta", "--input", "raw"], "beta acts on probabilities"),
        (["-m", "auto", "--folds", "0"], "--folds 2 or more"),
        (["-m", "bias", "--folds", "1"], "--folds 1 leaves no rows to fit to; use 2 or more"),
        (["-m", "auto", "--folds", "1"], "--folds 1 leaves no rows to fit to; use 2 or more"),
        (["-m", "bias", "--folds", "651"], "651 folds needs at least 651 rows"),
        (["-m", "bias", "-o", "/no/such/folder/cal.json"], "cannot be written"),
        (["-m", "auto", "--candidates", "bias,bais"], "unknown method 'bais', did you mean 'bias'"),
    ],
)
def test_wrong_calls_of_fit(run, digits, arguments, message):
    assert message in sentence(run("fit", digits("calibration"), *arguments))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--candidates", "bias"], "--candidates has no effect: -m bias does not choose"),
        (["--score", "brier"], "--score brier has no effect: -m auto chooses by it, -m bias does not"),
        (["--quick"], "--quick has no effect: it is for -m auto"),
        (["--workers", "2"], "--workers 2 has no effect: --folds 0 leaves one fit"),
        (["--min-rows", "5"], "--min-rows 5 has no effect without --per-predicted-class"),
    ],
)
def test_options_that_make_no_difference_to_a_fit_are_told(run, digits, arguments, told):
    call = ("fit", digits("calibration"), "-m", "bias", "--folds", 0)
    plain, done, quiet = run(*call), run(*call, *arguments), run(*call, *arguments, "-q")
    assert (done.status, done.out, quiet.out) == (0, plain.out, plain.out)
    assert (told in done.err, told in quiet.err) == (True, False)


@pytest.mark.parametrize(
    ("priors", "message"),
    [("0.5,0.5", "one per class"), ("some", "expected uniform"), ("no.json", "no.json")],
)
def test_wrong_priors(run, cal, digits, priors, message):
    assert message in sentence(run("apply", cal, digits("test"), "--shift-to-priors", priors))


def test_wrong_calls_of_apply(run, cal, digits, sample, tmp_path):
    assert "no such file" in sentence(run("apply", tmp_path / "none.json", digits("test")))
    assert "is not a calibrator" in sentence(run("apply", sample / "iris_logistic_test.csv", digits("test")))
    done = run("apply", cal, sample / "iris_logistic_test.csv")
    assert "scores of 3 classes, but the calibrator was fitted on 10" in sentence(done)


def test_no_class_of_many_is_the_positive_one(run, cal, digits, tmp_path):
    done = run("apply", cal, digits("test"), "--positive", "3", "-o", tmp_path / "out.npy")
    assert done.status == 2
    assert "--positive is for two classes" in done.err


def test_nothing_is_saved_when_the_fit_fails(run, tmp_path):
    (tmp_path / "bad.csv").write_text("label,prob_a,prob_b\na,0.5,0.5\nb,nan,1\n")
    sentence(run("fit", tmp_path / "bad.csv", "-m", "temperature", "-o", tmp_path / "cal.json"))
    assert not (tmp_path / "cal.json").exists()


def test_weights_count(run, tmp_path):
    rows = ["a,0.9,0.1,3", "b,0.6,0.4,1", "a,0.3,0.7,2", "b,0.2,0.8,1", "a,0.8,0.2,1"]
    (tmp_path / "w.csv").write_text("label,prob_a,prob_b,w\n" + "\n".join(rows) + "\n")
    often = [row for row in rows for _ in range(int(row[-1]))]
    (tmp_path / "often.csv").write_text("label,prob_a,prob_b,w\n" + "\n".join(often) + "\n")
    once = fitted(run, tmp_path / "w.csv", "-m", "temperature", "--weights", "w", "--folds", "0")
    repeated = fitted(run, tmp_path / "often.csv", "-m", "temperature", "--folds", "0")
    assert once["learned"] == pytest.approx(repeated["learned"])
    assert once["after"] == pytest.approx(repeated["after"])


def test_sixty_columns_are_enough(run, sample, monkeypatch):
    several = ["--candidates", "platt,isotonic,spline,spline:monotone=true"]
    done = run("fit", sample / "cancer_bayes_calibration.csv", *several)
    assert max(map(len, done.out.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "60")
    narrow = run("fit", sample / "cancer_bayes_calibration.csv", *several)
    assert narrow.status == 0
    assert max(map(len, narrow.out.splitlines())) <= 60


def test_scores_as_low_as_numbers_go_are_recalibrated(run, tmp_path, sample):
    calibrator, scores, out = tmp_path / "cal.json", tmp_path / "huge.csv", tmp_path / "out.csv"
    assert (
        run("fit", sample / "cancer_bayes_calibration.csv", "-m", "temperature", "-o", calibrator).status == 0
    )
    document = json.loads(calibrator.read_text())
    first, second = document["classes"]
    document["parameters"] = {"temperature": 1e-3}
    calibrator.write_text(json.dumps(document))
    scores.write_text(f"logit_{first},logit_{second}\n1,2\n-1.7e308,-1.6e308\n")
    done = run("apply", calibrator, scores, "-o", out)
    assert done.status == 0
    assert out.read_text().splitlines()[-1].split(",")[:2] == ["0", "1"]


@pytest.mark.parametrize("shift", ["uniform", "0.5,0.5"])
def test_priors_that_are_none_are_refused(run, tmp_path, sample, shift):
    calibrator, out = tmp_path / "cal.json", tmp_path / "out.csv"
    assert run("fit", sample / "cancer_bayes_calibration.csv", "-m", "dp", "-o", calibrator).status == 0
    document = json.loads(calibrator.read_text())
    calibrator.write_text(json.dumps(document | {"priors": [5, -4]}))
    done = run("apply", calibrator, sample / "cancer_bayes_test.csv", "--shift-to-priors", shift, "-o", out)
    assert (done.status, done.out) == (2, "")
    assert "cal.json is damaged (priors of -4 to 5" in done.err
    assert not out.exists()


@pytest.mark.parametrize(("score", "temperature"), [("log_loss", 2.2247), ("brier", 1.9597)])
def test_temperatures_of_the_digits_network(run, digits, score, temperature):
    found = fitted(run, digits("calibration"), "-m", f"temperature:score={score}", "--folds", "0")
    assert found["learned"]["temperature"] == pytest.approx(temperature, abs=5e-5)


def test_the_expression_overrides_the_input(run, digits, sample, tmp_path):
    for method, kind in (("platt:input=raw", "log-probs"), ("vector:input=log-probs", "raw")):
        options = ["--input", kind, "--folds", "0", "-o", tmp_path / "c.json"]
        assert run("fit", digits("calibration"), "-m", method, *options).status == 0
        file = json.loads((tmp_path / "c.json").read_text())
        assert file["input"] == ("raw" if method.endswith("raw") else "log-probs")
    done = run("fit", sample / "digits_forest_calibration.parquet", "-m", "platt:input=raw")
    assert "needs logits" in sentence(done)


def test_the_calibrator_does_not_replace_the_predictions(run, preds):
    before = preds.read_bytes()
    copy = preds.with_suffix("")  # what has another ending than a calibrator is refused for that
    copy.hardlink_to(preds)
    done = run("fit", preds, "-m", "temperature", "--folds", 0, "-o", copy)
    assert done == (2, "", f"calcli: -o {copy} would overwrite the predictions; choose another file\n")
    assert preds.read_bytes() == before


def test_folds_of_a_column(run, sample, tmp_path):
    """Rows that share a value are held out together: each gets what a fit to the others makes of it."""
    table = pd.read_parquet(sample / "release_1.parquet").assign(fold=lambda rows: rows.index % 3)
    table.to_parquet(tmp_path / "all.parquet")
    made = run(
        "fit", tmp_path / "all.parquet", "-m", "temperature", "--folds", "fold",
        "--cross-validated", tmp_path / "cv.parquet", "-o", tmp_path / "cal.json",
    )  # fmt: skip
    assert made.status == 0, made.err
    assert json.loads((tmp_path / "cal.json").read_text())["fitted_on"]["folds"] == 3
    table[table["fold"] != 1].to_parquet(tmp_path / "others.parquet")
    run("fit", tmp_path / "others.parquet", "-m", "temperature", "-o", tmp_path / "one.json")
    run("apply", tmp_path / "one.json", tmp_path / "all.parquet", "-o", tmp_path / "one.parquet")
    ours, theirs = (
        pd.read_parquet(tmp_path / name).filter(like="prob_") for name in ("cv.parquet", "one.parquet")
    )
    held = (table["fold"] == 1).to_numpy()
    np.testing.assert_allclose(ours[held], theirs[held], rtol=1e-9)


def test_rows_of_weight_0_cannot_be_written_cross_validated(run, tmp_path):
    """They have no fold; with a weight in every row, each gets what fits to the other folds make of it."""
    file, out = tmp_path / "w.csv", tmp_path / "cv.csv"
    rng = np.random.default_rng(0)
    prob, weight = rng.random(60), np.arange(60) % 4
    table = pd.DataFrame({"label": (rng.random(60) < prob).astype(int), "prob_0": 1 - prob, "prob_1": prob})
    table.assign(w=weight).to_csv(file, index=False)
    asked = ("fit", file, "-m", "platt", "--weights", "w", "--cross-validated", out)
    said = sentence(run(*asked))
    assert f"--cross-validated writes every row of {file}, but 15 have weight 0" in said
    assert not out.exists()
    table.assign(w=weight)[weight > 0].to_csv(file, index=False)
    reported = fitted(run, *asked[1:])["cross_validated"]["log_loss"]
    found = pd.read_csv(out)
    assert reported == pytest.approx(
        log_loss(found["label"], found[["prob_0", "prob_1"]], sample_weight=found["w"])
    )


def test_of_several_deals_of_the_folds_the_first_is_written(run, tmp_path):
    """That is what the report has of the method itself, whose folds are dealt once."""
    file, out = tmp_path / "t.csv", tmp_path / "cv.csv"
    rng = np.random.default_rng(0)
    prob = rng.random(200)
    table = pd.DataFrame(
        {"label": (rng.random(200) < prob**2).astype(int), "prob_0": 1 - prob, "prob_1": prob}
    )
    table.to_csv(file, index=False)
    chosen = run(
        "fit", file, "-m", "auto", "--candidates", "temperature,dp", "--cross-validated", out, "-f", "json"
    )
    assert f"{out} has the first of" in chosen.err
    method = json.loads(chosen.out)["method"]
    first = pd.read_csv(out)
    alone = fitted(run, file, "-m", method, "--cross-validated", out)["cross_validated"]["log_loss"]
    assert alone == pytest.approx(log_loss(first["label"], first[["prob_0", "prob_1"]]))
    assert alone != pytest.approx(json.loads(chosen.out)["cross_validated"]["log_loss"], rel=1e-6)


def test_a_calibrator_is_not_written_under_the_name_of_something_else(run, sample, tmp_path):
    done = run("fit", sample / "release_1.parquet", "-m", "dp", "-o", tmp_path / "x.csv")
    assert (done.status, done.out, list(tmp_path.iterdir())) == (2, "", [])
    assert "x.csv: a calibrator is written as JSON or .npz, not .csv" in done.err


def test_one_class_against_the_rest(run, sample, tmp_path):
    """What is fitted against the rest is applied so, and read again so."""
    file, rest = sample / "release_1.parquet", ("--against-rest", "3")
    assert run("fit", file, "-m", "dp", "-o", tmp_path / "c.json", *rest).status == 0
    done = run("apply", tmp_path / "c.json", file, "-o", tmp_path / "out.parquet", *rest)
    assert done.status == 0
    assert "labels are kept as they are; read the result with --against-rest 3" in done.err
    table, out = pd.read_parquet(file), pd.read_parquet(tmp_path / "out.parquet")
    assert out["label"].equals(table["label"])
    learned = json.loads((tmp_path / "c.json").read_text())["parameters"]
    probs = softmax(table.filter(like="logit_").to_numpy(float), axis=1)
    logits = learned["alpha"] * np.log(np.column_stack([1 - probs[:, 3], probs[:, 3]])) + learned["beta"]
    np.testing.assert_allclose(out["prob_3"], softmax(logits, axis=1)[:, 1], atol=1e-6)
    values = ("--metrics", "log_loss", "--format", "json")
    loss = run("evaluate", tmp_path / "out.parquet", *rest, *values)
    found = json.loads(loss.out)["results"][0]["metrics"]["log_loss"]["value"]
    assert found == pytest.approx(log_loss((table["label"].astype(str) == "3"), out["prob_3"]), rel=1e-6)
    for arguments, message in [
        (("--against-rest", "4"), "but the calibrator was fitted on"),
        (("--against-rest", "cat"), "has no such class"),
    ]:
        wrong = run("apply", tmp_path / "c.json", file, *arguments)
        assert (wrong.status, wrong.out) == (2, "")
        assert message in wrong.err


def test_processes_that_fit_one_method_change_nothing(run, digits):
    one, two = (run("fit", digits("calibration"), "-m", "dp", "--workers", n) for n in ("1", "2"))
    assert two == one


@pytest.mark.parametrize("piped", [False, True])
def test_priors_are_moved_without_a_calibrator(run, tmp_path, monkeypatch, piped):
    """Odds by hand: those of the training, times new over old prior odds."""
    prob = np.array([0.03779258982881876, 0.1840936463401, 0.5, 0.999, 0.0])
    table, out = pd.DataFrame({"id": np.arange(5), "prob": prob}), tmp_path / "out.csv"
    table.to_csv(tmp_path / "in.csv", index=False)
    call = ("apply", "--trained-at", "0.5,0.5", "--shift-to-priors", "0.98,0.02")
    with (tmp_path / "in.csv").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        done = run(*call, "-" if piped else tmp_path / "in.csv", "-o", out)
    assert (done.status, done.out) == (0, "")
    assert "5 rows moved to other class priors" in done.err
    found, odds = pd.read_csv(out), prob / (1 - prob) * 0.02 / 0.98
    assert list(found) == ["id", "prob"]
    np.testing.assert_allclose(found["prob"], odds / (1 + odds), rtol=1e-12)


def test_an_undersampled_training_is_put_right(run, tmp_path):
    cases, out = ROOT.parent / "shared" / "cases", tmp_path / "out.csv"
    if not cases.is_dir():
        pytest.skip("the shared cases are not there")
    shift = ("--trained-at", "0.5,0.5", "--shift-to-priors", "0.98,0.02")
    assert run("apply", *shift, cases / "undersampled_labelled.csv", "-o", out).status == 0
    done = run("evaluate", out, "--metrics", "log_loss", "-f", "json")
    loss = json.loads(done.out)["results"][0]["metrics"]["log_loss"]["value"]
    assert loss == pytest.approx(0.060269, abs=5e-7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["{cal}", "--trained-at", "uniform"], "records the priors of its fit; leave out --trained-at"),
        (["--shift-to-priors", "uniform"], "name one before it, or give the class priors"),
        (["--trained-at", "uniform"], "name one before it, or give the class priors"),
        (["{cal}", "{cal}"], "expected a calibrator and a file of scores; 3 files were given"),
        (
            ["--trained-at", "uniform", "--shift-to-priors", ",".join("1" + "0" * 9)],
            "is 0, which would leave",
        ),
        (
            ["--trained-at", "0.5,0.5", "--shift-to-priors", "uniform"],
            "--trained-at: 2 priors for 10 classes",
        ),
    ],
)
def test_priors_that_do_not_go_together(run, cal, digits, options, message):
    call = [option.format(cal=cal) for option in options]
    assert message in sentence(run("apply", *call, digits("test")))


def test_priors_are_of_classes_that_are_named(run, tmp_path):
    shift, file = ("--trained-at", "uniform", "--shift-to-priors", "0.9,0.1"), tmp_path / "in.csv"
    file.write_text("prob_spam\n0.5\n0.1\n")
    assert "name both, in the order of the priors" in sentence(run("apply", *shift, file))
    done = run("apply", *shift, file, "--classes", "ham,spam", "-o", tmp_path / "out.csv")
    assert done.status == 0
    assert pd.read_csv(tmp_path / "out.csv").iloc[0, -1] == pytest.approx(0.1)
    file.write_text("confidence,correct\n0.9,1\n0.8,0\n0.7,1\n")
    assert "class priors are those of classes" in sentence(run("apply", *shift, file))
