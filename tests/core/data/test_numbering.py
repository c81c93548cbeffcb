"""Numbers in the names of files."""

import pytest

from calcli.core.comparing.selection import by_folder, numbers_in_names
from calcli.core.language.errors import UsageError


def test_the_number_in_which_files_differ():
    assert numbers_in_names(["e_1.npy", "e_10.npy", "e_2.npy"]) == [1, 10, 2]
    assert numbers_in_names(["cifar10_e3_v2.npy", "cifar10_e12_v2.npy"]) == [3, 12]
    assert numbers_in_names(["r1_e007.csv.gz"]) == [7]
    assert numbers_in_names(["a/1/first.npy", "a/1/e_2.npy"]) is None  # folders do not count


def test_the_same_number_twice():
    with pytest.raises(UsageError, match=r"e_1.npy and e_01.npy have the same number 1"):
        numbers_in_names(["e_1.npy", "e_01.npy"])


def test_folders_are_called_by_what_tells_them_apart():
    assert by_folder(["run/train/e1", "run/test/e1", "run/train/e2"]) == {"train": [0, 2], "test": [1]}
    assert by_folder(["a/x/e1", "a/e2"]) == {"a/x": [0], "a": [1]}
