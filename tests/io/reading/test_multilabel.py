"""Several labels in a row: the layouts they come in, and what is no such thing."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.language.errors import InputError
from calcli.io.options import ReadOptions
from calcli.io.read import labels_in, read
from calcli.io.reading.multilabel import SeveralLabels, role_of
from tests.io.samples import scores_of

NAMES = ("edema", "No Finding", "hernia")


@pytest.fixture
def rows():
    """Return 300 rows of three labels, some missing, and their probabilities."""
    rng = np.random.default_rng(4)
    probs = rng.beta(1, 2, size=(300, 3)).round(4)
    labels = (rng.random(probs.shape) < probs).astype(float)
    labels[::7, 1] = np.nan
    return SimpleNamespace(probs=probs, labels=labels)


def marked(labels):
    return np.where(np.isnan(labels), -1, labels).astype(int)


def arrays(rows, path):
    np.savez(path / "p.npz", y_true=marked(rows.labels), y_prob=rows.probs, label_names=np.array(NAMES))
    return path / "p.npz"


def packed(rows, path):
    np.savez_compressed(
        path / "p.npz", targets=np.asfortranarray(rows.labels), scores=np.asfortranarray(rows.probs)
    )
    return path / "p.npz"


def beside(rows, path):
    np.save(path / "p.npy", rows.probs)
    np.save(path / "p_labels.npy", marked(rows.labels))
    return path / "p.npy"


def columns(label, score):
    def write(rows, path):
        frame = {label.format(name): rows.labels[:, n] for n, name in enumerate(NAMES)}
        frame |= {score.format(name): rows.probs[:, n] for n, name in enumerate(NAMES)}
        pd.DataFrame(frame | {"site": np.arange(300) % 2}).to_csv(path / "p.csv", index=False)
        return path / "p.csv"

    return write


def words(rows, path):
    frame = {f"true_{n}": pd.Series(rows.labels[:, n]).map({0: "no", 1: "yes"}) for n in range(3)}
    frame |= {f"prob_{n}": rows.probs[:, n] for n in range(3)}
    pd.DataFrame(frame).to_csv(path / "p.csv", index=False)
    return path / "p.csv"


def lists(rows, path):
    labels = pa.array([[None if value != value else int(value) for value in row] for row in rows.labels])
    pq.write_table(pa.table({"labels": labels, "probs": rows.probs.tolist()}), path / "p.parquet")
    return path / "p.parquet"


def json_lists(rows, path):
    lines = zip(marked(rows.labels).tolist(), rows.probs.tolist(), strict=True)
    text = "".join(json.dumps({"y_true": a, "y_score": b}) + "\n" for a, b in lines)
    (path / "p.jsonl").write_text(text, encoding="utf-8")
    return path / "p.jsonl"


def parts(rows, path):
    (path / "p").mkdir()
    for n, some in enumerate((slice(100), slice(100, 300))):
        frame = {name: rows.labels[some, k] for k, name in enumerate(NAMES)}
        frame |= {f"prob {name}": rows.probs[some, k] for k, name in enumerate(NAMES)}
        pd.DataFrame(frame).to_parquet(path / "p" / f"part-{n}.parquet")
    return path / "p"


LAYOUTS = {
    "arrays": (arrays, NAMES),
    "packed": (packed, ("0", "1", "2")),
    "beside": (beside, ("0", "1", "2")),
    "true, prob": (columns("true_{}", "prob_{}"), NAMES),
    "bare, prob behind": (columns("{}", "{}_prob"), NAMES),
    "y, pred": (columns("y_{}", "pred_{}"), NAMES),
    "words": (words, ("0", "1", "2")),
    "lists": (lists, ("0", "1", "2")),
    "lists in JSON": (json_lists, ("0", "1", "2")),
    "parts": (parts, NAMES),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_label_is_read_from_every_layout(layout, rows, tmp_path):
    write, names = LAYOUTS[layout]
    path = write(rows, tmp_path)
    with pytest.raises(SeveralLabels, match=rf"has 3 labels in a row, {', '.join(names)}; name one"):
        read(path)
    assert labels_in(str(path), ReadOptions()) == [f"{path}/{name}" for name in names]
    for n, name in enumerate(names):
        predictions = read(f"{path}/{name}")
        there = ~np.isnan(rows.labels[:, n])
        np.testing.assert_allclose(scores_of(predictions)[:, 1], rows.probs[there, n])
        assert predictions.labels.tolist() == rows.labels[there, n].tolist()
        assert predictions.provenance.label == name
        assert predictions.provenance.left == (() if there.all() else tuple(np.flatnonzero(there).tolist()))
    assert "43 of 300 rows have no such label" in read(f"{path}/{names[1]}").provenance.notes[0]
    with pytest.raises(InputError, match=f"no such file, nor such a label: its labels are {names[0]}"):
        read(f"{path}/other")


def test_other_columns_are_kept_and_a_limit_holds(rows, tmp_path):
    path = columns("{}", "p_{}")(rows, tmp_path)
    predictions = read(f"{path}/edema", ReadOptions(limit=30))
    assert predictions.n_rows == 30
    assert predictions.column("site").tolist() == [n % 2 for n in range(30)]
    assert "edema" not in predictions.columns


def test_logits_of_labels(rows, tmp_path):
    logits = np.log(rows.probs / (1 - rows.probs))
    np.savez(tmp_path / "p.npz", labels=marked(rows.labels), logits=logits)
    predictions = read(tmp_path / "p.npz/0")
    assert predictions.kind == "logits"
    np.testing.assert_allclose(scores_of(predictions) @ [-1, 1], logits[:, 0])


def hot(rows):
    return np.eye(3)[np.random.default_rng(2).integers(3, size=len(rows.probs))]


def test_one_class_a_row_stays_one(rows, tmp_path):
    softmax = rows.probs / rows.probs.sum(1, keepdims=True)
    np.savez(tmp_path / "p.npz", y_true=hot(rows), y_prob=softmax)
    assert read(tmp_path / "p.npz").n_classes == 3
    np.savez(tmp_path / "p.npz", y_true=hot(rows), logits=np.log(softmax) + 7)
    assert read(tmp_path / "p.npz").kind == "logits"
    frame = {f"true_{name}": hot(rows)[:, n].astype(int) for n, name in enumerate("abc")}
    frame |= {f"prob_{name}": softmax[:, n] for n, name in enumerate("abc")}
    pd.DataFrame(frame).to_csv(tmp_path / "p.csv", index=False)
    assert read(tmp_path / "p.csv").classes == ("a", "b", "c")


def test_where_both_fit_the_user_is_asked(rows, tmp_path):
    path = tmp_path / "p.npz"
    np.savez(path, y_true=hot(rows), y_prob=rows.probs)
    asked = rf"do not sum to 1; .*calcli evaluate {path}/0 reads one.* calcli evaluate {path} --renormalize"
    with pytest.raises(InputError, match=asked):
        read(path)
    assert read(f"{path}/0").n_classes == 2
    assert read(path, ReadOptions(renormalize=True)).n_classes == 3


@pytest.mark.parametrize("value", [2, 0.5])
def test_a_label_is_0_or_1(value, rows, tmp_path):
    rows.labels[5, 0] = value
    np.savez(tmp_path / "p.npz", y_true=rows.labels, y_prob=rows.probs)
    with pytest.raises(InputError, match=rf"row 5 has the label {value}.*; expected 0 or 1, or -1"):
        read(tmp_path / "p.npz/0")


def test_lists_of_unequal_length_are_refused(rows, tmp_path):
    path = json_lists(rows, tmp_path)
    lines = path.read_text().splitlines()
    lines[8] = json.dumps({"y_true": [0, 1], "y_score": [0.1, 0.5, 0.2]})
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match="row 8 has a list of 2 values; expected one for each label"):
        read(f"{path}/2")


@pytest.mark.parametrize(
    ("name", "bare", "of_scores"),
    [
        ("y_true_edema", "edema", False),
        ("pred_No Finding", "No Finding", True),
        ("edema_probability", "edema", True),
        ("edema", "edema", False),
        ("true_risk", "risk", False),
        ("prob_12m", "12m", True),
    ],
)
def test_the_names_of_labels(name, bare, of_scores):
    assert role_of(name) == (bare, of_scores)
