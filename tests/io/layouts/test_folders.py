"""Folders of parts, and files that are refused with the line that converts them."""

from __future__ import annotations

import shutil
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.language.errors import InputError
from calcli.core.language.settings import FitSettings
from calcli.io.options import ReadOptions
from calcli.io.read import read, read_concat
from calcli.work.apply import apply_file
from calcli.work.fit import fit_file, save_fit
from tests.io.layouts.trips import LABELS, NAMES, THREE, N, trip
from tests.io.samples import refused, scores_of

FRAME = pd.DataFrame(
    {"id": range(N), "label": NAMES[LABELS]} | {f"prob_{name}": THREE[:, k] for k, name in enumerate(NAMES)}
)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.pt", "torch.load"),
        ("a.pkl", "pickle.load"),
        ("a.joblib", "joblib.load"),
        ("a.h5", "h5py.File"),
        ("a.safetensors", "load_file"),
    ],
)
def test_what_is_not_read_is_told_how_to_convert(name, line, tmp_path):
    (tmp_path / name).write_bytes(b"x")
    refused(tmp_path / name, f'convert it, with its own names: python -c ".*{line}')


def test_folders_named_by_a_value(tmp_path):
    for split, rows in (("split=test", slice(0, 40)), ("split=val", slice(40, N))):
        (tmp_path / "t" / split).mkdir(parents=True)
        FRAME[rows].to_parquet(tmp_path / "t" / split / "part-0.parquet")
    predictions = read(tmp_path / "t")
    assert predictions.column("split").tolist() == ["test"] * 40 + ["val"] * (N - 40)
    np.testing.assert_array_equal(scores_of(predictions), THREE)
    save_fit(
        fit_file(str(tmp_path / "t"), ReadOptions(), "temperature", FitSettings(folds=0)).fit,
        tmp_path / "c.json",
    )
    apply_file(str(tmp_path / "c.json"), str(tmp_path / "t"), str(tmp_path / "o"), ReadOptions())
    assert sorted(
        file.relative_to(tmp_path / "o").as_posix() for file in (tmp_path / "o").rglob("*.parquet")
    ) == [
        "split=test/part-0.parquet",
        "split=val/part-0.parquet",
    ]
    assert read(tmp_path / "o").column("split").tolist() == ["test"] * 40 + ["val"] * (N - 40)


def test_parts_with_decimals_that_have_no_common_precision(tmp_path):
    wide = pa.array([Decimal(f"{k}.{'0' * 28}") for k in LABELS], pa.decimal128(29, 28))
    for name, labels in (("0", pa.array(LABELS)), ("1", wide)):
        scores = {f"prob_{k}": THREE[:, k] for k in range(3)}
        pq.write_table(pa.table({"label": labels, "site": labels, **scores}), tmp_path / f"{name}.parquet")
    predictions = read(tmp_path, ReadOptions(concat=True))
    np.testing.assert_array_equal(predictions.labels, np.tile(LABELS, 2))
    np.testing.assert_array_equal(predictions.column("site").astype(float), np.tile(LABELS, 2))


def test_data_sets_of_hugging_face(tmp_path):
    """As `save_to_disk` writes one split (a stream), and a repository with several."""
    (tmp_path / "disk").mkdir()
    table = pa.table({"label": LABELS, "logits": pa.array(np.log(THREE).tolist(), pa.list_(pa.float32()))})
    for n, part in enumerate((table[:25], table[25:])):
        with (
            pa.OSFile(str(tmp_path / f"disk/data-0000{n}-of-00002.arrow"), "wb") as sink,
            pa.ipc.new_stream(sink, table.schema) as writer,
        ):
            writer.write_table(part)
    for name in ("dataset_info.json", "state.json"):
        (tmp_path / "disk" / name).write_text("{}")
    trip(tmp_path / "disk", THREE, LABELS, "a list of scores in each row", target="")
    (tmp_path / "repo" / "data").mkdir(parents=True)
    FRAME.to_parquet(tmp_path / "repo/data/test-00000-of-00001.parquet")
    trip(tmp_path / "repo", THREE, LABELS, "a column for each class", target="")
    FRAME.to_parquet(tmp_path / "repo/data/train-00000-of-00001.parquet")
    refused(
        tmp_path / "repo",
        r"holds several splits, test, train; evaluate one: calcli evaluate .*test-\* --concat",
    )
    (tmp_path / "disk").rename(tmp_path / "test")
    (tmp_path / "both").mkdir()
    (tmp_path / "test").rename(tmp_path / "both" / "test")
    (tmp_path / "both" / "dataset_dict.json").write_text('{"splits": ["test"]}')
    trip(tmp_path / "both", THREE, LABELS, "a list of scores in each row", target="")
    shutil.copytree(tmp_path / "both" / "test", tmp_path / "both" / "train")
    refused(tmp_path / "both", "a folder of data sets, test, train; evaluate one: calcli evaluate")


@pytest.mark.parametrize("ending", [".csv.bz2", ".parquet.zst", ".CSV.XZ"])
def test_packed_parts_that_cannot_be_read_are_refused(ending, tmp_path):
    pd.DataFrame({"label": [0, 1], "prob": [0.1, 0.8]}).to_csv(tmp_path / "part-0.csv", index=False)
    (tmp_path / f"part-1{ending}").write_bytes(b"packed")
    refused(tmp_path, r"part-1.* is packed as .*; expected .gz, or none")


@pytest.mark.parametrize("names", [("probs", "logits"), ("logits", "scores")])
def test_parts_whose_scores_are_of_other_kinds_are_refused(names, tmp_path):
    for part, name in enumerate(names):
        arrays = {name: np.full((4, 2), 0.5), "labels": np.arange(4) % 2}
        np.savez(tmp_path / f"part-{part}.npz", **arrays)
    refused(
        tmp_path, f"has no array {names[0]}, as other parts have; it has {names[1]}, labels; parts of one"
    )


@pytest.mark.parametrize("first", ["part-0.csv", "day=1/part-0.csv"])
def test_folders_within_a_folder_of_parts_are_not_passed_over(tmp_path, first):
    lines = "label,prob_a,prob_b\na,0.75,0.25\nb,0.5,0.5\n"
    part = tmp_path / first
    beside = tmp_path / "_logs/x.csv", tmp_path / "figures/x.txt", tmp_path / "report/report.json"
    for path in (part, part.with_name("part-1.csv"), *beside):
        path.parent.mkdir(exist_ok=True)
        path.write_text(lines)
    every = ReadOptions(concat=True)
    assert len(read(tmp_path, every).labels) == 4
    shutil.rmtree(tmp_path / "_logs")
    late = part.parent / "late" / "part-2.csv"
    late.parent.mkdir()
    late.write_text(lines)
    with pytest.raises(InputError, match="and the folder late, which holds files of their format"):
        read(tmp_path, every)
    assert len(read_concat([str(tmp_path / "**/*.csv")], every).labels) == 6
