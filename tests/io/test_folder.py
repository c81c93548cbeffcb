from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from calcli.core.language.errors import InputError
from calcli.io.places.outputs import filled_folder


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


def fill(target):
    with filled_folder(target) as folder:
        (folder / "inner").mkdir()
        for name in ("a.txt", "inner/b.txt"):
            (folder / name).write_text("new")


def test_files_behind_links_are_replaced_and_keep_their_modes(tmp_path):
    target, elsewhere = tmp_path / "report", tmp_path / "elsewhere"
    for folder in (target, elsewhere):
        folder.mkdir()
    (elsewhere / "real.txt").write_text("old")
    (elsewhere / "real.txt").chmod(0o640)
    (target / "a.txt").symlink_to("../elsewhere/real.txt")
    (target / "inner").symlink_to("../elsewhere")
    fill(target)
    assert (target / "a.txt").is_symlink()
    assert (target / "inner").is_symlink()
    assert {file.name: file.read_text() for file in elsewhere.iterdir()} == {
        "real.txt": "new",
        "b.txt": "new",
    }
    assert stat.S_IMODE((elsewhere / "real.txt").stat().st_mode) == 0o640
    assert stat.S_IMODE((elsewhere / "b.txt").stat().st_mode) == 0o666 & ~umask()


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_link_to_a_folder_yet_to_be_made(tmp_path):
    (tmp_path / "report").symlink_to("new/real")
    fill(tmp_path / "report")
    assert (tmp_path / "report").is_symlink()
    assert (tmp_path / "new" / "real" / "inner" / "b.txt").read_text() == "new"


def test_links_in_a_circle_are_told(tmp_path):
    (tmp_path / "a").symlink_to("a")
    with pytest.raises(InputError, match=r"/a cannot be written as a folder: .*; choose another with -o"):
        fill(tmp_path / "a")


@pytest.mark.parametrize("obstacle", ["socket", "folder", "file"])
def test_one_file_in_the_way_stops_all(tmp_path, monkeypatch, obstacle):
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    Path("a.txt").write_text("old")
    if obstacle == "file":
        Path("inner").write_text("")
    elif obstacle == "folder":
        Path("inner/b.txt").mkdir(parents=True)
    else:
        Path("inner").mkdir()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("inner/b.txt")
    before = sorted(Path().rglob("*"))
    said = {
        "file": "cannot be written as a folder: File exists",
        "folder": "is a folder",
        "socket": "a socket",
    }
    with pytest.raises(InputError, match=said[obstacle]):
        fill(Path())
    assert Path("a.txt").read_text() == "old"
    assert sorted(Path().rglob("*")) == before


def test_no_folder_is_left_when_the_last_step_fails(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "x")

    monkeypatch.setattr("shutil.move", full)
    with pytest.raises(InputError, match="No space left"):
        fill(tmp_path / "new" / "report")
    assert not list(tmp_path.iterdir())


def test_a_pipe_in_the_folder_is_sent_its_file(tmp_path):
    os.mkfifo(tmp_path / "a.txt")
    reader = os.open(tmp_path / "a.txt", os.O_RDONLY | os.O_NONBLOCK)  # writing to it does not wait
    try:
        fill(tmp_path)
        assert os.read(reader, 100) == b"new"
    finally:
        os.close(reader)
    assert (tmp_path / "a.txt").is_fifo()
