"""Truth in columns of 0 and 1, packed files, values of several types, and what is told of other files."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from calcli.core.language.errors import CalcliError
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.samples import followed, offers_of, options_of, random_probs, refused, scores_of

PROBS, LABELS = random_probs(60)
NAMES = np.array(["ant", "bee", "cat"])
HOT = np.eye(3, dtype=int)[LABELS]
SCORES = {f"prob_{name}": PROBS[:, k] for k, name in enumerate(NAMES)}
TRUTH = {f"true_{NAMES[k]}": HOT[:, k] for k in (2, 0, 1)}  # in another order


def right(path, options: ReadOptions | None = None) -> None:
    found = read(path, options)
    np.testing.assert_allclose(scores_of(found), PROBS, rtol=1e-12)
    np.testing.assert_array_equal(found.labels, LABELS)


@pytest.mark.parametrize(
    "truth", [TRUTH, {"label": [str(one) for one in HOT.tolist()]}], ids=["columns", "text"]
)
def test_truth_is_one_1_a_row(truth, tmp_path):
    pd.DataFrame(SCORES | truth).to_csv(tmp_path / "t.csv", index=False)
    right(tmp_path / "t.csv")


def test_truth_in_columns_of_another_table(tmp_path):
    keyed = pd.DataFrame({"id": range(60)} | dict(zip(NAMES, PROBS.T, strict=True)))
    keyed.to_csv(tmp_path / "s.csv", index=False)
    hot = pd.DataFrame({"id": range(60)} | {NAMES[k]: HOT[:, k] for k in (1, 2, 0)})
    hot.sample(frac=1, random_state=0).to_csv(tmp_path / "t.csv", index=False)
    options = ReadOptions(labels=str(tmp_path / "t.csv"), key="id")
    right(tmp_path / "s.csv", options)
    hot.loc[7, list(NAMES)] = 1, 1, 0
    hot.to_csv(tmp_path / "t.csv", index=False)
    refused(tmp_path / "s.csv", "row 7 has 1, 0, 1 in bee, cat, ant; expected one 1", **options.given)


@pytest.mark.parametrize("ending", ["csv.zip", "csv.gz", "tsv.zip"])
def test_packed_tables(ending, tmp_path):
    pd.DataFrame(SCORES | {"label": NAMES[LABELS]}).to_csv(
        tmp_path / f"t.{ending}", index=False, sep="\t" if "tsv" in ending else ","
    )
    right(tmp_path / f"t.{ending}")


def test_lines_of_json_with_values_of_several_types(tmp_path):
    rows = [
        {"probs": p, "label": y, "said": ["hi", {"role": "user"}]}
        for p, y in zip(PROBS.tolist(), LABELS.tolist(), strict=True)
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    right(tmp_path / "t.jsonl")


def test_a_pointer_is_no_file(tmp_path):
    (tmp_path / "t.npz").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n")
    refused(tmp_path / "t.npz", "is a pointer of Git LFS, .* git lfs pull")


@pytest.mark.parametrize("ending", ["arff", "txt"])
def test_the_line_that_converts_a_file_does(ending, tmp_path):
    frame, path = pd.DataFrame(SCORES | {"label": LABELS}), tmp_path / f"t.{ending}"
    if ending == "txt":
        np.savetxt(path, LABELS, fmt="%d")
    else:
        heads = "".join(f"@attribute {name} numeric\n" for name in frame)
        path.write_text(f"@relation t\n{heads}@data\n{frame.to_csv(index=False, header=False)}")
    with pytest.raises(CalcliError, match="convert it, with its own names: python -c") as told:
        read(path)
    line = re.search(r"python -c .*", str(told.value))
    subprocess.run([sys.executable, *shlex.split(line[0])[1:]], check=True)
    made = next(file for file in tmp_path.iterdir() if file != path)
    if ending == "txt":
        np.testing.assert_array_equal(np.load(made), LABELS)
    else:
        np.testing.assert_array_equal(read(made, ReadOptions(classes=tuple(NAMES))).labels, LABELS)


def test_percents_of_a_rare_event_are_asked_about(tmp_path):
    rng = np.random.default_rng(3)
    score = np.clip(rng.beta(1, 3, 4000), 0, 0.9)
    outcome = (rng.random(4000) < score / 100).astype(int)
    pd.DataFrame({"label": outcome, "prob": score}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(CalcliError, match="100 times too large") as told:
        read(tmp_path / "t.csv")
    assert len(followed(told.value)) == len(offers_of(told.value)) == 2


def test_parts_of_the_data_are_not_mixed(tmp_path):
    arrays = {f"{part}_probs": PROBS for part in ("val", "test")} | {
        "val_labels": LABELS,
        "test_labels": LABELS[::-1],
    }
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(CalcliError) as told:
        read(tmp_path / "t.npz")
    offers = [options_of(one)[1] for one in offers_of(told.value)]
    found = {read(tmp_path / "t.npz", one).provenance.labels for one in offers}
    assert found == {'array "val_labels"', 'array "test_labels"'}


def test_an_option_that_does_nothing_is_told(tmp_path):
    pd.DataFrame(SCORES | {"label": NAMES[LABELS]}).to_csv(tmp_path / "t.csv", index=False)
    doubts = read(tmp_path / "t.csv", ReadOptions(ignore_label=("UNK",))).provenance.doubts
    assert "no row has a label to be ignored (UNK)" in doubts
