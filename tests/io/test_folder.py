from __future__ import annotations

from pathlib import Path

import pytest

from calcli.core.language.errors import InputError
from calcli.io.folder import filled_folder


def test_files_appear_when_all_are_there(tmp_path):
    target = tmp_path / "a" / "b"
    with filled_folder(target) as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "x.txt").write_text("x")
        (folder / "y.txt").write_text("y")
        assert not (target / "y.txt").exists()
    assert (target / "inner" / "x.txt").read_text() == "x"
    assert sorted(file.name for file in target.iterdir()) == ["inner", "y.txt"]


def test_files_are_replaced_and_others_stay(tmp_path):
    (tmp_path / "x.txt").write_text("old")
    (tmp_path / "mine.txt").write_text("mine")
    with filled_folder(tmp_path) as folder:
        (folder / "x.txt").write_text("new")
    assert (tmp_path / "x.txt").read_text() == "new"
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("fault", [KeyboardInterrupt, ValueError])
def test_nothing_is_left_by_a_fault(tmp_path, fault):
    def fill(target):
        with filled_folder(target) as folder:
            (folder / "x.txt").write_text("half")
            raise fault

    (tmp_path / "there").mkdir()
    for target in (tmp_path / "there", tmp_path / "new"):
        with pytest.raises(fault):
            fill(target)
    assert [file.name for file in tmp_path.rglob("*")] == ["there"]


def test_a_file_in_the_way_is_told(tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises(InputError, match="cannot be written as a folder"), filled_folder(tmp_path / "x"):
        pass


def test_standard_output_is_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="expected the name of a folder"), filled_folder(Path("-")):
        pass
    assert not list(tmp_path.iterdir())
