"""Rows of parts of a run have the numbers of the run, wherever and in whatever order it is cut."""

from __future__ import annotations

import io
import zipfile
from itertools import pairwise

import numpy as np
import pytest

import calcli
from calcli.core.language.errors import InputError, UsageError
from calcli.core.state.runs import Numbering, Part, numbers, starts
from calcli.io.read import from_arrays

METRICS = "log_loss,accuracy,ece,ks,auroc"


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
