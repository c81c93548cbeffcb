"""What every command that writes does about places that are no plain file."""

from __future__ import annotations

import csv
import json
import os
import socket
import stat
import threading

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest


@pytest.fixture
def digits(sample):
    return sample / "digits_forest_calibration.parquet"


@pytest.fixture
def piped(tmp_path):
    """Return a function that calls another while a pipe of some name is read, and returns what came."""

    def call(name, command):
        pipe, found = tmp_path / name, []
        os.mkfifo(pipe)
        reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
        reader.start()
        done = command(pipe)
        assert done.status == 0, done.err
        assert pipe.is_fifo()
        reader.join()
        return found[0]

    return call


@pytest.fixture
def policy(tmp_path):
    file = tmp_path / "calcli.toml"
    file.write_text('[[rules]]\nmetric = "accuracy"\nmin = 0.5\n')
    return file


def test_a_calibrator_goes_through_a_device(run, digits, tmp_path):
    null = tmp_path / "null"
    try:
        os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        null.open("wb").close()
    except PermissionError as error:
        pytest.skip(f"a device may not be made here: {error}")
    assert run("fit", digits, "-m", "dp", "--folds", "0", "-o", null).status == 0
    assert stat.S_ISCHR(null.stat().st_mode)
    assert list(tmp_path.iterdir()) == [null]


@pytest.mark.parametrize("ending", ["json", "npz"])
def test_a_calibrator_goes_through_a_pipe(run, digits, tmp_path, piped, ending):
    fit = ("fit", digits, "-m", "vector", "--folds", "0", "-o")
    through = piped(f"pipe.{ending}", lambda pipe: run(*fit, pipe))
    plain = tmp_path / f"plain.{ending}"
    run(*fit, plain)
    assert through == plain.read_bytes() != b""


@pytest.mark.parametrize("ending", ["parquet", "npy", "npz", "csv.gz"])
def test_recalibrated_rows_go_through_a_pipe(run, digits, tmp_path, piped, ending):
    calibrator = tmp_path / "cal.json"
    run("fit", digits, "-m", "temperature", "--folds", "0", "-o", calibrator)
    through = piped(f"pipe.{ending}", lambda pipe: run("apply", calibrator, digits, "-o", pipe))
    (tmp_path / f"copy.{ending}").write_bytes(through)
    run("apply", calibrator, digits, "-o", tmp_path / f"plain.{ending}")
    if ending == "npy":
        copy, plain = (np.load(tmp_path / f"{name}.npy") for name in ("copy", "plain"))
        np.testing.assert_array_equal(copy, plain)
    elif ending == "parquet":
        assert pq.read_table(tmp_path / "copy.parquet").equals(pq.read_table(tmp_path / "plain.parquet"))
    else:
        evaluated = [
            json.loads(run("evaluate", tmp_path / f"{name}.{ending}", "--format", "json", "-q").out)
            for name in ("copy", "plain")
        ]
        metrics = [report["results"][0]["metrics"] for report in evaluated]
        assert metrics[0] == metrics[1]


def test_links_and_modes_of_outputs_stay(run, preds, policy, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    for name in ("check.xml", "report.md", "ece.png", "ece.csv"):
        (home / name).write_text("old")
        (home / name).chmod(0o640)
    folder = tmp_path / "report"
    folder.mkdir()
    (tmp_path / "check.xml").symlink_to("home/check.xml")
    (folder / "report.md").symlink_to(home / "report.md")
    (folder / "reliability.png").symlink_to(home / "ece.png")
    (folder / "reliability.csv").symlink_to(home / "ece.csv")
    assert run("check", preds, "-p", policy, "--write", f"junit={tmp_path / 'check.xml'}").status == 0
    assert run("evaluate", preds, "-o", folder, "--draws", 9).status == 0
    assert run("plot", preds, "--figure", "reliability", "--data", "-o", folder).status == 0
    starts = {"check.xml": b"<?xml", "report.md": b"#", "ece.png": b"\x89PNG", "ece.csv": b""}
    for name, start in starts.items():
        assert (home / name).read_bytes().startswith(start)
        assert (home / name).read_bytes() != b"old"
        assert stat.S_IMODE((home / name).stat().st_mode) == 0o640
    links = [tmp_path / "check.xml", *(folder / name for name in ("report.md", "reliability.png"))]
    assert all(link.is_symlink() for link in links)
    assert len(os.listdir(home)) == 4


def test_a_first_policy_goes_where_a_link_leads(run, preds, tmp_path, piped):
    link = tmp_path / "link.toml"
    link.symlink_to("real.toml")
    assert run("check", "--init", preds, "-p", link).status == 0
    assert link.is_symlink()
    through = piped("pipe.toml", lambda pipe: run("check", "--init", preds, "-p", pipe))
    assert through == (tmp_path / "real.toml").read_bytes() != b""


def test_one_place_that_cannot_be_written_stops_all(run, preds, policy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.npy")
        before = sorted(tmp_path.iterdir())
        check = ("check", preds, "-p", policy, "--write", "json=a.json", "--write", "junit=socket.npy")
        simulate = ("simulate", "mcps", "--rows", "10", "-o", "a.npy", "--posteriors", "socket.npy")
        for command in (check, simulate):
            done = run(*command)
            assert (done.status, done.out) == (2, "")
            assert done.err == "calcli: socket.npy is a socket; expected a file, a device or a pipe\n"
            assert sorted(tmp_path.iterdir()) == before


def test_a_folder_is_no_file(run, preds, policy, tmp_path):
    for command in (
        ("fit", preds, "-m", "dp", "--folds", "0", "-o", tmp_path),
        ("check", "--init", preds, "-p", tmp_path),
    ):
        done = run(*command)
        assert (done.status, done.out) == (2, "")
        assert done.err == f"calcli: {tmp_path} is a folder; expected the name of a file\n"


@pytest.mark.parametrize("option", ["-o", "--html", "--cross-validated"])
def test_a_fit_that_could_not_write_all_its_files_writes_none(option, run, preds, tmp_path):
    outputs = {"-o": "c.json", "--html": "c.html", "--cross-validated": "c.csv"}
    outputs[option] = f"none/{outputs[option]}"
    given = [text for name, file in outputs.items() for text in (name, tmp_path / file)]
    done = run("fit", preds, "-m", "temperature", "--folds", "2", *given)
    assert done.status == 2
    assert f"{tmp_path / outputs[option]} cannot be written: No such file or directory" in done.err
    assert list(tmp_path.iterdir()) == [preds]


def test_figures_and_a_page_that_cannot_be_written(run, preds, tmp_path):
    asked = ("plot", preds, "--figure", "reliability", "-o", tmp_path / "out", "--html")
    done = run(*asked, tmp_path / "none" / "page.html")
    assert done.status == 2
    assert list(tmp_path.iterdir()) == [preds]
    assert run(*asked, tmp_path / "out" / "page.html").status == 0
    assert (tmp_path / "out" / "page.html").exists()


@pytest.mark.parametrize("head", ["a\rb", "a\nb", 'a "b"', "a,b"])
def test_special_heads_of_a_csv_are_quoted(head, run, tmp_path):
    rng = np.random.default_rng(5)
    probs = rng.random(100)
    table = pd.DataFrame(
        {"p_a": probs, "p_b": 1 - probs, "label": np.where(rng.random(100) < probs, "a", "b")}
    )
    table.assign(**{head: "x"}).to_csv(tmp_path / "x.csv", index=False, quoting=csv.QUOTE_ALL)
    run("fit", tmp_path / "x.csv", "-o", tmp_path / "x.json", "--method", "temperature")
    done = run("apply", tmp_path / "x.json", tmp_path / "x.csv", "-o", tmp_path / "y.csv")
    assert done.status == 0, done.err
    assert list(pd.read_csv(tmp_path / "y.csv")) == ["p_a", "p_b", "label", head]
