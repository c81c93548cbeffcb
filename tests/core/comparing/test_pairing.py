"""Rows of two files are paired by order or by key, or refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calcli.core.comparing.pairing import pair
from calcli.core.data.predictions import require_classes
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.settings import PairSettings, Settings


@pytest.fixture
def files(predict):
    """Return a baseline, and the same cases with other predictions in another order."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 50)
    order = rng.permutation(50)
    first = predict(rng.normal(size=(50, 3)), labels, "logits", rng.exponential(size=50))
    scores = rng.normal(size=(50, 3))
    second = predict(scores[order], labels[order], "logits", first.weights[order])
    columns = {"id": np.arange(50) * 7, "site": np.array(["a", "b"] * 25)}
    shuffled = {name: values[order] for name, values in columns.items()}
    aligned = predict(scores, labels, "logits", first.weights)
    return replace(first, columns=columns), replace(second, columns=shuffled), aligned


def test_a_key_restores_the_order(files):
    first, second, aligned = files
    found = pair([first, second], PairSettings(key="id"), keep=["site"])
    settings = Settings(intervals=False, draws=0)
    for system, expected in zip(found.systems, (first, aligned), strict=True):
        values = [evaluate(part, settings).estimates for part in (system, expected)]
        own, other = ({k: v.value for k, v in found.items()} for found in values)
        assert own == pytest.approx(other, rel=1e-9, nan_ok=True)
        assert system.labels.tolist() == first.labels.tolist()
        assert system.columns["site"].tolist() == first.columns["site"].tolist()
    assert found.unmatched == (0, 0)


def test_rows_without_counterpart_are_counted_and_refused_unless_allowed(files):
    from calcli.core.data.derived import select

    first, second, _ = files
    part = replace(select(second, np.arange(50) < 40), columns={"id": second.columns["id"][:40]})
    with pytest.raises(InputError, match=r"10 of arrays; leave them out with --allow-unmatched"):
        pair([first, part], PairSettings(key="id"))
    found = pair([first, part], PairSettings(key="id", allow_unmatched=True))
    assert found.unmatched == (10, 0)
    assert [system.n_rows for system in found.systems] == [40, 40]


def test_a_key_that_repeats_or_is_no_column_is_refused(files):
    first, second, _ = files
    with pytest.raises(UsageError, match="--key uid: arrays has no such column; it has id, site"):
        pair(files[:2], PairSettings(key="uid"))
    repeated = replace(second, columns={"id": np.where(second.columns["id"] == 14, 7, second.columns["id"])})
    with pytest.raises(InputError, match="id 7 is there 2 times"):
        pair([first, repeated], PairSettings(key="id"))


def test_rows_that_are_not_the_same_are_refused(files, predict):
    first, second, aligned = files
    for other, message in (
        (second, r"different labels.*match them with --key COLUMN"),
        (predict(np.eye(3)[:2], [0, 1]), r"has 2 rows and arrays has 50.*--key COLUMN.*--unpaired"),
        (replace(aligned, weights=None), "different row weights"),
    ):
        with pytest.raises(InputError, match=message):
            pair([first, other])


def test_other_classes_are_refused_by_name(predict):
    first, second = predict(np.eye(3), [0, 1, 2]), predict(np.eye(3), [0, 1, 2])
    for classes, message in (
        (("0", "1", "x"), "class 'x' where arrays has '2'"),
        (("2", "1", "0"), "different orders; give one order to all files with --classes 0,1,2"),
    ):
        with pytest.raises(InputError, match=message):
            require_classes(replace(second, classes=classes), first.classes, "arrays")
    with pytest.raises(InputError, match="2 classes where arrays has 3"):
        require_classes(predict(np.eye(2), [0, 1]), first.classes, "arrays")


@pytest.mark.parametrize(
    ("gone", "kind"),
    [(np.nan, float), ("", str), (None, object), (np.datetime64("NaT", "D"), "datetime64[D]")],
)
def test_a_missing_key_is_none_and_matches_no_other(files, gone, kind):
    first, _, aligned = files
    keys = [np.arange(50).astype(kind) if kind is not object else np.arange(50).astype(object) for _ in "ab"]
    keys[0][5] = keys[1][9] = gone
    systems = [replace(one, columns={"id": own}) for one, own in zip((first, aligned), keys, strict=True)]
    with pytest.raises(InputError, match=r"column id: row 5 has none; expected a key in every row"):
        pair(systems, PairSettings(key="id", allow_unmatched=True))


@pytest.mark.parametrize("column", ["site", "number"])
def test_rows_in_order_agree_in_the_columns_that_are_kept(files, column):
    first, _, aligned = files
    columns = {"site": np.array(["a", "b"] * 25), "number": np.append(np.arange(49.0), np.nan)}
    first, same = (replace(one, columns=columns) for one in (first, aligned))
    pair([first, same], keep=[column])
    pair([first, replace(same, columns={})], keep=[column])
    pair([first, replace(same, columns={**columns, "number": np.append(np.arange(49), 50)})], keep=["site"])
    other = replace(same, columns={name: values[::-1] for name, values in columns.items()})
    pair([first, other])
    with pytest.raises(InputError, match=rf"differ in column '{column}' in 50 of 50 rows, .* --unpaired"):
        pair([first, other], keep=[column])


def test_rows_of_a_key_agree_in_the_columns_that_are_kept(files):
    first, second, _ = files
    pair([first, second], PairSettings(key="id"), keep=["site"])
    sites = np.where(second.columns["id"] == 28, "b", second.columns["site"])
    other = replace(second, columns={**second.columns, "site": sites})
    pair([first, other], PairSettings(key="id"))
    with pytest.raises(
        InputError, match=r"'site' in 1 of 50 rows, the first of them id 28 \(b and a\).*each id"
    ) as told:
        pair([first, other], PairSettings(key="id"), keep=["site"])
    assert "--key COLUMN" not in str(told.value)


DAYS = np.array(["2024-01-01", "2024-01-02"] * 25)
NOONS = np.array(["2024-01-01T12:00:00.25", "2024-01-02T12:00:00"] * 25, "M8[us]")


@pytest.mark.parametrize(
    ("one", "same"),
    [
        (DAYS, DAYS.astype("M8[ns]")),
        (DAYS.astype("M8[D]"), DAYS.astype("M8[s]")),
        (DAYS.astype(object), DAYS.astype("M8[ms]")),
        (NOONS, NOONS.astype("M8[ns]")),
        (np.array([1.0, np.nan] * 25), np.array(["1", ""] * 25)),
        (np.array([1.0, np.nan] * 25), np.array(["1", None] * 25, object)),
        (np.array([0.1, 3] * 25), np.array([0.1, 3] * 25, np.float32)),
        (np.array([1e16, -0.0] * 25), np.array([10**16, 0] * 25)),
    ],
)
def test_columns_of_the_same_groups_agree_whatever_their_type(files, one, same):
    first, _, aligned = files
    for left, right in ((one, same), (same, one)):
        pair([replace(first, columns={"c": left}), replace(aligned, columns={"c": right})], keep=["c"])
        other = np.append(right[1:], right[:1])
        with pytest.raises(InputError, match="differ in column 'c' in 50 of 50 rows"):
            pair([replace(first, columns={"c": left}), replace(aligned, columns={"c": other})], keep=["c"])
