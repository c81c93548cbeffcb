"""Doubts: what raises them, and that the option they name ends them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calcli.core.language.errors import InputError
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.samples import scores_of

N = 400


def saved(folder, columns):
    pd.DataFrame(columns).to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def doubts(path, **options):
    return read(path, ReadOptions(**options)).provenance.doubts


def test_options_end_every_doubt_of_an_unnamed_label(tmp_path):
    rng = np.random.default_rng(1)
    risk = rng.beta(1, 5, N)
    died = (rng.random(N) < np.clip(1.6 * risk, 0, 1)).astype(int)
    columns = {"age": rng.integers(40, 90, N), "sex": rng.choice([*"mf"], N), "risk": risk, "death30": died}
    path = saved(tmp_path, columns)
    assert doubts(path, scores="risk", label_column="death30", positive="1", kind="probs") == ()


def test_a_time_beside_an_event_may_be_censored_until_the_label_is_named(tmp_path):
    rng = np.random.default_rng(2)
    event = np.arange(N) % 5 < 2
    columns = {"time_months": rng.uniform(0, 24, N).round(1), "event": event.astype(int)}
    path = saved(tmp_path, {**columns, "risk_24m": rng.beta(2 + event, 3 - event)})
    (doubt,) = doubts(path)
    assert doubt.startswith(
        "event beside time_months looks like a survival table: 240 of 400 rows have no event"
    )
    assert doubts(path, label_column="event") == ()


@pytest.mark.parametrize("columns", [{"time": "a date"}, {"tenure": 5}, {}])
def test_other_columns_beside_an_event_are_no_survival(columns, tmp_path):
    rng = np.random.default_rng(3)
    prob = rng.random(N)
    rows = {**columns, "event": (rng.random(N) < prob).astype(int), "prob": prob}
    if columns.get("time"):
        rows["time"] = 1.7e9 + np.arange(N)
    assert doubts(saved(tmp_path, rows)) == ()


def test_ordinal_grades_beside_a_score_of_each_are_labels(tmp_path):
    rng = np.random.default_rng(4)
    probs = rng.dirichlet([1, 1, 1, 1], N)
    grade = np.array([rng.choice(4, p=row) for row in probs])
    for name in ("grade", "isup_grade"):
        path = saved(tmp_path, {name: grade, **{f"prob_{k}": probs[:, k] for k in range(4)}})
        assert doubts(path) == ()
        np.testing.assert_array_equal(read(path).labels, grade)


def test_balanced_scores_of_a_rare_class_are_probabilities(tmp_path):
    rng = np.random.default_rng(5)
    label = (rng.random(10_000) < 0.01).astype(int)
    prob = rng.beta(2 + 2 * label, 4)  # about .35 on average, as classes of equal weight give
    assert doubts(saved(tmp_path, {"probability": prob, "label": label})) == ()


SCORE = np.round(np.linspace(0.05, 0.95, 40), 3)
TEXTS = {
    "answer": [f"Reply {n}" for n in range(40)],
    "prediction": [f"Town {n}" for n in range(40)],
    "category": ["history", "law"] * 20,
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_graded_column_that_is_named_is_the_outcome_beside_text(text, tmp_path):
    path = saved(tmp_path, {text: TEXTS[text], "label": TEXTS["prediction"], "faithfulness": SCORE})
    data = read(path, ReadOptions(score="faithfulness"))
    assert data.provenance.outcomes == "grades"
    np.testing.assert_allclose(scores_of(data)[:, -1], SCORE)


@pytest.mark.parametrize("right", [[0, 1] * 20, ["correct", "incorrect"] * 20])
def test_a_verdict_that_is_named_is_the_outcome_beside_text(right, tmp_path):
    path = saved(tmp_path, {"prediction": TEXTS["prediction"], "label": TEXTS["answer"], "judge": right})
    assert read(path, ReadOptions(score="judge")).provenance.outcomes == "outcomes"


def test_grades_on_a_scale_are_no_classes_of_a_category(tmp_path):
    path = saved(tmp_path, {"category": TEXTS["category"], "judge_grade": [1, 2, 3, 4, 5] * 8})
    assert read(path, ReadOptions(score="judge_grade", scale=5.0)).provenance.outcomes == "grades"


def test_probabilities_named_as_the_score_of_answers_are_refused(tmp_path):
    path = saved(tmp_path, {"y_true": [0, 1] * 20, "prob": SCORE})
    with pytest.raises(InputError, match=r"say --scores prob, and if they are grades, add --scale 1$"):
        read(path, ReadOptions(score="prob"))
    assert read(path, ReadOptions(score="prob", scale=1.0)).provenance.outcomes == "grades"
