"""States in Python are made of arrays, sent as bytes, merged, and taken for predictions."""

from __future__ import annotations

import math
import pickle
from dataclasses import astuple

import numpy as np
import pytest

import calcli
from calcli.core.data.units import hashed
from calcli.core.language.errors import InputError, UsageError
from calcli.core.state import sample
from calcli.core.state.random_groups import first_number
from calcli.io.handed import from_arrays

METRICS = "log_loss,accuracy,ece,ks"


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(1000, 3))
    return logits, (logits + rng.gumbel(size=logits.shape)).argmax(1)


def test_parts_say_what_the_whole_says(arrays):
    logits, labels = arrays
    parts = [
        calcli.State.of(logits[own], labels[own], metrics=METRICS) for own in np.split(np.arange(1000), 4)
    ]
    sent = [calcli.State.from_bytes(part.to_bytes()) for part in parts]
    whole = sent[0].merge(*sent[1:])
    assert (whole.n_rows, repr(whole)) == (1000, "<State of 1,000 rows of 3 classes>")
    expected = calcli.evaluate(logits, labels, metrics=METRICS).results[0].metrics
    for name, found in calcli.evaluate(whole).results[0].metrics.items():
        assert found.value == pytest.approx(expected[name].value, abs=1e-12)
        assert found.if_calibrated == expected[name].if_calibrated


def test_states_are_pickled_by_their_bytes(arrays):
    state = calcli.State.of(*arrays)
    again = pickle.loads(pickle.dumps(state))
    assert again.to_bytes() == state.to_bytes()


def test_files_are_those_of_the_command_line(arrays, tmp_path):
    state = calcli.State.of(*arrays, metrics=METRICS)
    (tmp_path / "own.calcli").write_bytes(state.to_bytes())
    read = calcli.read(tmp_path / "own.calcli")
    assert calcli.evaluate(read).results[0].metrics == calcli.evaluate(state).results[0].metrics
    assert state.merge(calcli.State.of(arrays[0][:5], arrays[1][:5], metrics=METRICS)).n_rows == 1005


def test_states_are_compared_and_checked(arrays):
    logits, labels = arrays
    old, new = (calcli.State.of(logits * scale, labels, metrics=METRICS) for scale in (1, 4))
    found = calcli.compare(old, new)
    assert found.paired
    assert found.comparisons[0].differences[0]["log_loss"].verdict == "worse"
    rules = {"rules": [{"metric": "log_loss", "max_increase": 0.01}]}
    assert calcli.check(new, rules, baseline=old).exit_status == 1


def test_what_makes_no_sense_is_refused(arrays):
    state = calcli.State.of(*arrays)
    with pytest.raises(UsageError, match="a state already"):
        calcli.State.of(state)
    with pytest.raises(UsageError, match="not bytes"):
        state.merge(state.to_bytes())
    with pytest.raises(InputError, match="the same 1,000 rows"):
        state.merge(state)
    with pytest.raises(InputError, match="damaged"):
        calcli.State.from_bytes(b"PK")


def keyed(rows, n, shift=0.0, keys=None):
    """Return the state of some of n rows, known by keys."""
    rng = np.random.default_rng(1)
    logits = np.round(rng.normal(size=(n, 3)) + shift, 2)  # so that the cells of many rows are exact
    labels = (logits - shift + rng.gumbel(size=logits.shape)).argmax(1)
    logits[:, 1] += shift * rng.normal(size=n)
    users = np.array([f"u{number}" for number in range(n)]) if keys is None else keys
    read = from_arrays(logits[rows], labels[rows], columns={"user": users[rows]})
    return calcli.State.of(read, metrics=METRICS, key="user")


@pytest.mark.parametrize("n", [600, 15_000, 24_000])
def test_with_keys_any_order_of_rows_and_states_gives_the_same(n):
    order = np.random.default_rng(2).permutation(n)
    halves = [keyed(half, n) for half in np.split(order, [n // 3])]
    first, second = halves[0].merge(halves[1]), halves[1].merge(halves[0])
    if n < 20_000:  # of more, sums are added in another order
        assert first.to_bytes() == second.to_bytes()
    whole = keyed(slice(None), n)
    for state in (whole, first):
        again = calcli.State.from_bytes(state.to_bytes())
        found = calcli.compare(again, keyed(slice(None), n, 0.3))
        assert (found.paired, found.unlike) == (True, "")
    results = [calcli.evaluate(state).results[0].metrics for state in (whole, first)]
    results.append(calcli.evaluate(second).results[0].metrics)
    assert [one.value for one in results[1].values()] == pytest.approx(
        [one.value for one in results[2].values()], rel=1e-12
    )
    for name, estimate in results[0].items():
        assert estimate.value == pytest.approx(results[1][name].value, rel=1e-12)
        if estimate.interval is not None:
            assert estimate.interval.low == pytest.approx(results[1][name].interval.low, rel=1e-9)


@pytest.mark.parametrize("n", [600, 24_000])
def test_rows_of_other_keys_or_labels_are_not_paired(n):
    own, keys = keyed(slice(None), n), np.array([f"u{number}" for number in range(n)])
    keys[[3, 4]] = keys[[4, 3]]  # rows with other labels
    words = "different labels in 2 of 600" if n == 600 else "different values of user"
    assert words in calcli.compare(own, keyed(slice(None), n, keys=keys)).unlike
    with pytest.raises(InputError, match="expected the same cases"):
        calcli.compare(own, keyed(slice(None), n, keys=keys), paired=True)
    with pytest.raises(UsageError, match="was made with --key"):
        calcli.compare(own, own, key="id")
    numbered = calcli.State.of(np.eye(3)[np.arange(n) % 3], np.arange(n) % 3, metrics=METRICS, kind="logits")
    assert "by user and" in calcli.compare(own, numbered).unlike


def test_keys_that_rows_or_states_share_are_refused():
    n = 24_000
    keys = np.arange(n)
    keys[700] = keys[800]
    with pytest.raises(InputError, match="user 800 is there 2 times"):
        keyed(slice(0, 1000), n, keys=keys)
    with pytest.raises(InputError, match="in common"):
        keyed(slice(0, 1000), n).merge(keyed(slice(900, n), n))
    with pytest.raises(InputError, match="different keys: none and user"):
        keyed(slice(0, 10), n).merge(calcli.State.of(np.eye(3), [0, 1, 2], metrics=METRICS, kind="logits"))
    with pytest.raises(InputError, match="no column 'id'"):
        calcli.State.of(np.eye(3), [0, 1, 2], metrics=METRICS, key="id")


SAMPLED = ("relative_calibration_loss", "skce", "auroc")


def drawn(n, scale=1.0):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(n, 3)).astype(np.float32)
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(1)
    return logits * np.float32(scale), labels


def hashes_of(labels):
    return hashed(first_number(labels) + np.arange(len(labels)))


@pytest.mark.parametrize("key", [None, "id"])
def test_few_rows_are_evaluated_as_the_rows_are(key):
    read = sliced(np.arange(900), 900)
    state = calcli.State.from_bytes(calcli.State.of(read, key=key, by="country").to_bytes())
    asked = {"by": "country", "test": True, "draws": 19}
    found, expected = (calcli.evaluate(one, **asked).results for one in (state, read))
    assert [one.metrics for one in found] == [one.metrics for one in expected]
    assert [one.per_class for one in found] == [one.per_class for one in expected]
    names = (*SAMPLED, "bayes_risk:costs=zero-one")
    of_state, of_rows = (calcli.evaluate(one, metrics=names, costs="zero-one") for one in (state, read))
    assert of_state.results[0].metrics == of_rows.results[0].metrics


def test_samples_know_the_logarithms_of_probabilities_that_single_precision_takes_for_0():
    probs = np.array([[1.0, 1e-300], [1e-45, 1.0], [0.25, 0.75], [0.5, 0.5]])
    labels, cuts = np.array([1, 0, 1, 0]), ([0, 1], [2, 3])
    parts = [calcli.State.of(probs[own], labels[own], metrics="brier") for own in cuts]
    whole = calcli.State.from_bytes(parts[0].merge(parts[1]).to_bytes())
    loss = calcli.evaluate(whole, metrics=["log_loss"]).results[0].metrics["log_loss"].value
    assert loss == pytest.approx(-sum(map(math.log, (1e-300, 1e-45, 0.75, 0.5))) / 4, rel=1e-7)
    alone = calcli.evaluate(parts[0], metrics=["log_loss"]).results[0].metrics["log_loss"].value
    assert alone == pytest.approx(345 * math.log(10) / 2, rel=1e-12)


@pytest.mark.parametrize("weight", [None, 3.0])
def test_states_of_many_rows_have_the_intervals_of_the_rows(weight):
    rng = np.random.default_rng(5)
    p = rng.beta(0.5, 0.5, 21_000).round(2)  # hundreds of rows share a score
    labels = (rng.random(len(p)) < 0.9 * p + 0.05).astype(int)
    names = "brier,accuracy,mean_gap,mean_confidence,auroc,normalized_brier"
    weights = None if weight is None else np.full(len(p), weight)
    scores = np.stack([1 - p, p], axis=1)
    of_rows, of_state = (
        calcli.evaluate(one, metrics=names).results[0].metrics
        for one in (
            from_arrays(scores, labels, weights=weights),
            calcli.State.of(scores, labels, weights=weights, metrics=names),
        )
    )
    for name, expected in of_rows.items():
        found = of_state[name]
        assert found.value == pytest.approx(expected.value, abs=1e-6), name
        ends, width = (
            (found.interval.low, found.interval.high),
            expected.interval.high - expected.interval.low,
        )
        near = 2e-5 if name == "auroc" else 0.1 * width  # in other deals, of 1,999
        assert ends == pytest.approx((expected.interval.low, expected.interval.high), abs=near), name


def test_states_that_were_made_for_another_metric_tell_the_uncertainty_with_its_interval():
    logits, labels = (values[::2] for values in drawn(1800))
    labels = np.where(np.arange(900) % 3, 0, labels)
    state = calcli.State.of(logits, labels, metrics="ks")
    found = calcli.evaluate(state, metrics=["corp_uncertainty:score=brier"]).results[0].metrics
    rows = calcli.evaluate(logits, labels, metrics=["corp_uncertainty:score=brier"]).results[0].metrics
    (own,), (expected,) = found.values(), rows.values()
    assert own.value == pytest.approx(1 - (np.bincount(labels) ** 2).sum() / 900**2)
    assert astuple(own.interval) == pytest.approx(astuple(expected.interval))


def test_samples_stay_the_lowest_hashes_of_merged_states(monkeypatch):
    monkeypatch.setattr(sample, "MOST", 1000)
    logits, labels = drawn(24_000)
    parts = [calcli.State.of(logits[own], labels[own]) for own in np.split(np.arange(24_000), [4_000])]
    whole = parts[0].merge(parts[1])
    found = calcli.evaluate(whole, metrics=SAMPLED).results[0].metrics
    assert found["relative_calibration_loss"].rows == 1000
    assert "n:24000|rows:1000|" in found["skce"].signature
    hashes = np.concatenate([hashes_of(labels[:4_000]), hashes_of(labels[4_000:])])
    assert np.array_equal(whole.state.body.sample.rows.ids, np.sort(hashes)[:1000])


def test_what_needs_rows_is_compared_on_the_samples(monkeypatch):
    monkeypatch.setattr(sample, "MOST", 1000)
    systems = [calcli.State.of(*drawn(24_000, scale)) for scale in (1, 3)]
    found = calcli.compare(*systems, metrics=SAMPLED).comparisons[0].differences[0]
    chosen = np.argsort(hashes_of(drawn(24_000)[1]))[:1000]
    rows = [from_arrays(own[chosen], labels[chosen]) for own, labels in (drawn(24_000), drawn(24_000, 3))]
    expected = calcli.compare(*rows, metrics=SAMPLED).comparisons[0].differences[0]
    for name in SAMPLED:
        assert found[name].value == pytest.approx(expected[name].value, abs=1e-6)
        assert found[name].verdict == expected[name].verdict
        assert found[name].p_value == pytest.approx(expected[name].p_value, abs=1e-6, nan_ok=True)


def test_samples_of_other_partitions_are_compared_unpaired_and_told(monkeypatch):
    monkeypatch.setattr(sample, "MOST", 1000)

    def merged(scale, cut, key=None):
        logits, labels = drawn(24_000, scale)
        columns = {"id": np.arange(24_000)}
        states = [
            calcli.State.of(
                from_arrays(logits[own], labels[own], columns={"id": columns["id"][own]}), key=key
            )
            for own in (slice(0, cut), slice(cut, 24_000))
        ]
        return states[0].merge(states[1])

    names = ("log_loss", "relative_calibration_loss")
    apart = calcli.compare(merged(1, 5_000), merged(3, 9_000), metrics=names)
    alike = calcli.compare(merged(1, 5_000, "id"), merged(3, 9_000, "id"), metrics=names)
    for found in (apart, alike):
        assert found.paired == (found is alike)
        signature = found.comparisons[0].differences[0][names[1]].signature
        assert "|rows:" in signature
        assert ("unpaired" in signature) == (found is apart)
        assert "chosen at random" in " ".join(" ".join(table.notes) for table in found.tables())
    rules = {"rules": [{"metric": name, "max": 9} for name in names]}
    (judged,) = calcli.check(merged(1, 5_000), rules).files
    assert [outcome.rows for outcome in judged.outcomes] == [None, 1000]


def sliced(rows, n, scale=1.0, **more):
    rng = np.random.default_rng(3)
    logits = np.round(rng.normal(size=(n, 3)), 2)
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(1)
    columns = {"country": np.array(["de", "at", "ch"])[rng.integers(0, 3, n)], "id": rng.permutation(n)}
    columns = {name: values[rows] for name, values in columns.items()}
    return from_arrays(scale * logits[rows], labels[rows], columns=columns)


@pytest.mark.parametrize("n", [900, 75_000])
def test_slices_tell_what_the_rows_of_each_value_do(n):
    names = "log_loss,accuracy,ece,ks"
    parts = [
        calcli.State.of(sliced(own, n), metrics=names, by="country") for own in np.split(np.arange(n), 3)
    ]
    whole = calcli.State.from_bytes(parts[0].merge(*parts[1:]).to_bytes())
    found = calcli.evaluate(whole, by="country").results
    expected = calcli.evaluate(sliced(np.arange(n), n), by="country", metrics=names.split(",")).results
    assert [one.slice for one in found] == [one.slice for one in expected]
    for own, other in zip(found, expected, strict=True):
        assert own.input.rows == other.input.rows
        for name, estimate in other.metrics.items():
            near = 1e-4 if "|cells|" in own.metrics[name].signature else 1e-7
            assert own.metrics[name].value == pytest.approx(estimate.value, abs=near)


@pytest.mark.parametrize("n", [900, 75_000])
@pytest.mark.parametrize("scale", [1.0, 12.0, 2000.0])
def test_slices_tell_where_few_rows_carry_a_figure(n, scale):
    names = "log_loss,normalized_brier,accuracy,mean_confidence,mean_gap"
    rng = np.random.default_rng(7)
    sharp = np.round(scale * rng.normal(size=(n, 3)), 2)
    columns = {"country": np.where(np.arange(n) % 9, "de", "at")}
    weights = rng.choice([0.0, 0.5, 3.0], n)

    def part(rows):
        own = {name: values[rows] for name, values in columns.items()}
        return from_arrays(sharp[rows], sharp[rows].argmax(1), columns=own, weights=weights[rows])

    parts = [calcli.State.of(part(own), metrics=names, by="country") for own in np.split(np.arange(n), 3)]
    whole = calcli.State.from_bytes(parts[0].merge(*parts[1:]).to_bytes())
    found = calcli.evaluate(whole, by="country").results[1:]
    expected = calcli.evaluate(part(np.arange(n)), by="country", metrics=names).results[1:]
    for own, other in zip(found, expected, strict=True):
        reasons = [{name: one.no_interval for name, one in of.metrics.items()} for of in (own, other)]
        assert reasons[0] == reasons[1]
        assert scale < 2000 or reasons[0]["log_loss"] == "0 errors; an interval needs 5"


@pytest.mark.parametrize("n", [900, 75_000])
def test_slices_of_states_are_compared(n):
    rows = np.arange(n)
    systems = [sliced(rows, n), sliced(rows[::-1], n, 3.0)]
    names = ("log_loss", "accuracy", "ece")
    old, new = (calcli.State.of(one, metrics=names, by="country", key="id") for one in systems)
    for other in (new, systems[1]):
        found = calcli.compare(old, other, by="country").comparisons
        expected = calcli.compare(*systems, by="country", key="id", metrics=names).comparisons
        assert [one.part for one in found] == [one.part for one in expected]
        for own, true in zip(found, expected, strict=True):
            assert own.differences[0]["log_loss"].value == pytest.approx(
                true.differences[0]["log_loss"].value
            )
            assert own.differences[0]["log_loss"].verdict == true.differences[0]["log_loss"].verdict


def test_slices_that_are_not_there_are_refused():
    state, other = (calcli.State.of(sliced(np.arange(900), 900), metrics=METRICS, by=by) for by in ((), ()))
    with pytest.raises(InputError, match="made without slices by country; it has none"):
        calcli.evaluate(state, by="country")
    with pytest.raises(InputError, match="made without slices by country; it has none"):
        calcli.compare(state, other, by="country")
    with pytest.raises(InputError, match="different columns of slices: none and country"):
        calcli.State.of(sliced(np.arange(500), 900), metrics=METRICS, by="country").merge(
            calcli.State.of(sliced(np.arange(500, 900), 900), metrics=METRICS)
        )


@pytest.mark.parametrize("n", [90, 25_000])
@pytest.mark.parametrize("mixed", [False, True])
def test_ratios_of_parts_with_other_prior_odds_are_those_of_the_whole(n, mixed):
    rng = np.random.default_rng(n)
    probs = rng.random(n)
    labels = (rng.random(n) < probs).astype(int)
    order = np.argsort(rng.random(n) if mixed else labels + rng.normal(size=n), kind="stable")
    table = np.stack([1 - probs, probs], axis=1)[order]
    labels = labels[order]
    parts = [
        calcli.State.of(table[own], labels[own], metrics="cllr,log_loss", kind="probs")
        for own in np.split(np.arange(n), 2)
    ]
    for found in (calcli.evaluate(parts[0].merge(parts[1])), calcli.evaluate(table, labels, metrics="cllr")):
        balanced = np.where(labels == 1, 0.5 / labels.mean(), 0.5 / (1 - labels.mean()))
        odds = table[:, 1] / table[:, 0] / (labels.mean() / (1 - labels.mean()))
        costs = np.log2(1 + np.where(labels == 1, 1 / odds, odds))
        expected = float(np.average(costs, weights=balanced))
        value = found.results[0].metrics["cllr"].value
        assert value == pytest.approx(expected, rel=1e-9 if n < 20_000 else 0.02)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
@pytest.mark.parametrize("weights", ["none", "one heavy row", "of any size"])
def test_states_of_narrow_scores_are_read_again(kind, weights):
    rng = np.random.default_rng(0)
    logits, labels = (rng.normal(size=(300, 3)) * 0.2).astype(kind), rng.integers(0, 3, 300)
    given = {
        "none": None,
        "one heavy row": np.append(np.ones(299), 100.0),
        "of any size": rng.choice([1e-30, 1.0, 1e6], 300),
    }[weights]
    state = calcli.State.of(logits, labels, weights=given, metrics=METRICS)
    again = calcli.State.from_bytes(state.to_bytes())
    expected = calcli.evaluate(logits, labels, weights=given, metrics=METRICS).results[0].metrics
    for name, found in calcli.evaluate(again).results[0].metrics.items():
        assert found.value == pytest.approx(expected[name].value, rel=1e-6)  # sums of floats
