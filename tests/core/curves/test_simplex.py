"""Simplex bins against counting, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calcli.core.curves import simplex
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import recursive_splits
from calcli.core.problems.problem import Recursive


def some_predictions(n: int = 400, k: int = 3, seed: int = 0, weighted: bool = False) -> Predictions:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), n)
    labels = (probs.cumsum(1) < rng.random((n, 1))).sum(1)
    weights = rng.random(n) if weighted else None
    names = tuple("abcdefghij"[:k])
    return Predictions(ArrayScores(probs, "probs"), labels, names, weights)


def simplexes(predictions, lens="canonical", groups=None, binning=simplex.TRIANGLES):
    settings = Settings(("accuracy",), draws=0, intervals=False, groups=groups or {})
    return simplex.simplexes(simplex.outcomes(evaluate(predictions, settings), lens), binning)


@pytest.mark.parametrize("binning", [25, None, Recursive(40)])
@pytest.mark.parametrize("weighted", [False, True])
def test_bins_average_to_the_whole(binning, weighted):
    predictions = some_predictions(weighted=weighted)
    (result,) = simplexes(predictions, binning=binning).values()
    weights = predictions.weights
    probs = predictions.scores.array
    np.testing.assert_allclose(result.share @ result.mean, np.average(probs, axis=0, weights=weights))
    observed = np.bincount(predictions.labels, weights, 3) / (400 if weights is None else weights.sum())
    np.testing.assert_allclose(result.share @ result.frequency, observed)
    np.testing.assert_allclose(result.mean.sum(1), 1)
    assert result.count.sum() == 400
    assert (result.count > 0).all()


@pytest.mark.parametrize("binning", [16, Recursive(40)])
def test_bins_of_a_tetrahedron_are_those_of_four_outcomes(binning):
    """Counted one by one: bins of side 1/4, or of rows that were split where they vary most."""
    predictions = some_predictions(k=4)
    probs, whole = predictions.scores.array, simplexes(predictions, binning=binning)[""]
    if binning == 16:
        bins = np.unique(np.floor(probs * 4), axis=0, return_inverse=True)[
            1
        ].ravel()  # numpy 2.0 gives a column
    else:
        bins = recursive_splits(probs, 40)[1].bin_of(probs)
    own = [bins == number for number in np.unique(bins)]
    expected = sorted(
        (rows.sum(), *probs[rows].mean(0), *np.eye(4)[predictions.labels[rows]].mean(0)) for rows in own
    )
    found = zip(whole.count, *whole.mean.T, *whole.frequency.T, strict=True)
    np.testing.assert_allclose(sorted(found), expected)
    assert whole.names == ("a", "b", "c", "d")
    assert "mean_d" in whole.tables()[""]


def test_faces_are_the_rows_of_the_other_classes():
    predictions = some_predictions(k=4)
    faces = simplexes(predictions)
    assert list(faces) == ["", "without a", "without b", "without c", "without d"]
    probs, labels = predictions.scores.array, predictions.labels
    face = faces["without b"]
    assert face.names == ("a", "c", "d")
    kept = labels != 1
    rest = probs[kept][:, [0, 2, 3]]
    np.testing.assert_allclose(face.share @ face.mean, (rest / rest.sum(1, keepdims=True)).mean(0))
    np.testing.assert_allclose(face.share @ face.frequency, [np.mean(labels[kept] == k) for k in (0, 2, 3)])


def test_wrong_numbers_of_classes_groups_and_bins_are_refused():
    with pytest.raises(UsageError, match="needs 3 or 4 classes, but arrays has 10"):
        simplexes(some_predictions(k=10))
    groups = {"kind": dict(zip("abcdefghij", "xyyyyyyyyy", strict=True))}
    with pytest.raises(UsageError, match="needs 3 or 4 groups of classes, but kind has 2"):
        simplexes(some_predictions(k=10), "kind", groups)
    with pytest.raises(UsageError, match="the lens largest-4 has 5 outcomes"):
        simplexes(some_predictions(k=10), "largest-4")
    with pytest.raises(UsageError, match=r"--bins 24: .* expected 16 or 25"):
        simplexes(some_predictions(), binning=24)
    alone = replace(some_predictions(k=4), labels=np.zeros(400, int))
    with pytest.raises(InputError, match="every row is of 'a'"):
        simplexes(alone)


def test_the_largest_and_four_groups_are_outcomes_as_well():
    predictions = some_predictions(k=10)
    ranked = -np.sort(-predictions.scores.array, axis=1)
    (found,) = simplexes(predictions, "largest-2", binning=1).values()
    assert found.names == ("top-1", "top-2", "rest")
    np.testing.assert_allclose(found.mean[0, :2], ranked[:, :2].mean(0))
    groups = {"kind": dict(zip("abcdefghij", "wxyzzzzzzw", strict=True))}
    four = simplexes(predictions, "kind", groups, binning=1)
    assert list(four) == ["", *(f"without {name}" for name in "wxyz")]
    own = predictions.scores.array[:, [0, 9]].sum(1).mean(), np.isin(predictions.labels, [0, 9]).mean()
    assert (four[""].mean[0, 0], four[""].frequency[0, 0]) == pytest.approx(own)
    assert list(simplexes(predictions, "largest-3"))[4] == "without rest"


@pytest.mark.parametrize("bins", [1, 25, 100])
def test_lines_are_where_the_bins_meet(bins):
    predictions = some_predictions(n=20_000)
    (found,) = simplexes(predictions, binning=bins).values()
    assert len(found.count) == bins
    side = round(bins**0.5)
    assert len(found.borders) == 3 * (side - 1)
    for border in found.borders:
        np.testing.assert_allclose(border.sum(1), 1)
        assert any(np.allclose(border[:, k], round(border[0, k] * side) / side) for k in range(3))


def test_outlines_of_recursive_bins_fill_the_triangle_and_hold_their_rows():
    predictions = some_predictions()
    (found,) = simplexes(predictions, binning=Recursive(40)).values()
    assert len(found.borders) == len(found.count) > 8
    areas = []
    for mean, outline in zip(found.mean, found.borders, strict=True):
        x, y = outline[:, 0], outline[:, 1]
        areas.append((x[:-1] * y[1:] - x[1:] * y[:-1]).sum())
        assert np.all((mean >= outline.min(0) - 1e-12) & (mean <= outline.max(0) + 1e-12))
    assert sum(areas) == pytest.approx(1)
    _, splits = recursive_splits(predictions.scores.array, 40)
    counts = np.bincount(splits.bin_of(predictions.scores.array))
    np.testing.assert_array_equal(counts, found.count)


@pytest.mark.parametrize("weighted", [False, True])
def test_arrows_beyond_chance_are_rare_if_calibrated_and_found_if_not(weighted):
    """At 5% at most one figure in twenty marks any bin; 6 or more of 40 have a chance of 0.3%."""
    marked = 0
    for seed in range(40):
        (result,) = simplexes(some_predictions(seed=seed, weighted=weighted)).values()
        marked += bool(result.beyond.any())
    assert marked <= 6
    predictions = some_predictions(2000, weighted=weighted)
    probs = predictions.scores.array**3
    sure = replace(predictions, scores=ArrayScores(probs / probs.sum(1, keepdims=True), "probs"))
    assert simplexes(sure)[""].beyond.any()
