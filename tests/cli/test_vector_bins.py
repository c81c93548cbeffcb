"""The bins of vectors in JSON and CSV, against counting."""

from __future__ import annotations

import json

import numpy as np
import pytest

from calcli.core.evaluating.metrics import errors as error


@pytest.fixture
def written(run, tmp_path):
    """Return 300 rows of five classes in a file, their probabilities and labels."""
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(5), 300).round(6), rng.integers(0, 5, 300)
    probs[:, 4] = 1 - probs[:, :4].sum(1)
    lines = [",".join(["label", *(f"prob_{name}" for name in "abcde")])]
    lines += [
        ",".join(["abcde"[y], *(f"{p:.6f}" for p in row)]) for y, row in zip(labels, probs, strict=True)
    ]
    file = tmp_path / "five.csv"
    file.write_text("\n".join(lines) + "\n")
    return file, probs, labels


def test_equal_width_cells_of_five_classes(run, written, tmp_path):
    file, probs, labels = written
    name = "expected_miscalibration:binning=equal-width:bins=2"
    done = run("evaluate", file, "--metrics", name, "--draws", 0, "-f", "json")
    found = json.loads(done.out)["results"][0]["metrics"][name]
    cells = np.unique(probs >= 0.5, axis=0, return_inverse=True)[1].ravel()
    own = [cells == cell for cell in np.unique(cells)]
    expected = sorted(
        (int(rows.sum()), *probs[rows].mean(0), *np.eye(5)[labels[rows]].mean(0)) for rows in own
    )
    bins = found["bins"]["bins"]
    np.testing.assert_allclose(
        sorted((one["rows"], *one["mean"], *one["frequency"]) for one in bins), expected
    )
    assert found["bins"]["outcomes"] == list("abcde")
    tv = [np.abs(np.subtract(one["mean"], one["frequency"])).sum() / 2 for one in bins]
    assert found["value"] == pytest.approx(np.dot(tv, [one["share"] for one in bins]))


@pytest.mark.parametrize(
    ("metric", "outcomes"),
    [
        ("worst_miscalibration:lens=kind:min_rows=50", ["a+b", "c", "d+e"]),
        ("expected_miscalibration:lens=two:min_rows=50", ["a", "b+c+d+e"]),
        ("expected_miscalibration:lens=largest-2:min_rows=50", ["top-1", "top-2", "rest"]),
        ("expected_miscalibration:lens=top-1:min_rows=50", ["top-1", "rest"]),
        ("expected_miscalibration:lens=class-3:min_rows=50", ["class-3", "rest"]),
        ("ece_given_vector:min_rows=50", ["predicted class", "rest"]),
    ],
)
def test_outcomes_have_names(run, written, metric, outcomes):
    groups = ("--class-groups", "kind=a+b,c,d+e", "--class-groups", "two=a,b+c+d+e")
    done = run("evaluate", written[0], "--metrics", metric, *groups, "--draws", 0, "-f", "json")
    found = json.loads(done.out)["results"][0]["metrics"][metric]["bins"]
    assert found["outcomes"] == outcomes
    assert sum(one["rows"] for one in found["bins"]) == 300
    assert all(len(one["mean"]) == len(outcomes) for one in found["bins"])


def test_too_many_bins_are_left_out(run, written, monkeypatch):
    monkeypatch.setattr(error, "MOST_NUMBERS", 5)
    name = "expected_miscalibration:min_rows=100"
    done = run("evaluate", written[0], "--metrics", name, "--draws", 0, "-f", "json")
    found = json.loads(done.out)["results"][0]["metrics"][name]
    assert "bins" not in found
    assert found["parts"]["bins_left_out"] > 2
