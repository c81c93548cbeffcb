"""Scores sorted by rank are read through the columns that name their classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.calibrators.temperature import Temperature
from calcli.core.data.derived import Priors
from calcli.core.language.errors import InputError
from calcli.io.apply.apply import Wanted, recalibrate_file
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.work.evaluate import evaluate
from tests.io.samples import csv_file, random_probs, refused, saved, scores_of

K = 3
NAMES = ("cat", "dog", "mouse")
SAMPLE = random_probs(30, K)
ORDER = np.argsort(-SAMPLE.scores, axis=1)
SORTED = np.take_along_axis(SAMPLE.scores, ORDER, axis=1)


def columns_of(classes=None, stem="index", **others) -> pd.DataFrame:
    """Return a table as an inference script writes it: a column a rank."""
    ranks = ORDER if classes is None else np.array(classes)[ORDER]
    table = {f"{stem}_{j}": ranks[:, j] for j in range(K)} | {f"prob_{j}": SORTED[:, j] for j in range(K)}
    return pd.DataFrame({"filename": "x.png"} | table | {"target": SAMPLE.labels} | others)


def lists_of(**others) -> pd.DataFrame:
    lists = {"index": list(ORDER), "prob": list(SORTED), "target": SAMPLE.labels}
    return pd.DataFrame(lists | others)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl"])
@pytest.mark.parametrize("make", [columns_of, lists_of])
def test_scores_are_those_before_they_were_sorted(make, name, tmp_path):
    if make is lists_of and name == "t.csv":
        pytest.skip("CSV has no lists")
    predictions = read(saved(tmp_path, make(), name))
    np.testing.assert_allclose(scores_of(predictions), SAMPLE.scores, atol=1e-15)
    assert predictions.classes == ("0", "1", "2")
    assert predictions.labels.tolist() == SAMPLE.labels.tolist()
    assert not {"index", "index_0"} & set(predictions.columns)
    first = "index_0" if make is columns_of else "index"
    assert f"is taken for the score of the class in {first}" in predictions.provenance.notes[0]


def test_accuracy_is_that_of_the_model(tmp_path):
    labels = np.where(np.arange(30) < 21, ORDER[:, 0], ORDER[:, 1])
    found = evaluate(read(saved(tmp_path, columns_of(target=labels), "t.csv")), metrics=["accuracy"])
    assert found.results[0].metrics["accuracy"].value == 0.7


def test_a_class_that_looks_missing_is_refused_where_its_column_has_no_other(tmp_path):
    text = "label_0,prob_0,label_1,prob_1,target\nnull,0.7,none,0.3,none\n"
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(
        InputError, match=r"no score columns|cannot be read as|but the calibrator was fitted on none, null"
    ):
        recalibrated(tmp_path / "t.csv", tmp_path / "o.csv", ("none", "null"))


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl"])
def test_a_rank_that_no_row_has_is_refused(name, tmp_path):
    refused(
        saved(tmp_path, columns_of(index_2=None), name),
        "row 0 has (no class|the class nan) in index_2|names? the class of each score|descend in every row",
    )


@pytest.mark.parametrize(("stem", "as_lists"), [("label", False), ("index", False), ("label", True)])
def test_classes_may_be_named(stem, as_lists, tmp_path):
    table = columns_of(NAMES, stem, target=np.array(NAMES)[SAMPLE.labels])
    if as_lists:
        table = lists_of(target=table["target"]).rename(columns={"index": "label"})
        table["label"] = list(np.array(NAMES)[ORDER])
    path = saved(tmp_path, table, "t.parquet")
    predictions = read(path, ReadOptions(label_column="target"))
    assert predictions.classes == NAMES
    np.testing.assert_array_equal(scores_of(predictions), SAMPLE.scores)
    turned = read(path, ReadOptions(label_column="target", classes=NAMES[::-1]))
    np.testing.assert_array_equal(scores_of(turned), SAMPLE.scores[:, ::-1])
    message = f"--classes names a, b, c, but {stem}.* name .*; expected the same names"
    refused(path, message, classes=("a", "b", "c"), label_column="target")


@pytest.mark.parametrize(("classes", "order"), [(NAMES, [0, 1, 2]), (("2", "1", "0"), [2, 1, 0])])
@pytest.mark.parametrize("make", [columns_of, lists_of])
def test_numbers_are_positions_unless_they_are_names(make, classes, order, tmp_path):
    predictions = read(saved(tmp_path, make(), "t.parquet"), ReadOptions(classes=classes))
    assert predictions.classes == classes
    np.testing.assert_array_equal(scores_of(predictions), SAMPLE.scores[:, order])


def test_indicators_are_no_ranks(tmp_path):
    one_hot = {f"label_{k}": (SAMPLE.labels == k).astype(int) for k in range(K)}
    probs = {f"prob_{k}": SAMPLE.scores[:, k] for k in range(K)}
    path = saved(tmp_path, pd.DataFrame(one_hot | probs | {"target": SAMPLE.labels}), "t.csv")
    np.testing.assert_array_equal(scores_of(read(path)), SAMPLE.scores)


@pytest.mark.parametrize("rows", [4, 30])
@pytest.mark.parametrize("stem", ["label", "class"])
def test_numbers_that_are_each_class_once_are_ranks(stem, rows, tmp_path):
    table = columns_of(stem=stem)[:rows]
    predictions = read(saved(tmp_path, table, "t.csv"))
    np.testing.assert_allclose(scores_of(predictions), SAMPLE.scores[:rows], atol=1e-15)
    lists = lists_of()[:rows].rename(
        columns={"index": f"{stem}es"} if stem == "class" else {"index": "labels"}
    )
    predictions = read(saved(tmp_path, lists, "t.parquet"), ReadOptions(label_column="target"))
    np.testing.assert_array_equal(scores_of(predictions), SAMPLE.scores[:rows])


def test_two_numbers_may_be_ranks_or_indicators(tmp_path):
    scores = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    order, labels = np.argsort(-scores, axis=1), np.array([0, 1, 1])
    own = {"prob_0": np.sort(scores)[:, 1], "prob_1": np.sort(scores)[:, 0], "target": labels}
    ranks = {"class_0": order[:, 0], "class_1": order[:, 1]}
    message = "class_0, class_1 may name the class of each score|can be read in . ways"
    refused(saved(tmp_path, pd.DataFrame(ranks | own), "t.csv"), message)
    named = {f"index_{k}": values for k, values in enumerate(ranks.values())}
    predictions = read(saved(tmp_path, pd.DataFrame(named | own), "t.csv"))
    np.testing.assert_array_equal(scores_of(predictions), scores)
    scores, labels = np.tile(scores, (10, 1)), np.tile(labels, 10)
    indicators = {"class_0": 1 - labels, "class_1": labels, "prob_0": scores[:, 0], "prob_1": scores[:, 1]}
    predictions = read(saved(tmp_path, pd.DataFrame(indicators | {"target": labels}), "t.csv"))
    np.testing.assert_array_equal(scores_of(predictions), scores)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("scores", [None, "top*_prob"])
def test_classes_of_the_largest_scores_may_be_ordered(scores, named, tmp_path):
    ranks = np.array(NAMES)[ORDER] if named else ORDER
    columns = {f"top{j + 1}_prob": SORTED[:, j] for j in range(K)}
    columns |= {f"top{j + 1}_class": ranks[:, j] for j in range(K)} | {"label": SAMPLE.labels}
    path = saved(tmp_path, pd.DataFrame(columns), "t.csv")
    predictions = read(path, ReadOptions(classes=NAMES, scores=scores))
    assert predictions.classes == NAMES
    np.testing.assert_allclose(scores_of(predictions), SAMPLE.scores, atol=1e-15)


@pytest.mark.parametrize(
    "rows",
    [
        "0,1,.6,.4,0\n0,0,.6,.4,0",
        "0,1,.6,.4,0\n1,1,.6,.4,0",
        "0,-1,.6,.4,0",
        "0,0.5,.6,.4,0",
        "a,b,.6,.4,a\na,c,.6,.4,a",
        "a,b,.6,.4,a\na,a,.6,.4,a",
    ],
)
def test_rows_that_do_not_have_every_class_once(rows, tmp_path):
    path = csv_file(tmp_path, f"index_0,index_1,prob_0,prob_1,target\n{rows}\n")
    refused(path, "index_0, index_1 may name the class of each score, but not every row has each class once")


@pytest.mark.parametrize("rows", ["5,9,.6,.3,5", "0,1,.6,.4,0\n0,7,.6,.2,0", "0,1,.6,.4,0\n0,,.6,.2,0"])
def test_classes_that_only_some_rows_name(rows, tmp_path):
    path = csv_file(tmp_path, f"index_0,index_1,prob_0,prob_1,target\n{rows}\n")
    refused(path, "cannot be read as predictions|ways that give different numbers")


def test_ranks_that_do_not_go_with_the_scores(tmp_path):
    path = saved(tmp_path, columns_of().drop(columns="index_2"), "t.csv")
    refused(path, "index_0, index_1 may name the class of each score, but not every row has each class once")
    short = [*ORDER[:-1], ORDER[-1, :2]]
    path = saved(tmp_path, lists_of(index=short), "t.parquet")
    refused(path, "the scores descend in every row, as if they were sorted by rank|2 classes in index")


FACTORS = np.array([1, 2, 4])  # of the probabilities of each class, besides a temperature of 2


def expected() -> np.ndarray:
    products = np.sqrt(SAMPLE.scores) * FACTORS
    return products / products.sum(axis=1, keepdims=True)


def recalibrated(path, target, classes=("0", "1", "2")):
    calibrator = Temperature()
    calibrator.parameters = {"temperature": 2.0}
    record = CalibratorRecord(calibrator, classes, False, (), {})
    shares = FACTORS[[int(name) if name.isdigit() else 0 for name in classes]]
    wanted = Wanted(priors=Priors(tuple(shares / shares.sum())), trained_at=Priors())
    return recalibrate_file(record, str(path), str(target), wanted=wanted)


@pytest.mark.parametrize(
    ("make", "target"),
    [(columns_of, "o.npz"), (columns_of, "o.csv"), (lists_of, "o.parquet"), (lists_of, "o.npz")],
)
def test_recalibrated_scores_are_written_by_class(make, target, tmp_path):
    written = recalibrated(saved(tmp_path, make(), "t.parquet"), tmp_path / target)
    assert any("they are written by class, without index" in note for note in written.notes)
    predictions = read(tmp_path / target, ReadOptions(labels="target") if target == "o.npz" else None)
    np.testing.assert_allclose(scores_of(predictions), expected(), rtol=1e-12)
    assert not [name for name in predictions.columns if name.startswith("index")]


TOPS = [
    "top{}_prob top{}_class",
    "top_{}_prob top_{}_label",
    "prob_top{} class_top{}",
    "top{}_proba top{}_pred",
]


def tops_of(names, start=1, classes=None, **others):
    score, ranked = names.split()
    ranks = ORDER if classes is None else np.array(classes)[ORDER]
    table = {score.format(j + start): SORTED[:, j] for j in range(K)}
    table |= {ranked.format(j + start): ranks[:, j] for j in range(K)}
    return pd.DataFrame({"label": SAMPLE.labels} | table | others)


@pytest.mark.parametrize("names", TOPS)
@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_columns_of_tops_are_ranks(names, start, name, tmp_path):
    found = read(saved(tmp_path, tops_of(names, start), name))
    np.testing.assert_allclose(scores_of(found), SAMPLE.scores, atol=1e-15)
    np.testing.assert_array_equal(found.labels, SAMPLE.labels)
    named = tops_of(names, start, NAMES, label=np.array(NAMES)[SAMPLE.labels])
    found = read(saved(tmp_path, named, f"named{name}"))
    assert found.classes == NAMES
    np.testing.assert_allclose(scores_of(found), SAMPLE.scores, atol=1e-15)


@pytest.mark.parametrize("names", TOPS)
def test_tops_without_their_classes_are_refused(names, tmp_path):
    table = tops_of(names)
    alone = table[["label", *(names.split()[0].format(j) for j in (1, 2, 3))]]
    refused(
        saved(tmp_path, alone, "t.csv"),
        "descend in every row, as if they were sorted by rank|name says that it is of a rank",
    )
    first = read(saved(tmp_path, table.drop(columns=names.split()[1].format(2)), "u.csv"))
    assert first.of_answers  # of which the first is the confidence


def test_tops_may_be_chosen(tmp_path):
    found = read(saved(tmp_path, tops_of(TOPS[0]), "t.csv"), ReadOptions(scores="top*_prob"))
    np.testing.assert_allclose(scores_of(found), SAMPLE.scores, atol=1e-15)


def test_tops_of_more_classes_are_read_as_the_first_and_whether_it_is_right(tmp_path):
    table = tops_of(TOPS[0]).drop(columns=["top3_prob", "top3_class"])
    found = read(saved(tmp_path, table, "t.csv"))
    assert found.of_answers
    np.testing.assert_allclose(scores_of(found)[:, 1], SAMPLE.scores.max(axis=1))
    np.testing.assert_array_equal(found.labels, SAMPLE.scores.argmax(axis=1) == SAMPLE.labels)


def test_labels_that_only_other_rows_name_among_the_tops_are_no_matter_of_names(tmp_path):
    path = tmp_path / "t.csv"
    rows = ["cat,dog,0.6,0.3,cat", "dog,cat,0.6,0.3,mouse", "cat,mouse,0.6,0.3,dog"]
    path.write_text("\n".join(["top1_class,top2_class,top1_prob,top2_prob,label", *rows, ""]))
    refused(path, "--classes names cat, dog, mouse, but the scores", classes=NAMES)
    path.write_text("\n".join(["top1_class,top2_class,top1_prob,top2_prob,label", *rows[:2], ""]))
    found = read(path)
    assert (found.of_answers, found.labels.tolist()) == (True, [1, 0])  # whether the first is right


def test_recalibrated_tops_are_read_again(tmp_path):
    recalibrated(saved(tmp_path, tops_of(TOPS[0]), "t.csv"), tmp_path / "o.csv")
    np.testing.assert_allclose(scores_of(read(tmp_path / "o.csv")), expected(), rtol=1e-12)


def test_classes_may_be_called_tops(tmp_path):
    table = {"label": [f"top{k + 1}" for k in SAMPLE.labels]}
    table |= {f"prob_top{k + 1}": SAMPLE.scores[:, k] for k in range(K)}
    found = read(saved(tmp_path, pd.DataFrame(table), "t.csv"))
    assert found.classes == ("top1", "top2", "top3")
    np.testing.assert_allclose(scores_of(found), SAMPLE.scores, atol=1e-15)
