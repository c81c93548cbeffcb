"""Costs, priors, clipping and recalibration as options of `calcli evaluate`."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from calcli.core.calibrators.crossvalidation import rows_of
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.recalibrated import recalibrator
from calcli.core.language.settings import Settings
from calcli.core.recalibrating.fitting import recalibrated
from calcli.io.options import ReadOptions
from calcli.io.read import read

FAST = ("--draws", 0, "--format", "json")


@pytest.fixture
def metrics(run, sample):
    """Return a function that evaluates a sample with options and returns the first result."""

    def ask(file, *options):
        done = run("evaluate", sample / file, *FAST, *options)
        assert (done.status, done.err) == (0, "")
        return json.loads(done.out)["results"][0]

    return ask


def test_costs_by_word_and_by_file(metrics, tmp_path):
    table = tmp_path / "surgery.csv"
    table.write_text(",home,examine,operate\nbenign,0,1,10\nmalignant,50,5,0\n")
    found = metrics("cancer_bayes_test.csv", "--costs", f"zero-one,abstain:0.1,{table}")
    risks = {name: value["value"] for name, value in found["metrics"].items() if "bayes_risk" in name}
    assert risks["bayes_risk:costs=zero-one"] == pytest.approx(1 - found["metrics"]["accuracy"]["value"])
    assert set(risks) == {
        f"{kind}{costs}"
        for kind in ("bayes_risk", "normalized_bayes_risk")
        for costs in (":costs=zero-one", ":costs=abstain", ":costs=surgery")
    }
    taken = {row["name"]: row["rows"] for row in found["decisions"]["surgery"]}
    assert list(taken) == ["home", "examine", "operate"]
    assert sum(taken.values()) == found["input"]["rows"]


def test_the_only_costs_are_those_of_a_risk_that_names_none(metrics):
    options = ("cancer_bayes_test.csv", "--costs", "abstain:0.1", "--metrics")
    found, named = (metrics(*options, name)["metrics"] for name in ("bayes_risk", "bayes_risk:costs=abstain"))
    assert list(found) == ["bayes_risk"]
    assert found["bayes_risk"] == named["bayes_risk:costs=abstain"]
    assert "costs:abstain" in found["bayes_risk"]["signature"]


def test_priors_and_shift(metrics):
    plain = metrics("cancer_bayes_test.csv", "--metrics", "error_rate")
    uniform = metrics("cancer_bayes_test.csv", "--metrics", "error_rate", "--priors", "uniform")
    given = metrics("cancer_bayes_test.csv", "--metrics", "error_rate", "--priors", "0.5,0.5")
    recall = [row["recall"] for row in plain["per_class"]]
    assert uniform["metrics"]["error_rate"]["value"] == pytest.approx(1 - sum(recall) / 2)
    assert given["metrics"] == uniform["metrics"]
    assert "weighted to the class priors 0.5, 0.5" in uniform["input"]["notes"][-1]
    moved = metrics("cancer_bayes_test.csv", "--priors", "0.01,0.99", "--shift-to-priors", "0.01,0.99")
    assert "moved from the class priors 0.6283, 0.3717 to 0.01, 0.99" in moved["input"]["notes"][-1]


def test_infinite_losses_are_clipped_only_on_request(run, tmp_path):
    file = tmp_path / "sure.csv"
    file.write_text("label,prob_a,prob_b\na,0,1\nb,0.5,0.5\n")
    plain, clipped = (
        json.loads(run("evaluate", file, *FAST, *options).out)["results"][0]
        for options in ((), ("--clip", "1e-3"))
    )
    assert plain["metrics"]["log_loss"]["value"] == "inf"
    assert clipped["metrics"]["log_loss"]["value"] == pytest.approx((math.log(1000) + math.log(2)) / 2)
    assert "clip:0.001" in clipped["metrics"]["log_loss"]["signature"]
    messages = {warning["code"]: warning["message"] for warning in clipped["warnings"]}
    assert messages["clipped"].startswith("The log-loss of 1 row was clipped")
    assert "infinite_log_loss" not in messages


PLATT = "relative_calibration_loss:recalibrator=platt"


def test_calibration_data_trains(metrics, sample):
    test, other = sample / "cancer_bayes_test.csv", sample / "cancer_bayes_calibration.csv"
    found = metrics("cancer_bayes_test.csv", "--calibration-data", other, "--metrics", PLATT)
    estimate = found["metrics"][PLATT]
    assert "recalibrator:platt|training:held-out" in estimate["signature"]
    rows = [read(file, ReadOptions()) for file in (test, other)]
    fitted = recalibrator("platt")
    train, evaluated = map(rows_of, (rows[1], rows[0]))
    fitted.fit(train.scores, train.labels)
    after = evaluate(recalibrated(rows[0], fitted.apply(evaluated.scores)), Settings(metrics=("log_loss",)))
    assert estimate["parts"]["after"] == pytest.approx(after.estimates["log_loss"].value)


def test_the_labels_of_the_calibration_data_are_its_own(run, tmp_path):
    """Both files have as many rows; the labels of the one are the reverse of those of the other."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200)
    for name, of_file in (("test", labels), ("cal", 1 - labels)):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(200, 2)) + 3 * np.eye(2)[of_file])
        np.save(tmp_path / f"{name}_truth.npy", of_file)
    asked = ("--labels", tmp_path / "test_truth.npy", "--calibration-data", tmp_path / "cal.npy", *FAST)
    loss = ("--metrics", "relative_calibration_loss")
    done = run("evaluate", tmp_path / "test.npy", *asked, *loss)
    assert done.status == 2
    assert "cal.npy" in done.err
    (tmp_path / "cal_truth.npy").rename(tmp_path / "cal_labels.npy")
    found = run("evaluate", tmp_path / "test.npy", *asked, *loss)
    (loss,) = json.loads(found.out)["results"][0]["metrics"].values()
    assert loss["value"] > 0


def test_training_on_the_test_data_is_called_optimistic(metrics):
    found = metrics(
        "iris_logistic_test.csv",
        "--metrics",
        "relative_calibration_loss:recalibrator=temperature:training=test",
    )
    (sentence, *_) = found["recalibration"]
    assert sentence.startswith("On its own rows, temperature scaling gains")
    assert sentence.endswith("optimistic.")


def test_clusters_are_columns(run, tmp_path):
    file = tmp_path / "speakers.csv"
    lines = [
        f"{'ab'[i // 4 % 2]},{0.3 + 0.4 * (i % 2)},{0.7 - 0.4 * (i % 2)},s{i % 7},{i % 3}" for i in range(60)
    ]
    file.write_text("\n".join(["label,prob_a,prob_b,speaker,part", *lines]) + "\n")
    done = run("evaluate", file, "--metrics", "calibration_loss", "--cluster", "speaker", *FAST)
    assert done.status == 0, done.err
    done = run("evaluate", file, "--cluster", "nobody", *FAST)
    assert done.status == 2
    assert f"{file}: no column 'nobody'; the columns are: speaker, part" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--costs", "nonsense"), "'nonsense' is not a list of costs; expected zero-one"),
        (("--costs", "imbalanced:cat:3"), "imbalanced costs name the class 'cat'; the classes are"),
        (
            ("--metrics", "bayes_risk:costs=abstain"),
            "no costs are called 'abstain'; define them with --costs",
        ),
        (("--priors", "0.5,0.6"), "2 priors for 3 classes"),
        (("--priors", "half"), "'half' is not a list of priors"),
        (("--shift-to-priors", "uniform"), "give --priors as well if the rows are to have"),
        (
            ("--shift-to-priors", "0.5,0.5,0", "--priors", "uniform"),
            "--shift-to-priors: the prior of class 'virginica' is 0",
        ),
        (("--clip", "1"), "--clip is 1; expected a small probability"),
        (("--engine", "spark"), "--engine is 'spark'; expected dask, or a Dask scheduler such as tcp://"),
        (("--metrics", "calibration_loss:training=held-out"), "give it with --calibration-data FILE"),
        (("--metrics", "beta_score"), "beta_score is for two classes"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(options, message, run, sample):
    done = run("evaluate", sample / "iris_logistic_test.csv", *options)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_weights_of_thresholds_are_files_that_metrics_name(run, sample, tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("threshold,weight\n0,2\n1,2\n")
    name = f"weighted_risk:weights={path}"
    file = sample / "cancer_bayes_test.csv"
    report = json.loads(run("evaluate", file, "--metrics", f"log_loss,{name}", *FAST).out)
    found = report["results"][0]["metrics"]
    assert report["settings"]["threshold_weights"] == {str(path): [[0, 2], [1, 2]]}
    assert found[name]["value"] == pytest.approx(2 * found["log_loss"]["value"])
    none = run("evaluate", file, "--metrics", "weighted_risk:weights=no.csv")
    assert (none.status, "no.csv" in none.err) == (2, True)


@pytest.mark.parametrize("costs", ["zero-one", "abstain:0.05", "imbalanced:malignant:10"])
def test_decisions_are_written_and_judged_however_they_were_made(run, sample, tmp_path, costs):
    """The expected cost of eq. 7 of Ferrer & Ramos 2024, by hand; that of Bayes decisions is their risk."""
    made, decided = tmp_path / "cal.json", tmp_path / "decided.csv"
    assert run("fit", sample / "cancer_bayes_calibration.csv", "-m", "dp", "-o", made).status == 0
    assert run("apply", made, sample / "cancer_bayes_test.csv", "--decide", costs, "-o", decided).status == 0
    table = pd.read_csv(decided)
    asked = ("--costs", costs, "--decision-column", "decision", "--metrics")
    name = costs.partition(":")[0]
    both = f"expected_cost:costs={name},bayes_risk:costs={name},normalized_expected_cost:costs={name}"
    found = json.loads(run("evaluate", decided, *FAST, *asked, both).out)["results"][0]
    wrong, risk, normalized = (one["value"] for one in found["metrics"].values())
    amount = {"zero-one": 1, "abstain": 1, "imbalanced": 10}[name]
    price = np.where(table["label"] == "malignant", amount, 1)
    paid = np.where(table["decision"] == "abstain", 0.05, price * (table["decision"] != table["label"]))
    assert wrong == pytest.approx(paid.mean(), abs=1e-12)
    assert risk == pytest.approx(wrong, abs=1e-12)
    share = (table["label"] == "malignant").mean()
    constant = min(1 - share, share * amount, *([0.05] if name == "abstain" else []))
    assert normalized == pytest.approx(wrong / constant)
    cells = pd.crosstab(table["decision"], table["label"])
    for row in found["decisions"][f"{name}, as in column decision"]:
        for label, cell in row["by_class"].items():
            assert cell["rows"] == cells.loc[row["name"], label]
            assert cell["share"] == pytest.approx(cell["rows"] / cells[label].sum())


@pytest.mark.parametrize("priors", [None, "uniform", "0.3,0.7"])
def test_balanced_decisions_do_not_depend_on_the_priors(run, tmp_path, priors):
    """Nor can they: they weigh the likelihoods of the classes, which `p / prior` is in proportion to."""
    made, file, decided = (tmp_path / name for name in ("cal.json", "rare.csv", "decided.csv"))
    rng = np.random.default_rng(1)
    rare = rng.random(2000) < 0.1
    logit = 1.5 * (rng.normal(size=2000) + 1.2 * (2 * rare - 1))
    prob = 1 / (1 + np.exp(-logit))
    pd.DataFrame({"label": np.where(rare, "b", "a"), "prob_a": 1 - prob, "prob_b": prob}).to_csv(
        file, index=False
    )
    assert run("fit", file, "-m", "platt", "-o", made).status == 0
    shift = () if priors is None else ("--shift-to-priors", priors)
    assert run("apply", made, file, *shift, "--decide", "balanced", "-o", decided).status == 0
    table = pd.read_csv(decided)
    prior = rare.mean() if priors is None else {"uniform": 0.5, "0.3,0.7": 0.7}[priors]
    assert ((table["decision"] == "b") == (table["prob_b"] > prior)).all()
    asked = (
        "--priors",
        priors or f"{1 - prior},{prior}",
        "--costs",
        "balanced",
        "--decision-column",
        "decision",
        "--label-column",
        "label",
    )
    both = "expected_cost:costs=balanced,bayes_risk:costs=balanced"
    found = json.loads(run("evaluate", decided, *FAST, *asked, "--metrics", both).out)["results"][0][
        "metrics"
    ]
    paid, least = (one["value"] for one in found.values())
    error = np.mean([(table["decision"][rare == k] != name).mean() for k, name in enumerate("ab")])
    assert [paid, least] == pytest.approx([error, error])


def test_worse_decisions_cost_more_and_unknown_ones_are_refused(run, tmp_path):
    file = tmp_path / "decided.csv"
    file.write_text("label,prob_a,prob_b,by\na,0.9,0.1,b\nb,0.2,0.8,b\na,0.6,0.4,a\n")
    asked = ("--metrics", "expected_cost,bayes_risk", "--decision-column")
    found = json.loads(run("evaluate", file, *FAST, *asked, "by").out)["results"][0]["metrics"]
    assert [one["value"] for one in found.values()] == [pytest.approx(1 / 3), 0]
    file.write_text("label,prob_a,prob_b,by\na,0.9,0.1,b\nb,0.2,0.8,wait\n")
    done = run("evaluate", file, *FAST, *asked, "by")
    assert done.status == 2
    assert "row 1 of column 'by' is 'wait'; the decisions of the costs zero-one are a, b" in done.err
    assert "name it with --decision-column" in run("evaluate", file, *asked[:2]).err


def test_a_threshold_of_costs_is_where_the_decision_changes(run, tmp_path):
    costs, file = tmp_path / "mine.csv", tmp_path / "preds.csv"
    costs.write_text("class,a,b\na,-1,2\nb,6,1\n")  # 3 for a false alarm, 5 for a miss
    file.write_text("label,prob_a,prob_b\na,0.626,0.374\nb,0.624,0.376\n")
    done = run("evaluate", file, "--costs", costs, "--metrics", "bayes_risk")
    assert "b is decided where the probability of b is above 0.375." in done.out
    found = json.loads(run("evaluate", file, *FAST, "--costs", costs, "--metrics", "bayes_risk").out)
    (risk,) = found["results"][0]["metrics"].values()
    assert risk["parts"]["threshold"] == 3 / 8
    assert risk["value"] == (-1 + 1) / 2


def test_decisions_need_a_table(run, sample, tmp_path):
    made = tmp_path / "cal.json"
    run("fit", sample / "cancer_bayes_calibration.csv", "-m", "dp", "-o", made)
    for target, said in (("x.npy", "expected a table"), ("x.csv", "column decision besides")):
        file = sample / "cancer_bayes_test.csv"
        if target == "x.csv":
            file = tmp_path / "twice.csv"
            file.write_text("decision,prob_benign,prob_malignant\nx,0.5,0.5\n")
        done = run("apply", made, file, "--decide", "zero-one", "-o", tmp_path / target)
        assert (done.status, said in done.err) == (2, True)
        assert not (tmp_path / target).exists()


@pytest.mark.parametrize(
    ("option", "with_it"),
    [
        (("--class-groups", "odd=0+2,1+3"), ("--metrics", "ece:lens=odd")),
        (("--costs", "abstain:0.1"), ("--metrics", "expected_score:score=bayes_risk")),
    ],
)
def test_each_option_that_no_metric_uses_is_told(run, tmp_path, option, with_it):
    run("simulate", "cal", "--n-classes", 4, "--rows", 40, "-o", tmp_path / "x.csv", "-q")
    for metrics, told in ((("--metrics", "log_loss"), True), (with_it, False)):
        done = run("evaluate", tmp_path / "x.csv", *FAST, *metrics, *option)
        assert (option[0] in done.err and "has no effect" in done.err) == told, done.err
    others = ("compare", tmp_path / "x.csv", tmp_path / "x.csv", "--metrics", "log_loss")
    if option[0] in ("--class-groups", "--costs"):
        assert option[0] in run(*others, *option).err


def test_options_that_no_figure_uses_are_told(run, sample, tmp_path):
    draw = ("plot", sample / "iris_logistic_test.csv", "-o", tmp_path / "f", "--costs", "abstain:0.1")
    assert "--costs has no effect" in run(*draw, "--figure", "reliability").err
    assert "no effect" not in run(*draw, "--figure", "scores").err
    groups = ("--class-groups", "first=setosa,versicolor+virginica")
    told = "--class-groups first has no effect"
    assert told in run(*draw[:4], "--figure", "ks", *groups).err
    assert told not in run(*draw[:4], "--figure", "ks", *groups, "--lens", "first").err


def test_options_that_no_metric_uses_are_told(run, sample):
    test, others = sample / "release_2.parquet", sample / "release_1.parquet"
    plain = ("evaluate", test, "--metrics", "accuracy")
    done = run(*plain, "--calibration-data", others, "--costs", "abstain:0.1")
    assert done.status == 0
    assert "--calibration-data has no effect: no metric asked for recalibrates" in done.err
    assert "--costs has no effect: no metric asked for uses costs" in done.err
    used = run(
        "evaluate", test, "--metrics", "calibration_loss:score=bayes_risk",
        "--calibration-data", others, "--costs", "abstain:0.1",
    )  # fmt: skip
    assert (used.status, used.err) == (0, "")


@pytest.fixture
def judged(sample, run):
    """Return what is printed of two files under costs, and the decisions of each in JSON."""
    files = [sample / f"cancer_bayes_{part}.csv" for part in ("test", "calibration")]
    asked = ("--costs", "abstain:0.1", "--metrics", "bayes_risk", "--draws", 9)
    done, as_json = (run("evaluate", *files, *asked, *form) for form in ([], ["-f", "json"]))
    assert done.status == 0
    report = json.loads(as_json.out)
    return done.out, {one["input"]["path"]: one["decisions"]["abstain"] for one in report["results"]}, files


def test_records_of_decisions_are_those_of_the_least_expected_cost(judged):
    _, records, files = judged
    for file in files:
        read = pd.read_csv(file)
        probs = read[["prob_benign", "prob_malignant"]].to_numpy()
        costs = np.array([[0, 1, 0.1], [1, 0, 0.1]])
        taken = np.array(["benign", "malignant", "abstain"])[(probs @ costs).argmin(1)]
        counts = pd.crosstab(taken, read["label"])
        assert len(records[str(file)]) == len(counts)
        for one in records[str(file)]:
            column = counts.loc[one["name"]]
            assert (one["rows"], one["share"]) == (column.sum(), pytest.approx(column.sum() / len(read)))
            for name, rows in column.items():
                assert one["by_class"][name]["rows"] == rows
                assert one["by_class"][name]["share"] == pytest.approx(rows / counts[name].sum())


def test_decisions_of_several_files_stand_side_by_side(judged):
    text = judged[0].split("Decisions under abstain")[1].splitlines()
    assert text[1].split() == ["benign", "malignant", "abstain"]
    assert [line.split()[1:] for line in text[3:5]] == [
        ["61.3%", "33.5%", "5.2%"],
        ["62.0%", "34.5%", "3.5%"],
    ]


def of_two_classes(folder, weights):
    """Write predictions, and the same with the classes the other way round."""
    rng = np.random.default_rng(5)
    labels = (rng.random(200) < 0.3).astype(int)
    prob = 1 / (1 + np.exp(rng.normal(size=200) + 1 - 2 * labels))
    table = pd.DataFrame(
        {"label": np.array(["no", "yes"])[labels], "prob_no": 1 - prob, "prob_yes": prob, "weight": weights}
    )
    table["by"] = np.where(prob > 0.35, "yes", "no")
    table.to_csv(folder / "a.csv", index=False)
    table[["label", "prob_yes", "prob_no", "weight", "by"]].to_csv(folder / "b.csv", index=False)
    return table


@pytest.mark.parametrize("weights", [1.0, np.arange(200) % 3 + 0.5])
@pytest.mark.parametrize("metric", ["normalized_bayes_risk", "normalized_expected_cost"])
def test_constants_under_balanced_costs_are_known(run, metric, weights, tmp_path):
    """No decision is worth more than another: the interval is that of the risk, over 1 - 1 / K."""
    of_two_classes(tmp_path, weights)
    risk = metric.removeprefix("normalized_")
    asked = ("--metrics", f"{metric}:costs=balanced,{risk}:costs=balanced", "--decision-column", "by")
    options = (*asked, "--weights", "weight", "--format", "json")
    first, again = (
        json.loads(run("evaluate", tmp_path / name, *options).out)["results"][0]["metrics"].values()
        for name in ("a.csv", "b.csv")
    )
    for (normalized, plain), (other, _) in ((first, again), (again, first)):
        for key in ("value", "low", "high"):
            assert normalized[key] == pytest.approx(2 * plain[key])
            assert normalized[key] == pytest.approx(other[key])


def test_balanced_costs_of_decisions_spread_as_means_of_classes(run, tmp_path):
    """The variance of stratified sampling, as of recalls."""
    table = of_two_classes(tmp_path, 1.0)
    asked = ("--metrics", "expected_cost:costs=balanced", "--decision-column", "by", "--draws", 0)
    done = run("evaluate", tmp_path / "a.csv", *asked, "--format", "json")
    (found,) = json.loads(done.out)["results"][0]["metrics"].values()
    wrong = (table["by"] != table["label"]).groupby(table["label"])
    assert found["value"] == pytest.approx(wrong.mean().mean())
    error = math.sqrt((wrong.var(ddof=0) / wrong.size()).sum()) / 2
    assert found["high"] - found["low"] == pytest.approx(2 * 1.96 * error, rel=0.1)  # few rows are wrong


def test_under_other_priors_calibration_is_not_tested(run, sample):
    asked = ("evaluate", sample / "cancer_bayes_test.csv", "--priors", "uniform")
    done = run(*asked, "--format", "json", "--metrics", "ece,ks,cw_ece,skce,spiegelhalter_z,log_loss")
    found = json.loads(done.out)["results"][0]
    assert not any("p_value" in one or "if_calibrated" in one for one in found["metrics"].values())
    assert [one["code"] for one in found["warnings"]] == ["untested"]
    done = run(*asked, "--test")
    assert (done.status, done.out) == (2, "")
    assert "--test draws independent outcomes, but with --priors rows are" in done.err
