"""The choice among methods: its rule, the pool, and how sure it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from calcli.core.calibrators.base import make
from calcli.core.calibrators.crossvalidation import LabeledScores, held_out_folds
from calcli.core.calibrators.pool import Pool
from calcli.core.data.arrays import Stream, generator
from calcli.core.data.units import random_folds
from calcli.core.language.expressions import parse_method, parse_methods
from calcli.core.language.settings import FitSettings
from calcli.core.recalibrating.choosing import _resampled_choice, candidates_for, freedom, repeats, sureness
from calcli.core.recalibrating.fitting import fit
from tests.core.samples import drawn


def mixed_up(n):
    """Logits that are too large and lack what each class has before: a mean of two maps beats both."""
    rng = np.random.default_rng(3)
    logits = 3 * rng.standard_normal((n, 3))
    right = logits / 3 + [1.0, 0.0, -1.0]
    probs = np.exp(right) / np.exp(right).sum(axis=1, keepdims=True)
    return logits, (probs.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


def test_auto_takes_a_pool_only_where_it_is_listed_and_gains(predict):
    logits, labels = mixed_up(3000)
    predictions = predict(logits, labels, kind="logits")
    alone = fit(predictions, parse_methods(["temperature", "bias"]))
    assert all(one.method is None or one.method.entry.name != "pool" for one in alone.candidates)
    found = fit(predictions, parse_methods(["temperature", "bias", "pool"]))
    pool = found.candidates[-1]
    assert pool.method.entry.name == "pool"
    assert found.method == pool.method
    assert isinstance(found.calibrator, Pool)
    others = [one.values["log_loss"] for one in found.candidates[:-1]]
    assert found.cross_validated["log_loss"] == pool.values["log_loss"] < min(others)
    assert found.after["log_loss"] == pytest.approx(
        -np.log(found.calibrator.predict_proba(logits)[np.arange(3000), labels]).mean()
    )


@pytest.mark.parametrize(("gain", "chosen"), [(0.005, "a"), (0.02, "pool")])
def test_a_pool_that_gains_less_than_a_hundredth_is_not_worth_its_members(gain, chosen):
    losses = [np.ones(400), np.full(400, 1 - gain)]
    found = sureness(["a", "pool"], [(0.0,)], losses, None, 0, repeats=1)
    assert (found.share, found.others) == ((1, {}) if chosen == "a" else (0, {"pool": 1.0}))


def test_of_methods_equally_free_the_best_is_chosen(predict):
    rng = np.random.default_rng(3)
    base = rng.random(300)
    noise = rng.normal(0, 0.3, 300)  # of a standard error of .017
    losses = np.array([base + noise - noise.mean() + 0.01, base + 0.05, base])
    even = np.full(300, 1 / 300)
    assert _resampled_choice(losses, even, [(0.0,), (1.0,), (2.0,)], np.zeros(300)) == 0
    assert _resampled_choice(losses, even, [(0.0,), (1.0,), (0.0,)], np.zeros(300)) == 2
    assert freedom(parse_method("temperature")) < freedom(parse_method("temperature-mix"))


def test_a_method_better_in_every_row_is_chosen_surely_and_without_optimism():
    base = np.random.default_rng(1).random(500)
    found = sureness(["a", "b"], [(0.0,), (1.0,)], [base + 0.5, base], None, 1, repeats=1)
    assert found.share == 1
    assert found.others == {}
    assert found.optimism == 0


def test_few_rows_are_dealt_several_times():
    assert [repeats(n, 10) for n in (100, 999, 1000)] == [10, 3, 1]
    assert [repeats(100, k) for k in (2, 300, 1000, 5000)] == [10, 10, 3, 1]


def test_candidates_stand_in_the_order_of_their_freedom():
    calls = sorted(parse_methods(candidates_for(10, 1000)), key=freedom)
    names = [str(call) for call in calls]
    assert names[0] == "temperature"
    structured = [call for call in calls if call.entry.name == "structured"]
    forms = [call.arguments["form"] for call in structured]
    assert forms == sorted(forms)  # diagonal before matrix
    matrices = [call.arguments["off_diagonal_penalties"][0] for call in structured[forms.index("matrix") :]]
    assert matrices == sorted(matrices, reverse=True)
    assert not any(name.startswith(("structured", "pool")) for name in candidates_for(5, 1000, quick=True))


@pytest.mark.parametrize(
    ("classes", "rows", "there"),
    [(2, 100, True), (2, 99, False), (10, 500, True), (10, 499, False), (11, 5000, False)],
)
def test_maps_with_a_value_for_every_score_need_rows_of_each_class(classes, rows, there):
    assert ("isotonic" in candidates_for(classes, rows)) is there
    assert ("centered-isotonic" in candidates_for(classes, rows)) is there


def test_the_score_rules_the_pool(predict):
    logits, labels = mixed_up(1500)
    predictions = predict(logits, labels, kind="logits")
    calls = parse_methods(["temperature", "bias", "pool"])
    by = {
        score: fit(predictions, calls, FitSettings(score=score)).candidates[-1]
        for score in ("log_loss", "brier")
    }
    rows = np.arange(1500)

    def of_members(pool):
        return [
            held_out_folds(make(parse_method(name)), LabeledScores(logits, labels), fold)
            for name in pool.method.arguments["members"].split("+")
        ]

    fold = random_folds(1500, 5, generator(0, Stream.FITS))
    members, scored = of_members(by["log_loss"]), {}
    for score, pool in by.items():
        weights = np.array(pool.method.arguments["weights"])
        probs = np.tensordot(weights / weights.sum(), np.exp(members), axes=1)
        own = probs[rows, labels]
        brier = np.mean(np.square(probs).sum(axis=1) - 2 * own + 1)
        scored[score] = {"log_loss": -np.log(own).mean(), "brier": brier}
    assert scored["brier"]["brier"] < scored["log_loss"]["brier"]
    assert scored["log_loss"]["log_loss"] < scored["brier"]["log_loss"]


def test_a_pool_is_judged_by_weights_of_the_rows_outside_a_fold_in_all_deals(predict):
    logits, labels = mixed_up(300)
    calls = parse_methods(["temperature", "bias", "pool"])
    pool = fit(predict(logits, labels, kind="logits"), calls).candidates[-1]
    rng, every = generator(0, Stream.FITS), LabeledScores(logits, labels)
    folds = [random_folds(300, 5, rng) for _ in range(repeats(300, 3))]
    first, second = (
        np.exp([held_out_folds(make(call), every, fold) for fold in folds])[:, np.arange(300), labels]
        for call in calls[:2]
    )
    losses = []
    for fold, one, other in zip(folds, first, second, strict=True):
        for number in range(5):
            out, kept = fold == number, fold != number
            share = minimize_scalar(
                lambda w, kept=kept: -np.log(w * first[:, kept] + (1 - w) * second[:, kept]).sum(),
                bounds=(0, 1), method="bounded", options={"xatol": 1e-9},
            ).x  # fmt: skip
            losses.append(-np.log(share * one[out] + (1 - share) * other[out]).sum())
    assert pool.values["log_loss"] == pytest.approx(sum(losses) / (300 * len(folds)), abs=1e-6)


def test_any_number_of_processes_chooses_the_same(predict):
    logits, labels = drawn(150, 3)
    predictions = predict(logits, labels, kind="logits", weights=np.random.default_rng(5).random(150))
    names = ["dp", "structured:penalties=0.3:off_diagonal_penalties=3", "temperature", "pool"]
    names += ["structured:penalties=0.3:off_diagonal_penalties=10", "spline:lens=within-top-3"]
    one, two = (fit(predictions, parse_methods(names), FitSettings(workers=n)) for n in (1, 2))
    assert sum(bool(candidate.failed) for candidate in one.candidates) == 1
    assert repr(one.candidates) == repr(two.candidates)
    assert repr((one.method, one.sureness)) == repr((two.method, two.sureness))
    assert (one.workers, two.workers) == (1, 2)
