"""Merged states have the rows of the whole, wherever it is cut and in whatever order its parts come."""

from __future__ import annotations

import io
import zipfile
from dataclasses import astuple
from itertools import pairwise
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calcli
from calcli.core.language.errors import InputError, UsageError
from calcli.core.state import cells, sample
from calcli.core.state import state as states
from calcli.io.handed import from_arrays
from calcli.io.saved.states import to_bytes

METRICS = "log_loss,accuracy,ece,ks"
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


def parts_of(rows, cuts, n, metrics=METRICS, run="july", **more):
    """Return states of parts of a run, or of rows known by keys."""
    return [
        calcli.State.of(
            rows(slice(*ends)), metrics=metrics,
            **({"key": "id"} if run is None else {"run": run, "first_row": ends[0]}), **more,
        )
        for ends in pairwise([0, *cuts, n])
    ]  # fmt: skip


def quarters(rows, n, **more):
    return parts_of(rows, [n // 10, n // 3, n // 3 + 1], n, by="country", **more)


def merged(parts, order=None):
    first, *others = parts if order is None else (parts[k] for k in order)
    return calcli.State.from_bytes(first.merge(*others).to_bytes())


def require_same(state, other):
    """Require the same integers and words; bins are sums of floating-point numbers."""
    files = [zipfile.ZipFile(io.BytesIO(one.to_bytes())) for one in (state, other)]
    assert files[0].namelist() == files[1].namelist()
    for name in files[0].namelist():
        contents = [file.read(name) for file in files]
        if name.startswith("slices/"):
            require_same(*map(calcli.State.from_bytes, contents))
        elif name.startswith("bins/"):
            np.testing.assert_allclose(*(np.load(io.BytesIO(one)) for one in contents), rtol=1e-12)
        else:
            assert contents[0] == contents[1], name


def require_told(state, other, by=None):
    """Require that reports on the whole or every slice say the same, but for the order of sums."""
    both = zip(*(calcli.evaluate(one, by=by).results for one in (state, other)), strict=True)
    for own, true in both:
        assert (own.slice, own.input.rows) == (true.slice, true.input.rows)
        for name, one in own.metrics.items():
            expected = true.metrics[name]
            assert one.value == pytest.approx(expected.value, rel=1e-9, nan_ok=True), name
            assert (one.if_calibrated, one.no_interval) == (expected.if_calibrated, expected.no_interval), (
                name
            )
            if expected.interval is not None:
                assert astuple(one.interval) == pytest.approx(astuple(expected.interval), rel=1e-9), name


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 60),
    st.integers(0, 9),
    st.sets(st.integers(1, 59), max_size=4),
    st.sampled_from([np.float32, np.float64]),
    st.booleans(),
    st.sampled_from([None, "july"]),
    st.sampled_from([8, 1 << 17]),
)
def test_any_partition_and_order_gives_the_same_state(n, seed, cuts, dtype, weighted, run, exact):
    """Be rows kept or summed, cells exact or on the grid, and the sample all of the rows or some of them."""
    rows = drawn(n, weighted, dtype, seed)
    with (
        mock.patch.object(states, "UNIT_LIMIT", 25),
        mock.patch.object(states, "CELLS", exact),
        mock.patch.object(sample, "MOST", 20),
        mock.patch.object(cells, "WAITING", (1, 4)),
    ):
        cuts = sorted(cut for cut in cuts if cut < n - 1)
        try:
            parts = parts_of(rows, cuts, n, run=run)
        except InputError:  # a part without weight is none
            return
        order = np.random.default_rng(seed).permutation(len(parts))
        found, other = merged(parts), merged(parts, order)
        require_same(found, other)
        (whole,) = parts_of(rows, [], n, run=run)
        require_told(found, whole)
        assert len(whole.state.body.sample.rows.hashes) == min(whole.n_rows, 20)


@pytest.mark.parametrize(("n", "weighted"), [(900, False), (900, True), (45_000, False)])
def test_any_order_of_parts_gives_the_whole_and_its_slices(n, weighted):
    rows = drawn(n, weighted)
    parts = quarters(rows, n)
    expected, *others = (merged(parts, order) for order in ORDERS)
    (whole,) = parts_of(rows, [], n, by="country")
    require_told(expected, whole, "country")
    for value, part in whole.state.slices["country"].items():
        own = expected.state.slices["country"][value]
        require_same(*(calcli.State.from_bytes(to_bytes(one)) for one in (own, part)))
    for found in others:
        require_same(found, expected)
    again = calcli.compare(found, calcli.State.of(rows(scale=3.0), metrics=METRICS), draws=9)
    assert (again.paired, again.unlike) == (True, "")
    before = parts[0].to_bytes()
    parts[0].merge(parts[1])
    parts[1].merge(parts[0])
    assert parts[0].to_bytes() == before


@pytest.mark.parametrize("n", [900, 45_000])
def test_rows_that_are_missing_in_between_keep_their_place(n):
    first, middle, last = parts_of(drawn(n), [n // 3, 2 * n // 3], n)
    require_same(first.merge(last).merge(middle), last.merge(middle, first))
    require_same(last.merge(first), first.merge(last))


@pytest.mark.parametrize("kept", [5, 20_000])  # rows, of more there are sums
def test_rows_behind_missing_ones_have_the_numbers_of_the_run(kept, monkeypatch):
    monkeypatch.setattr(states, "UNIT_LIMIT", kept)

    def one_wrong(row, **known):
        return calcli.State.of(np.eye(2)[[0] * 10], (np.arange(10) == row) * 1, metrics="log_loss", **known)

    july, later = (one_wrong(row, run="july", first_row=first) for row, first in ((3, 0), (4, 30)))
    for merged_ones in (july.merge(later, one_wrong(5)), july.merge(later).merge(one_wrong(5))):
        assert calcli.evaluate(merged_ones).results[0].infinite_log_loss.first == (3, 34, 45)
    keyed = pd.DataFrame({"0": 1.0, "1": 0.0, "label": [0, 1, 0, 0, 0, 0], "id": list("fedcba")})
    by_key = calcli.State.of(keyed, key="id", metrics="log_loss")
    assert calcli.evaluate(by_key).results[0].infinite_log_loss.first == ()


def test_crossing_parts_of_one_run_are_refused():
    rows = drawn(900, weighted=True)
    parts, others = parts_of(rows, [400], 900), parts_of(rows, [399, 401], 900)
    for crossing in (others[1], others[2]):
        with pytest.raises(InputError, match=r"of the run july, and .* expected different rows"):
            parts[0].merge(parts[1]).merge(crossing)
    with pytest.raises(InputError, match="has rows 399 to 400 of the run july, and arrays 0 to 399"):
        parts[0].merge(others[1])
    assert parts[0].merge(*parts_of(rows, [399, 401], 900, run="august")[1:]).n_rows > 0
    # also where rows weigh nothing, as the last one does
    first, crossing, next_one = (
        calcli.State.of(rows(scale=scale), metrics=METRICS, run="july", first_row=row)
        for scale, row in ((1.0, 0), (2.0, 899), (2.0, 900))
    )
    with pytest.raises(InputError, match=r"rows 899 to 1,798 of the run july, and .* 0 to 899"):
        first.merge(crossing)
    assert first.merge(next_one).n_rows == 2 * first.n_rows


def test_what_is_merged_with_a_run_is_numbered_on():
    n, rows = 45_000, drawn(45_000)
    a, b = parts_of(rows, [21_000], n)
    c = calcli.State.of(drawn(30_000, seed=2)(), metrics=METRICS)
    require_told(b.merge(a, c), calcli.State.of(rows(), metrics=METRICS).merge(c))
    compared = calcli.compare(b, calcli.State.of(rows(slice(21_000, n)), metrics=METRICS), draws=9)
    assert "numbered from 0 and 21,000" in compared.unlike
    of_rows = calcli.compare(b, rows(slice(21_000, n), scale=2.0), draws=9)
    assert (compared.paired, of_rows.paired) == (False, True)
    parts = [
        calcli.State.of(rows(slice(*ends)), metrics=METRICS, by="country") for ends in pairwise([0, 4_500, n])
    ]
    found, whole = merged(parts), calcli.State.of(rows(), metrics=METRICS, by="country")
    require_told(found, whole, "country")
    assert calcli.compare(found, rows(blur=0.5), by="country", metrics="log_loss").paired


@pytest.mark.parametrize("n", [900, 75_000])
def test_rows_of_weight_0_do_not_count_and_keep_their_places(n):
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
            assert own.metrics[name].value == pytest.approx(estimate.value, rel=1e-6), name
            ends = own.metrics[name].interval, estimate.interval
            if n == 900 and ends[1] is not None:
                assert astuple(ends[0]) == pytest.approx(astuple(ends[1]), rel=1e-9), name
    compared = calcli.compare(state, rows(scale=3.0), metrics="log_loss")
    assert (compared.paired, compared.unlike) == (True, "")
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
        merged(quarters(of, n, metrics=metrics), order)
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


@pytest.mark.parametrize("n", [900, 30_000])
def test_slices_of_other_rows_are_not_paired(n):
    rows = drawn(n)
    labels, country = rows().labels, rows().columns["country"].copy()
    alike = (labels[1:] == labels[:-1]) & (country[1:] == "de") & (country[:-1] == "at")
    row = int(np.flatnonzero(alike)[0])  # so that both have as many rows, with the same labels in their order
    country[[row, row + 1]] = "de", "at"
    first, other = quarters(rows, n), quarters(lambda own: rows(own, country=country), n)
    both = merged(first, [1, 0, 3, 2]), merged(other, [3, 0, 1, 2])
    with pytest.raises(InputError, match=r"slice country=at: its rows in .* are not the same"):
        calcli.compare(*both, by="country", paired=True)
    rule = {"metric": "log_loss", "max_increase": 9, "slice": "country=at"}
    (judged,) = calcli.check(both[1], {"rules": [rule]}, baseline=both[0]).files
    assert judged.outcomes[0].status == "not judged"
    assert "slice country=at: its rows" in judged.outcomes[0].reason


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"first_row": 7}, "name the run with --run"),
        ({"run": "july", "key": "id"}, "leave out one"),
        ({"run": "july", "first_row": -1}, "first_row is -1"),
        ({"run": "july", "first_row": 1.5}, "first_row is 1.5"),
        ({"run": "july", "first_row": 10**30}, f"from 0 to {10**15}"),
    ],
)
def test_what_makes_no_sense_is_refused(given, words):
    with pytest.raises(UsageError, match=words):
        calcli.State.of(drawn(50)(), **given)
