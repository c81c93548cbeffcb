"""Scores that cannot be what they are said to be are refused, with the row, wherever in the file they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.samples import csv_file, pair, parquet_file, random_probs, refused, scores_of


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (
            "logits",
            np.nan,
            r'row 41: the score of class "2" is missing \(nan\); expected a finite number; .*--drop-missing',
        ),
        ("logits", np.inf, 'row 41: the score of class "2" is inf; expected a finite number'),
        ("log-probs", np.nan, 'row 41: the score of class "2" is missing'),
        ("log-probs", np.inf, 'row 41: the score of class "2" is inf'),
        (
            "log-probs",
            0.5,
            'row 41: the score of class "2" is 0.5; the logarithm of a probability is at most 0',
        ),
        ("probs", np.nan, 'row 41: the score of class "2" is missing'),
        ("probs", np.inf, 'row 41: the score of class "2" is inf'),
        ("probs", -0.25, 'row 41: the score of class "2" is -0.25, a negative probability; .* --kind logits'),
        (
            "probs",
            0.75,
            "row 41 has probabilities that sum to 1.5; expected 1 within 0.001; .* --renormalize",
        ),
    ],
)
def test_single_scores_that_are_wrong(kind, value, message, dtype, tmp_path):
    scores = np.full((50, 4), 0.25 if kind == "probs" else np.log(0.25), dtype)
    scores[41, 2] = value
    refused(pair(tmp_path, scores, np.zeros(50, int)), message, kind=kind)
    refused(pair(tmp_path, np.asfortranarray(scores), np.zeros(50, int)), message, kind=kind)


def test_a_missing_score_in_a_table(tmp_path):
    path = csv_file(tmp_path, "label,prob_a,prob_b\na,0.5,0.5\nb,0.5,\n")
    refused(path, r't.csv: row 1: the score of class "b" is missing \(nan\)')


@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_further_column_beside_probabilities_is_no_class(place, tmp_path):
    probs = random_probs(40, 3)[0]
    names = [f"prob_{name}" for name in ("a", "b", "c")]
    frame = pd.DataFrame(probs, columns=names).assign(label="b")
    frame.insert(place, "prob_max", probs.max(axis=1))
    frame.to_csv(tmp_path / "t.csv", index=False)
    for options in ({}, {"scores": ",".join(names)}):
        np.testing.assert_allclose(scores_of(read(tmp_path / "t.csv", ReadOptions(**options))), probs)


def test_the_row_is_that_of_its_part(tmp_path):
    (tmp_path / "a.csv").write_text("label,prob_a,prob_b\na,0.5,0.5\nb,0.5,0.5\n")
    (tmp_path / "b.csv").write_text("label,prob_a,prob_b\na,0.5,0.5\nb,0.5,0.9\n")
    refused(tmp_path, "b.csv: row 1 has probabilities that sum to 1.4")


def test_impossible_rows_of_log_probabilities(tmp_path):
    scores = np.full((3, 2), np.log(0.5))
    scores[1, 0] = -np.inf
    scores[2] = -np.inf
    refused(
        pair(tmp_path, scores, [0, 1, 1]),
        "row 2 gives every class the log-probability -inf",
        kind="log-probs",
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            1.5,
            "row 1 has the probability 1.5; expected at most 1; if the scores are percentages "
            "say --kind percent, if they are logits --kind logits",
        ),
        (1.00001, "row 1 has the probability 1.00001; expected at most 1"),
        (-0.5, 'row 1: the score of class "1" is -0.5, a negative probability'),
        (np.nan, 'row 1: the score of class "1" is missing'),
    ],
)
def test_single_columns_that_are_wrong(value, message, tmp_path):
    refused(parquet_file(tmp_path, label=[0, 1], prob=[0.5, value]), message)


@pytest.mark.parametrize("names", [("0", "1"), ("cat", "dog"), ("0", "1", "2")])
def test_rows_that_all_sum_to_a_little_more_than_one(names, tmp_path):
    scores = random_probs(60, len(names)).scores
    labels = scores.argmax(axis=1)
    columns = {f"prob_{name}": scores[:, k] * 1.02 for k, name in enumerate(names)}
    path = csv_file(tmp_path, pd.DataFrame({"label": np.array(names)[labels], **columns}).to_csv(index=False))
    refused(path, "row 0 has probabilities that sum to 1.02; expected 1 within 0.001.* --renormalize")
    whole = read(path, ReadOptions(renormalize=True))
    assert whole.classes == names
    np.testing.assert_allclose(scores_of(whole), scores * 1.02)


def test_renormalize_accepts_sums_but_not_zeros(tmp_path):
    path = parquet_file(tmp_path, label=[0, 1], prob_0=[3.0, 0.5], prob_1=[1.0, 0.1])
    predictions = read(path, ReadOptions(renormalize=True))
    np.testing.assert_array_equal(scores_of(predictions), [[3.0, 1.0], [0.5, 0.1]])
    assert predictions.provenance.notes == (
        "rows that do not sum to one were divided by their sum, as asked",
    )
    path = parquet_file(tmp_path, label=[0, 1], prob_0=[3.0, 0.0], prob_1=[1.0, 0.0])
    refused(path, "row 1 has probabilities that sum to 0|cannot be read as predictions", renormalize=True)


def test_rounded_probabilities_are_accepted(tmp_path):
    scores = random_probs().scores.round(3)
    predictions = read(pair(tmp_path, scores, random_probs().labels))
    np.testing.assert_array_equal(scores_of(predictions), scores)


def test_multi_label_sigmoids(tmp_path):
    scores = np.random.default_rng(0).uniform(0.5, 1, size=(20, 5))
    refused(pair(tmp_path, scores, np.zeros(20, int)), "row 0 .* these look like multi-label sigmoid outputs")


def test_sparse_top_k_dumps(tmp_path):
    scores = np.sort(random_probs(20, 12).scores)[:, -3:] * 0.9
    refused(
        pair(tmp_path, scores, np.zeros(20, int)),
        r"row 0 .* \(a sparse top-k dump\); save the scores of all classes",
    )
    path = parquet_file(tmp_path, label=[0, 1, 1], probs=[[0.5, 0.5], [0.5, 0.5], [1.0]])
    refused(path, r"row 2 has 1 scores in probs; expected 2, as in the first row; .* top-k")


def test_list_columns_with_holes(tmp_path):
    path = parquet_file(tmp_path, label=[0, 1, 1], probs=[[0.5, 0.5], None, [1.0, 0.0]])
    refused(path, "row 1 has 0 scores in probs; expected 2|cannot be read as predictions")
    path = parquet_file(tmp_path, label=[0, 1], probs=[[0.5, 0.5], [None, 0.5]])
    refused(path, 'row 1: the score of class "0" is missing')
    path = parquet_file(tmp_path, label=[0, 1], probs=[["a", "b"], ["a", "b"]])
    refused(path, "the lists in column probs hold text")


def test_classes_with_small_scores_are_part_of_their_family(tmp_path):
    """Without the last column most rows nearly sum to one, too."""
    rng = np.random.default_rng(2)
    scores = rng.dirichlet([5, 5, 0.05], 60)
    table = pd.DataFrame(scores, columns=["prob_0", "prob_1", "prob_2"]).assign(label=np.arange(60) % 3)
    table.to_csv(tmp_path / "t.csv", index=False)
    assert read(tmp_path / "t.csv").scores.shape == (60, 3)
