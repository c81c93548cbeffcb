"""Tables of strangers are read as an expert reads them, or asked about; none is misread in silence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calcli.core.language.errors import CalcliError
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.reading.shapes import shapes
from tests.io.samples import followed, offers_of, scores_of

SEEDS = (1, 2)


def loss(found) -> float:
    scores = scores_of(found, 1000)
    if found.kind != "probs":
        scores = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    return float(-np.log(scores[np.arange(len(found.labels)), found.labels]).mean())


def outcome(columns, path) -> tuple[str, object]:
    """Return whether a table is read, read with a remark, or asked about; and what comes of it."""
    pd.DataFrame(columns).to_csv(path, index=False)
    try:
        found = read(path)
    except CalcliError as told:
        return "asked", told
    return ("remark" if found.provenance.doubts else "read"), found


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name, shape in shapes(0).items() if shape.label])
def test_what_an_expert_is_sure_of_is_read_so(name, seed, tmp_path):
    shape = shapes(seed)[name]
    said, found = outcome(shape.columns, tmp_path / "t.csv")
    if said == "asked":  # few are, and then the right reading is offered
        assert any(
            loss(one) == pytest.approx(-np.log(shape.true).mean(), abs=1e-4) for one in followed(found)
        )
        return
    assert found.provenance.labels == f'column "{shape.label}"'
    assert set(shape.scores) <= set(found.provenance.taken)
    assert loss(found) == pytest.approx(-np.log(shape.true).mean(), abs=1e-4)


def test_nearly_all_of_these_are_read_at_the_first_try(tmp_path):
    sure = [shape for seed in SEEDS for shape in shapes(seed).values() if shape.label]
    read_so = [outcome(shape.columns, tmp_path / "t.csv")[0] for shape in sure]
    assert np.mean([said != "asked" for said in read_so]) >= 0.95
    assert np.mean([said == "read" for said in read_so]) >= 0.5


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name, shape in shapes(0).items() if not shape.label])
def test_what_an_expert_would_ask_is_asked(name, seed, tmp_path):
    said, told = outcome(shapes(seed)[name].columns, tmp_path / "t.csv")
    assert said == "asked"
    assert len(followed(told)) == len(offers_of(told)) <= 3


def test_the_likeliest_reading_is_offered_first_with_its_fit(tmp_path):
    columns = shapes(1)["two systems"].columns
    _, told = outcome(columns, tmp_path / "t.csv")
    first, *lines = str(told).splitlines()
    assert first.endswith("t.csv: which columns are the scores? Likely readings:")
    assert lines[0].startswith("  1. label label, probs ")
    y, score = columns["label"], columns[lines[0].split()[4]]
    above = (score[y == 1][:, None] > score[y == 0]) + (score[y == 1][:, None] == score[y == 0]) / 2
    loss_of_it = -np.log(np.where(y == 1, score, 1 - score)).mean()
    assert lines[0].endswith(f"AUROC {above.mean():.2f}, log-loss {loss_of_it:.2f}".replace("0.", "."))
    assert lines[1] == f"     calcli evaluate {tmp_path / 't.csv'} --scores {lines[0].split()[4]}"


def test_an_option_ends_the_doubt_that_it_answers(tmp_path):
    columns = shapes(1)["event and proba"].columns
    pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
    assert read(tmp_path / "t.csv").provenance.doubts == (
        "Churn is the label because the scores fit it best",
    )
    assert read(tmp_path / "t.csv", ReadOptions(label_column="Churn")).provenance.doubts == ()
