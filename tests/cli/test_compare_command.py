"""`calcli compare` as a user calls it."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest

import calcli


@pytest.fixture
def releases(sample):
    return sample / "release_1.parquet", sample / "release_2.parquet"


def write(path, scores, labels, **columns):
    head = ["label", *(f"prob_{k}" for k in range(scores.shape[1])), *columns]
    lines = [",".join(map(str, row)) for row in zip(labels, *scores.T, *columns.values(), strict=True)]
    path.write_text("\n".join([",".join(head), *lines]) + "\n")
    return path


def test_a_release_is_told_from_the_last(run, releases):
    done = run("compare", *releases, "--key", "id", "--metrics", "log_loss,accuracy,ece")
    assert (done.status, done.err) == (0, "")
    lines = {line.split()[0]: line for line in done.out.splitlines() if line}
    verdicts = {name: lines[name].split()[1] for name in ("log_loss", "accuracy")}
    assert verdicts == {"log_loss": "worse", "accuracy": "undecided"}
    assert lines["ece"].split()[1:3] == [releases[0].name, "0.0151"]  # beside what it is if calibrated
    assert "No test compares two calibration errors" in done.out


def test_verdicts_stay_beside_names_of_any_width(run, releases):
    long = "calibration_loss:recalibrator=isotonic"
    out = run("compare", *releases, "--key", "id", "--metrics", f"{long},log_loss").out
    assert next(line.split()[1] for line in out.splitlines() if line.startswith("log_loss")) == "worse"
    assert max(map(len, out.splitlines())) <= 80


def test_costs_that_are_given_are_compared(run, releases):
    done = run("compare", *releases, "--key", "id", "--costs", "abstain:0.1")
    assert "bayes_risk:costs=abstain" in done.out


def test_json_has_what_the_table_says(run, releases):
    report = json.loads(run("compare", *releases, "--format", "json", "--by", "ink").out)
    assert report["schema"] == "calcli.comparison/1"
    assert [part["slice"] for part in report["comparisons"]] == [None, "ink=heavy", "ink=light", "ink=medium"]
    found = report["comparisons"][0]["differences"][0]["log_loss"]
    assert found["difference"] == pytest.approx(found["candidate"] - found["baseline"])
    assert found["low"] < found["difference"] < found["high"]
    assert found["verdict"] == "worse"
    assert "low" not in report["comparisons"][0]["differences"][0]["ece"]
    assert [len(system["input"]["sha256"]) for system in report["systems"]] == [64, 64]


def test_slices_without_intervals_do_not_say_so_of_all_rows(run, tmp_path):
    rng = np.random.default_rng(0)
    second, labels = rng.uniform(0.1, 0.9, 300), rng.integers(0, 2, 300)
    files = [
        write(
            tmp_path / f"{name}.csv",
            np.column_stack([1 - p, p]).round(3),
            labels,
            part=["few"] * 3 + ["many"] * 297,
        )
        for name, p in (("a", second), ("b", second**1.5))
    ]
    done = run("compare", *files, "--by", "part", "--metrics", "log_loss")
    assert done.status == 0
    assert "No interval" not in done.out
    found = json.loads(run("compare", *files, "--by", "part", "--metrics", "log_loss", "-f", "json").out)
    assert "no_interval" in found["comparisons"][1]["differences"][0]["log_loss"]


def test_markdown_is_a_page(run, releases):
    out = run("compare", *releases, "--format", "markdown", "--metrics", "brier", "--details").out
    assert out.startswith("# Comparison\n")
    assert "| brier | worse | 0.1310 | 0.1485 |" in out


def test_the_epoch_to_ship_is_named_with_what_it_costs(run, sample):
    epochs = sorted((sample / "epochs").glob("*.parquet"))
    out = " ".join(run("compare", *epochs, "--select", "log_loss").out.split())
    assert "Ship epoch_04.parquet: the lowest log_loss, 0.4378." in out
    assert "accuracy of 87.5% is 2.3 points below that of epoch_10.parquet" in out


def test_an_unpaired_comparison_says_it_is_weaker(run, sample):
    files = sample / "digits_forest_test.parquet", sample / "digits_forest_calibration.parquet"
    done = run("compare", *files, "--metrics", "accuracy")
    assert done.status == 2
    assert "997" in done.err
    assert "--unpaired" in done.err
    done = run("compare", *files, "--metrics", "accuracy,ece", "--unpaired")
    assert done.status == 0
    assert "Unpaired: the files hold different cases" in done.out


def test_the_area_of_the_same_ranking_differs_in_no_row(run, tmp_path):
    rng = np.random.default_rng(3)
    score = rng.uniform(0.01, 0.99, 200)
    labels, both = (rng.random(200) < score).astype(int), (score, score**2)
    files = [write(tmp_path / f"{i}.csv", np.column_stack([1 - s, s]), labels) for i, s in enumerate(both)]
    said = run("compare", *files, "--metrics", "auroc,brier").out
    assert "equal: the same but for rounding" in said
    assert "effective sample size" not in said


def test_left_out_rows_are_counted(run, tmp_path):
    rng = np.random.default_rng(0)
    scores, labels, ids = rng.dirichlet([1, 1], 40), rng.integers(0, 2, 40), np.arange(40)
    old = write(tmp_path / "old.csv", scores, labels, id=ids)
    new = write(tmp_path / "new.csv", scores[:30], labels[:30], id=ids[:30])
    done = run("compare", old, new, "--key", "id")
    assert done.status == 2
    assert f"10 of {old}" in done.err
    done = run("compare", old, new, "--key", "id", "--allow-unmatched")
    assert "old.csv: 10 rows without a counterpart left out." in done.out


def test_dependent_rows_are_taken_together(run, releases):
    files = [*releases, "--key", "id", "--metrics", "log_loss,ece,corp_miscalibration:lens=top-1"]
    done = run("compare", *files, "--cluster", "ink")
    assert "Rows of one ink depend on each other" in done.out
    lines = {line.split()[0]: line.split() for line in done.out.splitlines() if line}
    assert lines["log_loss"][1] == "untested"  # three clusters prove nothing
    done = run("compare", *files, "--cluster", "writer")
    assert (done.status, done.out) == (2, "")
    assert "no column 'writer'" in done.err


def test_other_classes_are_refused(run, sample, releases):
    done = run("compare", releases[0], sample / "iris_logistic_test.csv")
    assert done.status == 2
    assert "3 classes" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "only one file was given"),
        (["release_2.parquet", "--key", "uid"], "--key uid"),
        (["release_2.parquet", "--unpaired", "--key", "id"], "--key id pairs rows and --unpaired does not"),
        (["release_2.parquet", "--by", "country"], "country"),
        (["release_2.parquet", "--cluster", "country"], "country"),
        (["release_2.parquet", "--margin", "log_loss"], "is not a margin"),
        (["release_2.parquet", "--select", "mean_confidence"], "rank by log_loss"),
        (["none.parquet"], "no such file"),
    ],
)
def test_bad_calls_are_one_sentence(run, sample, arguments, message):
    files = [sample / name if name.endswith("parquet") else name for name in arguments]
    done = run("compare", sample / "release_1.parquet", *files)
    assert done.status == 2
    assert done.out == ""
    assert message in done.err
    assert len(done.err.splitlines()) == 1


def test_a_narrow_terminal_is_enough(run, releases, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    out = run("compare", *releases, "--by", "ink").out
    assert max(map(len, out.splitlines())) <= 60


def test_a_margin_that_nothing_can_prove_is_told(run, releases):
    options = ("--metrics", "ece,accuracy", "--margin", "ece=0.5", "--margin", "accuracy=0.5", "--draws", "9")
    out = " ".join(run("compare", *releases, *options).out.split())
    assert "The margin of ece is not used, as there is no interval." in out
    assert "equivalent" in out


def test_arguments_that_are_named_outweigh_those_assumed(releases):
    """The usual 15 bins are 15 where `bins` assumes 10, in margins and rankings as well."""
    usual = {"metrics": "ece", "margins": {"ece:bins=15": 0.5}, "rank_by": "ece:bins=15"}
    found = calcli.compare(*map(str, releases), bins=10, draws=0, **usual).to_dict()
    differences = found["comparisons"][0]["differences"][0]
    assert list(differences) == ["ece", "ece:bins=15"]
    assert [one["margin"] for one in differences.values()] == [0, 0.5]
    assert found["comparisons"][0]["ranked_by"] == "ece:bins=15"


@pytest.fixture
def two_sets(sample, tmp_path):
    for folder, numbers in (("val", range(1, 11)), ("test", range(10, 0, -1))):
        tmp_path.joinpath(folder).mkdir()
        for name, number in enumerate(numbers, 1):
            copy = tmp_path / folder / f"e_{name}.parquet"
            shutil.copy(sample / "epochs" / f"epoch_{number:02}.parquet", copy)
    return sorted((tmp_path / "val").iterdir()), tmp_path / "test"


@pytest.mark.parametrize("pattern", ["", "e_*.parquet"])
def test_choices_on_one_set_are_reported_on_another(run, two_sets, pattern):
    files, other = two_sets
    options = ["--select", "accuracy,log_loss", "--report-on", other / pattern, "-q"]
    report = json.loads(run("compare", *files, *options, "--format", "json").out)
    first, second = report["choices"]
    assert (first["number"], second["number"]) == (10, 4)  # as the notes on the sample data say
    for choice in report["choices"]:
        for folder, found in ((files[0].parent, "chosen_on"), (other, "reported_on")):
            file = folder / f"e_{choice['number']}.parquet"
            metrics = run("evaluate", file, "--metrics", ",".join(choice[found]), "-f", "json", "-q").out
            expected = json.loads(metrics)["results"][0]["metrics"]
            assert choice[found] == {name: one["value"] for name, one in expected.items()}
    change = second["reported_on"]["accuracy"] / first["reported_on"]["accuracy"] - 1
    assert second["relative_change"]["accuracy"] == pytest.approx(change)
    out = run("compare", *files, *options).out
    assert ["log_loss", "test", f"{100 * change:+.1f}%"] in [line.split()[:3] for line in out.splitlines()]


def test_choices_that_cannot_be_reported(run, two_sets):
    files, other = two_sets
    assert "give both" in run("compare", *files, "--report-on", other).err
    said = run("compare", *files, "--select", "log_loss,accuracy")
    assert (said.status, "several need --report-on" in said.err) == (2, True)
    said = run("compare", *files[1:], "--select", "log_loss", "--report-on", other)
    assert said.status == 2
    assert "no counterpart with the number 1" in said.err
    said = run("compare", *files, "--select", "log_loss", "--report-on", other / "x*")
    assert "no such files" in said.err
    said = run("compare", *files, "--select", "log_loss", "--report-on", other, "--unpaired")
    assert "leave out --key, --unpaired, --by, --margin" in said.err


def test_relative_changes(run, releases):
    report = json.loads(run("compare", *releases, "--metrics", "log_loss", "--format", "json").out)
    found = report["comparisons"][0]["differences"][0]["log_loss"]
    assert found["relative_change"] == pytest.approx(found["difference"] / found["baseline"])
    out = run("compare", *releases, "--metrics", "log_loss,mean_gap", "-f", "markdown", "--details").out
    assert f"| {100 * found['relative_change']:+.1f}% |" in out


@pytest.fixture
def like(tmp_path):
    """Return a writer of three systems of different sharpness for rows with some labels."""

    def made(labels, impossible=()):
        base = np.random.default_rng(0).dirichlet(np.ones(2), len(labels))
        files = []
        for number, power in enumerate((0.5, 1, 2)):
            probs = base**power / (base**power).sum(1, keepdims=True)
            if number in impossible:
                probs[0] = np.eye(2)[1 - labels[0]]
            files.append(write(tmp_path / f"s{number}.csv", probs, labels))
        return files

    return made


def test_no_system_is_chosen_by_what_is_undefined_for_all(run, like):
    files = like(np.zeros(40, int))
    options = ["--classes", "0,1"]
    done = run("compare", *files, "--select", "auroc", *options)
    assert (done.status, done.out) == (2, "")
    assert "no system can be selected: auroc is undefined for all of them" in done.err
    done = run("compare", *files, "--select", "log_loss", *options)
    assert done.status == 0


def test_no_system_is_chosen_by_what_is_infinite_for_all(run, like):
    labels = np.arange(40) % 2
    done = run("compare", *like(labels, (0, 1, 2)), "--select", "log_loss")
    assert done.status == 2
    assert "log_loss is infinite for all of them" in done.err
    done = run("compare", *like(labels, (0, 1, 2)), "--metrics", "log_loss,accuracy")
    assert done.status == 0
    assert "Ship" not in done.out
    said = run("compare", *like(labels, (0, 2)), "--select", "log_loss").out
    assert "Ship s1.csv" in said
    assert "Cannot be told" not in said


def test_labels_of_another_table_are_found_by_the_key_that_pairs_rows(run, tmp_path):
    rows = [(n, int(n * 7 % 10 < n % 20 // 2), (n % 20 + 0.5) / 20) for n in range(200)]
    old, new, truth, both = (tmp_path / f"{name}.csv" for name in ("old", "new", "truth", "both"))
    old.write_text("id,prob\n" + "".join(f"{n},{p}\n" for n, _, p in rows))
    new.write_text("id,prob\n" + "".join(f"{n},{(p + 0.5) / 2}\n" for n, _, p in reversed(rows)))
    truth.write_text("id,bought\n" + "".join(f"{n},{y}\n" for n, y, _ in rows[7:] + rows[:7]))
    both.write_text("id,label,prob\n" + "".join(f"{n},{y},{p}\n" for n, y, p in rows))
    by_key = "--labels", truth, "--key", "id"
    value = json.loads(run("evaluate", both, "-f", "json").out)["results"][0]["metrics"]["log_loss"]
    assert (
        json.loads(run("evaluate", old, *by_key, "-f", "json").out)["results"][0]["metrics"]["log_loss"]
        == value
    )
    assert run("compare", old, new, *by_key).status == 0
    assert run("compare", old, new, "--labels", truth).status == 2
    fitted = run("fit", old, *by_key, "-m", "temperature", "--cross-validated", tmp_path / "cv.csv")
    assert fitted.status == 0, fitted.err
    assert (tmp_path / "cv.csv").read_text().startswith("id,prob\n0,")
    assert run("plot", old, *by_key, "-o", tmp_path / "figures", "--figure", "reliability").status == 0
    assert run("check", "--init", old, *by_key, "--policy", tmp_path / "p.toml").status == 0
    assert run("check", old, "--policy", tmp_path / "p.toml").status == 0
    assert (
        "has no effect without a table of --labels"
        in run("fit", both, "--key", "id", "-m", "temperature").err
    )
    alone = run("evaluate", both, "--allow-unmatched", "--metrics", "accuracy")
    assert alone.err == "calcli: --allow-unmatched has no effect without a table of --labels and --key\n"


def test_the_page_has_changes_beside_margins_and_both_curves(run, releases, tmp_path):
    path = tmp_path / "page.html"
    given = ("compare", *releases, "--key", "id", "--margin", "accuracy=0.01", "--html", path)
    assert run(*given, "--metrics", "log_loss,accuracy,ece").status == 0
    changes, curves = re.findall(r"<figure>.*?</figure>", path.read_text(encoding="utf-8"), re.DOTALL)
    shown = re.findall(r"<text[^>]*>\s*([^<]*?)\s*</text>", changes)
    assert {"log_loss", "accuracy", "worse", "undecided"} <= set(shown)  # ece has no interval
    assert "ece" not in shown
    assert "Gray: the margin" in changes
    assert {"release_1.parquet", "release_2.parquet"} <= set(
        re.findall(r">\s*(release_\d\.parquet)\s*<", curves)
    )


def test_thresholds_are_compared_by_net_benefit_and_cost(run, tmp_path, sample):
    rng = np.random.default_rng(3)
    score = rng.random(500)
    label = (rng.random(500) < score).astype(int)
    scores = [score, np.clip(score + rng.normal(0, 0.2, 500), 0.01, 0.99)]
    files = [tmp_path / f"{name}.csv" for name in ("old", "new")]
    for file, each in zip(files, scores, strict=True):
        pd.DataFrame({"prob": each, "label": label}).to_csv(file, index=False)
    asked = ("--metrics", "log_loss", "--thresholds", "0.2,0.4", "--costs", "imbalanced:1:4")
    (found,) = json.loads(run("compare", *files, *asked, "-f", "json").out)["comparisons"][0]["differences"]
    for threshold in (0.2, 0.4):
        of_rows = [np.where(label, 1, -threshold / (1 - threshold)) * (each >= threshold) for each in scores]
        change = found[f"net_benefit:threshold={threshold}"]
        assert change["difference"] == pytest.approx((of_rows[1] - of_rows[0]).mean(), abs=1e-12)
        assert change["low"] < change["difference"] < change["high"]
        costs = [np.where(each >= threshold, 1 - label, 4 * label).mean() for each in scores]
        change = found[f"threshold_cost:costs=imbalanced:threshold={threshold}"]
        assert change["difference"] == pytest.approx(costs[1] - costs[0], abs=1e-12)
    assert len(found) == 5
    more = run("compare", *[sample / "iris_logistic_test.csv"] * 2, "--thresholds", "0.2")
    assert "--thresholds is for probabilities of two classes" in more.err
