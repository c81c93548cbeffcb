"""A judge's verdicts corrected by some labels, and repeated questions, as users run them."""

from __future__ import annotations

import json
from math import comb

import numpy as np
import pandas as pd
import pytest

N = 1_200


def judged(seed=0, labels=200, agreement=0.9, share=0.8):
    rng = np.random.default_rng(seed)
    right = rng.random(N) < share
    said = np.where(rng.random(N) < agreement, right, ~right)
    human = np.full(N, np.nan)
    human[rng.choice(N, labels, replace=False)] = 1
    human *= right
    return pd.DataFrame({"id": [f"s{n}" for n in range(N)], "topic": np.resize(["a", "b"], N),
                         "human": human, "judge": said.astype(int)})  # fmt: skip


@pytest.fixture
def table():
    return judged()


def stratified(table):
    labelled, passes = table.dropna(subset=["human"]), table["judge"].mean()
    means = labelled.groupby("judge")["human"].mean()
    return passes * means[1] + (1 - passes) * means[0]


def accuracy(run, *arguments):
    (result,) = json.loads(run("evaluate", *arguments, "-f", "json").out)["results"]
    return result["metrics"]["accuracy"], result


def test_a_judge_beside_people_is_read_and_corrected(table, run, tmp_path):
    table.to_csv(file := tmp_path / "run.csv", index=False)
    found, result = accuracy(run, file)
    assert found["value"] == pytest.approx(stratified(table))
    parts = found["parts"]
    labelled = table.dropna()
    assert (parts["labels"], parts["unlabelled"]) == (200, 1_000)
    assert parts["false_passes"] == ((labelled["judge"] == 1) & (labelled["human"] == 0)).sum()
    assert parts["expected"] == pytest.approx(table["judge"].mean())
    assert parts["worth"] > 300
    assert (result["input"]["judge"], result["input"]["unlabelled"]) == ("judge", 1_000)
    shown = " ".join(run("evaluate", file).out.split())
    assert "from 200 labels and 1,000 verdicts of judge; the judge alone says" in shown
    assert f"The labels count as {parts['worth']:,.0f}." in shown
    assert "rows were labelled at random, and the judge was not tuned on them" in shown


@pytest.mark.parametrize("how", ["options", "a second table"])
def test_labels_are_in_columns_that_options_name_or_in_a_second_table(table, run, tmp_path, how):
    file, labels = tmp_path / "run.csv", tmp_path / "human.csv"
    options = ("--label-column", "ours", "--judge", "theirs")
    if how == "options":
        table.rename(columns={"human": "ours", "judge": "theirs"}).to_csv(file, index=False)
    else:
        table[["id", "judge"]].to_csv(file, index=False)
        table.dropna()[["id", "human"]].sample(frac=1, random_state=1).to_csv(labels, index=False)
        options = ("--labels", labels, "--key", "id")
    assert accuracy(run, file, *options)[0]["value"] == pytest.approx(stratified(table))


def test_slices_take_their_own_verdicts(table, run, tmp_path):
    table.to_csv(file := tmp_path / "run.csv", index=False)
    results = json.loads(run("evaluate", file, "--by", "topic", "-f", "json").out)["results"]
    for result in results[1:]:
        part = table[table["topic"] == result["slice"]["value"]]
        assert result["metrics"]["accuracy"]["value"] == pytest.approx(stratified(part))


def test_labels_chosen_by_the_verdict_are_told_first(run, tmp_path):
    table = judged(labels=N)
    rng = np.random.default_rng(2)
    chance = 1 + 4 * (table["judge"] == 0)
    keep = rng.choice(N, 200, replace=False, p=chance / chance.sum())
    table.loc[~table.index.isin(keep), "human"] = np.nan
    table.to_csv(file := tmp_path / "run.csv", index=False)
    shown = run("evaluate", file).out
    assert shown.index("no random sample") < shown.index("Scores")
    assert "count as" not in shown
    found, result = accuracy(run, file)
    assert found["low"] < 0.8 < found["high"]
    assert result["warnings"][0]["code"] == "no_random_sample"


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (lambda t: t.assign(human=t["human"].where(t.index < 60)), (), "expected 20 at least"),
        (lambda t: t.assign(human=1), ("--judge", "judge"), "expected rows without one"),
        (lambda t: t.assign(judge=t["judge"].where(t.index > 3)), ("--judge", "judge"), "missing in 4"),
        (lambda t: t.assign(w=1.0), ("--weights", "w"), "rows that count alike"),
        (lambda t: t, ("--metrics", "kappa"), "kappa"),
        (lambda t: t, ("--metrics", "auroc"), "needs probabilities"),
        (lambda t: t.drop(columns="human"), ("--judge", "judge"), "name the column of the labels"),
    ],
)  # fmt: skip
def test_what_cannot_be_corrected_is_refused(table, run, tmp_path, change, options, said):
    change(table).to_csv(file := tmp_path / "run.csv", index=False)
    found = run("evaluate", file, *options)
    assert found.status == 2
    assert said in " ".join(found.err.split())


def test_probabilities_with_some_labels_tell_the_accuracy(run, tmp_path):
    rng = np.random.default_rng(3)
    prob = 1 / (1 + np.exp(-rng.normal(1, 1.5, N)))
    label = (rng.random(N) < prob) * 1.0
    label[150:] = np.nan
    pd.DataFrame({"prob": prob, "label": label}).to_csv(file := tmp_path / "p.csv", index=False)
    found, result = accuracy(run, file)
    assert found["parts"]["unlabelled"] == N - 150
    expected = np.maximum(prob, 1 - prob)
    assert found["parts"]["expected"] == pytest.approx(expected.mean())
    assert "all other figures come from" in " ".join(run("evaluate", file).out.split())
    assert result["metrics"]["brier"]["value"] == pytest.approx(np.mean((prob - label)[:150] ** 2))


def test_probabilities_with_some_labels_tell_the_prevalence(run, sample, tmp_path):
    """A regression on the stated probability, whose mean over all rows is known."""
    rng = np.random.default_rng(6)
    prob = rng.beta(0.7, 1.4, N)
    label = (rng.random(N) < prob) * 1.0
    label[200:] = np.nan
    pd.DataFrame({"prob": prob, "label": label}).to_csv(file := tmp_path / "p.csv", index=False)
    done = run("evaluate", file, "--metrics", "prevalence", "--format", "json")
    found = json.loads(done.out)["results"][0]["metrics"]["prevalence"]
    slope = np.cov(label[:200], prob[:200])[0, 1] / prob[:200].var(ddof=1)
    expected = label[:200].mean() + slope * (prob.mean() - prob[:200].mean())
    assert found["value"] == pytest.approx(expected, rel=1e-12)
    width = 2 * 1.96 * np.sqrt(label[:200].var() / 200)
    assert found["high"] - found["low"] < 0.95 * width
    assert (
        "--against-rest" in run("evaluate", sample / "digits_network_test.npy", "--metrics", "prevalence").err
    )


def test_two_judged_runs_are_compared_row_by_row(run, tmp_path):
    rng = np.random.default_rng(4)
    hard, keep = rng.random(N), rng.choice(N, 200, replace=False)
    for name, share in (("a", 0.7), ("b", 0.8)):
        right = np.where(rng.random(N) < 0.2, rng.random(N), hard) < share
        human = np.full(N, np.nan)
        human[keep] = right[keep]
        said = np.where(rng.random(N) < 0.98, right, ~right).astype(int)
        table = pd.DataFrame({"id": np.arange(N), "human": human, "judge": said})
        table.sample(frac=1, random_state=len(name) + int(share * 10)).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    files = tmp_path / "a.csv", tmp_path / "b.csv"
    (comparison,) = json.loads(run("compare", *files, "-f", "json").out)["comparisons"]
    change = comparison["differences"][0]["accuracy"]
    assert "paired-by-proxy" in change["signature"]
    assert change["low"] < change["difference"] < change["high"]
    assert (change["p_value"] < 0.05) == (change["low"] > 0)
    assert change["high"] - change["low"] < 0.11
    run("check", "--init", files[1], "-o", tmp_path / "p.toml")
    (tmp_path / "p.toml").write_text('[[rules]]\nmetric = "accuracy"\nmin = 0.6\n')
    assert run("check", files[1], "--policy", tmp_path / "p.toml").status == 0


def test_plan_counts_labels_with_verdicts(table, run, tmp_path):
    table.to_csv(file := tmp_path / "run.csv", index=False)
    (need,) = json.loads(run("plan", file, "--half-width", "0.03", "-f", "json").out)["needs"]
    alone = int(run("plan", file, "--half-width", "0.03").out.split("Labels alone: ")[1].split(".")[0])
    assert 200 < need["rows_for_width"] < 0.8 * alone


@pytest.fixture
def epochs(tmp_path):
    rng, files = np.random.default_rng(7), []
    for name, shift in (("a", 0.0), ("b", 0.4)):
        rate = 1 / (1 + np.exp(-np.random.default_rng(1).normal(0.5, 1.5, 150) - shift))
        right = rng.random((150, 4)) < rate[:, None]
        files.append(tmp_path / f"{name}.csv")
        names = np.repeat([f"q{n}" for n in range(150)], 4)
        sure = np.clip(rate.repeat(4) + rng.normal(0, 0.1, 600), 0.01, 0.99).round(3)
        table = pd.DataFrame({"question_id": names, "epoch": np.tile(range(4), 150), "confidence": sure})
        table = table.assign(question="What is " + table["question_id"].str[1:] + "?", correct=right.ravel())
        table.to_csv(files[-1], index=False)
    return files


def test_epochs_with_a_confidence_are_read_and_clustered(epochs, run):
    table = pd.read_csv(epochs[0])
    counts = table.groupby("question_id")["correct"].sum()
    metrics = "accuracy,pass_at_k:k=2,pass_all:k=3"
    for options in ((), ("--cluster", "question_id"), ("--score", "correct")):
        found = run("evaluate", epochs[0], *options, "--metrics", metrics, "-f", "json")
        (result,) = json.loads(found.out)["results"]
        got = {name: metric["value"] for name, metric in result["metrics"].items()}
        assert got["accuracy"] == pytest.approx(table["correct"].mean())
        assert got["pass_at_k:k=2"] == pytest.approx(
            np.mean([1 - comb(4 - c, 2) / comb(4, 2) for c in counts])
        )
        assert got["pass_all:k=3"] == pytest.approx(np.mean([comb(c, 3) / comb(4, 3) for c in counts]))
        assert all(metric["low"] < metric["value"] < metric["high"] for metric in result["metrics"].values())
        assert result["mixed"] == [name for name in counts.index[(counts > 0) & (counts < 4)].sort_values(
            key=lambda names: names.str[1:].astype(int))]  # fmt: skip
    shown = " ".join(run("evaluate", epochs[0]).out.split())
    assert "150 questions x 4 epochs, answers" in shown
    assert "right in some epochs only" in shown
    refused = run("evaluate", epochs[0], "--metrics", "pass_at_k:k=5")
    assert refused.status == 2
    assert "lower k" in refused.err


def test_flipped_questions_are_named_with_columns_to_show(epochs, run):
    rights = [pd.read_csv(file).groupby("question_id", sort=False)["correct"].sum() for file in epochs]
    worse = rights[0].index[(rights[1] < rights[0]).to_numpy()]
    found = run("compare", *epochs, "-f", "json", "--show", "question")
    (flips,) = json.loads(found.out)["comparisons"][0]["flips"]
    assert flips["worse"] == list(worse)
    assert flips["values"][worse[0]] == [f"What is {worse[0][1:]}?"]
    assert f"What is {worse[0][1:]}?" in run("compare", *epochs, "--details", "--show", "question").out


def test_plan_says_how_many_questions_show_a_difference(epochs, run):
    options = ("--score", "correct")
    (need,) = json.loads(run("plan", *epochs, *options, "--detect", "0.05", "-f", "json").out)["needs"]
    rights = [pd.read_csv(file).groupby("question_id")["correct"].mean() for file in epochs]
    variance = (rights[1] - rights[0]).var(ddof=1)
    assert need["rows_needed"] == pytest.approx((1.95996 + 0.84162) ** 2 * variance / 0.05**2, rel=0.02)
    needs = json.loads(run("plan", epochs[0], *options, "--detect", "0.05", "-f", "json").out)["needs"]
    assert needs[0]["rows_needed"] == pytest.approx(4 * needs[1]["rows_needed"], rel=0.01)
    (need,) = json.loads(run("plan", epochs[0], *options, "--half-width", "0.02", "-f", "json").out)["needs"]
    assert need["metric"] == "accuracy"


def test_grades_of_a_judge_have_weighted_kappa_and_a_mean_difference(run, tmp_path):
    rng = np.random.default_rng(8)
    human = rng.integers(1, 6, 200)
    judge = np.clip(human + rng.integers(-1, 2, 200), 1, 5)
    pd.DataFrame({"human_grade": human, "judge_grade": judge}).to_csv(file := tmp_path / "g.csv", index=False)
    (result,) = json.loads(run("evaluate", file, "--scale", "5", "-f", "json").out)["results"]
    squares = (human - judge)[:, None] ** 2
    chance = np.mean((human[:, None] - judge[None, :]) ** 2)
    assert result["metrics"]["kappa:weights=quadratic"]["value"] == pytest.approx(1 - squares.mean() / chance)
    assert result["metrics"]["mean_difference"]["value"] == pytest.approx((judge - human).mean())
