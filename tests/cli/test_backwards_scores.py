"""Scores that rank in the wrong direction are told before anything else, with what mends it."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import calcli
from tests.conftest import REFERENCE

TITLE = "Before anything else"


def two_classes(rows=400, seed=0):
    """Return labels, and probabilities of 1 that rank them the right way round."""
    rng = np.random.default_rng(seed)
    log_odds = 1.7 * rng.normal(size=rows)
    probs = 1 / (1 + np.exp(-log_odds))
    return (rng.random(rows) < probs).astype(int), probs


def three_classes(rows=600):
    rng = np.random.default_rng(1)
    logits = 2 * rng.normal(size=(rows, 3))
    return (logits + rng.gumbel(size=logits.shape)).argmax(axis=1), logits


def file_of(path, kind):
    """Write scores of the other class, in one of many ways to save them."""
    labels, right = two_classes()
    wrong = 1 - right
    names = np.where(labels, "yes", "no")
    columns = np.column_stack([right, wrong])
    tables = {
        "prob.csv": {"label": labels, "prob": wrong},
        "prob.parquet": {"label": labels, "prob": wrong},
        "logit.csv": {"label": labels, "logit": -np.log(right / wrong)},
        "one_two.csv": {"label": labels + 1, "prob": wrong},
        "two.csv": {"label": labels, "prob_0": right, "prob_1": wrong},
        "named.csv": {"label": names, "no": right, "yes": wrong},
        "behind.csv": {"label": names, "p_no": right, "p_yes": wrong},
        "own_name.csv": {"label": names, "prob_yes": wrong},
        "right.csv": {"correct": labels, "confidence": wrong},
        "lists.jsonl": {"label": labels, "probs": columns.tolist()},
    }
    if kind.endswith("z"):
        np.savez(path / kind, probs=columns if kind == "two.npz" else wrong, labels=labels)
    elif kind.endswith(".npy"):
        np.save(path / kind, columns)
        np.save(path / "two_labels.npy", labels)
    elif kind.endswith(".parquet"):
        pd.DataFrame(tables[kind]).to_parquet(path / kind)
    elif kind.endswith(".jsonl"):
        pd.DataFrame(tables[kind]).to_json(path / kind, orient="records", lines=True)
    else:
        pd.DataFrame(tables[kind]).to_csv(path / kind, index=False)
    return path / kind


def first_said(done):
    """Return the sentences below the first title, on one line."""
    title, _, rest = done.out.partition("\n")
    return " ".join(rest.split("\n\n")[0].split()) if title == TITLE else ""


OF_THE_OTHER = [
    "prob.csv",
    "prob.parquet",
    "logit.csv",
    "one.npz",
    "two.npz",
    "two.npy",
    "lists.jsonl",
    "two.csv",
]


@pytest.mark.parametrize(
    ("kind", "command"),
    [*((kind, "evaluate") for kind in OF_THE_OTHER), ("prob.csv", "fit"), ("two.npy", "fit")],
)
def test_scores_of_the_other_class_are_told(run, tmp_path, kind, command):
    said = first_said(run(command, file_of(tmp_path, kind), *(["-m", "platt"] if command == "fit" else [])))
    assert "rank in the wrong direction, beyond chance: AUROC 0.1" in said
    assert "Check whether these are scores of 0, or whether the labels are swapped" in said


def test_sure_answers_that_are_wrong_are_no_confidence(run, tmp_path):
    status, _, err = run("evaluate", file_of(tmp_path, "right.csv"))
    assert status == 2
    assert "below one half" in err


@pytest.mark.parametrize("metrics", [None, "log_loss"])
def test_more_classes(run, tmp_path, metrics):
    labels, logits = three_classes()
    asked = [] if metrics is None else ["--metrics", metrics]
    for name, scores in (("right", logits), ("negated", -logits), ("moved", logits[:, [1, 2, 0]])):
        np.savez(tmp_path / f"{name}.npz", logits=scores, labels=labels)
        said = first_said(run("evaluate", tmp_path / f"{name}.npz", *asked))
        assert ("On average a class has lower scores in its own rows than in others" in said) == (
            name != "right"
        )
        fitted = first_said(run("fit", tmp_path / f"{name}.npz", "-m", "dp"))
        assert fitted == said
    assert TITLE not in run("evaluate", tmp_path / "moved.npz", *asked, "--classes", "1,2,0").out


def test_no_advice_to_recalibrate_goes_with_it(run, tmp_path):
    out = " ".join(run("evaluate", file_of(tmp_path, "prob.csv")).out.split())
    assert "calcli fit" not in out
    assert "Recalibration may correct this" not in out
    assert "is miscalibration that" not in out
    assert "not miscalibration, as these scores rank in the wrong direction" in out


@pytest.mark.parametrize("command", ["evaluate", "fit"])
def test_it_is_the_first_warning_and_the_headline(run, tmp_path, command):
    file, more = file_of(tmp_path, "prob.csv"), ["-m", "platt"] if command == "fit" else []
    found = json.loads(run(command, file, *more, "--format", "json").out)
    warnings = (found["results"][0] if command == "evaluate" else found)["warnings"]
    assert [one["code"] for one in warnings].index("backwards") == 0
    page = run(command, file, *more, "--format", "markdown").out
    assert page.index(f"## {TITLE}") < page.index("prob.csv")
    assert run(command, file, *more, "--html", tmp_path / "page.html").status == 0
    html = (tmp_path / "page.html").read_text()
    head = re.search(r"<header>.*?</header>", html, re.DOTALL)[0]
    assert "rank in the wrong direction" in head


def test_a_comparison_says_which_file(run, tmp_path):
    wrong, (labels, right) = file_of(tmp_path, "prob.csv"), two_classes()
    pd.DataFrame({"label": labels, "prob": right}).to_csv(tmp_path / "right.csv", index=False)
    for command in (["compare"], ["evaluate"]):
        said = first_said(run(*command, tmp_path / "right.csv", wrong))
        assert said.startswith("prob.csv: The scores rank in the wrong direction")
        assert "if the others are right, save this one anew" in said
    found = json.loads(run("compare", tmp_path / "right.csv", wrong, "--format", "json").out)
    assert [(one["system"], one["code"]) for one in found["warnings"]] == [("prob.csv", "backwards")]
    assert TITLE not in run("compare", tmp_path / "right.csv", tmp_path / "right.csv").out


@pytest.mark.parametrize("size", [3, 12])
def test_few_rows_say_nothing_until_chance_is_ruled_out(run, tmp_path, size):
    labels = np.arange(2 * size) % 2
    wrong = np.where(labels, 0.2, 0.8) + np.arange(2 * size) / 1e3
    wrong[:2] = wrong[1::-1]  # else the labels might be predictions, as they follow from the scores
    pd.DataFrame({"label": labels, "prob": wrong}).to_csv(tmp_path / "wrong.csv", index=False)
    assert (TITLE in run("evaluate", tmp_path / "wrong.csv").out) == (size == 12)


def test_useless_scores_are_not_said_to_rank_the_wrong_way_round(run, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"label": rng.integers(0, 2, 300), "prob": rng.random(300)})
    table.to_csv(tmp_path / "useless.csv", index=False)
    assert TITLE not in run("evaluate", tmp_path / "useless.csv").out


def test_a_state_and_python_say_it_too(run, tmp_path):
    file, (labels, right) = file_of(tmp_path, "prob.csv"), two_classes()
    assert run("evaluate", file, "--save-state", tmp_path / "kept.calcli").status == 0
    assert "Check whether these are scores of 0" in first_said(run("evaluate", tmp_path / "kept.calcli"))
    for found in (calcli.evaluate(1 - right, labels), calcli.fit(1 - right, labels, method="dp")):
        assert str(found).startswith(TITLE)
    assert TITLE not in str(calcli.evaluate(right, labels))


@pytest.mark.parametrize(("metrics", "said"), [("auroc", True), ("log_loss", False)])
def test_dependent_rows_of_more_classes_are_judged_by_all_rows_or_not_at_all(run, tmp_path, metrics, said):
    labels, logits = three_classes()
    table = {"label": labels, "person": np.arange(len(labels)) // 2}
    table |= {f"logit_{k}": -column for k, column in enumerate(logits.T)}
    pd.DataFrame(table).to_csv(tmp_path / "clusters.csv", index=False)
    done = run("evaluate", tmp_path / "clusters.csv", "--cluster", "person", "--metrics", metrics)
    assert (done.status, TITLE in done.out) == (0, said)


def test_slices_are_not_judged_one_by_one(run, tmp_path):
    labels, right = two_classes()
    site = np.where(np.arange(len(labels)) < 100, "b", "a")
    table = pd.DataFrame({"label": labels, "prob": np.where(site == "b", 1 - right, right), "site": site})
    table.to_csv(tmp_path / "sites.csv", index=False)
    found = json.loads(run("evaluate", tmp_path / "sites.csv", "--by", "site", "--format", "json").out)
    assert not [
        one for result in found["results"] for one in result["warnings"] if one["code"] == "backwards"
    ]


def test_the_case_that_was_reported(run):
    file = REFERENCE / "cases" / "reversed.csv"
    if not file.exists():
        pytest.skip("not beside this checkout: reversed.csv")
    for command in (["evaluate", file], ["fit", file, "-m", "platt"], ["compare", file, file]):
        assert "rank in the wrong direction, beyond chance: AUROC 0.1989" in first_said(run(*command))
