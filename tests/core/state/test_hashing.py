"""Hashes tell numbers and keys apart, whatever type holds them, and choose rows evenly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from calcli.core.data.units import hashed
from calcli.core.language.errors import InputError
from calcli.core.state.random_groups import first_number, of_keys

N = 100_000


def test_no_two_numbers_or_keys_share_a_hash():
    assert len(np.unique(hashed(np.arange(N)))) == N
    keys = [f"{user}-{day:02}" for user in range(2000) for day in range(50)]
    assert len(np.unique(of_keys(np.array(keys), "id"))) == N


@pytest.mark.parametrize(
    "hashes", [hashed(np.arange(N)), of_keys(np.arange(N), "id")], ids=["numbers", "keys"]
)
@pytest.mark.parametrize("parts", [499, 1999, 2**64 // 1000])
def test_hashes_are_spread_evenly(hashes, parts):
    counts = np.bincount(((hashes // np.uint64(parts)) if parts > 2000 else hashes % parts).astype(np.intp))
    assert 0.001 < stats.chisquare(counts[:1000]).pvalue < 0.999


def test_parts_are_numbered_from_elsewhere_unless_their_labels_begin_alike():
    labels = np.arange(9_000) % 3
    others = labels[:-1], labels[::-1], np.where(labels == 2, 1, labels)
    assert len({first_number(one) for one in (labels, *others)}) == 4
    assert first_number(labels.astype(np.int8)) == first_number(labels)


def test_a_key_is_its_text_whatever_the_type():
    keys = of_keys(np.array([17, 3, 123456789]), "id")
    for same in (["17", "3", "123456789"], np.array(["17", "3", "123456789"], object), np.int8([17, 3])):
        other = of_keys(np.asarray(same), "id")
        assert np.array_equal(other, keys[: len(other)])
    wide = of_keys(np.array(["17", "3", "x" * 40]), "id")
    assert np.array_equal(wide[:2], keys[:2])


@pytest.mark.parametrize(
    "keys", [[1.0, np.nan], np.array(["a", None], object), np.array(["a", np.nan], object)]
)
def test_missing_keys_are_refused(keys):
    with pytest.raises(InputError, match="row 11 has none"):
        of_keys(np.asarray(keys), "preds.csv: column id", 10)
