"""Class names that are stored beside the scores must fit them, and meet `--classes` by name."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.calibrators.temperature import Temperature
from calcli.core.language.errors import InputError
from calcli.io.apply.apply import recalibrate_file
from calcli.io.handed import from_arrays
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.samples import csv_file, random_probs, refused, scores_of

SAMPLE = random_probs(12, 3)
NAMES = ("cat", "dog", "mouse")


def archive(folder, classes, scores=SAMPLE.scores, labels=SAMPLE.labels):
    np.savez(folder / "t.npz", probs=scores, label=labels, classes=classes)
    return folder / "t.npz"


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (
            ["cat", "dog"],
            r"t.npz names 2 classes \(cat, dog\), but has scores for 3; expected a different name",
        ),
        ([*NAMES, "cow"], "t.npz names 4 classes .*, but has scores for 3; expected a different name"),
        (["cat", "dog", "cat"], "t.npz names 3 classes .cat, dog, cat., cat more than once"),
        (3, r"array classes has shape \(\) and type int64; expected the names of the classes in a row"),
        ([NAMES], r"array classes has shape \(1, 3\)"),
        ([0.0, 1.0, 2.0], r"array classes has shape \(3,\) and type float64"),
    ],
)
def test_names_that_do_not_fit_the_scores(classes, message, tmp_path):
    refused(archive(tmp_path, classes), message)


@pytest.mark.parametrize("classes", [["cat", "dog"], ["cat", "dog", "cat"], [*NAMES, "cat"]])
def test_names_that_do_not_fit_are_not_recalibrated(classes, tmp_path):
    calibrator = Temperature()
    calibrator.parameters = {"temperature": 2.0}
    record = CalibratorRecord(calibrator, NAMES, False, (), {})
    with pytest.raises(InputError, match=r"has scores of the classes .*, but the calibrator was fitted on"):
        recalibrate_file(record, str(archive(tmp_path, classes)), str(tmp_path / "o.npz"))
    assert not (tmp_path / "o.npz").exists()


def test_an_order_of_the_names_is_one_of_the_scores(tmp_path):
    path = archive(tmp_path, NAMES, labels=np.array(NAMES)[SAMPLE.labels])
    turned = read(path, ReadOptions(classes=NAMES[::-1]))
    np.testing.assert_array_equal(scores_of(turned), SAMPLE.scores[:, ::-1])
    assert turned.labels.tolist() == (2 - SAMPLE.labels).tolist()
    refused(path, "--classes names cat, dog, cow, but the scores .* expected", classes=("cat", "dog", "cow"))
    renamed = read(archive(tmp_path, NAMES), ReadOptions(classes=("a", "b", "c")))
    np.testing.assert_array_equal(scores_of(renamed), SAMPLE.scores)


def test_one_score_a_row_is_that_of_the_second_name(tmp_path):
    labels = np.array(["ham", "spam"])[np.arange(12) % 2]
    path = archive(tmp_path, ["ham", "spam"], SAMPLE.scores[:, 0], labels)
    predictions = read(path)
    assert predictions.classes == ("ham", "spam")
    np.testing.assert_array_equal(scores_of(predictions)[:, 1], SAMPLE.scores[:, 0])
    refused(
        path,
        "one score in each row, that of the last of ham, spam",
        classes=("spam", "ham"),
    )
    refused(path, "--positive eggs: expected one of the classes ham, spam", positive="eggs")


def test_one_column_keeps_its_name(tmp_path):
    path = csv_file(tmp_path, "label,prob_spam\nham,0.25\nspam,0.75\n")
    assert read(path, ReadOptions(classes=("ham", "spam"))).classes == ("ham", "spam")
    refused(path, "one score per row of .* is named after spam; say whose it is", classes=("spam", "ham"))


def test_one_score_a_row_is_recalibrated_as_that_of_the_second_name(tmp_path):
    calibrator = Temperature()
    calibrator.parameters = {"temperature": 1.0}
    record = CalibratorRecord(calibrator, ("spam", "ham"), False, (), {})
    path = archive(tmp_path, ["ham", "spam"], SAMPLE.scores[:, 0])
    recalibrate_file(record, str(path), str(tmp_path / "o.npz"))
    written = np.load(tmp_path / "o.npz")
    assert written["classes"].tolist() == ["ham", "spam"]
    np.testing.assert_allclose(written["probs"], SAMPLE.scores[:, 0], rtol=1e-12)


def test_labels_like_two_names_are_none_of_them():
    """Cat and cat are two classes; CAT may be either."""
    scores, names = np.tile([[0.3, 0.7], [0.6, 0.4]], (2, 1)), ("Cat", "cat")
    found = from_arrays(scores, ["Cat", "cat", "cat", "Cat"], classes=names)
    assert found.labels.tolist() == [0, 1, 1, 0]
    with pytest.raises(InputError, match='has the label "CAT", which is not one of the classes Cat, cat'):
        from_arrays(scores, ["Cat", "cat", "CAT", "Cat"], classes=names)
