"""Merged states have the rows of the whole, wherever it is cut and in whatever order its parts come."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import astuple
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calcli
from calcli.core.language.errors import InputError
from calcli.core.state import sample
from calcli.io.handed import from_arrays
from calcli.io.saved.states import to_bytes

METRICS = "log_loss,accuracy,ece,ks"
SUMS = "bins/", "deals/sums/", "deals/weight", "deals/squares", "deals/classes", "deals/by_class", "cells/"
ORDERS = ([0, 1, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0])


def drawn(n, weighted=False, dtype=np.float64, seed=1):
    """Return what gives some of n rows of a system.

    The scores are rounded, so that the cells are exact; the country "ch" is not in the first tenth, and "li"
    in a few rows; a third of the weights are 0, the first and the last ones among them.
    """
    rng = np.random.default_rng(seed)
    logits = np.round(rng.normal(size=(n, 3)), 2).astype(dtype)
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(1)
    country = rng.choice(["de", "at", "ch", "li"], n, p=[0.7, 0.15, 0.149, 0.001])
    country[: n // 10] = "de"
    noise = rng.normal(size=(n, 3)).round(2)
    weight = rng.choice([0.0, 0.5, 2.0], n)
    weight[[0, -1]], weight[n // 3] = 0, 1  # a part by itself

    def rows(own=slice(None), blur=0.0, scale=1.0, country=country):
        columns = {"country": country[own], "id": np.arange(n)[own]}
        weights = weight[own] if weighted else None
        return from_arrays(
            scale * (logits + blur * noise)[own], labels[own], weights=weights, columns=columns
        )

    return rows


def parts_of(rows, cuts, n, metrics=METRICS, **more):
    """Return states of parts."""
    return [calcli.State.of(rows(slice(*ends)), metrics=metrics, **more) for ends in pairwise([0, *cuts, n])]


def quarters(rows, n, **more):
    return parts_of(rows, [n // 10, n // 3, n // 3 + 1], n, by="country", **more)


def merged(parts, order=None):
    first, *others = parts if order is None else (parts[k] for k in order)
    return calcli.State.from_bytes(first.merge(*others).to_bytes())


def require_same(state, other, parts=True):
    """Require the same integers and words, of parts too if asked for; bins are sums of fractions."""
    files = [zipfile.ZipFile(io.BytesIO(one.to_bytes())) for one in (state, other)]
    assert files[0].namelist() == files[1].namelist()
    for name in files[0].namelist():
        contents = [file.read(name) for file in files]
        if name.startswith("slices/"):
            require_same(*map(calcli.State.from_bytes, contents))
        elif name == "state.json" and not parts:
            heads = [json.loads(one) for one in contents]
            assert sorted(map(str, heads[0].pop("parts"))) == sorted(map(str, heads[1].pop("parts")))
            assert heads[0] == heads[1]
        elif name.startswith(SUMS):
            both = (np.load(io.BytesIO(one)) for one in contents)
            np.testing.assert_allclose(*both, rtol=1e-11, atol=1e-12)
        else:
            assert contents[0] == contents[1], name


def require_told(state, other, by=None, intervals=True):
    """Require that reports on the whole or every slice say the same, but for the order of sums."""
    both = zip(*(calcli.evaluate(one, by=by).results for one in (state, other)), strict=True)
    for own, true in both:
        assert (own.slice, own.input.rows) == (true.slice, true.input.rows)
        for name, one in own.metrics.items():
            expected = true.metrics[name]
            assert one.value == pytest.approx(expected.value, rel=1e-9, nan_ok=True), name
            assert one.no_interval == expected.no_interval, name
            if (null := expected.if_calibrated) is not None:
                moments = one.if_calibrated.mean, one.if_calibrated.p_value
                assert moments == pytest.approx((null.mean, null.p_value), rel=1e-9), name
            if intervals and expected.interval is not None:
                assert astuple(one.interval) == pytest.approx(astuple(expected.interval), rel=1e-9), name


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 60),
    st.integers(0, 9),
    st.sets(st.integers(1, 59), max_size=4),
    st.sampled_from([np.float32, np.float64]),
    st.booleans(),
    st.sampled_from([None, "id"]),
)
def test_any_partition_and_order_gives_the_same_state(n, seed, cuts, dtype, weighted, key):
    """Be rows kept or summed; few rows without keys stand in the order of the names of their parts."""
    rows = drawn(n, weighted, dtype, seed)
    with (
        mock.patch.object(sample, "UNIT_LIMIT", 25),
        mock.patch.object(sample, "MOST", 20),
    ):
        cuts = sorted(cut for cut in cuts if cut < n - 1)
        try:
            parts = parts_of(rows, cuts, n, key=key)
        except InputError:  # a part without weight is none
            return
        order = np.random.default_rng(seed).permutation(len(parts))
        found, other = merged(parts), merged(parts, order)
        if key or found.state.body.sums is not None:
            require_same(found, other, parts=key is not None)
        (whole,) = parts_of(rows, [], n, key=key)
        require_told(found, whole, intervals=key is not None or whole.n_rows <= 25)
        if whole.n_rows > 25:
            assert len(whole.state.body.sample.rows.ids) == 20


@pytest.mark.parametrize(("n", "weighted"), [(900, False), (900, True), (45_000, False)])
def test_any_order_of_parts_gives_the_whole_and_its_slices(n, weighted):
    rows = drawn(n, weighted)
    parts = quarters(rows, n, key="id")
    expected, *others = (merged(parts, order) for order in ORDERS)
    (whole,) = parts_of(rows, [], n, by="country", key="id")
    require_told(expected, whole, "country")
    for value, part in whole.state.slices.get("country", {}).items():
        own = expected.state.slices["country"][value]
        require_same(*(calcli.State.from_bytes(to_bytes(one)) for one in (own, part)))
    for found in others:
        require_same(found, expected)
    again = calcli.compare(found, calcli.State.of(rows(scale=3.0), metrics=METRICS, key="id"), draws=9)
    assert (again.paired, again.unlike) == (True, "")
    before = parts[0].to_bytes()
    parts[0].merge(parts[1])
    parts[1].merge(parts[0])
    assert parts[0].to_bytes() == before


@pytest.mark.parametrize("n", [900, 75_000])
def test_rows_of_weight_0_do_not_count(n):
    rows = drawn(n, weighted=True)
    counting = int(np.count_nonzero(rows().weights))
    state = merged(parts_of(rows, [n // 30, 2 * n // 3], n, by="country"))
    expected = calcli.evaluate(rows(), metrics=METRICS, by="country").results
    found = calcli.evaluate(state, by="country").results
    assert (state.n_rows, found[0].input.rows) == (counting, counting)
    for own, true in zip(found, expected, strict=True):
        assert (own.slice, own.input.rows, own.input.tied_rows) == (
            true.slice,
            true.input.rows,
            true.input.tied_rows,
        )
        assert [one.rows for one in own.per_class] == [one.rows for one in true.per_class]
        for name, estimate in true.metrics.items():
            assert own.metrics[name].value == pytest.approx(estimate.value, rel=1e-6, abs=5e-5 * (n > 900)), (
                name
            )
            ends = own.metrics[name].interval, estimate.interval
            if n == 900 and ends[1] is not None:
                assert astuple(ends[0]) == pytest.approx(astuple(ends[1]), rel=1e-9), name
    for least, part in ((counting, ""), (counting + 1, ""), (n // 2, "country=de"), (20, "country=ch")):
        rule = {"metric": "log_loss", "max": 9, "min_rows": least} | ({"slice": part} if part else {})
        of_state, of_rows = (calcli.check(one, {"rules": [rule]}).files[0] for one in (state, rows()))
        assert of_state.rows == of_rows.rows == counting
        assert of_state.outcomes[0].status == of_rows.outcomes[0].status
        assert of_state.outcomes[0].reason.split()[:5] == of_rows.outcomes[0].reason.split()[:5]


@pytest.mark.parametrize(("n", "weighted"), [(900, False), (30_000, True)])
def test_slices_of_parts_in_any_order_are_paired_row_by_row(n, weighted):
    rows, metrics = drawn(n, weighted), "log_loss,accuracy"
    old, new = (
        merged(quarters(of, n, metrics=metrics, key="id"), order)
        for of, order in ((rows, ORDERS[1]), (lambda own: rows(own, blur=0.5), [3, 1, 2, 0]))
    )
    of_rows = calcli.compare(rows(), rows(blur=0.5), by="country", metrics=metrics)
    for other in (new, rows(blur=0.5)):
        found = calcli.compare(old, other, by="country")
        assert found.paired
        assert [one.part for one in found.comparisons] == [one.part for one in of_rows.comparisons]
        for own, true in zip(found.comparisons, of_rows.comparisons, strict=True):
            few = n == 900 or (own.part is not None and own.part.value != "de")
            for name, expected in true.differences[0].items():
                difference = own.differences[0][name]
                assert difference.value == pytest.approx(expected.value, abs=1e-6)
                if expected.interval is not None:
                    ends = astuple(expected.interval)
                    assert astuple(difference.interval) == pytest.approx(ends, rel=1e-6 if few else 0.05)


@pytest.mark.parametrize("n", [900, 60_000])
def test_parts_are_paired_in_any_order_unless_they_were_cut_elsewhere(n):
    """Few rows without keys stand in the order of the parts, more of them are added up."""
    rows = drawn(n, weighted=True)
    old, new = (
        parts_of(of, [n // 3, n // 2], n) for of in (rows, lambda own: rows(own, blur=0.5, scale=0.9))
    )
    turned = calcli.compare(merged(old), merged(new, [2, 0, 1]), draws=9)
    assert turned.paired == (n == 60_000)
    both = calcli.compare(merged(old), merged(new), draws=9)
    of_rows = calcli.compare(rows(), rows(blur=0.5, scale=0.9), metrics=METRICS, draws=9)
    assert (both.paired, both.unlike) == (True, "")
    for name in ("log_loss", "accuracy"):
        own, true = (one.comparisons[0].differences[0][name] for one in (both, of_rows))
        assert own.value == pytest.approx(true.value, abs=1e-9)
        assert astuple(own.interval) == pytest.approx(astuple(true.interval), rel=1e-6 if n == 900 else 0.1)
    (whole,) = parts_of(rows, [], n)
    assert calcli.compare(merged(new), whole, draws=9).paired == (n == 900)


@pytest.mark.parametrize("n", [900, 30_000])
def test_slices_of_other_rows_are_not_paired(n):
    rows = drawn(n)
    labels, country = rows().labels, rows().columns["country"].copy()
    alike = (labels[1:] == labels[:-1]) & (country[1:] == "de") & (country[:-1] == "at")
    row = int(np.flatnonzero(alike)[0])  # so that both have as many rows, with the same labels in their order
    country[[row, row + 1]] = "de", "at"
    first, other = quarters(rows, n), quarters(lambda own: rows(own, country=country), n)
    both = merged(first, [1, 0, 3, 2]), merged(other, [1, 0, 3, 2])
    few = "differ in column 'country' in 2 of 900 rows"
    words = few if n == 900 else "slice country=at: its rows in .* are not the same"
    with pytest.raises(InputError, match=words):
        calcli.compare(*both, by="country", paired=True)
    if n == 900:
        return
    rule = {"metric": "log_loss", "max_increase": 9, "slice": "country=at"}
    (judged,) = calcli.check(both[1], {"rules": [rule]}, baseline=both[0]).files
    assert judged.outcomes[0].status == "not judged"
    assert "slice country=at: its rows" in judged.outcomes[0].reason
