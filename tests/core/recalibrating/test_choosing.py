"""The choice among methods: its rule, the pool, and how sure it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from calcli.core.calibrators.base import make
from calcli.core.calibrators.crossvalidation import simplest
from calcli.core.calibrators.pool import Pool, pool_weights
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_method, parse_methods
from calcli.core.language.settings import FitSettings
from calcli.core.recalibrating.candidates import candidates_for, freedom
from calcli.core.recalibrating.choosing import _resampled_choice, repeats, sureness
from calcli.core.recalibrating.fitting import fit
from tests.core.samples import drawn


def members(rng, n, classes):
    """Probabilities of three members, and labels drawn from a mixture of them."""
    probs = rng.dirichlet(np.ones(classes), (3, n))
    mixed = np.tensordot([0.5, 0.5, 0.0], probs, axes=1)
    labels = (mixed.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return probs, labels


@pytest.mark.parametrize("score", ["log_loss", "brier"])
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_of_a_pool_are_those_that_scipy_finds(score, weighted):
    rng = np.random.default_rng(2)
    probs, labels = members(rng, 400, 4)
    share = rng.random(400) if weighted else np.ones(400)

    def loss(w):
        mixed = np.tensordot(w, probs, axes=1)
        own = mixed[np.arange(400), labels]
        losses = -np.log(own) if score == "log_loss" else (mixed**2).sum(axis=1) - 2 * own
        return np.average(losses, weights=share)

    found = pool_weights(np.log(probs), labels, share if weighted else None, score)
    oracle = optimize.minimize(
        loss, np.full(3, 1 / 3), bounds=[(0, 1)] * 3, method="SLSQP",
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1}, options={"ftol": 1e-12},
    )  # fmt: skip
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0
    assert loss(found) <= oracle.fun + 1e-9


def test_a_pool_is_the_mean_of_its_members():
    logits, labels = drawn(200, 3)
    pool = Pool(members="temperature+dp", weights=(0.25, 0.75)).fit(logits, labels)
    made = [parse_method(name) for name in ("temperature", "dp")]
    first, second = (make(call).fit(logits, labels).predict_proba(logits) for call in made)
    np.testing.assert_allclose(pool.predict_proba(logits), 0.25 * first + 0.75 * second)
    with pytest.raises(UsageError, match="2 members need 2 weights"):
        Pool(members="temperature+dp", weights=(1.0,))


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
    assert all(one.call is None or one.call.entry.name != "pool" for one in alone.candidates)
    found = fit(predictions, parse_methods(["temperature", "bias", "pool"]))
    pool = found.candidates[-1]
    assert pool.call.entry.name == "pool"
    assert found.call == pool.call
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


def test_resamples_choose_by_the_same_rule():
    rng = np.random.default_rng(0)
    for _ in range(50):
        losses = rng.normal(0, 1, 60) * 0.05 + rng.normal(0, 0.3, (5, 60))
        chosen, _ = simplest(list(losses), None)
        assert (
            _resampled_choice(losses, np.full(60, 1 / 60), [(float(k),) for k in range(5)], np.zeros(60))
            == chosen
        )


def test_of_methods_equally_free_the_best_is_chosen(predict):
    rng = np.random.default_rng(3)
    base = rng.random(300)
    noise = rng.normal(0, 0.3, 300)  # of a standard error of .017
    losses = np.array([base + noise - noise.mean() + 0.01, base + 0.05, base])
    even = np.full(300, 1 / 300)
    assert _resampled_choice(losses, even, [(0.0,), (1.0,), (2.0,)], np.zeros(300)) == 0
    assert _resampled_choice(losses, even, [(0.0,), (1.0,), (0.0,)], np.zeros(300)) == 2
    assert freedom(parse_method("temperature")) == freedom(parse_method("temperature-mix"))
    labels = rng.integers(0, 3, 120)
    hits = np.where(rng.random(120) < 0.99, labels, (labels + 1) % 3)  # a few that are sure and wrong
    predictions = predict(8 * np.eye(3)[hits] + rng.normal(size=(120, 3)), labels, kind="logits")
    found = fit(predictions, parse_methods(["temperature", "temperature-mix"]), FitSettings())
    one, other = (candidate.values["log_loss"] for candidate in found.candidates[1:])
    assert found.cross_validated["log_loss"] == min(one, other)


def test_a_method_better_in_every_row_is_chosen_surely_and_without_optimism():
    base = np.random.default_rng(1).random(500)
    found = sureness(["a", "b"], [(0.0,), (1.0,)], [base + 0.5, base], None, 1, repeats=1)
    assert found.share == 1
    assert found.others == {}
    assert found.optimism == 0


def test_choice_by_chance_is_told():
    losses = np.random.default_rng(1).normal(1, 1, (12, 200))  # none is better than another
    means = losses.mean(axis=1)
    chosen, _ = simplest(list(losses), None)
    ranks = [(float(k),) for k in range(12)]
    found = sureness([str(k) for k in range(12)], ranks, list(losses), None, chosen, repeats=1)
    assert found.share < 0.9
    assert found.share + sum(found.others.values()) == pytest.approx(1)
    assert 0 <= found.optimism < 0.5
    assert means.std() > 0


def test_few_rows_are_dealt_several_times():
    assert [repeats(n, 10) for n in (100, 999, 1000)] == [10, 3, 1]
    assert [repeats(100, k) for k in (2, 300, 1000, 5000)] == [10, 10, 3, 1]


def test_candidates_stand_in_the_order_of_their_freedom():
    calls = sorted(parse_methods(candidates_for(10)), key=freedom)
    names = [str(call) for call in calls]
    assert names[0] == "temperature"
    structured = [call for call in calls if call.entry.name == "structured"]
    forms = [call.arguments["form"] for call in structured]
    assert forms == sorted(forms)  # diagonal before matrix
    matrices = [call.arguments["off_diagonal_penalties"][0] for call in structured[forms.index("matrix") :]]
    assert matrices == sorted(matrices, reverse=True)
    assert not any(name.startswith(("structured", "pool")) for name in candidates_for(5, quick=True))


def test_the_score_rules_the_pool(predict):
    logits, labels = mixed_up(1500)
    predictions = predict(logits, labels, kind="logits")
    calls = parse_methods(["temperature", "bias", "pool"])
    by = {
        score: fit(predictions, calls, FitSettings(score=score)).candidates[-1]
        for score in ("log_loss", "brier")
    }
    assert by["brier"].values["brier"] <= by["log_loss"].values["brier"] + 1e-9
    assert by["log_loss"].values["log_loss"] <= by["brier"].values["log_loss"] + 1e-9


@pytest.mark.parametrize("weighted", [False, True])
def test_any_number_of_processes_chooses_the_same(predict, weighted):
    rng = np.random.default_rng(5)
    logits, labels = drawn(150, 3)
    predictions = predict(logits, labels, kind="logits", weights=rng.random(150) if weighted else None)
    names = ["dp", "structured:penalties=0.3:off_diagonal_penalties=3", "temperature", "pool"]
    names += ["structured:penalties=0.3:off_diagonal_penalties=10", "spline:lens=within-top-3"]
    one, two = (fit(predictions, parse_methods(names), FitSettings(workers=n)) for n in (1, 2))
    assert sum(bool(candidate.failed) for candidate in one.candidates) == 1
    assert repr(one.candidates) == repr(two.candidates)
    assert repr((one.call, one.sureness)) == repr((two.call, two.sureness))
    assert (one.workers, two.workers) == (1, 2)
