"""One score beside a predicted class: of a class, or of what is predicted; labels known by their values."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.layouts.trips import LABELS, NAMES, THREE, TWO, N
from tests.io.samples import refused, saved, scores_of

BINARY = (LABELS > 0).astype(int)
ORDER = np.argsort(-THREE, axis=1)
RNG = np.random.default_rng(4)


@pytest.mark.parametrize(
    ("score", "predicted", "label"),
    [
        ("prediction_score", "prediction_label", "target"),  # PyCaret
        ("prob", "pred", "label"),
        ("prediction", "predicted", "actual"),  # Weka
        *(  # pipelines of Hugging Face that return the best class
            ("score", "label", truth) for truth in ("gold", "actual", "true", "expected", "reference")
        ),
    ],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_score_of_what_is_predicted(score, predicted, label, classes, tmp_path):
    probs, truth = (THREE, LABELS) if classes == 3 else (TWO, BINARY)
    best = probs.argmax(axis=1)
    columns = {score: probs.max(axis=1), predicted: NAMES[best], label: NAMES[truth], "n": range(N)}
    found = read(saved(tmp_path, columns))
    assert found.of_answers
    np.testing.assert_array_equal(found.labels, best == truth)
    np.testing.assert_allclose(scores_of(found)[:, 1], probs.max(axis=1))
    assert (
        found.provenance.labels == f'columns "{predicted}" and "{label}", which are equal where it is right'
    )


@pytest.mark.parametrize("held", [NAMES[:2], np.arange(2)], ids=["names", "numbers"])
@pytest.mark.parametrize("second", [0, 1])
def test_the_score_of_a_class_decides_which_is_predicted(second, held, tmp_path):
    columns = {
        "prediction_label": held[(TWO[:, 1] > 0.3).astype(int)],
        "prediction_score": TWO[:, second],
        "actual_label": held[BINARY],
    }
    found = read(saved(tmp_path, columns))
    assert found.classes == (str(held[1 - second]), str(held[second]))
    np.testing.assert_allclose(scores_of(found)[:, 1], TWO[:, second])


def test_a_score_that_decides_nothing_may_be_of_something_else(tmp_path):
    predicted, score = np.arange(N) % 2, RNG.random(N)
    path = saved(tmp_path, {"y_pred": predicted, "prob": score, "y_true": BINARY})
    refused(path, "(?s)does not decide the class in y_pred: it may be the confidence in that.*--positive 1")
    found = read(path, ReadOptions(positive="1"))
    assert found.provenance.doubts == ()
    np.testing.assert_allclose(scores_of(found)[:, 1], score)


def test_what_is_said_is_taken(tmp_path):
    best = TWO.argmax(axis=1)
    path = saved(tmp_path, {"prob": TWO.max(axis=1), "pred": best, "label": BINARY})
    assert read(path).of_answers
    refused(path, "never below one half", scores="prob")
    assert not read(path, ReadOptions(positive="1")).of_answers


@pytest.mark.parametrize("stem", ["prob_", ".pred_", "prediction_score_", ""])
def test_labels_are_known_by_the_names_of_the_classes(stem, tmp_path):
    columns = {f"{stem}{name}": THREE[:, k] for k, name in enumerate(NAMES)}
    others = {"fold": "a", "colour": NAMES[0], ".pred_class": NAMES[ORDER[:, 0]], "Species": NAMES[LABELS]}
    found = read(saved(tmp_path, columns | others))
    assert found.provenance.labels == 'column "Species"'
    np.testing.assert_allclose(scores_of(found), THREE)
    refused(
        saved(tmp_path, columns | others | {"rater": NAMES[np.r_[(LABELS[0] + 1) % 3, LABELS[1:]]]}),
        r"(?s)which column is the label\?.*--label-column Species\n.*--label-column rater",
    )


def test_the_only_column_that_could_be_the_truth_is_taken(tmp_path):
    columns = {"prob_0": TWO[:, 0], "prob_1": TWO[:, 1], "churn": BINARY, "id": range(N)}
    found = read(saved(tmp_path, columns))
    assert found.provenance.labels == 'column "churn"'
    np.testing.assert_allclose(scores_of(found), TWO)
    for other in (BINARY[::-1], np.arange(N) % 7):
        path = saved(tmp_path, columns | {"region": other})
        found = read(path)
        assert found.provenance.doubts == ("churn is the label because the scores fit it best",)
        np.testing.assert_allclose(scores_of(found), TWO)
    assert read(path, ReadOptions(label_column="churn")).provenance.doubts == ()


def test_answers_of_other_writers(tmp_path):
    confidence, right = TWO[:, 1], BINARY == 1
    inspect = {"sample_id": range(N), "target": "A", "metadata_confidence": confidence}
    grades = {"score_choice": np.where(right, "C", "I")}
    detections = {"image_id": range(N), "score": confidence, "tp": right}
    words = {"conf": 100 * confidence, "text": np.where(right, "the", "tne"), "ground_truth": "the"}
    for columns in (inspect | grades, detections, words):
        found = read(saved(tmp_path, columns))
        assert found.of_answers
        np.testing.assert_allclose(scores_of(found)[:, 1], confidence)
        np.testing.assert_array_equal(found.labels, right)


def test_grades_are_no_confidences(tmp_path):
    right = BINARY == 1
    found = read(saved(tmp_path, {"score": right.astype(float), "is_correct": right}))
    assert not found.has_probabilities
    np.testing.assert_array_equal(found.labels, right)
    path = saved(tmp_path, {"score": TWO[:, 1], "success": TWO[:, 1] >= 0.5})
    refused(path, "success follows from the scores in every row")


def test_outcomes_to_be_ignored(tmp_path):
    grades = np.where(BINARY == 1, "CORRECT", "INCORRECT").astype(object)
    grades[::7] = "NOT_ATTEMPTED"
    path = saved(tmp_path, {"confidence": TWO[:, 1], "grade": grades, "id": range(N)})
    refused(path, "'NOT_ATTEMPTED' .* leave such rows out with --ignore-label NOT_ATTEMPTED")
    found = read(path, ReadOptions(ignore_label=("NOT_ATTEMPTED",)))
    kept = np.flatnonzero(np.arange(N) % 7)
    np.testing.assert_array_equal(found.columns["id"], kept)
    np.testing.assert_array_equal(found.labels, BINARY[kept])
    assert f"{N - len(kept)} of {N} rows have a label to ignore" in found.provenance.notes[0]


@pytest.mark.parametrize("truth", ["actual", "true", "expected", "reference"])
@pytest.mark.parametrize("label", ["label", "class"])
def test_the_truth_by_its_name_beside_a_label(label, truth, tmp_path):
    columns = {**dict(zip(NAMES, THREE.T, strict=True)), label: NAMES[ORDER[:, 0]], truth: NAMES[LABELS]}
    columns[label][0] = NAMES[ORDER[0, 1]]  # a prediction need not be the most probable class
    path = saved(tmp_path, columns)
    refused(path, rf"(?s)which column is the label\?.*--label-column {truth}\n.*--label-column {label}")
    columns[truth] = [name[::-1] for name in columns[truth]]
    np.testing.assert_array_equal(NAMES[read(saved(tmp_path, columns)).labels], columns[label])


@pytest.mark.parametrize("truth", ["outcome", "obs", "response", "real", "human", "annotation"])
def test_labels_that_are_predicted_in_every_row(truth, tmp_path):
    best = NAMES[ORDER[:, 0]]
    columns = {**dict(zip(NAMES, THREE.T, strict=True)), "label": best, truth: NAMES[LABELS]}
    path = saved(tmp_path, columns)
    assert read(path).provenance.labels == f'column "{truth}"'
    for chosen in ("label", truth):
        found = read(path, ReadOptions(label_column=chosen))
        np.testing.assert_array_equal(NAMES[found.labels], columns[chosen])
    columns["label"] = np.where(np.arange(N) == N - 1, NAMES[ORDER[:, 1]], best)
    refused(saved(tmp_path, columns), r"which column is the label\?")


@pytest.mark.parametrize("other", [{}, {"runner_up": NAMES[ORDER[:, 1]]}, {"copy": NAMES[ORDER[:, 0]]}])
def test_a_perfect_classifier_is_an_answer(other, tmp_path):
    columns = {**dict(zip(NAMES, THREE.T, strict=True)), "label": NAMES[ORDER[:, 0]], **other}
    found = read(saved(tmp_path, columns))
    np.testing.assert_array_equal(found.labels, ORDER[:, 0])
    assert any("label follows from the scores in every row" in one for one in found.provenance.doubts)


@pytest.mark.parametrize(
    "other",
    [
        {"predicted_before": NAMES[LABELS]},
        {"fold": LABELS},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_label_that_follows_is_suspected_beside_what_may_be_the_truth(other, tmp_path):
    columns = {**dict(zip(NAMES, THREE.T, strict=True)), "label": NAMES[ORDER[:, 0]], **other}
    path = saved(tmp_path, columns)
    refused(path, "label follows from the scores, and these also predict another column|has the label")
    np.testing.assert_array_equal(read(path, ReadOptions(label_column="label")).labels, ORDER[:, 0])
