"""One score a row is to a calibrator what it was in the fit, whatever a few rows look like."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

RNG = np.random.default_rng(2)
FIRST = 70  # rows of the first part
LOGITS = np.concatenate([RNG.normal(0, 2, FIRST), RNG.uniform(0, 1, 120 - FIRST)])
LABELS = (RNG.random(120) < 1 / (1 + np.exp(-LOGITS))).astype(int)
PROBS = 1 / (1 + np.exp(-LOGITS))
PERCENT = np.append(np.linspace(60, 1.5, FIRST), np.linspace(0.99, 0.1, 120 - FIRST))
AS_TOLD = {  # what is stored, and how it is known for that
    "logits": (LOGITS, "score", ("--kind", "logits")),
    "percent": (PERCENT, "prob", ("--kind", "percent")),
    "log-probs": (np.log(PROBS), "score", ("--kind", "log-probs")),
}


def fitted(run, folder, kind):
    """Write parts, the last of which looks otherwise, and the whole; fit; return the parts' folder."""
    values, name, told = AS_TOLD[kind]
    rows = pd.DataFrame({"label": LABELS, name: values})
    (folder / "parts").mkdir()
    for number, part in enumerate((rows[:FIRST], rows[FIRST:])):
        part.to_csv(folder / "parts" / f"{number}.csv", index=False)
    rows.to_csv(folder / "whole.csv", index=False)
    done = run("fit", folder / "whole.csv", "-m", "platt", "--folds", 0, "-o", folder / "cal.json", *told)
    assert done.status == 0, done.err
    return folder / "parts"


@pytest.mark.parametrize("kind", AS_TOLD)
def test_parts_and_single_rows_get_what_they_get_in_the_whole(run, tmp_path, kind):
    parts, calibrator = fitted(run, tmp_path, kind), tmp_path / "cal.json"
    assert run("apply", calibrator, tmp_path / "whole.csv", "-o", tmp_path / "out.csv").status == 0
    done = run("apply", calibrator, parts, "-o", tmp_path / "made")
    assert done.status == 0, done.err
    if kind != "log-probs":  # numbers below 0 that are told nothing else of cannot be probabilities
        assert f"taken for {kind}, as in the fit" in done.err.replace("\n", " ")
    whole = pd.read_csv(tmp_path / "out.csv")
    made = pd.concat([pd.read_csv(tmp_path / "made" / f"{n}.csv") for n in range(2)], ignore_index=True)
    pd.testing.assert_frame_equal(made, whole)
    pd.read_csv(tmp_path / "whole.csv")[-1:].to_csv(tmp_path / "one.csv", index=False)
    assert run("apply", calibrator, tmp_path / "one.csv", "-o", tmp_path / "last.csv").status == 0
    last = pd.read_csv(tmp_path / "last.csv")
    pd.testing.assert_frame_equal(last, whole[-1:].reset_index(drop=True))


def test_scores_of_another_column_that_look_otherwise_are_refused_until_the_kind_is_said(run, tmp_path):
    fitted(run, tmp_path, "logits")
    np.save(tmp_path / "x.npy", LOGITS[FIRST:])
    call = ("apply", tmp_path / "cal.json", tmp_path / "x.npy", "-o", tmp_path / "out.csv")
    done = run(*call)
    assert done.status == 2
    assert not (tmp_path / "out.csv").exists()
    assert "look like probs, but the calibrator was fitted on logits" in done.err.replace("\n", " ")
    assert run(*call, "--kind", "logits").status == 0
    assert run("apply", tmp_path / "cal.json", tmp_path / "whole.csv", "-o", tmp_path / "w.csv").status == 0
    found, expected = pd.read_csv(tmp_path / "out.csv"), pd.read_csv(tmp_path / "w.csv")
    np.testing.assert_allclose(found["prob_1"], expected["prob_1"][FIRST:], rtol=1e-12)


def test_a_name_that_says_what_scores_are_is_believed(run, tmp_path):
    fitted(run, tmp_path, "logits")
    pd.DataFrame({"label": LABELS, "prob": PROBS}).to_csv(tmp_path / "named.csv", index=False)
    for name in ("named", "whole"):
        call = ("apply", tmp_path / "cal.json", tmp_path / f"{name}.csv", "-o", tmp_path / f"{name}.out.csv")
        assert run(*call).status == 0
    found = pd.read_csv(tmp_path / "named.out.csv")["prob"]
    expected = pd.read_csv(tmp_path / "whole.out.csv")["prob_1"]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_calibrator_that_does_not_tell_takes_what_scores_look_like(run, tmp_path):
    fitted(run, tmp_path, "logits")
    document = json.loads((tmp_path / "cal.json").read_text())
    del document["fitted_on"]["percent"]
    (tmp_path / "old.json").write_text(json.dumps(document))
    np.save(tmp_path / "x.npy", LOGITS[FIRST:])
    assert run("apply", tmp_path / "old.json", tmp_path / "x.npy", "-o", tmp_path / "out.csv").status == 0
    document["fitted_on"] |= {"percent": False, "kind": ["logits"]}
    (tmp_path / "bad.json").write_text(json.dumps(document))
    done = run("apply", tmp_path / "bad.json", tmp_path / "x.npy", "-o", tmp_path / "bad.csv")
    assert done.status == 2
    assert "of no known kind" in done.err.replace("\n", " ")


def test_states_of_percentages_and_of_probabilities_do_not_merge(run, tmp_path):
    parts = fitted(run, tmp_path, "percent")
    for told in ((), ("--kind", "percent")):
        for number in range(2):
            file, state = parts / f"{number}.csv", tmp_path / f"{number}.calcli"
            assert run("evaluate", file, "--metrics", "brier", "--save-state", state, *told).status == 0
        states = (tmp_path / "0.calcli", tmp_path / "1.calcli")
        done = run("merge", *states, "-o", tmp_path / "whole.calcli")
        assert done.status == (0 if told else 2), done.err
        if not told:
            assert "different kinds of scores (--kind): probs and percent" in done.err.replace("\n", " ")
    found, expected = (
        json.loads(run("evaluate", tmp_path / file, "--metrics", "brier", "-f", "json", *told).out)
        for file, told in (("whole.calcli", ()), ("whole.csv", ("--kind", "percent")))
    )
    brier = [one["results"][0]["metrics"]["brier"]["value"] for one in (found, expected)]
    assert brier[0] == pytest.approx(brier[1], rel=1e-9)
