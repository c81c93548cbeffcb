import numpy as np
import pytest

from calcli.core.blocks import CLASS_MAJOR_LIMIT, blocks, sweep
from calcli.core.lenses import ordered_problem
from calcli.core.miscalibration import KolmogorovSmirnov
from calcli.core.predictions import ArrayScores, Predictions
from calcli.core.ranks import largest, rank_hit, rank_score, within_hit, within_score
from calcli.core.rows import RowTable


def predictions_of(scores, labels, kind="probs"):
    names = tuple(map(str, range(scores.shape[1])))
    return Predictions(ArrayScores(scores), kind, labels, names)


def statistics(predictions, **wanted):
    table = RowTable(predictions.n_rows, wanted)
    sweep(predictions, [table])
    return table


def test_ks_of_real_predictions(golden, dataset):
    for name, values in golden.items():
        predictions = predictions_of(*dataset(name), kind="logits")
        for key, score, hit, r in [
            ("ks_top2_pct", rank_score, rank_hit, 2),
            ("ks_within2_pct", within_score, within_hit, 2),
            ("ks_within3_pct", within_score, within_hit, 3),
        ]:
            if values[key] is None:  # no third of two classes
                continue
            table = statistics(predictions, score=score(r), hit=hit(r))
            error = KolmogorovSmirnov().value(ordered_problem(table["score"], table["hit"]))
            assert error == pytest.approx(values[key] / 100, abs=1e-9), (name, key)


@pytest.fixture(params=[6, CLASS_MAJOR_LIMIT + 1])
def tied(request):
    """Return predictions with many ties, in both layouts of a block."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 4, (200, request.param)).astype(float)
    return predictions_of(counts / counts.sum(1, keepdims=True), rng.integers(0, request.param, 200))


def test_largest_are_sorted(tied):
    expected = -np.sort(-tied.scores.array, axis=1)[:, :3].T
    found = [largest(block, 3) for block in blocks(tied)]
    assert np.concatenate(found, axis=1) == pytest.approx(expected)


@pytest.mark.parametrize("r", [1, 2, 6])
def test_against_a_stable_sort(tied, r):
    order = np.argsort(-tied.scores.array, axis=1, kind="stable")
    ranked = np.take_along_axis(tied.scores.array, order, 1)
    table = statistics(
        tied, score=rank_score(r), hit=rank_hit(r), within=within_score(r), found=within_hit(r)
    )
    assert table["score"] == pytest.approx(ranked[:, r - 1])
    assert table["within"] == pytest.approx(ranked[:, :r].sum(1))
    assert np.array_equal(table["hit"], order[:, r - 1] == tied.labels)
    assert np.array_equal(table["found"], (order[:, :r] == tied.labels[:, None]).any(1))


def test_all_classes_together_are_certain(tied):
    k = tied.n_classes
    table = statistics(tied, score=within_score(k), hit=within_hit(k))
    assert table["hit"].all()
    assert table["score"] == pytest.approx(1)
    assert table["score"].max() <= 1
