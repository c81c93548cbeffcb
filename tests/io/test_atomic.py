"""Output files are whole or absent; hashes and frames."""

from __future__ import annotations

import hashlib
import stat
import subprocess

import pandas as pd
import pytest

from calcli.core.language.errors import InputError
from calcli.io.atomic import atomic_path
from calcli.io.frames import to_frame
from calcli.io.hashing import sha256


def test_a_file_appears_when_it_is_complete(tmp_path):
    target = tmp_path / "report.json"
    with atomic_path(target) as temporary:
        temporary.write_text("half")
        assert not target.exists()
        assert temporary.suffix == ".json"
        temporary.write_text("whole")
    assert target.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [target]


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
