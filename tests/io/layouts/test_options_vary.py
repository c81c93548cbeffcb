"""Lists of a score for each option of a question, of which some have fewer: the others are impossible."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import log_softmax

import calcli
from calcli.core.language.errors import InputError
from calcli.io.read import read


def questions(seed=3, rows=300):
    """Scores of 3 to 5 options, the fifth only behind those that are looked at, and the answers."""
    rng = np.random.default_rng(seed)
    scores = [rng.normal(0, 2, 5 if n == rows - 1 else rng.integers(3, 5)) for n in range(rows)]
    return scores, [int(rng.choice(len(one), p=np.exp(log_softmax(one)))) for one in scores]


def written(path, name, scores, labels):
    lines = [{name: list(one), "label": y} for one, y in zip(scores, labels, strict=True)]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


@pytest.mark.parametrize("name", ["logits", "probs"])
def test_what_a_question_does_not_have_is_impossible(tmp_path, name):
    scores, labels = questions()
    log_p = [log_softmax(one) for one in scores]
    made = scores if name == "logits" else map(np.exp, log_p)
    found = read(written(tmp_path / "q.jsonl", name, made, labels))
    assert found.classes == tuple(f"option {n}" for n in range(5))
    report = calcli.evaluate(found, metrics="log_loss,accuracy", intervals=False)
    pairs = list(zip(log_p, labels, strict=True))
    assert report["log_loss"].value == pytest.approx(-np.mean([one[y] for one, y in pairs]))
    assert report["accuracy"].value == pytest.approx(np.mean([one.argmax() == y for one, y in pairs]))


def test_an_option_that_a_question_does_not_have_is_no_answer(tmp_path):
    scores, labels = questions()
    labels[17] = len(scores[17])
    with pytest.raises(InputError, match=f"row 17 has the label {labels[17]}, but {labels[17]} options"):
        read(written(tmp_path / "q.jsonl", "logits", scores, labels))


def test_parts_of_distributions_are_no_options(tmp_path):
    scores, labels = questions()
    parts = [np.exp(log_softmax(one))[:-1] for one in scores]
    with pytest.raises(InputError):
        read(written(tmp_path / "q.jsonl", "probs", parts, [min(y, 1) for y in labels]))
