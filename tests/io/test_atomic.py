"""Output files are whole or absent; hashes and frames."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading

import pandas as pd
import pytest

from calcli.core.language.errors import InputError
from calcli.io.frames import to_frame
from calcli.io.places import outputs as atomic
from calcli.io.places.outputs import atomic_path, filled_folder, together
from calcli.report.files import sha256


def test_a_file_appears_when_it_is_complete(tmp_path):
    target = tmp_path / "report.json"
    with atomic_path(target) as temporary:
        temporary.write_text("half")
        assert not target.exists()
        assert temporary.suffix == ".json"
        temporary.write_text("whole")
    assert target.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [target]


def write_together(folder, last, inner=lambda: None):
    with together():
        write(folder / "state", "new")
        with filled_folder(folder / "figures") as filled:
            write(filled / "report.md")
            assert (filled / "report.md").read_text() == "new"  # whole by then
        inner()
        write(last)
        assert not (folder / "state").exists()


def test_several_outputs_appear_together(tmp_path):
    write_together(tmp_path, tmp_path / "page.html")
    written = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(written) == ["figures/report.md", "page.html", "state"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_several_outputs_of_an_interrupted_run_vanish(error, tmp_path):
    def fail():
        raise error

    with pytest.raises(error):
        write_together(tmp_path, tmp_path / "page.html", fail)
    assert not list(tmp_path.iterdir())


OUT_OF_MEMORY = """
import resource, sys
from pathlib import Path
from calcli.io.places.outputs import filled_folder

held, size = [], 1 << 20
with filled_folder(sys.argv[1]) as folder:
    (folder / "a.png").touch()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 20),) * 2)
    while size:
        try:
            held.append(bytearray(size))
        except MemoryError:
            size //= 2
    raise MemoryError
"""


def test_memory_is_kept_to_tidy_up(tmp_path):
    command = [sys.executable, "-c", OUT_OF_MEMORY, tmp_path / "new"]
    ended = subprocess.run(command, capture_output=True, check=False)
    assert (ended.returncode, list(tmp_path.iterdir())) == (1, [])


def test_an_upload_that_fails_leaves_nothing_here(tmp_path, monkeypatch):
    system = pytest.importorskip("fsspec").filesystem("memory")

    def fail(*_):
        raise FileNotFoundError

    monkeypatch.setattr(type(system), "put_file", fail)
    with pytest.raises(InputError, match=r"page.html: no such file"):
        write_together(tmp_path, "memory://lake/page.html")
    assert not list(tmp_path.iterdir())


def test_nothing_is_sent_where_a_folder_cannot_be_filled(tmp_path):
    system = pytest.importorskip("fsspec").filesystem("memory")
    (tmp_path / "figures" / "report.md").mkdir(parents=True)

    def write_all():
        with together():
            write("memory://lake/page.html")
            with filled_folder(tmp_path / "figures") as filled:
                write(filled / "report.md")

    with pytest.raises(InputError, match=r"report.md is a folder"):
        write_all()
    assert not system.exists("/lake/page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["figures"]
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["report.md"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_interrupted_run_leaves_the_old_file(error, tmp_path):
    target = tmp_path / "report.json"
    target.write_text("old")

    def write() -> None:
        with atomic_path(target) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        write()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_permissions_are_those_of_any_new_file(tmp_path):
    with atomic_path(tmp_path / "ours") as temporary:
        temporary.write_text("")
    (tmp_path / "plain").write_text("")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "plain")]
    assert modes[0] == modes[1]


def test_a_folder_that_is_not_there(tmp_path):
    with (
        pytest.raises(InputError, match=r"report.json cannot be written: No such file .*; choose another"),
        atomic_path(tmp_path / "gone" / "report.json"),
    ):
        pass


def write(path, text="new"):
    with atomic_path(path) as temporary:
        temporary.write_text(text)


@pytest.fixture
def device(tmp_path):
    """Return a function that makes a character device in a folder of its own, or skips the test."""

    def make(name, minor):
        path = tmp_path / "devices" / name
        path.parent.mkdir(exist_ok=True)
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
            path.open("wb").close()
        except PermissionError as error:
            pytest.skip(f"a device may not be made here: {error}")
        return path

    return make


@pytest.mark.skipif(sys.platform != "linux", reason="devices are numbered otherwise")
def test_a_device_stays_one(device):
    null = device("null", 3)
    write(null)
    link = null.with_name("link.json")
    link.symlink_to("null")
    write(link)
    assert stat.S_ISCHR(null.stat().st_mode)
    assert link.is_symlink()
    assert sorted(null.parent.iterdir()) == [link, null]


@pytest.mark.skipif(sys.platform != "linux", reason="devices are numbered otherwise")
def test_no_temporary_file_is_made_beside_a_device(device):
    null = device("null", 3)
    with atomic_path(null) as temporary:
        assert temporary.parent != null.parent
    assert not temporary.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="devices are numbered otherwise")
def test_a_full_device_is_told(device):
    full = device("full", 7)
    with pytest.raises(InputError, match=r"devices/full cannot be written: No space left on device"):
        write(full)
    assert stat.S_ISCHR(full.stat().st_mode)


@pytest.mark.skipif(sys.platform != "linux", reason="devices are numbered otherwise")
def test_a_full_device_among_several_outputs_leaves_none(device, tmp_path):
    folder = tmp_path / "outputs"
    folder.mkdir()
    full = device("full", 7)
    with pytest.raises(InputError, match="No space left on device"):
        write_together(folder, full)
    assert not list(folder.iterdir())


def reading(path, found, size=-1):
    def read():
        with path.open("rb") as pipe:
            found.append(pipe.read(size))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    return reader


def test_a_pipe_is_sent_the_whole_file(tmp_path):
    pipe, found = tmp_path / "pipe.json", []
    os.mkfifo(pipe)
    reader = reading(pipe, found)
    write(pipe, "x" * 1_000_000)
    assert pipe.is_fifo()
    reader.join()
    assert found == [b"x" * 1_000_000]
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_reader_of_a_pipe_may_have_seen_enough(tmp_path):
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = reading(pipe, found, 10)
    write(pipe, "x" * 10_000_000)
    assert pipe.is_fifo()
    reader.join()
    assert found == [b"x" * 10]


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
def test_a_pipe_without_a_name_is_sent_to_by_its_number(tmp_path):
    out, into = os.pipe()
    try:
        write(f"/proc/self/fd/{into}")
        assert os.read(out, 100) == b"new"
    finally:
        os.close(out)
        os.close(into)


def test_a_socket_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("x.json")
        with pytest.raises(InputError, match=r"^x.json is a socket; expected a file"):
            write("x.json")
        assert stat.S_ISSOCK(os.stat("x.json").st_mode)
    assert os.listdir() == ["x.json"]


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match=f"^{tmp_path} is a folder; expected the name of a file$"):
        write(tmp_path)


@pytest.mark.parametrize("there", [True, False])
def test_links_are_followed(tmp_path, there):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "one.json").symlink_to("two")
    (tmp_path / "two").symlink_to("home/real")
    if there:
        (home / "real").write_text("old")
    with atomic_path(tmp_path / "one.json") as temporary:
        assert temporary.parent == home  # a file can be renamed there
        assert temporary.suffix == ".json"
        temporary.write_text("new")
    assert (home / "real").read_text() == "new"
    assert (tmp_path / "one.json").readlink().name == "two"
    assert (tmp_path / "two").is_symlink()
    assert os.listdir(home) == ["real"]


def test_links_in_a_circle_are_told(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InputError, match=r"/a cannot be written: Too many levels of symbolic links"):
        write(tmp_path / "a")
    assert (tmp_path / "a").is_symlink()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("mode", [0o640, 0o600, 0o755])
def test_a_replaced_file_keeps_its_mode(tmp_path, mode):
    target = tmp_path / "x"
    target.write_text("old")
    target.chmod(mode)
    write(target)
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_replaced_file_keeps_its_owner(tmp_path):
    target = tmp_path / "x"
    target.write_text("old")
    os.chown(target, 1234, 2345)
    write(target)
    assert (target.stat().st_uid, target.stat().st_gid) == (1234, 2345)


def test_an_owner_that_cannot_be_kept_is_no_error(tmp_path, monkeypatch):
    def chown(path, owner, group):
        raise PermissionError

    target = tmp_path / "x"
    target.write_text("old")
    target.chmod(0o640)
    monkeypatch.setattr(os, "chown", chown)
    write(target)
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
def test_a_file_that_standard_output_goes_to_is_refused(tmp_path):
    command = "from calcli.io.places.outputs import atomic_path\nwith atomic_path({!r}): pass"
    log = tmp_path / "log"
    for name in (str(log), "/proc/self/fd/1"):
        with log.open("w") as out:
            code = [sys.executable, "-c", command.format(name)]
            done = subprocess.run(code, stdout=out, stderr=subprocess.PIPE, text=True)
        assert f"InputError: {name} is where standard output goes; expected a file of its own" in done.stderr
    assert list(tmp_path.iterdir()) == [log]


def test_a_run_that_ends_between_files_of_a_folder_leaves_whole_ones(tmp_path, monkeypatch):
    def fill():
        with filled_folder(tmp_path / "new" / "figures") as filled:
            for name in ("a.png", "b.png"):
                (filled / name).write_text("whole")

    moved, replace = [], atomic.Path.replace

    def end(path, target):
        if moved:
            raise SystemExit(143)
        moved.append(replace(path, target))

    monkeypatch.setattr(atomic.Path, "replace", end)
    with pytest.raises(SystemExit, match="143"):
        fill()
    (left,) = (tmp_path / "new" / "figures").iterdir()
    assert left.read_text() == "whole"


def test_hash_is_that_of_sha256sum(tmp_path):
    (tmp_path / "a").write_bytes(b"abc" * 1_000_000)
    (tmp_path / "b").write_bytes(b"xyz")
    said = subprocess.run(["sha256sum", tmp_path / "a"], capture_output=True, text=True, check=True).stdout
    assert sha256([str(tmp_path / "a")]) == said.split()[0]
    both = hashlib.sha256(b"abc" * 1_000_000 + b"xyz").hexdigest()
    assert sha256([str(tmp_path / "a"), str(tmp_path / "b")]) == both


def test_records_to_a_frame():
    frame = to_frame([{"metric": "ece", "value": 0.25}, {"metric": "ks", "value": 0.5, "p": 0.1}])
    expected = pd.DataFrame({"metric": ["ece", "ks"], "value": [0.25, 0.5], "p": [float("nan"), 0.1]})
    pd.testing.assert_frame_equal(frame, expected)
    assert to_frame([]).empty


def test_a_signal_while_a_folder_is_tidied_up_leaves_nothing(tmp_path, monkeypatch):
    real, struck = shutil.rmtree, []

    def removed(path, **options):
        struck.append(path)
        if len(struck) == 1:
            raise KeyboardInterrupt
        real(path, **options)

    monkeypatch.setattr(shutil, "rmtree", removed)
    with pytest.raises(KeyboardInterrupt), filled_folder(tmp_path / "out") as folder:
        (folder / "a.txt").write_text("x")
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["a.txt"]


def test_a_signal_as_soon_as_a_file_is_there_leaves_nothing(tmp_path, monkeypatch):
    real = os.open

    def opened(*arguments):
        os.close(real(*arguments))
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "open", opened)
    with pytest.raises(KeyboardInterrupt), atomic_path(tmp_path / "a.txt"):
        pass
    monkeypatch.undo()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["file/a.txt", f"{'x' * 300}.txt"])
def test_what_cannot_be_made_is_told_of_and_nothing_else(name, tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(InputError, match="cannot be written"), atomic_path(tmp_path / name):
        pass
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
