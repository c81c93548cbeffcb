"""Arrays of more than two axes, as segmentation networks write them: classes before the places, or last."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.work.evaluate import evaluate
from tests.io.samples import refused, scores_of

RNG = np.random.default_rng(4)
LAST = RNG.normal(size=(6, 5, 4, 3)).astype(np.float32)  # samples, height, width, classes
LABELS = RNG.integers(3, size=(6, 5, 4))


def saved(folder, scores, labels, ending):
    if ending == "npz":
        np.savez(folder / "t.npz", logits=scores, labels=labels)
    else:
        np.save(folder / "t.npy", scores)
        np.save(folder / "t_labels.npy", labels)
    return folder / f"t.{ending}"


@pytest.mark.parametrize("ending", ["npy", "npz"])
@pytest.mark.parametrize("axis", [0, 1, 3])
def test_the_axis_of_the_classes_is_the_one_that_labels_lack(axis, ending, tmp_path):
    path = saved(tmp_path, np.moveaxis(LAST, -1, axis), LABELS, ending)
    predictions = read(path)
    np.testing.assert_array_equal(scores_of(predictions), LAST.reshape(-1, 3))
    assert predictions.labels.tolist() == LABELS.reshape(-1).tolist()
    assert predictions.column("axis0").tolist() == np.repeat(range(6), 20).tolist()
    (note,) = predictions.provenance.notes
    assert (
        f"axis {axis} has the 3 classes; each of 6 samples has 20 places, which depend on each other" in note
    )
    clustered = evaluate(predictions, metrics=["accuracy"], cluster="axis0", draws=0)
    assert clustered.results[0].settings.cluster == "axis0"


@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_axes_that_may_both_have_the_classes_are_refused_with_both_commands(ending, tmp_path):
    scores, labels = RNG.normal(size=(6, 3, 3)), RNG.integers(3, size=(6, 3))
    path = saved(tmp_path, scores, labels, ending)
    refused(path, "classes may be axis 1 or 2; say which: .* --class-axis 1; .* --class-axis 2")
    turned = scores_of(read(path, ReadOptions(class_axis=1)))
    np.testing.assert_array_equal(turned, np.moveaxis(scores, 1, -1).reshape(-1, 3))
    np.testing.assert_array_equal(scores_of(read(path, ReadOptions(class_axis=-1))), scores.reshape(-1, 3))


@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_labels_of_the_shape_of_the_scores_need_an_axis_for_the_classes(ending, tmp_path):
    scores, labels = LAST[..., 0], LABELS % 2
    said = r"labels of shape \(6, 5, 4\), one for each score: .* np.expand_dims\(scores, -1\)"
    refused(saved(tmp_path, scores, labels, ending), said)
    found = read(saved(tmp_path, np.expand_dims(scores, -1), labels, ending))
    np.testing.assert_array_equal(scores_of(found)[:, 1] - scores_of(found)[:, 0], scores.reshape(-1))
    assert found.labels.tolist() == labels.reshape(-1).tolist()
    found = read(saved(tmp_path, LAST, np.eye(3, dtype=int)[LABELS], ending))
    assert found.labels.tolist() == LABELS.reshape(-1).tolist()


def test_an_axis_that_is_not_there(tmp_path):
    path = saved(tmp_path, LAST, LABELS, "npz")
    refused(path, r"--class-axis 4: .* has 4 axes, its shape is \(6, 5, 4, 3\)", class_axis=4)


def test_two_axes_may_be_turned_too(tmp_path):
    path = saved(tmp_path, LAST.reshape(-1, 3).T, LABELS.reshape(-1), "npy")
    np.testing.assert_array_equal(scores_of(read(path, ReadOptions(class_axis=0))), LAST.reshape(-1, 3))
