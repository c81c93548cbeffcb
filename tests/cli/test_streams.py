"""Standard streams that are closed, or cannot encode all letters, and a run that is ended from outside."""

from __future__ import annotations

import errno
import io
import os
import signal

import pytest

from calcli.cli import main, output
from calcli.core.language.errors import InputError


@pytest.mark.parametrize(
    ("encoding", "written"), [("ascii", b"caf\\u00e9 \\ud83d\\ude00\n"), ("utf-8", "café 😀\n".encode())]
)
def test_letters_that_an_encoding_lacks(encoding, written, tmp_path, monkeypatch):
    with open(tmp_path / "out", "w", encoding=encoding) as stream:
        monkeypatch.setattr(output.sys, "stdout", stream)
        output.open_streams()
        output.emit("café 😀\n")
    assert (tmp_path / "out").read_bytes() == written


def closed(number: int) -> int:
    """Run in a fork with one of the standard streams closed, and return its exit status."""
    if (child := os.fork()) == 0:
        status = 99
        try:
            os.close(number)
            setattr(output.sys, list(output.STREAMS)[number], None)
            output.open_streams()
            output.emit("results\n")
            output.remark("something")
            status = 0 if output.sys.stdin.read is not None else 98
        except InputError:
            status = 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_closed_streams():
    """What cannot be written is told; nobody misses what is said to nobody."""
    assert [closed(number) for number in range(3)] == [0, 2, 0]


def test_what_cannot_be_said_for_want_of_room_changes_nothing(tmp_path, monkeypatch):
    class Full(io.FileIO):
        def write(self, content):
            raise OSError(errno.ENOSPC, "No space left on device")

    own = os.dup(2)
    try:
        with io.TextIOWrapper(io.BufferedWriter(Full(tmp_path / "err", "w"))) as stream:
            monkeypatch.setattr(output.sys, "stderr", stream)
            monkeypatch.setattr(Full, "fileno", lambda self: 2)
            assert main.status_of(["evaluate", str(tmp_path / "missing.csv")]) == 2
            monkeypatch.setattr(Full, "write", lambda self, content: len(content))
    finally:
        os.dup2(own, 2)
        os.close(own)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_ended_tidies_up(monkeypatch, number):
    monkeypatch.setattr(main, "_end_signals", [])
    with pytest.raises(SystemExit) as left:
        main._end(number, None)
    assert left.value.code == 128 + number


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_end_that_compiled_code_takes_for_a_fault_is_one(monkeypatch, capsys, number):
    def swallowing(*_, **__):
        try:
            main._end(number, None)
        except BaseException:
            raise TypeError("incompatible function arguments") from None

    monkeypatch.setattr(main, "_end_signals", [])
    monkeypatch.setattr(main, "app_of", lambda _: swallowing)
    assert main.status_of(["explain"]) == 128 + number
    assert capsys.readouterr() == ("", "")
