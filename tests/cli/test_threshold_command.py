"""`calcli threshold`, and `calcli apply` of what it writes: a promise from validation to new rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, binomtest
from sklearn.metrics import precision_score, recall_score

import calcli
from calcli.core.language.errors import UsageError


@pytest.fixture
def val(tmp_path):
    """Write the rows of a fixed check: of 2,000, 169 have a confidence of at least .929631."""
    rng = np.random.default_rng(7)
    prob = np.round(1 / (1 + np.exp(-rng.normal(0, 1.5, 2000))), 6)
    label = rng.random(2000) < 1 / (1 + np.exp(-0.8 * np.log(prob / (1 - prob))))
    table = pd.DataFrame({"id": np.arange(2000), "label": label.astype(int), "prob": prob})
    table.assign(town=np.where(np.arange(2000) % 2, "A", "B")).to_csv(tmp_path / "val.csv", index=False)
    return tmp_path / "val.csv"


@pytest.fixture
def made(run, val, tmp_path):
    """Return the file of a threshold."""
    path = tmp_path / "threshold.json"
    assert run("threshold", val, "--max-error", "0.1", "-o", path).status == 0
    return path


def sentence(done) -> str:
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    return done.err


def test_what_is_promised_is_told_and_written(run, val, made):
    done = run("threshold", val, "--max-error", "0.1")
    assert "0.929631" in done.out
    assert "at most 10% of the rows with a confidence of at least the" in " ".join(done.out.split())
    document = json.loads(made.read_text())
    assert json.loads(run("threshold", val, "--max-error", "0.1", "-f", "json").out) == document
    (found,) = document["thresholds"]
    assert (found["threshold"], found["accepted_rows"], found["errors"]) == (0.929631, 169, 7)
    assert found["accepted_share"]["low"] < found["accepted_share"]["value"] == 169 / 2000
    assert document["made_of"]["path"] == str(val)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
def test_rows_are_marked_and_nothing_else_changes(run, val, made, tmp_path, ending):
    new = pd.read_csv(val).drop(columns="label")
    new.to_csv(tmp_path / "new.csv", index=False)
    done = run("apply", made, tmp_path / "new.csv", "-o", tmp_path / f"out{ending}")
    assert (done.status, done.out) == (0, "")
    assert "2,000 rows kept; 169 are at or above the threshold" in done.err
    load = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".jsonl": lambda p: pd.read_json(p, lines=True)}
    out = load[ending](tmp_path / f"out{ending}")
    prob = new["prob"]
    pd.testing.assert_frame_equal(out.drop(columns="answer"), new, rtol=1e-15)
    assert (out["answer"] == (np.maximum(prob, 1 - prob) >= 0.929631)).all()


def test_slices_have_thresholds_of_their_own(run, val, tmp_path):
    path, out = tmp_path / "t.json", tmp_path / "out.csv"
    done = run("threshold", val, "--max-error", "0.2", "--by", "town", "-o", path)
    assert "2 slices share the level: each has 97.5%" in " ".join(done.out.split())
    least = {one["value"]: one["threshold"] for one in json.loads(path.read_text())["thresholds"]}
    assert run("apply", path, val, "-o", out).status == 0
    table = pd.read_csv(out)
    sure = np.maximum(table["prob"], 1 - table["prob"])
    assert (table["answer"] == (sure >= table["town"].map(least))).all()
    table.assign(town="C").drop(columns="answer").to_csv(val, index=False)
    assert "no threshold was made for town = 'C'" in sentence(run("apply", path, val, "-o", out))
    table[["prob"]].to_csv(val, index=False)
    assert "no column 'town'" in sentence(run("apply", path, val, "-o", out))


def test_rows_of_a_class_are_found(run, val, tmp_path):
    path, out = tmp_path / "t.json", tmp_path / "out.csv"
    done = run("threshold", val, "--min-recall", "1=0.9", "-o", path)
    said = " ".join(done.out.split())
    assert said.startswith("Threshold on the probability of 1 threshold recall precision alerts rows of 1")
    assert "at least 90% of the rows that are 1 have a probability of 1 of at least" in said
    (found,) = json.loads(path.read_text())["thresholds"]
    rows = pd.read_csv(val)
    own = rows["prob"][rows["label"] == 1].sort_values()
    below = int(binom.ppf(0.05, len(own), 0.1)) - 1  # P(so few) <= 5%, and of one more it is not
    assert binom.cdf(below, len(own), 0.1) <= 0.05 < binom.cdf(below + 1, len(own), 0.1)
    assert (found["threshold"], found["errors"], found["rows"]) == (own.iloc[below], below, len(own))
    above = rows["prob"] >= found["threshold"]
    assert found["recall"] == pytest.approx(recall_score(rows["label"], above))
    assert found["precision"] == pytest.approx(precision_score(rows["label"], above))
    assert found["alerts"] == pytest.approx(above.mean())
    for name in ("recall", "precision", "alerts"):
        assert f"{found[name]:.1%}" in said
    assert run("apply", path, val, "-o", out).status == 0
    assert (pd.read_csv(out)["above"] == above).all()
    judged = run("check", val, "--threshold", path)
    assert f"{below} of {len(own)} rows of the class are below the threshold" in " ".join(judged.out.split())


@pytest.mark.parametrize("asked", ["fraud=0.7", "1=0.7", {"fraud": 0.7}])
def test_a_class_has_the_name_that_reports_give_it(val, asked):
    rows = pd.read_csv(val)[["label", "prob"]].rename(columns={"label": "is_fraud"})
    report = calcli.threshold(rows, min_precision=asked)
    assert report.threshold.target == "precision:1"
    (table,) = report.tables()
    assert table.title == "Threshold on the probability of fraud"
    assert "at least 70% of the rows with a probability of fraud of at least the" in table.notes[0]
    (found,) = report.threshold.found
    above = rows["prob"] >= found.threshold
    assert found.precision == pytest.approx(precision_score(rows["is_fraud"], above))
    assert found.recall == pytest.approx(recall_score(rows["is_fraud"], above))
    assert found.alerts == pytest.approx(found.accepted_rows / 2000) == above.mean()


def test_a_precision_that_nothing_supports_is_told_beside_the_best(run, val):
    done = run("threshold", val, "--min-precision", "1=0.99")
    best = (
        1
        - json.loads(run("threshold", val, "--min-precision", "1=0.99", "-f", "json").out)["thresholds"][0][
            "least_error"
        ]
    )
    assert f"the best precision these rows support is {best:.1%}, not 99%." in " ".join(done.out.split())
    assert run("threshold", val, "--min-precision", f"1={best:.3f}").status == 0


def test_where_nothing_can_be_promised_nothing_is_written(run, val, tmp_path):
    done = run("threshold", val, "--max-error", "0.05", "-o", tmp_path / "t.json")
    said = " ".join(done.out.split())
    assert done.status == 1
    assert not (tmp_path / "t.json").exists()
    assert "the lowest error rate these rows support is 7.9%, not 5%. It takes at least 59 rows" in said
    assert "would be enough" not in said  # nobody knows how many


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            [],
            "--min-recall CLASS=0.8 and --max-alerts 2%, but none were",
        ),
        (["--max-error", "0.1", "--min-recall", "1=0.9"], "but 2 were given"),
        (["--max-error", "1"], "--max-error is 1; expected a number between 0 and 1"),
        (["--min-recall", "1"], "--min-recall is '1'; expected a class and a share, as fraud=0.9"),
        (["--min-recall", "1=1"], "expected a class and a share, as fraud=0.9"),
        (["--min-precision", "x=0.9"], "--min-precision x: {val} has no such class; it has 0, 1"),
        (["--max-error", "0.1", "--weights", "id"], "has row weights"),
        (["--max-error", "0.1", "-o", "{folder}/t.npz"], "is written as JSON, not .npz"),
        (["--max-error", "0.1", "-o", "{val}"], "would replace"),
    ],
)
def test_wrong_calls(run, val, tmp_path, options, message):
    call = [option.format(folder=tmp_path, val=val) for option in options]
    assert message.format(val=val) in sentence(run("threshold", val, *call))


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"prob": [0.9], "answer": [1]}, [], "has a column answer besides the scores"),
        ({"logit_0": [2.5], "logit_1": [0.0]}, [], "has logits, but the threshold was made of probs"),
        ({"prob_a": [0.9], "prob_b": [0.1]}, [], "classes a, b, but the threshold was made of 0, 1"),
        ({"prob": [0.9]}, ["--as", "logits"], "a threshold leaves scores as they are; leave out --as"),
        ({"prob": [0.9]}, ["--trained-at", "uniform"], "leave out --trained-at"),
        ({"prob": [0.9]}, ["-o", "{folder}/out.npy"], "a column answer is to be written; expected a table"),
    ],
)
def test_files_and_options_that_do_not_fit(run, made, tmp_path, table, options, message):
    pd.DataFrame(table).to_csv(tmp_path / "new.csv", index=False)
    call = [option.format(folder=tmp_path) for option in options]
    assert message in sentence(run("apply", made, tmp_path / "new.csv", *call))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("0.929631", "0.7"), "is damaged (it does not have its checksum)"),
        (lambda text: text.replace("threshold/1", "threshold/9"), "has version 9 of the threshold format"),
        (lambda text: text[:300], "is not a threshold: it is not complete and valid JSON"),
    ],
)
def test_files_that_were_changed_are_refused(run, val, made, change, message):
    made.write_text(change(made.read_text()))
    assert message in sentence(run("apply", made, val))


def test_python_does_the_same(val, made, tmp_path):
    found = calcli.threshold(val, max_error=0.1)
    found.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == made.read_text()
    assert found.to_dict() == json.loads(made.read_text())
    table = pd.read_csv(val)
    of_arrays = calcli.threshold(table["prob"].to_numpy(), table["label"].to_numpy(), max_error=0.1)
    assert of_arrays.threshold.found == found.threshold.found
    with pytest.raises(UsageError, match="expected one of --max-error"):
        calcli.threshold(val)
    with pytest.raises(UsageError, match="nothing can be promised"):
        calcli.threshold(val, max_error=0.05).save(tmp_path / "none.json")


def test_answers_have_thresholds_on_their_confidence(run, tmp_path):
    rng = np.random.default_rng(0)
    sure = rng.random(500).round(3)
    table = pd.DataFrame({"confidence": sure, "correct": rng.random(500) < sure})
    table.to_csv(tmp_path / "val.csv", index=False)
    path = tmp_path / "t.json"
    assert run("threshold", tmp_path / "val.csv", "--max-error", "0.3", "-o", path).status == 0
    (found,) = json.loads(path.read_text())["thresholds"]
    assert found["accepted_rows"] == (sure >= found["threshold"]).sum()
    assert run("apply", path, tmp_path / "val.csv", "-o", tmp_path / "out.csv").status == 0
    assert pd.read_csv(tmp_path / "out.csv")["answer"].sum() == found["accepted_rows"]


@pytest.mark.parametrize(
    ("wrong", "rows", "options", "status", "result", "undecided"),
    [
        (5, 200, (), 0, "passed", False),
        (40, 200, (), 1, "failed", False),
        (40, 200, ("--undecided", "pass"), 1, "failed", False),
        (15, 200, (), 1, "failed", True),
        (15, 200, ("--undecided", "warn"), 0, "warning", True),
        (0, 20, ("--undecided", "pass"), 0, "passed", True),
    ],
)
def test_a_promise_holds_is_broken_or_undecided(
    run, made, tmp_path, wrong, rows, options, status, result, undecided
):
    """By the interval of Clopper and Pearson, here of scipy; the row of .5 is not answered."""
    side, path = np.arange(rows) % 2, tmp_path / "new.csv"
    labels, prob = np.where(np.arange(rows) < wrong, 1 - side, side), np.where(side, 0.97, 0.03)
    pd.DataFrame({"label": [*labels, 0], "prob": [*prob, 0.5]}).to_csv(path, index=False)
    done = run("check", path, "--threshold", made, "-f", "json", *options)
    (rule,) = json.loads(done.out)["results"][0]["rules"]
    ends = binomtest(wrong, rows).proportion_ci(0.95)
    assert undecided == (ends.low <= 0.1 < ends.high)
    assert (done.status, rule["result"], rule["undecided"]) == (status, result, undecided)
    assert rule["value"] == pytest.approx(wrong / rows)


def test_every_slice_is_checked_by_itself(run, val, tmp_path):
    path = tmp_path / "t.json"
    assert run("threshold", val, "--max-error", "0.2", "--by", "town", "-o", path).status == 0
    report = calcli.check(val, threshold=path)
    assert [one.rule.part for one in report.checked.outcomes] == ["town=A", "town=B"]
    assert report.exit_status == 0
    written = tmp_path / "check.xml"
    assert run("check", val, "--threshold", path, "--write", f"junit={written}").status == 0
    assert 'tests="2"' in written.read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--policy", "x.toml"], "leave out --policy"),
        (["--baseline", "x.csv"], "leave out --baseline"),
        (["--init"], "leave out --threshold"),
    ],
)
def test_a_promise_is_checked_by_itself(run, val, made, options, message):
    assert message in sentence(run("check", val, "--threshold", made, *options))


def test_a_file_that_does_not_fit_could_not_be_judged(run, made, tmp_path):
    (tmp_path / "new.csv").write_text("label,logit_0,logit_1\n0,2.5,0\n1,0,1.5\n")
    done = run("check", tmp_path / "new.csv", "--threshold", made)
    assert done.status == 2
    assert "has logits, but the threshold was made of probs" in " ".join(done.out.split())
    done = run("check", tmp_path / "new.csv", "--threshold", tmp_path / "new.csv")
    assert "is not a threshold" in sentence(done)
