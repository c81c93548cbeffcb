"""A file that nothing is left of is refused with the command for what may be meant."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from calcli.core.language.errors import InputError
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.samples import refused

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 2, 300)
ODDS = 2 * (RNG.normal(size=300) + 2 * LABELS - 1)
PROBS = 1 / (1 + np.exp(-ODDS))


@pytest.mark.parametrize(
    ("columns", "offered", "options"),
    [
        ({"label": LABELS, "prob": ODDS}, "--kind logits", {"kind": "logits"}),
        (
            {"ill": (PROBS > 0.5).astype(int), "prob": PROBS},
            "--label-column ill",
            {"label_column": "ill"},
        ),
        (
            {"correct": LABELS, "confidence": 1 - PROBS},
            "--confidence confidence",
            {"confidence": "confidence"},
        ),
    ],
)
def test_what_may_be_meant_is_offered_and_read(columns, offered, options, tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    refused(path, f"(?s)(If this is meant|Likely readings):.*{offered}")
    assert read(path, ReadOptions(**options)).n_rows == 300


def test_what_was_passed_by_a_threshold_with_noise_is_not_what_is_right(tmp_path):
    rng = np.random.default_rng(1)
    score = rng.uniform(size=300)
    passed = score + rng.normal(0, 0.1, 300) > 0.5
    pd.DataFrame({"test_score": score, "passed": passed}).to_csv(tmp_path / "t.csv", index=False)
    refused(
        tmp_path / "t.csv",
        "test_score may be the score of a class, not the confidence of the answer that passed grades",
    )


@pytest.mark.parametrize("label", ["#", "_"])
def test_a_label_whose_name_has_no_words_is_read_or_refused(label, tmp_path):
    path = tmp_path / "made.csv"
    rows = "".join(f"{int(n * 7 % 10 < n % 10)},{(n % 10 + 0.5) / 10},{n % 7}\n" for n in range(200))
    path.write_text(f"{label},prob,other\n{rows}")
    assert read(path, ReadOptions(label_column=label)).n_rows == 200
    with suppress(InputError):
        read(path)
