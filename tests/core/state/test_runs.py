"""Rows of parts of a run have the numbers of the run, wherever and in whatever order it is cut."""

from __future__ import annotations

import io
import zipfile
from dataclasses import astuple
from itertools import pairwise

import numpy as np
import pytest

import calcli
from calcli.core.language.errors import InputError, UsageError
from calcli.core.state.runs import Numbering, Part, numbers, starts
from calcli.io.handed import from_arrays

METRICS = "log_loss,accuracy,ece,ks,auroc"
OF_SUMS = "log_loss,accuracy,ece,ks"


def drawn(n, scale=1.0):
    rng = np.random.default_rng(0)
    logits = np.round(rng.normal(size=(n, 3)), 2)  # so that the cells are exact
    return scale * logits, (logits + rng.gumbel(size=logits.shape)).argmax(1)


def parts_of(n, cuts, scale=1.0, run="july", **more):
    logits, labels = drawn(n, scale)
    return [
        calcli.State.of(
            from_arrays(logits[start:stop], labels[start:stop], columns={"id": np.arange(start, stop)}),
            metrics=METRICS,
            run=run,
            first_row=start,
            **more,
        )
        for start, stop in pairwise([*cuts, n])
    ]


def same_files(first, second):
    """Require the same integers and words; the bins of classes are sums of floating-point numbers."""
    one, other = (zipfile.ZipFile(io.BytesIO(state.to_bytes())) for state in (first, second))
    assert one.namelist() == other.namelist()
    for name in one.namelist():
        if name.startswith("bins/"):
            np.testing.assert_allclose(*(np.load(file.open(name)) for file in (one, other)), rtol=1e-12)
        else:
            assert one.read(name) == other.read(name), name


def values(state):
    return {
        name: (found.value, found.interval, found.if_calibrated, found.rows)
        for name, found in calcli.evaluate(state).results[0].metrics.items()
    }


@pytest.mark.parametrize(
    ("n", "cuts"), [(900, [0, 100, 101, 700]), (45_000, [0, 30, 21_000, 21_001, 40_000])]
)
def test_any_order_of_parts_gives_the_bits_of_the_whole(n, cuts):
    logits, labels = drawn(n)
    whole = calcli.State.of(logits, labels, metrics=METRICS)
    parts = parts_of(n, cuts)
    for order in ([0, 1, 2, 3, 4], [3, 1, 4, 0, 2], [2, 4, 3, 0, 1]):
        chosen = [parts[k] for k in order if k < len(parts)]
        found = chosen[0].merge(chosen[1]).merge(*chosen[2:])
        same_files(found, parts[0].merge(*parts[1:]))
        assert values(found) == values(calcli.State.from_bytes(found.to_bytes())) == values(whole)
        again = calcli.compare(found, calcli.State.of(3 * logits, labels, metrics=METRICS))
        assert (again.paired, again.unlike) == (True, "")


@pytest.mark.parametrize("n", [900, 45_000])
def test_rows_that_are_missing_in_between_keep_their_place(n):
    third = n // 3
    first, middle, last = parts_of(n, [0, third, 2 * third])
    same_files(first.merge(last).merge(middle), last.merge(middle, first))
    same_files(last.merge(first), first.merge(last))


def test_crossing_parts_of_one_run_are_refused():
    parts, others = parts_of(900, [0, 400]), parts_of(900, [0, 399, 401])
    for crossing in (others[1], others[2]):
        with pytest.raises(InputError, match=r"of the run july, and .* expected different rows"):
            parts[0].merge(parts[1]).merge(crossing)
    with pytest.raises(InputError, match="has rows 399 to 400 of the run july, and arrays 0 to 399"):
        parts[0].merge(others[1])
    assert parts[0].merge(*parts_of(900, [0, 399, 401], run="august")[1:]).n_rows == 901


def test_what_is_merged_with_a_run_is_numbered_on():
    a, b = parts_of(45_000, [0, 21_000])
    c = calcli.State.of(*(own[:30_000] for own in drawn(30_001)), metrics=METRICS)
    expected = calcli.State.of(*drawn(45_000), metrics=METRICS).merge(c)
    found = b.merge(a, c)
    for name in ("log_loss", "accuracy", "ece", "ks"):
        assert values(found)[name] == values(expected)[name]
    logits, labels = drawn(45_000)
    compared = calcli.compare(b, calcli.State.of(logits[21_000:], labels[21_000:], metrics=METRICS))
    assert "numbered from 0 and 21,000" in compared.unlike
    other = from_arrays(2 * logits[21_000:], labels[21_000:])
    assert (compared.paired, calcli.compare(b, other).paired) == (False, True)


def weighted(n):
    """Return what gives a part of n rows, of which some weigh nothing, the first and the last among them."""
    logits, labels = drawn(n)
    rng = np.random.default_rng(4)
    weights = rng.choice([0.0, 0.5, 2.0], n)
    weights[[0, -1]] = weights[-n // 3 : -n // 4] = 0
    columns = {"country": rng.choice(["de", "at", "ch"], n, p=[0.6, 0.39, 0.01])}

    def part(own, scale=1.0, labels=labels):
        of = {name: values[own] for name, values in columns.items()}
        return from_arrays(scale * logits[own], labels[own], weights=weights[own], columns=of)

    return weights, part


def in_parts(part, n, cuts, **more):
    return [
        calcli.State.of(part(slice(*ends)), run="july", first_row=ends[0], **more)
        for ends in pairwise([0, *cuts, n])
    ]


@pytest.mark.parametrize(("n", "cuts"), [(900, [1, 500]), (75_000, [30, 50_000])])
def test_rows_of_weight_0_do_not_count_and_keep_their_places(n, cuts):
    weights, part = weighted(n)
    rows = np.count_nonzero(weights)
    cuts[0] = int(np.flatnonzero(weights)[0]) + 1
    parts = in_parts(part, n, cuts, metrics=OF_SUMS, by="country")
    state = calcli.State.from_bytes(parts[0].merge(*parts[1:]).to_bytes())
    expected = calcli.evaluate(part(slice(None)), metrics=OF_SUMS, by="country").results
    found = calcli.evaluate(state, by="country").results
    assert state.n_rows == rows
    assert [one.input.rows for one in found] == [one.input.rows for one in expected]
    assert [one.slice for one in found] == [one.slice for one in expected]
    for own, true in zip(found, expected, strict=True):
        assert own.input.tied_rows == true.input.tied_rows
        assert [one.rows for one in own.per_class] == [one.rows for one in true.per_class]
        for name, estimate in true.metrics.items():
            assert own.metrics[name].value == pytest.approx(estimate.value, rel=1e-6), name
            if n == 900:
                found_ends, ends = own.metrics[name].interval, estimate.interval
                assert (found_ends is None) == (ends is None), name
                if ends is not None:
                    assert astuple(found_ends) == pytest.approx(astuple(ends), rel=1e-12), name
    compared = calcli.compare(state, part(slice(None), 3.0), metrics="log_loss")
    assert (compared.paired, compared.unlike) == (True, "")


@pytest.mark.parametrize("n", [900, 45_000])
def test_rules_count_rows_of_a_weight_above_0(n):
    weights, part = weighted(n)
    rows = int(np.count_nonzero(weights))
    (state,) = in_parts(part, n, [], metrics=METRICS, by="country")
    for least, part_of in ((rows, ""), (rows + 1, ""), (n // 2, "country=de"), (20, "country=ch")):
        rule = {"metric": "log_loss", "max": 9, "min_rows": least} | ({"slice": part_of} if part_of else {})
        of_state, of_rows = (
            calcli.check(one, {"rules": [rule]}).files[0] for one in (state, part(slice(None)))
        )
        assert of_state.rows == of_rows.rows == rows
        assert of_state.outcomes[0].status == of_rows.outcomes[0].status
        assert of_state.outcomes[0].reason.split()[:5] == of_rows.outcomes[0].reason.split()[:5]


def test_parts_that_cross_where_rows_weigh_nothing_are_refused():
    weights, part = weighted(900)
    last = int(np.flatnonzero(weights)[-1])
    first = calcli.State.of(part(slice(900)), metrics=METRICS, run="july")
    assert last < 899
    with pytest.raises(InputError, match=r"rows 899 to 1,798 of the run july, and .* 0 to 899"):
        first.merge(calcli.State.of(part(slice(900), 2.0), metrics=METRICS, run="july", first_row=899))
    assert first.merge(
        calcli.State.of(part(slice(900), 2.0), metrics=METRICS, run="july", first_row=900)
    ).n_rows == 2 * np.count_nonzero(weights)


def test_numbers_go_on_as_far_as_is_known():
    a, b, c = (Part("x", 10, str(first), "july", first) for first in (5, 15, 40))
    alone, late = Part("y", 3, "y"), Part("x", 10, "50", "july", 50)
    assert starts([a, b, c]) == [5, 15, 40]
    assert starts([a, c, alone, late]) == [5, 40, 50, 53]
    assert numbers([alone, alone]).tolist() == [*range(6)]
    placing = Numbering()
    assert [placing.place(own) for own in ([c], [a, b], [alone], [late])] == [0, 0, 50, 3]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"first_row": 7}, "name the run with run"),
        ({"run": "july", "key": "id"}, "leave out one"),
        ({"run": "july", "first_row": -1}, "first_row is -1"),
        ({"run": "july", "first_row": 1.5}, "first_row is 1.5"),
        ({"run": "july", "first_row": 10**30}, f"from 0 to {10**15}"),
    ],
)
def test_what_makes_no_sense_is_refused(given, words):
    with pytest.raises(UsageError, match=words):
        calcli.State.of(*drawn(50), **given)
