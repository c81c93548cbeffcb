"""Slices of merged states have the rows of the whole, whatever the order of the parts."""

from __future__ import annotations

import io
import zipfile
from itertools import pairwise

import numpy as np
import pytest

import calcli
from calcli.core.language.errors import InputError
from calcli.io.handed import from_arrays
from calcli.io.states import to_bytes

METRICS = "log_loss,accuracy,ece,ks"
ORDERS = ([0, 1, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0])


def drawn(n):
    """Return what gives some of n rows of a system; "ch" is not in the first tenth, "li" in a few rows."""
    rng = np.random.default_rng(1)
    logits = np.round(rng.normal(size=(n, 3)), 2)  # so that the cells are exact
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(1)
    country = rng.choice(["de", "at", "ch", "li"], n, p=[0.7, 0.15, 0.149, 0.001])
    country[: n // 10] = "de"
    noise = rng.normal(size=(n, 3)).round(2)

    def rows(own=slice(None), blur=0.0, weights=None, country=country):
        weights = None if weights is None else weights[own]
        scores = logits[own] + blur * noise[own]
        return from_arrays(scores, labels[own], weights=weights, columns={"country": country[own]})

    return rows


def parts_of(rows, n, **more):
    cuts = [0, n // 10, n // 3, n // 3 + 1, n]
    return [
        calcli.State.of(
            rows(slice(*ends), **more), metrics=METRICS, by="country", run="july", first_row=ends[0]
        )
        for ends in pairwise(cuts)
    ]


def merged(parts, order):
    first, *others = (parts[k] for k in order)
    return calcli.State.from_bytes(first.merge(*others).to_bytes())


def require_same(state, other):
    """Require the same integers and words; bins and moments are sums of floating-point numbers."""
    files = [zipfile.ZipFile(io.BytesIO(one.to_bytes())) for one in (state, other)]
    assert files[0].namelist() == files[1].namelist()
    for name in files[0].namelist():
        contents = [file.read(name) for file in files]
        if name.startswith("slices/"):
            require_same(*map(calcli.State.from_bytes, contents))
        elif name.startswith("bins/"):
            np.testing.assert_allclose(*(np.load(io.BytesIO(one)) for one in contents), rtol=1e-12)
        elif not name.startswith("moments/"):
            assert contents[0] == contents[1], name
    moments = [one.state.body.moments for one in (state, other)]
    for name, own in moments[0].items():
        assert own.about(0.3) == pytest.approx(moments[1][name].about(0.3), rel=1e-9), name


def slice_of(state, value):
    return calcli.State.from_bytes(to_bytes(state.state.slices["country"][value]))


def rounded(interval):
    """Return the ends as far as the order of sums leaves them."""
    return None if interval is None else (round(interval.low, 9), round(interval.high, 9))


def told(state):
    """Return the numbers of every slice, and whether the reports on them say the same."""
    return [
        [
            (name, one.value, rounded(one.interval), one.if_calibrated, one.no_interval)
            for name, one in of.metrics.items()
        ]
        for of in calcli.evaluate(state, by="country").results
    ]


@pytest.mark.parametrize("n", [900, 30_000])  # the largest slice has more than 20,000 rows of these
def test_any_order_of_parts_gives_the_slices_of_the_whole(n):
    rows = drawn(n)
    parts = parts_of(rows, n)
    expected, *others = (merged(parts, order) for order in ORDERS)
    whole = calcli.State.of(rows(), metrics=METRICS, by="country")
    assert told(expected) == told(whole)
    for value, part in whole.state.slices["country"].items():
        require_same(*(slice_of(one, value) for one in (expected, whole)))
        assert part.n_rows == np.count_nonzero(rows().columns["country"] == value)
    for found in others:
        require_same(found, expected)
        assert told(found) == told(whole)


@pytest.mark.parametrize(("n", "weighted"), [(900, False), (30_000, True)])
def test_slices_of_parts_in_any_order_are_paired_row_by_row(n, weighted):
    rows = drawn(n)
    weights = np.random.default_rng(2).choice([0.0, 0.5, 2.0], n)
    weights[n // 3] = 1  # a part by itself
    more = {"weights": weights} if weighted else {}
    old = merged(parts_of(rows, n, **more), [2, 0, 3, 1])
    new = merged(parts_of(rows, n, blur=0.5, **more), [3, 1, 2, 0])
    of_rows = calcli.compare(rows(**more), rows(blur=0.5, **more), by="country", metrics=METRICS, draws=19)
    for other in (new, rows(blur=0.5, **more)):
        found = calcli.compare(old, other, by="country", draws=19)
        assert found.paired
        assert [one.part for one in found.comparisons] == [one.part for one in of_rows.comparisons]
        for own, true in zip(found.comparisons, of_rows.comparisons, strict=True):
            few = own.part is not None and own.part.value != "de"
            for name, expected in true.differences[0].items():
                difference = own.differences[0][name]
                assert difference.value == pytest.approx(expected.value, abs=1e-6)
                if name in ("log_loss", "accuracy") and expected.interval is not None:
                    ends = difference.interval.low, difference.interval.high
                    true_ends = expected.interval.low, expected.interval.high
                    assert ends == pytest.approx(true_ends, rel=1e-6 if few or n == 900 else 0.05)


@pytest.mark.parametrize("n", [900, 30_000])
def test_slices_of_other_rows_are_not_paired(n):
    rows = drawn(n)
    labels, country = rows().labels, rows().columns["country"].copy()
    alike = (labels[1:] == labels[:-1]) & (country[1:] == "de") & (country[:-1] == "at")
    row = int(np.flatnonzero(alike)[0])
    country[[row, row + 1]] = (
        "de",
        "at",
    )  # so that both have as many rows, with the same labels in their order
    first, other = parts_of(rows, n), parts_of(rows, n, country=country)
    states = merged(first, [1, 0, 3, 2]), merged(other, [3, 0, 1, 2])
    with pytest.raises(InputError, match=r"slice country=at: its rows in .* are not the same"):
        calcli.compare(*states, by="country", paired=True)
    rule = {"metric": "log_loss", "max_increase": 9, "slice": "country=at"}
    (judged,) = calcli.check(states[1], {"rules": [rule]}, baseline=states[0]).files
    assert judged.outcomes[0].status == "not judged"
    assert "slice country=at: its rows" in judged.outcomes[0].reason


def test_slices_of_states_that_are_numbered_on_are_those_of_the_whole():
    n = 30_000
    rows = drawn(n)
    parts = [
        calcli.State.of(rows(slice(*ends)), metrics=METRICS, by="country")
        for ends in pairwise([0, n // 10, n // 2, n])
    ]
    found, whole = merged(parts, [0, 1, 2]), calcli.State.of(rows(), metrics=METRICS, by="country")
    assert told(found) == told(whole)
    assert calcli.compare(found, rows(blur=0.5), by="country", draws=19).paired
