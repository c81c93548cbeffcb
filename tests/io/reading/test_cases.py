"""Small files of kinds that people report, kept beside this checkout: each is read as it is, or asks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from calcli.core.language.errors import CalcliError
from calcli.io.formats import format_of
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.conftest import REFERENCE
from tests.io.samples import followed, offers_of, options_of, scores_of

CASES = REFERENCE / "cases" / "t4"
READ = [
    ("103-duplicated-ids/dup.csv", {}),
    ("116-class-names-cleaned/o.csv", {}),
    ("122-ordered-categorical-labels/p.parquet", {}),
    ("14-weka-distribution/weka.csv", {}),
    ("21-spark-sparse-text/spark.csv", {}),
    ("30-isic-onehot-ground-truth/submission.csv", {"labels": "GroundTruth.csv", "key": "image"}),
    ("33-openood-pred-conf-label/cifar10.csv", {"ignore_label": ("-1",)}),
    ("33-openood-pred-conf-label/cifar10.npz", {"ignore_label": ("-1",)}),
    ("40-rows-sum-to-0.995/preds.npz", {}),
    ("53-helm-per-instance-stats/per_instance_stats.json", {}),
    ("45-labels-txt/logits.npy", {}),
    ("55-openai-batch-top-logprobs/batch.jsonl", {}),
    ("57-538-checking-our-work/spi.csv", {}),
    ("58-football-home-draw-away/m.csv", {}),
    ("71-speaker-verification-llr/sv.csv", {}),
    ("75-one-number-lists/out.csv", {}),
    ("76-tiny-negatives/p.npz", {}),
    ("77-segmentation-nchw-255/seg.npz", {"ignore_label": ("255",)}),
    ("81-logits-within-0-1/l.csv", {}),
    ("81-logits-within-0-1/l.npz", {}),
    ("81-logits-within-0-1/logits.npy", {}),
    ("98-positive-column-first/onezero.csv", {}),
    ("98-positive-column-first/truefalse.csv", {}),
    ("98-positive-column-first/yesno.csv", {}),
]
ASKED = [  # refused, with a command that gives the number
    "124-val-and-test-in-one-npz/logits.npz",
    *(f"138-two-label-arrays/{one}" for one in ("a.npz", "c.npz", "d.npz", "f.npz", "p.npz", "i.csv")),
    "81-logits-within-0-1/s.npz",
]
TOLD = [  # refused, with what is right to do in words
    ("38-cifar10h-soft-labels/cifar10h.npz", "labels holds shares"),
]


def case(name: str) -> tuple[Path, dict]:
    path = CASES / name
    if not path.exists():
        pytest.skip(f"reference cases not found: {name} is not beside this checkout")
    return path, json.loads((path.parent / "expected.json").read_text())


def loss(path: Path | str, options: ReadOptions | None = None) -> float:
    found = read(path, options)
    scores, labels = scores_of(found), np.asarray(found.labels)
    if found.kind != "probs":
        scores = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    true = np.take_along_axis(scores, labels[:, None], 1)[:, 0] / scores.sum(axis=1)
    return float(-np.log(true).mean())


@pytest.mark.parametrize(("name", "options"), READ)
def test_what_is_read_as_it_is(name, options):
    path, right = case(name)
    options = {k: str(path.parent / v) if k == "labels" else v for k, v in options.items()}
    found = read(path, ReadOptions(**options))
    assert loss(path, ReadOptions(**options)) == pytest.approx(right["log_loss"], rel=1e-6)
    assert found.n_rows == right["rows"]
    if not found.of_answers and "accuracy" in right:
        assert np.mean(scores_of(found).argmax(axis=1) == found.labels) == pytest.approx(right["accuracy"])


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_is_answered_by_the_commands_that_are_offered(name):
    path, right = case(name)
    with pytest.raises(CalcliError) as told:
        read(path)
    values = [loss(files[0], options) for files, options in map(options_of, offers_of(told.value))]
    assert any(one == pytest.approx(right["log_loss"], rel=1e-6) for one in values), str(told.value)


@pytest.mark.parametrize(("name", "said"), TOLD)
def test_what_is_not_read_is_told_with_a_way_on(name, said):
    path, _ = case(name)
    with pytest.raises(CalcliError, match=said) as told:
        read(path)
    assert not followed(told.value)


@pytest.mark.parametrize("folder", [CASES, CASES.parent], ids=["t4", "t3"])
def test_every_command_that_is_offered_runs(folder):
    paths = [path for path in sorted(folder.rglob("*.*")) if format_of(path) and path.name != "values.json"]
    if not paths:
        pytest.skip(f"reference cases not found: {folder.name} is not beside this checkout")
    for path in paths:
        try:
            scores_of(read(path), 1000)
        except CalcliError as told:
            followed(told)


@pytest.mark.parametrize("name", ["mc_obj.jsonl", "mc_list.jsonl"])
def test_log_probabilities_of_options_are_normalized(name):
    path = CASES / name
    if not path.exists():
        pytest.skip(f"reference cases not found: {name} is not beside this checkout")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    logs = [one.get("option_logprobs") or [*one["logprobs"].values()] for one in rows]
    places = np.array(["ABCD".index(one["answer"]) for one in rows])
    logs = np.array(logs) - np.logaddexp.reduce(np.array(logs), axis=1, keepdims=True)
    assert loss(path) == pytest.approx(-logs[np.arange(len(rows)), places].mean(), rel=1e-9)


def test_ratings_are_divided_where_that_is_said():
    path = CASES / "ten.jsonl"
    if not path.exists():
        pytest.skip("reference cases not found: ten.jsonl is not beside this checkout")
    with pytest.raises(CalcliError, match=r"ratings.*--scale 10") as told:
        read(path)
    assert "percent" not in "".join(offers_of(told.value))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    found = read(path, ReadOptions(scale=10.0))
    np.testing.assert_allclose(scores_of(found)[:, 1], [one["confidence"] / 10 for one in rows])
