"""Rows have the numbers they are stored under, also where others were left out."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def table():
    """Return 40 rows: row 1 has no label, row 3 has label dog and the probability 0 for it."""
    rng = np.random.default_rng(0)
    cat = rng.uniform(0.1, 0.9, 40)
    label = np.where(rng.random(40) < cat, "cat", "dog").astype(object)
    label[1], label[3], cat[3] = None, "dog", 1.0
    return pd.DataFrame({"prob_cat": cat, "prob_dog": 1 - cat, "label": label, "w": 1.0, "of": "a"})


@pytest.fixture
def told(run, tmp_path):
    def first(table, *options):
        file = tmp_path / "t.csv"
        table.to_csv(file, index=False)
        done = run("evaluate", file, *options, "--metrics", "log_loss", "-f", "json")
        return json.loads(done.out)["results"][0]["infinite_log_loss"]["first"]

    return first


def test_infinite_rows_have_their_numbers(told, table):
    whole = table.fillna({"label": "cat"})
    assert told(whole) == [3]
    assert told(table, "--drop-missing") == [3]
    assert told(table.fillna({"label": "none"}), "--ignore-label", "none") == [3]
    assert told(whole.assign(w=(whole.index != 0).astype(float)), "--weights", "w") == [3]
    both = table.assign(w=(table.index != 2).astype(float))
    assert told(both, "--weights", "w", "--drop-missing") == [3]


def test_infinite_rows_of_arrays_have_their_numbers(run, tmp_path, table):
    labels = table.label.map({"cat": 0, "dog": 1}).fillna(-1).astype(int)
    np.savez(tmp_path / "t.npz", probs=table[["prob_cat", "prob_dog"]].to_numpy(), labels=labels)
    options = ("--ignore-label", "-1", "--metrics", "log_loss", "-f", "json")
    done = run("evaluate", tmp_path / "t.npz", *options)
    assert json.loads(done.out)["results"][0]["infinite_log_loss"]["first"] == [3]


@pytest.mark.parametrize(
    "options",
    [
        ("evaluate", "--cluster", "of", "--metrics", "log_loss"),
        ("fit", "-m", "dp", "--folds", "of"),
    ],
)
def test_a_row_without_a_value_is_named_by_its_number(run, tmp_path, table, options):
    command, *others = options
    table["of"] = np.where(np.arange(40) % 2, "a", "b")
    table.loc[30, "of"] = None
    table.to_csv(tmp_path / "t.csv", index=False)
    done = run(command, tmp_path / "t.csv", "--drop-missing", *others)
    assert done.status == 2
    assert "t.csv: row 30 has no value in column 'of'" in done.err


def test_a_key_that_is_missing_is_named_by_its_row(run, tmp_path, table):
    table["id"] = [f"k{row}" for row in range(40)]
    table.to_csv(tmp_path / "a.csv", index=False)
    table.loc[30, "id"] = None
    table.to_csv(tmp_path / "b.csv", index=False)
    done = run("compare", tmp_path / "a.csv", tmp_path / "b.csv", "--key", "id", "--drop-missing")
    assert done.status == 2
    assert "b.csv: column id: row 30 has none" in done.err


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "npz"])
def test_apply_leaves_out_rows_without_a_score_if_asked(run, tmp_path, ending):
    rng = np.random.default_rng(0)
    prob = rng.random(300).round(6)
    table = pd.DataFrame({"id": np.arange(300), "label": (rng.random(300) < prob).astype(int), "prob": prob})
    table.to_csv(tmp_path / "val.csv", index=False)
    assert run("fit", tmp_path / "val.csv", "-m", "platt", "-o", tmp_path / "cal.json").status == 0
    table.loc[[3, 17], "prob"] = np.nan
    file, out = tmp_path / f"new.{ending}", tmp_path / f"out.{ending}"
    new = table.drop(columns="label")
    if ending == "npz":
        p = new["prob"].to_numpy()
        np.savez(file, probs=np.stack([1 - p, p], axis=1), id=np.arange(300))
    else:
        write = {"csv": "to_csv", "parquet": "to_parquet", "jsonl": "to_json"}[ending]
        more = {"csv": {"index": False}, "jsonl": {"orient": "records", "lines": True}}.get(ending, {})
        getattr(new, write)(file, **more)
    refused = run("apply", tmp_path / "cal.json", file, "-o", out)
    assert (refused.status, out.exists()) == (2, False)
    assert "leave them out with --drop-missing" in refused.err
    done = run("apply", tmp_path / "cal.json", file, "--drop-missing", "-o", out)
    assert done.status == 0
    assert "2 of 300 rows, in which something is missing, were left out, as asked" in done.err
    assert "298 rows recalibrated" in done.err
    whole = run("apply", tmp_path / "cal.json", tmp_path / "val.csv", "-o", tmp_path / "whole.csv")
    assert whole.status == 0
    expected = pd.read_csv(tmp_path / "whole.csv").drop(index=[3, 17])
    if ending == "npz":
        found = np.load(out)
        np.testing.assert_array_equal(found["id"], expected["id"])
        np.testing.assert_allclose(found["probs"][:, 1], expected["prob"], rtol=1e-12)
        return
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "jsonl": partial(pd.read_json, lines=True)}
    found = read[ending](out)
    assert found["id"].tolist() == expected["id"].tolist()
    np.testing.assert_allclose(found["prob"], expected["prob"], rtol=1e-12)
