"""Several labels in a row on the command line: a row for each, their means, and one path for each."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import metrics

import calcli

LABELS = [f"finding {n}" for n in range(14)]


@pytest.fixture(scope="module")
def rows():
    """Return 14 labels of 800 rows, 5% of which are missing, and probabilities that are off."""
    rng = np.random.default_rng(3)
    shared = rng.normal(size=(800, 1))
    logits = 0.8 * shared + rng.normal(size=(800, 14)) - np.linspace(0, 2, 14)
    labels = (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
    labels[rng.random(labels.shape) < 0.05] = np.nan
    return labels, 1 / (1 + np.exp(-1.3 * logits))


@pytest.fixture(scope="module")
def path(rows, tmp_path_factory):
    labels, probs = rows
    path = tmp_path_factory.mktemp("labels") / "x.npz"
    np.savez(path, y_true=labels, y_prob=probs, label_names=np.array(LABELS))
    return path


def of_labels(rows, score):
    there = ~np.isnan(rows[0])
    return [score(rows[0][there[:, n], n], rows[1][there[:, n], n]) for n in range(14)]


def macro_of(run, path, *options):
    done = run("evaluate", path, "-f", "json", "-q", *options)
    assert done.status == 0, done.err
    document = json.loads(done.out)
    mean, *labels = document["results"]
    assert (mean["input"]["path"], mean["input"]["name"]) == (str(path), "macro")
    return labels, mean["metrics"]


def test_values_and_means_are_those_of_scikit_learn(run, path, rows):
    results, macro = macro_of(run, path, "--metrics", "log_loss,brier,auroc,average_precision,ece")
    assert [result["input"]["label"] for result in results] == LABELS
    assert [result["input"]["rows"] for result in results] == (~np.isnan(rows[0])).sum(0).tolist()
    for name, score in {
        "log_loss": metrics.log_loss,
        "brier": metrics.brier_score_loss,
        "auroc": metrics.roc_auc_score,
        "average_precision": metrics.average_precision_score,
    }.items():
        expected = of_labels(rows, score)
        assert [result["metrics"][name]["value"] for result in results] == pytest.approx(expected, rel=1e-9)
        assert macro[name]["value"] == pytest.approx(np.mean(expected), rel=1e-9)
        assert macro[name]["low"] < macro[name]["value"] < macro[name]["high"]
    p = sorted(result["metrics"]["ece"]["p_value"] for result in results)
    corrected = [result["metrics"]["ece"]["corrected_p"] for result in results]
    assert min(corrected) == pytest.approx(min(1, 14 * p[0]))  # Holm
    assert "low" not in macro["ece"]


def test_stacked_outputs_are_the_probabilities_of_1(run, path, rows, tmp_path):
    labels, probs = rows
    scores = np.stack([1 - probs.T, probs.T], axis=2)
    np.savez(tmp_path / "x.npz", y_true=labels, y_prob=scores, label_names=np.array(LABELS))
    results, macro = macro_of(run, tmp_path / "x.npz", "--metrics", "log_loss,auroc,ece")
    expected, expected_macro = macro_of(run, path, "--metrics", "log_loss,auroc,ece")
    assert [result["input"]["label"] for result in results] == LABELS
    assert [result["metrics"] for result in results] == [result["metrics"] for result in expected]
    assert macro == expected_macro


def test_intervals_of_means_are_those_of_resampled_rows(run, path, rows):
    labels, probs = rows
    _, macro = macro_of(run, path, "--metrics", "brier,auroc")
    rng, means = np.random.default_rng(0), {"brier": [], "auroc": []}
    for _ in range(400):
        at = rng.integers(800, size=800)
        drawn = labels[at], probs[at]
        means["brier"].append(np.mean(of_labels(drawn, metrics.brier_score_loss)))
        means["auroc"].append(np.mean(of_labels(drawn, metrics.roc_auc_score)))
    for name, values in means.items():
        width = macro[name]["high"] - macro[name]["low"]
        assert width == pytest.approx(3.92 * np.std(values), rel=0.12)
        apart = [3.92 * np.std(values) / np.sqrt(14)]  # as if labels were independent of each other
        assert name != "brier" or width > 0.5 * max(apart)


def test_clusters_are_resampled_in_place_of_rows(run, rows, tmp_path):
    labels, probs = (np.repeat(values, 3, axis=0) for values in rows)
    np.savez(tmp_path / "x.npz", y_true=labels, y_prob=probs, patient=np.arange(2400) // 3)
    np.savez(tmp_path / "one.npz", y_true=rows[0], y_prob=rows[1])
    options = "--metrics", "brier"
    _, tripled = macro_of(run, tmp_path / "x.npz", *options, "--cluster", "patient")
    _, alone = macro_of(run, tmp_path / "one.npz", *options)
    assert tripled["brier"]["low"] == pytest.approx(alone["brier"]["low"], rel=1e-3)


def test_many_rows_are_dealt_alike_for_all_labels(run, tmp_path):
    rng = np.random.default_rng(1)
    probs = np.repeat(rng.random((21_000, 1)), 4, axis=1)  # four times the same label
    labels = np.repeat((rng.random((21_000, 1)) < probs[:, :1]).astype(float), 4, axis=1)
    labels[:300, 3] = np.nan
    np.savez(tmp_path / "x.npz", y_true=labels, y_prob=probs)
    results, macro = macro_of(run, tmp_path / "x.npz", "--metrics", "brier")
    one, mean = (of["brier"]["high"] - of["brier"]["low"] for of in (results[0]["metrics"], macro))
    assert mean == pytest.approx(one, rel=0.07)


def test_a_table_has_a_row_for_each_label(run, path):
    done = run("evaluate", path)
    assert done.status == 0, done.err
    assert "x.npz: 14 labels in a row, probs in y_prob" in done.out
    lines = done.out.splitlines()
    assert sum(line.startswith("finding 3 ") for line in lines) == 2  # folded
    assert any(line.startswith("macro mean") for line in lines)
    assert "rows: those that have the label." in done.out
    table = list(csv.DictReader(io.StringIO(run("evaluate", path, "-f", "csv", "-q").out)))
    assert [row["system"] for row in table] == ["macro", *LABELS]
    assert run("evaluate", path, "-f", "latex", "-q").out.count(r"\begin{table}") == 1
    assert "| macro |" in run("evaluate", path, "-f", "markdown", "-q").out
    one = run("evaluate", f"{path}/finding 3", "-f", "json")
    assert json.loads(one.out)["results"][0]["input"]["label"] == "finding 3"


def test_a_label_without_a_positive_row_has_no_rank(run, tmp_path, rows):
    labels = rows[0].copy()
    labels[:, 5] = 0
    np.savez(tmp_path / "x.npz", y_true=labels, y_prob=rows[1])
    done = run("evaluate", tmp_path / "x.npz", "--metrics", "auroc,brier")
    assert done.status == 0, done.err
    assert "No interval for auroc: it is not defined on every label." in done.out


def test_several_files_and_failures(run, path, tmp_path):
    other = tmp_path / "y.npz"
    other.write_bytes(path.read_bytes())
    done = run("evaluate", path, other, "--metrics", "brier", "--fail-if", "brier>0.18")
    assert done.status == 1
    assert f"{other}/finding 0: brier>0.18 holds" in done.err
    assert done.out.count("14 labels in a row") == 2


def test_a_report_and_its_page_are_written(run, rows, tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, y_true=rows[0][:, :2], y_prob=rows[1][:, :2], label_names=np.array(LABELS[:2]))
    options = "--metrics", "brier,auroc", "--draws", "9"
    done = run("evaluate", path, *options, "-o", tmp_path / "out", "--html", tmp_path / "page.html")
    assert done.status == 0, done.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "macro mean" in page
    assert "finding 1" in page
    assert (tmp_path / "out" / "finding 1" / "reliability.png").is_file()


def test_parts_of_tables_are_joined(run, rows, tmp_path):
    labels, probs = rows
    for n, some in enumerate((slice(300), slice(300, 800))):
        frame = {f"true_{k}": labels[some, k] for k in range(2)} | {
            f"prob_{k}": probs[some, k] for k in range(2)
        }
        pd.DataFrame(frame).to_csv(tmp_path / f"{n}.csv", index=False)
    done = run(
        "evaluate", tmp_path / "0.csv", tmp_path / "1.csv", "--concat", "--metrics", "brier", "-f", "json"
    )
    assert done.status == 0, done.err
    values = [result["metrics"]["brier"]["value"] for result in json.loads(done.out)["results"]]
    assert values == pytest.approx(of_labels((labels, probs), metrics.brier_score_loss)[:2])


def test_commands_of_one_data_set_name_the_labels(run, path):
    done = run("threshold", path, "--max-error", "0.1")
    assert done.status == 2
    assert "x.npz has 14 labels in a row, finding 0, " in done.err
    assert f"name one, as in '{path}/finding 0'" in done.err


@pytest.fixture(scope="module")
def worse(rows, path):
    """Return the path of scores that are worse."""
    labels, probs = rows
    noisy = np.log(probs / (1 - probs)) + 0.6 * np.random.default_rng(8).normal(size=probs.shape)
    other = path.with_name("worse.npz")
    np.savez(other, y_true=labels, y_prob=1 / (1 + np.exp(-noisy)), label_names=np.array(LABELS))
    return other


@pytest.mark.parametrize("command", [["evaluate"], ["fit"], ["segments", "--columns", "x"]])
def test_several_labels_cannot_be_piped(command, run, rows, monkeypatch):
    table = {f"x{n}": rows[0][:, n] for n in range(3)} | {f"pred_x{n}": rows[1][:, n] for n in range(3)}
    text = pd.DataFrame(table).dropna().astype({f"x{n}": int for n in range(3)}).to_csv(index=False)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    status, out, err = run(command[0], "-", *command[1:])
    assert (status, out) == (2, "")
    assert err == "calcli: standard input has 3 labels in a row; save them to a file\n"


def test_files_are_compared_by_their_means_and_on_each_label(run, path, worse, rows):
    done = run("compare", path, worse, "--metrics", "brier", "-f", "json")
    assert done.status == 0, done.err
    document = json.loads(done.out)
    mean, *labels = document["comparisons"]
    noisy = np.load(worse)["y_prob"]
    there = ~np.isnan(rows[0])
    squares = np.where(there, (noisy - rows[0]) ** 2 - (rows[1] - rows[0]) ** 2, np.nan)
    expected = np.nanmean(squares, axis=0)
    found = [part["differences"][0]["brier"] for part in labels]
    assert [one["difference"] for one in found] == pytest.approx(expected.tolist())
    p = np.array([one["p_value"] for one in found])
    assert min(one["corrected_p"] for one in found) == pytest.approx(14 * p.min())  # Holm
    change = mean["differences"][0]["brier"]
    assert change["difference"] == pytest.approx(expected.mean())
    brought = np.nansum((squares - expected) / there.sum(0), axis=1) / 14  # of each row to the mean
    half = 1.963 * np.sqrt((brought**2).sum())
    assert change["high"] - change["low"] == pytest.approx(2 * half, rel=0.02)
    assert "Differences by label" in run("compare", path, worse, "--metrics", "brier").out
    done = run("compare", path, worse, "--by", "label")
    assert (done.status, "--by label is for one label" in done.err) == (2, True)


POLICY = """
[[rules]]
metric = "brier"
max = {limit}
labels = "mean"
[[rules]]
metric = "brier"
max_increase = 0.001
labels = "{labels}"
"""


@pytest.mark.parametrize("labels", ["mean", "each"])
def test_rules_hold_for_the_mean_or_for_each_label(labels, run, path, worse, rows, tmp_path):
    policy = tmp_path / "p.toml"
    policy.write_text(POLICY.format(limit=0.25, labels=labels), encoding="utf-8")
    check = "check", worse, "--policy", policy, "--baseline", path, "-f", "json"
    results = json.loads(run(*check).out)["results"]
    broken = [r["path"] for r in results for rule in r["rules"] if rule["result"] == "failed"]
    squares = (np.load(worse)["y_prob"] - rows[0]) ** 2 - (rows[1] - rows[0]) ** 2
    p = stats.ttest_1samp(squares, 0.001, nan_policy="omit", alternative="greater").pvalue
    proven = [f"{worse}/{LABELS[n]}" for n in range(14) if p[n] <= 0.025 / 14]
    assert broken == (proven if labels == "each" else [str(worse)])
    assert results[0]["path"] == str(worse)
    assert results[0]["rules"][0]["title"] == "macro mean of brier at most 0.25"
    assert run("check", path, *check[2:]).status == 0


def test_a_rule_on_a_slice_is_not_on_means(run, path, tmp_path):
    policy = tmp_path / "p.toml"
    policy.write_text(
        '[[rules]]\nmetric = "brier"\nmax = 1\nlabels = "mean"\nslice = "a=b"\n', encoding="utf-8"
    )
    done = run("check", path, "--policy", policy)
    assert (done.status, "leave out slice" in done.err) == (2, True)


def written_as(kind, rows, folder):
    labels, probs = rows[0][:, :3], rows[1][:, :3]
    if kind == "npz":
        np.savez(folder / "x.npz", y_true=labels, y_prob=probs.astype("f4"), site=np.arange(800))
    elif kind == "npy":
        np.save(folder / "x.npy", probs)
        np.save(folder / "x_labels.npy", np.where(np.isnan(labels), -1, labels).astype(int))
    elif kind == "csv":
        frame = {f"true_{n}": pd.array(labels[:, n], "Int64") for n in range(3)} | {"code": ["007"] * 800}
        pd.DataFrame(frame | {f"prob_{n}": probs[:, n] for n in range(3)}).to_csv(
            folder / "x.csv", index=False
        )
    else:
        frame = {"labels": np.where(np.isnan(labels), -1, labels).tolist(), "probs": probs.tolist()}
        pd.DataFrame(frame).to_parquet(folder / "x.parquet")
    return folder / f"x.{kind}"


def stored_scores(path):
    if path.suffix == ".npz":
        return np.load(path)["y_prob"]
    if path.suffix == ".npy":
        return np.load(path)
    frame = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    return np.stack(frame["probs"]) if "probs" in frame else frame[[f"prob_{n}" for n in range(3)]].to_numpy()


@pytest.mark.parametrize("kind", ["npz", "npy", "csv", "parquet"])
def test_a_map_for_each_label_is_fitted_and_applied(kind, run, rows, tmp_path):
    path, out, cal = written_as(kind, rows, tmp_path), tmp_path / f"out.{kind}", tmp_path / "cal.json"
    done = run("fit", path, "-m", "platt", "-o", cal, "--folds", 3)
    assert done.status == 0, done.err
    assert "A map for each label" in done.out
    assert run("apply", cal, path, "-o", out).status == 0
    before, after = stored_scores(path), stored_scores(out)
    for n in range(3):
        assert run("fit", f"{path}/{n}", "-m", "platt", "-o", tmp_path / "one.json", "-q").status == 0
        expected = calcli.load(tmp_path / "one.json").predict_proba(before[:, n].astype(float))[:, 1]
        np.testing.assert_allclose(after[:, n], expected, rtol=1e-6)
    if kind == "csv":
        columns = ["true_0", "code"]
        text = [pd.read_csv(file, dtype=str)[columns] for file in (path, out)]
        pd.testing.assert_frame_equal(*text)
    if kind == "npz":
        kept = np.load(out)
        np.testing.assert_array_equal(kept["site"], np.arange(800))
        np.testing.assert_array_equal(kept["y_true"], rows[0][:, :3])


def test_what_maps_of_labels_do_not_do_is_refused(run, rows, tmp_path):
    path, cal = written_as("csv", rows, tmp_path), tmp_path / "cal.json"
    assert run("fit", path, "-m", "temperature", "-o", cal, "-q").status == 0
    done = run("export", cal, "--as", "sql")
    assert (done.status, f"a calibrator for each of 0, 1, 2; name one, as in {cal}/0" in done.err) == (
        2,
        True,
    )
    assert run("export", f"{cal}/1", "--as", "sql").out
    assert "labels in a row" in run("fit", path, "--cross-validated", tmp_path / "o.csv").err
    for arguments, message in [
        ((cal, path, "-o", tmp_path / "o.parquet"), "keep their format, csv"),
        ((cal, path, "-o", path), "is the input"),
        ((cal, path, "-o", tmp_path / "o.csv", "--decide", "zero-one"), "without priors and decisions"),
    ]:
        done = run("apply", *arguments)
        assert (done.status, message in done.err) == (2, True), done.err
    pd.read_csv(path).drop(columns="prob_1").to_csv(path, index=False)
    assert "has no scores prob_1" in run("apply", cal, path, "-o", tmp_path / "o.csv").err
