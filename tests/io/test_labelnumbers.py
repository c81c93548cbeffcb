"""Files whose labels are numbers or booleans, and whose classes have names: numpy says which is which."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.samples import refused

N = 120
RNG = np.random.default_rng(11)
PROBS = RNG.dirichlet(np.ones(3), N)
TRUE = RNG.integers(3, size=N)
CASES = {  # names of the classes, and what the first two are called in the labels
    "booleans": (["true", "false", "mixture"], [True, False]),
    "integers": (["1", "2", "3+"], [1, 2]),
    "floats": (["1.0", "2.0", "3.0"], [1.0, 2.0]),
}


@pytest.fixture(params=CASES)
def case(request):
    """Names, labels and scores of rows that are of the first two of three classes only."""
    names, said = CASES[request.param]
    there = TRUE < 2
    return names, np.array(said)[TRUE[there]], PROBS[there], TRUE[there]


def csv(path, label, columns):
    lines = [",".join(["label", *columns])]
    rows = np.transpose([*columns.values()]).tolist()
    for one, row in zip(np.asarray(label).tolist(), rows, strict=True):
        lines.append(",".join([json.dumps(one).strip('"'), *map(repr, row)]))
    path.write_text("\n".join(lines))
    return path


def save(folder, form, names, labels, probs):
    path = folder / f"t.{form}"
    columns = {f"prob_{name}": np.ascontiguousarray(one) for name, one in zip(names, probs.T, strict=True)}
    if form == "csv":
        return csv(path, labels, columns)
    if form == "jsonl":
        rows = [
            {"label": label, **dict(zip(columns, row, strict=True))}
            for label, row in zip(labels.tolist(), probs.tolist(), strict=True)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == "npz":
        np.savez(path, probs=probs, labels=labels, classes=np.array(names))
    else:
        pq.write_table(pa.table({"label": labels, **columns}), path)
    return path


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "npz"])
def test_labels_are_the_classes_of_their_names(case, form, tmp_path):
    names, labels, probs, truth = case
    found = read(save(tmp_path, form, names, labels, probs))
    assert found.classes == tuple(names)
    np.testing.assert_array_equal(found.labels, truth)


def test_labels_in_a_file_of_their_own_go_the_same_way(case, tmp_path):
    names, labels, probs, truth = case
    np.save(tmp_path / "p.npy", probs)
    np.save(tmp_path / "y.npy", labels)
    options = ReadOptions(labels=str(tmp_path / "y.npy"), classes=tuple(names))
    np.testing.assert_array_equal(read(tmp_path / "p.npy", options).labels, truth)
    left = ReadOptions(labels=options.labels, classes=options.classes, ignore_label=("9",))
    np.testing.assert_array_equal(read(tmp_path / "p.npy", left).labels, truth)


@pytest.mark.parametrize("form", ["csv", "parquet", "npz"])
def test_parts_are_read_as_the_whole(case, form, tmp_path):
    names, labels, probs, truth = case
    order = np.argsort(truth, kind="stable")  # so that the first part has one class only
    for n, rows in enumerate(np.array_split(order, 3)):
        part = tmp_path / "parts" / f"{n}"
        part.mkdir(parents=True)
        save(part, form, names, labels[rows], probs[rows]).rename(tmp_path / "parts" / f"part-{n}.{form}")
        part.rmdir()
    np.testing.assert_array_equal(read(tmp_path / "parts").labels, truth[order])


def test_leading_zeros_lost_in_csv_are_told(tmp_path):
    path = csv(tmp_path / "t.csv", ["1", "01"], {"prob_1": [0.9, 0.2], "prob_01": [0.1, 0.8]})
    refused(path, "do not tell the classes 1 and 01 apart")
    path = csv(
        tmp_path / "t.csv",
        ["1", "01", "x"],
        {"prob_1": [0.9, 0.2, 0], "prob_01": [0.1, 0.7, 0.1], "prob_x": [0, 0.1, 0.9]},
    )
    np.testing.assert_array_equal(read(path).labels, [0, 1, 2])


def test_one_hot_labels_are_in_the_order_of_the_scores(tmp_path):
    np.savez(tmp_path / "t.npz", probs=PROBS, labels=np.eye(3)[TRUE], classes=np.array(["2", "0", "1"]))
    np.testing.assert_array_equal(read(tmp_path / "t.npz").labels, TRUE)


@pytest.mark.parametrize(
    ("labels", "column", "positive"),
    [
        ([False, True], "prob_false", None),
        ([False, True], "prob", "false"),
        ([False, True], "prob", "False"),
        ([False, True], "prob", "no"),
        ([False, True], "prob_0", None),
        ([0, 1], "prob_false", None),
        ([0.0, 1.0], "prob_0.0", None),
        ([0.0, 1.0], "prob", "0.0"),
        ([1.0, 2.0], "prob_1.0", None),
        ([5, 1], "prob", "5.0"),
        ([True, False], "prob_true", None),
        ([True, False], "prob", "cat"),
        ([1, 0], "prob", "cat"),
    ],
)
def test_a_single_score_is_that_of_its_class(labels, column, positive, tmp_path):
    own = TRUE > 0
    if column == "prob_1.0":  # 0 and 1 are the two classes of a 1
        labels = [1.0, 0.0]
    values = np.where(own, labels[0], labels[1])
    path = csv(tmp_path / "t.csv", values, {column: PROBS[:, 0]})
    found = read(path, ReadOptions(positive=positive))
    np.testing.assert_array_equal(found.labels, own)
    np.testing.assert_allclose(next(found.scores.blocks(N))[:, 1], PROBS[:, 0])


def test_classes_that_put_the_one_score_first_are_refused(tmp_path):
    path = csv(tmp_path / "t.csv", [1.0, 2.0], {"prob_1.0": [0.9, 0.2]})
    refused(path, "is named after 1.0; say whose it is", classes=("1", "2"))
    assert read(path, ReadOptions(classes=("2", "1"))).labels.tolist() == [1, 0]


@pytest.mark.parametrize(("own", "labels"), [("true", [True, False]), ("3.0", [3.0, 1.0]), ("3", [3, 1])])
def test_one_class_against_the_rest_that_was_written_so(own, labels, tmp_path):
    hit = TRUE > 0
    rest = 1 - PROBS[:, 0]
    columns = {"prob_rest": rest, f"prob_{own}": PROBS[:, 0]}
    path = csv(tmp_path / "t.csv", np.where(hit, *labels), columns)
    np.testing.assert_array_equal(read(path, ReadOptions(against_rest=own)).labels, hit)
    refused(
        csv(tmp_path / "n.csv", hit.astype(int), {"prob_rest": rest, "prob_cat": PROBS[:, 0]}),
        "the labels are 0, 1, which do not tell whether the class is cat",
        against_rest="cat",
    )


@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
def test_labels_beyond_the_classes_are_refused_in_any_type(dtype, tmp_path):
    labels = np.array([0, 1, 2, 7]).astype(dtype)
    if dtype == "?":
        labels = np.array([40, 1, 0, 1], np.uint8).view(np.bool_)  # as in a damaged file
    np.savez(tmp_path / "t.npz", probs=np.full((4, 3), 1 / 3), labels=labels)
    message = "row . has the label (7|true), which is not one of|holds no labels for probs"
    refused(tmp_path / "t.npz", message)
