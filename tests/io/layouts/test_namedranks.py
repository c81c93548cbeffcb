"""Classes that are named beside their scores, in every row in another order, while labels are numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from calcli.io.read import read
from tests.io.samples import scores_of

RNG = np.random.default_rng(31)
ELEVEN = RNG.dirichlet(np.ones(11), 50)
LABELS = np.array([RNG.choice(11, p=row) for row in ELEVEN])


def pairs(path, names, scores, labels):
    """Write what pipelines of Hugging Face return, the largest score first."""
    rows = [
        {"label": label, "predictions": [{"label": names[k], "score": row[k]} for k in np.argsort(-row)]}
        for label, row in zip(labels.tolist(), scores, strict=True)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", ["LABEL_{}", "{}", "class_{}", "c{}"])
def test_names_that_end_in_numbers_go_by_number(name, tmp_path):
    names = [name.format(k) for k in range(11)]
    found = read(pairs(tmp_path / "t.jsonl", names, ELEVEN, LABELS))
    assert found.classes == tuple(names)
    np.testing.assert_array_equal(scores_of(found), ELEVEN)
    np.testing.assert_array_equal(found.labels, LABELS)
