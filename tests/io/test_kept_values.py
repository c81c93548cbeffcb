"""What stands beside the scores stays what it was, where formats have no type of their own for it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.calibrators.temperature import Temperature
from calcli.io.apply.apply import recalibrate_file
from calcli.io.formats import spooled
from calcli.io.options import ReadOptions
from calcli.io.read import read

RNG = np.random.default_rng(3)
PROBS = RNG.dirichlet([1.0, 1.0], 40)
FITTED = Temperature().fit(np.log(PROBS), RNG.integers(0, 2, 40))
RECORD = CalibratorRecord(FITTED, ("cat", "dog"), False, (0.5, 0.5), {})
TIMES = {
    "day": "2024-01-01",
    "zone": "2024-01-01T10:00:00+02:00",
    "utc": "2024-01-01T10:00:00Z",
    "plain": "2024-01-01 10:00:00",
    "inside": {"day": "2024-01-01", "n": 1},
    "list": ["2024-01-01", "2024-01-02T00:00:00"],
    "lists": [{"day": "2024-01-01"}],
}


def rows_with(others: dict) -> list[dict]:
    """Return two rows of scores with these columns beside them."""
    return [{**others, "label": "cat", "prob_cat": a, "prob_dog": b} for a, b in PROBS[:2].tolist()]


@pytest.mark.parametrize("source", ["jsonl", "json"])
@pytest.mark.parametrize("target", ["jsonl", "json"])
def test_times_in_json_stay_the_text_they_are(tmp_path, source, target):
    rows, path, out = rows_with(TIMES), tmp_path / f"in.{source}", tmp_path / f"out.{target}"
    path.write_text(json.dumps(rows) if source == "json" else "\n".join(map(json.dumps, rows)) + "\n")
    recalibrate_file(RECORD, str(path), str(out))
    text = out.read_text()
    found = json.loads(text) if target == "json" else list(map(json.loads, text.splitlines()))
    assert [{name: row[name] for name in TIMES} for row in found] == [TIMES, TIMES]


def test_times_beside_large_numbers_and_in_several_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(spooled, "PART_BYTES", 1000)
    path, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    zones = [f"2024-01-01T10:00:{n:02}+02:00" if n < 35 else "unknown" for n in range(40)]
    rows = [row | {"zone": zone, "id": 10**19} for row, zone in zip(rows_with({}) * 20, zones, strict=True)]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    recalibrate_file(RECORD, str(path), str(out))
    found = list(map(json.loads, out.read_text().splitlines()))
    assert [(row["zone"], row["id"]) for row in found] == [(zone, 10**19) for zone in zones]
    assert read(str(path), ReadOptions()).columns["zone"].tolist() == zones


def test_times_of_json_are_text_in_a_table_too(tmp_path):
    path, out = tmp_path / "in.jsonl", tmp_path / "out.parquet"
    path.write_text("\n".join(map(json.dumps, rows_with({"zone": TIMES["zone"]}))) + "\n")
    recalibrate_file(RECORD, str(path), str(out))
    assert pd.read_parquet(out)["zone"].tolist() == [TIMES["zone"]] * 2


CODES = {
    "id": ["0012", "34", ""],
    "more": ["1", "2", "-007"],
    "plain": ["0", "-0.5", "0.25"],
    "n": ["0", "10", ""],
}


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl", "npz", "csv"])
def test_numbers_of_csv_that_begin_with_zeros_are_codes(tmp_path, monkeypatch, ending, late):
    path, out = tmp_path / "in.csv", tmp_path / f"out.{ending}"
    if late:  # behind the first block of the file
        monkeypatch.setattr(spooled, "PART_BYTES", 110)
    turned = slice(None, None, -1) if late else slice(None)
    frame = pd.DataFrame({name: values[turned] for name, values in CODES.items()})
    frame["label"] = ["01", "00", "1"]
    frame[["prob_cat", "prob_dog"]] = PROBS[:3]
    frame.to_csv(path, index=False)
    recalibrate_file(RECORD, str(path), str(out))
    found = table_in(out)
    assert {name: found[name].tolist() for name in ("id", "more")} == {
        name: CODES[name][turned] for name in ("id", "more")
    }
    np.testing.assert_array_equal(found["plain"].astype(float), [0, -0.5, 0.25][turned])
    np.testing.assert_array_equal(pd.to_numeric(found["n"]), [0, 10, np.nan][turned])
    assert found["label"].astype(int).tolist() == [1, 0, 1]
    if ending != "csv":
        assert found["label"].dtype == np.int64


def table_in(path) -> pd.DataFrame:
    """Read what was written, text of CSV as it is."""
    if path.suffix == ".npz":
        return pd.DataFrame(
            {name: one for name, one in np.load(path).items() if one.ndim == 1 and len(one) == 3}
        )
    if path.suffix == ".csv":
        return pd.read_csv(path, dtype=str, keep_default_na=False)
    if path.suffix == ".jsonl":
        return pd.DataFrame(list(map(json.loads, path.read_text().splitlines())))
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_feather(path)
