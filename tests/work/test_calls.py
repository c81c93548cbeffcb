"""Calls from Python: paths of any kind, arguments in the wrong order, settings that change nothing."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calcli
from calcli.core.language.errors import InputError, UsageError

RNG = np.random.default_rng(17)
PROB = RNG.uniform(size=60)
LABELS = (RNG.random(60) < PROB).astype(int)
FRAME = pd.DataFrame({"prob": PROB, "label": LABELS})
BOTH = np.column_stack([1 - PROB, PROB])
FEW = {"draws": 0, "intervals": False}


class Somewhere(os.PathLike):
    """A path of a library of its own; as text it is none."""

    def __init__(self, path):
        self.path = str(path)

    def __fspath__(self):
        return self.path


@pytest.fixture
def folder(tmp_path):
    """Return a folder with predictions, labels, a policy, costs, weights and a calibrator."""
    FRAME.to_csv(tmp_path / "preds.csv", index=False)
    np.save(tmp_path / "probs.npy", PROB)
    np.save(tmp_path / "labels.npy", LABELS)
    (tmp_path / "policy.toml").write_text('[[rules]]\nmetric = "log_loss"\nmax = 5\n')
    (tmp_path / "costs.csv").write_text("decision,a,b\n0,0,1\n1,5,0\n")
    (tmp_path / "weights.csv").write_text("threshold,weight\n0,1\n1,1\n")
    calcli.save(calcli.Platt(scores_are="probs").fit(PROB, LABELS), tmp_path / "cal.json")
    return tmp_path


READ = {
    "read": lambda at: calcli.read(at("preds.csv")),
    "labels": lambda at: calcli.read(at("probs.npy"), labels=at("labels.npy")),
    "evaluate": lambda at: calcli.evaluate(at("preds.csv"), **FEW),
    "evaluate with labels": lambda at: calcli.evaluate(at("probs.npy"), at("labels.npy"), **FEW),
    "calibration data": lambda at: calcli.evaluate(FRAME, calibration_data=at("preds.csv"), **FEW),
    "costs": lambda at: calcli.evaluate(FRAME, costs=at("costs.csv"), **FEW),
    "several costs": lambda at: calcli.evaluate(FRAME, costs=["balanced", at("costs.csv")], **FEW),
    "weights": lambda at: calcli.evaluate(
        FRAME, threshold_weights={"w": at("weights.csv")}, metrics="weighted_risk:weights=w", **FEW
    ),
    "fit": lambda at: calcli.fit(at("preds.csv"), method="bias", folds=0),
    "apply": lambda at: calcli.fit(FRAME, method="bias", folds=0).apply(at("preds.csv")),
    "compare": lambda at: calcli.compare(at("preds.csv"), at("preds.csv"), metrics="log_loss", draws=0),
    "check": lambda at: calcli.check(at("preds.csv"), at("policy.toml"), at("preds.csv")),
    "plot": lambda at: calcli.plot(at("preds.csv"), **FEW),
    "calibrator": lambda at: calcli.plot(
        FRAME, figure="calibration-map", calibrator=[at("cal.json")], **FEW
    ),
    "State": lambda at: calcli.State.of(at("preds.csv")),
    "load": lambda at: calcli.load(at("cal.json")),
}  # fmt: skip
WRITTEN = {
    "new.png": lambda path: calcli.plot(FRAME, **FEW).save(path),
    "new.svg": lambda path: calcli.plot(FRAME, **FEW).save(path),
    "new.pdf": lambda path: calcli.figures.save(calcli.plot(FRAME, **FEW).figure, path),
    "new.json": lambda path: calcli.evaluate(FRAME, **FEW).save(path),
    "new.md": lambda path: calcli.compare(FRAME, FRAME, metrics="log_loss", draws=0).save(path),
    "new.txt": lambda path: calcli.check(FRAME, {"rules": [{"metric": "log_loss", "max": 5}]}).save(path),
    "new.npz": lambda path: calcli.fit(FRAME, method="bias", folds=0).save(path),
    "cal.json": lambda path: calcli.save(calcli.Platt(scores_are="probs").fit(PROB, LABELS), path),
}


@pytest.mark.parametrize("kind", [Path, Somewhere])  # others give text
@pytest.mark.parametrize("call", READ)
def test_what_is_read_has_a_path_of_any_kind(folder, call, kind):
    assert READ[call](lambda name: kind(folder / name)) is not None


@pytest.mark.parametrize(
    ("name", "kind"), [*((name, Somewhere) for name in WRITTEN), ("new.json", str), ("cal.json", str)]
)
def test_what_is_written_has_a_path_of_any_kind(tmp_path, name, kind):
    WRITTEN[name](kind(tmp_path / name))
    assert [one.name for one in tmp_path.iterdir()] == [name]
    WRITTEN[name](tmp_path / f"other{Path(name).suffix}")
    assert (tmp_path / name).read_bytes() == (tmp_path / f"other{Path(name).suffix}").read_bytes()


@pytest.mark.parametrize("kind", [str, Somewhere])
def test_the_standard_set_goes_to_a_folder_of_any_kind(tmp_path, kind):
    written = calcli.figures.standard_set(calcli.evaluate(FRAME, **FEW).evaluation, kind(tmp_path))
    assert set(written) == set(tmp_path.iterdir())


@pytest.mark.parametrize("path", ["new", "new.gif", Path("new.jpg")])
def test_a_figure_has_one_of_three_endings(path):
    drawing = calcli.plot(FRAME, **FEW)
    with pytest.raises(UsageError, match="figures are written as png, svg, pdf, not as"):
        drawing.save(path)
    with pytest.raises(UsageError, match="path is 3; expected a path"):
        drawing.save(3)


SWAPPED = {
    "evaluate": lambda: calcli.evaluate(LABELS, PROB),
    "both": lambda: calcli.evaluate(LABELS, BOTH),
    "one-hot": lambda: calcli.evaluate(np.eye(2)[LABELS], BOTH),
    "names": lambda: calcli.evaluate(np.array(["cat", "dog"])[LABELS], PROB),
    "floats": lambda: calcli.evaluate(LABELS * 1.0, np.float32(PROB)),
    "lists": lambda: calcli.evaluate(LABELS.tolist(), PROB.tolist()),
    "series": lambda: calcli.evaluate(FRAME["label"], FRAME["prob"]),
    "truth": lambda: calcli.evaluate(LABELS == 1, PROB),
    "log-odds": lambda: calcli.evaluate(LABELS, np.log(PROB / (1 - PROB))),
    "keywords": lambda: calcli.evaluate(scores=LABELS, labels=PROB),
    "answers": lambda: calcli.evaluate(confidence=LABELS, correct=PROB),
    "fit": lambda: calcli.fit(LABELS, PROB),
    "plot": lambda: calcli.plot(LABELS, PROB),
    "State": lambda: calcli.State.of(LABELS, PROB),
    "calibrator": lambda: calcli.Platt(scores_are="probs").fit(LABELS, PROB),
}


@pytest.mark.parametrize("call", SWAPPED)
def test_swapped_arguments_look_so(call):
    with pytest.raises(InputError, match="they look swapped") as told:
        SWAPPED[call]()
    assert (call == "answers") or "expected the scores first, then the labels" in str(told.value)


@pytest.mark.parametrize(
    ("scores", "labels"),
    [(BOTH, BOTH), (np.round(BOTH * 9).astype(int) + 1, BOTH), (PROB, PROB), (BOTH, PROB)],
)
def test_other_wrong_labels_do_not(scores, labels):
    with pytest.raises(InputError) as told:
        calcli.evaluate(scores, labels)
    assert "swapped" not in str(told.value)


def test_arrays_cannot_be_compared_or_checked():
    for call in (
        lambda: calcli.compare(LABELS, PROB),
        lambda: calcli.compare(FRAME, PROB),
        lambda: calcli.check(PROB, {"rules": [{"metric": "log_loss", "max": 5}]}),
        lambda: calcli.evaluate(FRAME, calibration_data=PROB),
    ):
        with pytest.raises(UsageError, match=r"labels are missing: .*put arrays in a data frame"):
            call()


IDLE = {
    "--costs has no effect": lambda: calcli.evaluate(FRAME, costs="balanced", metrics="log_loss", **FEW),
    "--calibration-data has no effect": lambda: calcli.evaluate(
        FRAME, calibration_data=FRAME, metrics="accuracy", **FEW
    ),
    "--candidates has no effect": lambda: calcli.fit(
        FRAME, method="bias", candidates=["dp"], folds=0
    ),
    '--score brier has no effect': lambda: calcli.fit(FRAME, method="bias", score="brier", folds=0),
    "--lens class-1 has no effect: no figure": lambda: calcli.plot(
        FRAME, figure="scores", lens="class-1", **FEW
    ),
}  # fmt: skip


@pytest.mark.parametrize("told", IDLE)
def test_settings_that_change_nothing_are_told(told):
    """As a warning at the line that gives them, and all else is done."""
    with pytest.warns(UserWarning, match=told) as warned:
        assert IDLE[told]() is not None
    assert [one.filename for one in warned] == [__file__]


def test_settings_that_figures_use_are_not_told():
    three = pd.DataFrame(RNG.dirichlet(np.ones(3), 60), columns=list("abc"))
    three["label"] = RNG.choice(list("abc"), 60)
    calcli.plot(three, lens="kind", groups={"kind": {"a": "x", "b": "x", "c": "y"}}, **FEW)
    calcli.plot(FRAME, figure="ks:knots=5", **FEW)
    calcli.plot(FRAME, figure="scores", metrics="normalized_brier,ece", **FEW)
