"""Every command on runs without probabilities: right or wrong, graded, or predicted classes."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

N = 200


def outcomes(seed, share=0.7, n=N):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"id": [f"q{k}" for k in range(n)], "topic": np.resize(["a", "b"], n),
                         "correct": (rng.random(n) < share).astype(int)})  # fmt: skip


@pytest.fixture
def pair(tmp_path):
    """Return two files, of which the second has 4 more questions wrong, in another order."""
    first = outcomes(1)
    second = first.copy()
    second.loc[second.index[second["correct"] == 1][:4], "correct"] = 0
    second = second.sample(frac=1, random_state=2)
    files = tmp_path / "main.csv", tmp_path / "branch.csv"
    for table, file in zip((first, second), files, strict=True):
        table.to_csv(file, index=False)
    return files


def test_evaluate_has_an_exact_interval_and_says_what_is_left_out(pair, run):
    found = run("evaluate", pair[0], "-f", "json")
    (result,) = json.loads(found.out)["results"]
    hits = int(outcomes(1)["correct"].sum())
    exact = stats.binomtest(hits, N).proportion_ci(method="exact")
    accuracy = result["metrics"]["accuracy"]
    assert [accuracy["low"], accuracy["high"]] == pytest.approx([exact.low, exact.high])
    assert list(result["metrics"]) == ["accuracy"]
    assert result["input"]["outcomes"] == "outcomes"
    shown = run("evaluate", pair[0]).out
    assert " ".join(shown.split()).count("are left out: they need probabilities") == 1
    assert len(shown.splitlines()) <= 20


def test_few_flips_are_tested_as_mcnemar_does(pair, run):
    found = json.loads(run("compare", *pair, "-f", "json").out)["comparisons"][0]
    (flips,) = found["flips"]
    assert sorted(flips["worse"], key=lambda one: int(one[1:])) == [
        f"q{k}" for k in np.flatnonzero(outcomes(1)["correct"])[:4]
    ]
    assert flips["better"] == []
    assert flips["same"] == N - 4
    difference = found["differences"][0]["accuracy"]
    assert difference["difference"] == pytest.approx(-4 / N)
    assert difference["p_value"] == pytest.approx(stats.binomtest(0, 4).pvalue)
    shown = run("compare", *pair, "--details").out
    assert "4 questions got worse, 0 better, 196 as before; these rows detect" in shown
    assert "worse  q" in shown


def test_the_same_run_again_is_no_evidence(pair, run):
    found = json.loads(run("compare", pair[0], pair[0], "-f", "json").out)["comparisons"][0]
    assert found["differences"][0]["accuracy"]["verdict"] != "worse"
    assert found["flips"][0]["same"] == N


def test_other_questions_are_counted(pair, tmp_path, run):
    table = pd.read_csv(pair[1])
    table[:-10].to_csv(tmp_path / "short.csv", index=False)
    found = run("compare", pair[0], tmp_path / "short.csv")
    assert found.status == 2
    assert "rows without a counterpart by id: 10 of" in found.err
    assert run("compare", pair[0], tmp_path / "short.csv", "--allow-unmatched").status == 0
    table.assign(id="z" + table["id"]).to_csv(tmp_path / "other.csv", index=False)
    found = run("compare", pair[0], tmp_path / "other.csv")
    assert found.status == 2
    assert "share no value of id" in found.err
    table[:0].to_csv(tmp_path / "empty.csv", index=False)
    found = run("compare", pair[0], tmp_path / "empty.csv")
    assert found.status == 2
    assert "has no rows" in found.err


def test_epochs_are_one_question(tmp_path, run):
    rng = np.random.default_rng(3)
    hard = rng.random(60)
    rows = [
        {"id": k, "epoch": e, "passed": bool(rng.random() < hard[k])} for e in range(5) for k in range(60)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "run.csv", index=False)
    means = pd.DataFrame(rows).groupby("id")["passed"].mean()
    found = run("evaluate", tmp_path / "run.csv", "-f", "json")
    accuracy = json.loads(found.out)["results"][0]["metrics"]["accuracy"]
    assert accuracy["value"] == pytest.approx(means.mean())
    half = stats.t.ppf(0.975, 59) * means.std() / np.sqrt(60)
    assert (accuracy["high"] - accuracy["low"]) / 2 == pytest.approx(half, rel=0.05)
    assert "60 questions x 5 epochs" in " ".join(run("evaluate", tmp_path / "run.csv").out.split())


def test_grades_in_other_units_are_divided(tmp_path, run):
    grades = np.resize([1, 4, 7, 10], 60)
    pd.DataFrame({"id": range(60), "score": grades}).to_csv(tmp_path / "t.csv", index=False)
    found = run("evaluate", tmp_path / "t.csv")
    assert found.status == 2
    assert "score lies from 1 to 10, outside [0, 1] in 45 of 60 rows" in found.err
    assert "--scale 10 divides" in found.err
    found = run("evaluate", tmp_path / "t.csv", "--scale", 10, "-f", "json")
    value = json.loads(found.out)["results"][0]["metrics"]["mean_score"]["value"]
    assert value == pytest.approx(grades.mean() / 10)


def test_bad_outcomes_are_told_with_their_numbers(tmp_path, run):
    table = outcomes(4)
    for values, said in (
        (np.resize(["yes", "no", "maybe"], N), "correct holds maybe in 66 of 200 rows"),
        (np.where(np.arange(N) % 10, 1.0, np.nan), "has no value in correct, as 20 of 200 rows"),
    ):
        table.assign(correct=values).to_csv(tmp_path / "t.csv", index=False)
        found = run("evaluate", tmp_path / "t.csv")
        assert found.status == 2
        assert said in found.err
        assert len(found.err.splitlines()) == 1
    table.assign(passed=1 - table["correct"]).to_csv(tmp_path / "t.csv", index=False)
    found = run("evaluate", tmp_path / "t.csv")
    assert found.status == 2
    assert "--score correct" in found.err
    assert "--score passed" in found.err
    assert run("evaluate", tmp_path / "t.csv", "--score", "passed").status == 0


@pytest.fixture
def predicted(tmp_path):
    """Return a file of predicted classes beside labels."""
    rng = np.random.default_rng(5)
    labels = rng.choice(["cat", "dog", "eel"], 150)
    said = np.where(rng.random(150) < 0.7, labels, rng.choice(["cat", "dog", "eel"], 150))
    file = tmp_path / "h.csv"
    table = pd.DataFrame(
        {"id": range(150), "group": np.arange(150) // 3, "label": labels, "prediction": said}
    )
    table.to_csv(file, index=False)
    return file


def test_predicted_classes_have_a_confusion_matrix(predicted, run):
    table = pd.read_csv(predicted)
    found = run("evaluate", predicted, "-f", "json")
    (result,) = json.loads(found.out)["results"]
    assert list(result["metrics"]) == ["accuracy", "kappa", "mcc", "balanced_accuracy"]
    expected = pd.crosstab(table["label"], table["prediction"])
    assert [row["predicted_as"] for row in result["per_class"]] == expected.to_numpy().tolist()
    assert "as dog" in run("evaluate", predicted, "--details").out
    page = predicted.with_suffix(".html")
    assert run("evaluate", predicted, "--html", page).status == 0
    assert "as dog" in page.read_text()


def test_slices_and_clusters(predicted, run):
    table = pd.read_csv(predicted)
    first = table["group"].ne(table["group"].shift())
    table.assign(part=np.where(first, "first", "later")).to_csv(predicted, index=False)
    found = run("evaluate", predicted, "--cluster", "group", "--by", "part", "-f", "json")
    whole, *parts = json.loads(found.out)["results"]
    assert [one["slice"]["value"] for one in parts] == ["first", "later"]
    single = table[first]  # no cluster has two rows
    assert parts[0]["metrics"]["accuracy"]["value"] == pytest.approx(
        (single["label"] == single["prediction"]).mean()
    )
    assert parts[0]["metrics"]["kappa"]["low"] < parts[0]["metrics"]["kappa"]["value"]
    assert "cluster:group" in whole["metrics"]["kappa"]["signature"]


def test_check_holds_a_run_to_its_baseline(pair, tmp_path, run):
    policy = tmp_path / "calcli.toml"
    policy.write_text('[[rules]]\nmetric = "accuracy"\nmax_decrease = 0.05\n')
    found = run(
        "check", pair[1], "--baseline", pair[0], "--policy", policy, "--write", f"junit={tmp_path}/c.xml"
    )
    assert found.status == 0, found.err
    assert "accuracy" in (tmp_path / "c.xml").read_text()
    table = pd.read_csv(pair[0])
    table.assign(correct=table["correct"] * np.resize([1, 0], N)).to_csv(pair[1], index=False)
    assert run("check", pair[1], "--baseline", pair[0], "--policy", policy).status == 1


def test_plan_says_how_many_rows(pair, predicted, run):
    assert "rows: not worse" in run("plan", *pair, "--margin", "accuracy=2%").out
    assert "rows needed" in run("plan", predicted, "--metric", "kappa", "--half-width", 0.05).out


@pytest.mark.parametrize(
    "command",
    [("fit",), ("plot", "-o", "figures"), ("threshold", "--max-error", 0.1)],
    ids=lambda one: one[0],
)
def test_what_needs_probabilities_refuses(pair, command, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run(command[0], pair[0], *command[1:])
    assert found.status == 2
    assert "has outcomes, right or wrong; this needs probabilities" in found.err


def test_arrays_of_outcomes_are_read(run, tmp_path):
    rng = np.random.default_rng(6)
    truth, said = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    np.savez(tmp_path / "said.npz", y_true=truth, y_pred=said)
    np.savez(tmp_path / "right.npz", correct=(truth == said).astype(int), id=np.arange(200))
    metrics = {}
    for name in ("said", "right"):
        done = run("evaluate", tmp_path / f"{name}.npz", "-f", "json")
        assert done.status == 0, done.err
        metrics[name] = json.loads(done.out)["results"][0]["metrics"]
    assert metrics["said"]["kappa"]["value"] == pytest.approx(cohen_kappa_score(truth, said))
    for one in metrics.values():
        assert one["accuracy"]["value"] == pytest.approx(np.mean(truth == said))
    refused = run("evaluate", tmp_path / "right.npz", "--score", "nope")
    assert (refused.status, refused.err.count("\n")) == (2, 1)
