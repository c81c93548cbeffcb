"""What is fitted to rows, or chosen by them, and judged on the same ones, is not called held out."""

from __future__ import annotations

import json
import shutil

import pytest


@pytest.fixture
def rows(sample):
    return sample / "cancer_bayes_test.csv"


@pytest.fixture
def copied(rows, tmp_path):
    return shutil.copy(rows, tmp_path / "copy.csv")


@pytest.fixture
def halves(rows, tmp_path):
    head, *lines = rows.read_text().splitlines()
    files = tmp_path / "first.csv", tmp_path / "second.csv"
    for file, own in zip(files, (lines[::2], lines[1::2]), strict=True):
        file.write_text("\n".join([head, *own]))
    return files


def warnings(run, *arguments):
    done = run("evaluate", *arguments, "--metrics", "calibration_loss", "-f", "json")
    return [one["message"] for one in json.loads(done.out)["results"][0]["warnings"]]


def test_calibration_data_that_are_judged_are_told(run, rows, copied, halves):
    for other in (rows, copied):
        assert any(
            "are the rows that are judged" in text
            for text in warnings(run, rows, "--calibration-data", other)
        )
    assert "are the rows that are judged" in " ".join(
        run("evaluate", rows, "--calibration-data", rows, "--metrics", "calibration_loss").out.split()
    )
    assert not any("judged" in text for text in warnings(run, halves[0], "--calibration-data", halves[1]))
    assert not any("judged" in text for text in warnings(run, rows))


@pytest.mark.parametrize("more", [[]])
def test_a_benchmark_on_its_own_rows_is_told(run, rows, copied, halves, more):
    options = ("--methods", "temperature", "--metrics", "log_loss", *more)
    for other in (rows, copied):
        done = run("benchmark", "--cal", rows, "--test", other, *options)
        told = f"fitted to the rows of {other} that they are judged on"
        assert "".join(told.split()) in "".join(done.out.split())  # paths are cut where a line ends
        found = json.loads(run("benchmark", "--cal", rows, "--test", other, *options, "-f", "json").out)
        assert len(found["warnings"]) == 1
    found = json.loads(run("benchmark", "--cal", halves[0], "--test", halves[1], *options, "-f", "json").out)
    assert found["warnings"] == []


def test_a_choice_that_is_reported_on_its_own_files_is_told(run, sample, tmp_path):
    for folder in ("val", "test"):
        (tmp_path / folder).mkdir()
    for n, name in enumerate(("epoch_01", "epoch_02", "epoch_03", "epoch_04")):
        place = tmp_path / ("val" if n < 2 else "test") / f"epoch_{n % 2}.parquet"
        shutil.copy(sample / "epochs" / f"{name}.parquet", place)
    files = sorted((tmp_path / "val").iterdir())

    def chosen(place, *more):
        return run("compare", *files, "--select", "log_loss", "--report-on", tmp_path / place, *more).out

    assert "played no part in the choice" in " ".join(chosen("test").split())
    assert json.loads(chosen("test", "-f", "json"))["warnings"] == []
    assert "played no part" not in " ".join(chosen("val").split())
    (warning,) = json.loads(chosen("val", "-f", "json"))["warnings"]
    assert "are the same, so values there are optimistic as well" in warning
