"""A fitted calibrator takes scores of the kind it was fitted to: from a fit, copied, saved and loaded."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import clone

import calcli
from calcli.core.language.errors import InputError, UsageError

RNG = np.random.default_rng(3)
N = 300
ODDS = RNG.normal(size=N) * 3
HIT = (RNG.random(N) < expit(ODDS / 2)).astype(int)
PAIR = np.column_stack([expit(-ODDS), expit(ODDS)])
LOGITS = RNG.normal(size=(N, 3)) * 2
PROBS = softmax(LOGITS, axis=1)
TRUE = np.array([RNG.choice(3, p=row) for row in softmax(LOGITS / 2, axis=1)])
NAMES = np.array(["ant", "bee", "cat"])
WORDS = np.array(["no", "yes"])
SURE = PAIR.max(axis=1)
RIGHT = RNG.random(N) < SURE


class Case(NamedTuple):
    """Scores as they come later, and how they are fitted to."""

    later: Any
    labels: Any = HIT
    said: dict[str, Any] | None = None

    def fit(self, method: str) -> calcli.Fitted:
        given = {} if self.labels is None else {"data": self.later, "labels": self.labels}
        return calcli.fit(**given, **(self.said or {}), method=method, folds=0)


def frame(scores, columns, labels):
    return Case(
        pd.DataFrame(scores, columns=columns),
        None,
        {"data": pd.DataFrame(scores, columns=columns).assign(label=labels)},
    )


CASES = {
    "probabilities": Case(PAIR[:, 1]),
    "probabilities, float32": Case(PAIR[:, 1].astype(np.float32)),
    "a column of probabilities": Case(PAIR[:, 1:]),
    "both probabilities": Case(PAIR),
    "percentages": Case(PAIR[:, 1] * 100, said={"kind": "percent"}),
    "both percentages": Case(PAIR * 100, said={"kind": "percent"}),
    "log-odds": Case(ODDS),
    "logarithms": Case(log_expit(ODDS), said={"kind": "log-probs"}),
    "both logits": Case(np.column_stack([-ODDS, ODDS]) / 2),
    "probabilities of three": Case(PROBS, TRUE),
    "rounded": Case(PROBS.round(2), TRUE),
    "half precision": Case(PROBS.astype(np.float16), TRUE),
    "percentages of three": Case(PROBS * 100, TRUE, {"kind": "percent"}),
    "logits of three": Case(LOGITS, TRUE),
    "log-probabilities of three": Case(log_softmax(LOGITS, axis=1), TRUE),
    "named classes": Case(PROBS, NAMES[TRUE], {"classes": NAMES}),
    "the first class is positive": Case(PAIR, WORDS[HIT], {"classes": WORDS, "positive": "no"}),
    "the second class is positive": Case(PAIR, WORDS[HIT], {"classes": WORDS, "positive": "yes"}),
    "one score, of the first class": Case(
        PAIR[:, 1], WORDS[HIT], {"classes": WORDS, "positive": "no"}
    ),
    "answers": Case(SURE, None, {"confidence": SURE, "correct": RIGHT}),
    "a data frame": frame(PROBS, ["prob_ant", "prob_bee", "prob_cat"], NAMES[TRUE]),
    "a data frame with one column": frame(PAIR[:, 1:], ["prob"], HIT),
    "a data frame of log-odds": frame(ODDS[:, None], ["logit"], HIT),
    "a data frame of percentages": frame(PAIR[:, 1:] * 100, ["prob"], HIT),
}  # fmt: skip


OF_KIND = {
    "logits": ODDS,
    "log-probs": log_expit(ODDS),
    "probs": PAIR[:, 1],
    "percent": PAIR[:, 1] * 100,
}


def again(fitted, folder):
    """Yield the calibrator of a fit as it is had later."""
    yield fitted.calibrator
    yield copy.deepcopy(fitted.calibrator)
    yield pickle.loads(pickle.dumps(fitted)).calibrator
    for ending in ("json", "npz"):
        fitted.save(folder / f"fit.{ending}")
        yield calcli.load(folder / f"fit.{ending}")
        calcli.save(fitted.calibrator, folder / f"cal.{ending}")
        yield calcli.load(folder / f"cal.{ending}")
        calcli.save(calcli.load(folder / f"cal.{ending}"), folder / f"cal2.{ending}")
        yield calcli.load(folder / f"cal2.{ending}")


@pytest.mark.parametrize("method", ["temperature", "isotonic", "beta"])
@pytest.mark.parametrize("case", CASES)
def test_predict_proba_is_apply(case, method, tmp_path):
    fitted, later = CASES[case].fit(method), CASES[case].later
    expected = fitted.apply(later)
    for calibrator in again(fitted, tmp_path):
        np.testing.assert_array_equal(calibrator.predict_proba(later), expected)
        np.testing.assert_array_equal(calibrator.predict_proba(later[:1]), expected[:1])
        np.testing.assert_array_equal(
            calibrator.predict(later[:9]), calibrator.classes_[expected[:9].argmax(1)]
        )


def test_single_probabilities_by_hand(tmp_path):
    """Temperature scaling: odds to the power of 1 / T."""
    fitted = calcli.fit(PAIR[:, 1], HIT, method="temperature")
    power = 1 / fitted.calibrator.parameters["temperature"]
    scores = np.array([0.01, 0.2, 0.9])
    expected = scores**power / (scores**power + (1 - scores) ** power)
    fitted.save(tmp_path / "cal.json")
    for calibrator in (fitted.calibrator, calcli.load(tmp_path / "cal.json")):
        np.testing.assert_allclose(calibrator.predict_proba(scores)[:, 1], expected, rtol=1e-12)
        assert calibrator.scores_are == "probs"


@pytest.mark.parametrize("ending", ["json", "npz"])
def test_calibrators_fitted_by_themselves_are_restored(ending, tmp_path):
    path = tmp_path / f"cal.{ending}"
    for kind, scores in OF_KIND.items():
        fitted = calcli.Platt(scores_are=kind).fit(scores, HIT)
        calcli.save(fitted, path)
        assert repr(calcli.load(path)) == repr(fitted)
        np.testing.assert_array_equal(calcli.load(path).predict_proba(scores), fitted.predict_proba(scores))
        np.testing.assert_allclose(
            fitted.predict_proba(scores), calcli.Platt().fit(ODDS, HIT).predict_proba(ODDS), rtol=1e-5
        )


@pytest.mark.parametrize("ending", ["json", "npz"])
def test_a_data_frame_with_other_columns_is_restored(ending, tmp_path):
    """The names of the columns tell, also after saving; without them nothing does."""
    order, path = [2, 0, 1], tmp_path / f"cal.{ending}"
    scores = pd.DataFrame(LOGITS[:, order], columns=NAMES[order])
    fitted = calcli.DPAffine().fit(scores, NAMES[TRUE])
    calcli.save(fitted, path)
    expected = calcli.DPAffine().fit(LOGITS, TRUE).predict_proba(LOGITS)
    for calibrator in (fitted, calcli.load(path)):
        for columns in (order, [1, 0, 2]):
            found = calibrator.predict_proba(pd.DataFrame(LOGITS[:, columns], columns=NAMES[columns]))
            np.testing.assert_allclose(found, expected, rtol=1e-9)
        with pytest.raises(InputError, match="fit was to a data frame with columns in another order"):
            calibrator.predict_proba(scores.to_numpy())


def test_columns_of_a_fit_are_known_by_name():
    table = pd.DataFrame(PROBS, columns=["p1", "p2", "p3"]).assign(label=NAMES[TRUE])
    fitted = calcli.fit(table, scores="p1,p2,p3", classes=NAMES, method="dp", folds=0)
    expected = fitted.apply(PROBS)
    np.testing.assert_array_equal(fitted.calibrator.predict_proba(table[["p3", "p1", "p2"]]), expected)
    np.testing.assert_array_equal(fitted.apply(table[["p3", "p1", "p2"]]), expected)


LOG_ODDS = calcli.Temperature().fit(ODDS, HIT)
OF_LOGITS = calcli.Temperature().fit(LOGITS, TRUE)


@pytest.mark.parametrize("fit_first", [False, True])
@pytest.mark.parametrize(
    ("scores", "labels", "kind", "message"),
    [
        (PAIR[:, 1], HIT, "probs", "lie between 0 and 1, as probabilities do; expected log-odds"),
        (PAIR[:2, 1:], HIT[:2], "probs", "lie between 0 and 1"),
        (PAIR[:, 1] * 100, HIT, "percent", "lie between 0 and 100, as percentages do; expected log-odds"),
        (PAIR, HIT, "probs", "are probabilities, from 0 to 1 and with rows that sum to 1; expected logits"),
        (PROBS, TRUE, "probs", "are probabilities"),
        (PROBS.round(2), TRUE, "probs", "are probabilities"),
        (PROBS.astype(np.float16), TRUE, "probs", "are probabilities"),
        (PROBS * 100, TRUE, "percent", "are percentages, from 0 to 100 and with rows that sum to 100"),
    ],
)
def test_logits_that_are_none_are_refused_with_what_mends_it(scores, labels, kind, message, fit_first):
    """What predict_proba refuses, fit does too; what either says to do is done."""
    known = LOG_ODDS if len(np.unique(labels)) < 3 else OF_LOGITS
    calibrator = copy.deepcopy(known) if fit_first else calcli.Temperature()
    where = "in set_params" if fit_first else "in the constructor"
    with pytest.raises(InputError, match=message) as caught:
        calibrator.predict_proba(scores) if fit_first else calibrator.fit(scores, labels)
    assert f"scores_are='{kind}' {where} takes" in str(caught.value)
    if fit_first:
        found = calibrator.set_params(scores_are=kind).predict_proba(scores)
        shares = np.float64(scores) / (100 if kind == "percent" else 1)
        if shares.ndim == 1 or shares.shape[1] == 1:
            shares = np.column_stack([1 - shares.ravel(), shares.ravel()])
        with np.errstate(divide="ignore"):
            expected = np.exp(known.apply(np.log(shares)))
        np.testing.assert_allclose(found, expected, atol=1e-6)
    else:
        calcli.Temperature(scores_are=kind).fit(scores, labels)


def test_log_odds_between_0_and_1_are_given_as_two_columns():
    scores = np.array([0.3, 0.6, 0.99])
    with pytest.raises(InputError, match="two columns, 0 and the log-odds"):
        LOG_ODDS.predict_proba(scores)
    found = LOG_ODDS.predict_proba(np.column_stack([0 * scores, scores]))
    np.testing.assert_allclose(found[:, 1], expit(scores / LOG_ODDS.parameters["temperature"]))
    np.testing.assert_array_equal(LOG_ODDS.predict_proba(scores[:1]), found[:1])  # a lone one may be log-odds
    np.testing.assert_array_equal(LOG_ODDS.predict_proba([0.99])[0], found[2])


@pytest.mark.parametrize(
    ("kind", "scores", "message"),
    [
        ("probs", [0.2, -0.1], "score of class 1 in row 1 is -0.1; expected probabilities, from 0 to 1"),
        ("probs", [20.0, 30.0], "class 1 in row 0 is 20; expected probabilities"),
        ("percent", [20.0, 130.0], "class 1 in row 1 is 130; expected percentages, from 0 to 100"),
        (
            "log-probs",
            [-0.5, 0.5],
            "class 1 in row 1 is 0.5; expected logarithms of probabilities, at most 0",
        ),
        ("logits", [-0.5, 1e31], r"class 1 in row 1 is 1e\+31; expected logits of at most 1e\+30"),
        ("probs", [[0.2, 0.7]], "row 0 sums to 0.9; expected probabilities that sum to 1; divide each row"),
        ("percent", [[20, 70]], "row 0 sums to 90; expected percentages that sum to 100; divide each row"),
    ],
)
def test_what_is_not_of_the_kind_is_refused(kind, scores, message):
    fitted = calcli.Temperature(scores_are=kind)
    fitted.fit(
        {"probs": PAIR, "percent": PAIR * 100, "logits": ODDS, "log-probs": log_expit(ODDS)}[kind], HIT
    )
    with pytest.raises(InputError, match=message) as caught:
        fitted.predict_proba(scores)
    told = "scores_are='logits' in set_params takes logits and log-probabilities" in str(caught.value)
    assert told == (kind != "logits")
    if kind != "logits" and np.ndim(scores) == 1:
        fitted.set_params(scores_are="logits").predict_proba(np.array(scores) - 3)


def test_raw_logits_have_no_other_kind():
    fitted = calcli.fit(LOGITS, TRUE, method="vector:input=raw", folds=0)
    for calibrator in (fitted.calibrator, calcli.VectorScaling(input="raw").fit(LOGITS, TRUE)):
        with pytest.raises(InputError, match=r"are probabilities, .*; expected logits$"):
            calibrator.predict_proba(PROBS)
        with pytest.raises(UsageError, match="takes raw logits; expected scores_are='logits'"):
            calibrator.set_params(scores_are="probs")


def test_files_that_do_not_tell_the_kind(tmp_path):
    """Those of `fit` always told it; those of `save` did where it was probabilities, by a setting."""
    fitted = calcli.fit(PAIR[:, 1], HIT, method="temperature", folds=0)
    fitted.save(tmp_path / "new.json")
    document = json.loads((tmp_path / "new.json").read_text())
    (tmp_path / "old.json").write_text(json.dumps(document | {"fitted_on": {}}))
    silent = calcli.load(tmp_path / "old.json")
    with pytest.raises(InputError, match=r"lie between 0 and 1, .*scores_are='probs' in set_params"):
        silent.predict_proba(PAIR[:, 1])
    expected = fitted.apply(PAIR[:, 1])
    silent.set_params(scores_are="probs")
    np.testing.assert_array_equal(silent.predict_proba(PAIR[:, 1]), expected)
    document |= {"fitted_on": {}, "settings": {"scores_are": "probs"}}
    (tmp_path / "set.json").write_text(json.dumps(document))
    np.testing.assert_array_equal(calcli.load(tmp_path / "set.json").predict_proba(PAIR[:, 1]), expected)


def test_scikit_learn_fits_a_clone_to_the_same_kind():
    fitted = calcli.fit(PAIR[:, 1], HIT, method="platt", folds=0)
    other = clone(fitted.calibrator).fit(PAIR[:, 1], HIT)
    np.testing.assert_allclose(other.predict_proba(PAIR[:, 1]), fitted.apply(PAIR[:, 1]), rtol=1e-6)
