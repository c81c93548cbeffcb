"""A state keeps a log-loss that was clipped: nothing is compared with it that was not."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def rows(sample):
    return sample / "release_1.parquet"


@pytest.fixture
def clipped(run, rows, tmp_path):
    state = tmp_path / "clipped.calcli"
    options = ("--clip", "0.3", "--metrics", "log_loss", "-q")
    assert run("evaluate", rows, "--save-state", state, *options).status == 0
    return state


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text('[[rules]]\nmetric = "log_loss"\nmax = 0.45\n')
    return path


def log_loss(run, file, *options):
    report = json.loads(run("evaluate", file, "--metrics", "log_loss", "-f", "json", *options).out)
    return report["results"][0]["metrics"]["log_loss"]["value"], report["settings"]["clip"]


def test_an_evaluation_tells_the_clip_of_a_state(run, rows, clipped):
    assert log_loss(run, clipped) == pytest.approx(log_loss(run, rows, "--clip", "0.3"))
    assert log_loss(run, clipped)[1] == 0.3
    both = json.loads(run("evaluate", rows, clipped, "--metrics", "log_loss", "-f", "json").out)
    assert both["settings"]["clip"] is None
    assert json.loads(run("evaluate", rows, "-f", "json").out)["settings"]["clip"] == 0


def test_a_comparison_asks_for_the_clip_of_a_state(run, rows, clipped):
    for files in ((rows, clipped), (clipped, rows), (clipped, clipped)):
        done = run("compare", *files, "--metrics", "log_loss")
        assert (done.status, done.out) == (2, "")
        assert f"--clip: {clipped} was made with 0.3, and none is asked for" in done.err
    done = run("compare", rows, clipped, "--metrics", "log_loss", "--clip", "0.3", "-f", "json")
    assert done.status == 0
    value = log_loss(run, rows, "--clip", "0.3")[0]
    found = json.loads(done.out)["comparisons"][0]["differences"][0]["log_loss"]
    assert (found["baseline"], found["candidate"]) == pytest.approx((value, value))


def test_a_check_asks_for_the_clip_of_a_state(run, rows, clipped, policy):
    for arguments in ((clipped,), (rows, "--baseline", clipped), (clipped, "--baseline", rows)):
        done = run("check", *arguments, "--policy", policy)
        assert done.status == 2
        assert "was made with 0.3, and none is asked for" in " ".join(done.out.split())
    policy.write_text(f"clip = 0.3\n{policy.read_text()}")
    value = log_loss(run, rows, "--clip", "0.3")[0]
    done = run("check", clipped, "--policy", policy, "--baseline", rows, "-f", "json")
    (rule,) = json.loads(done.out)["results"][0]["rules"]
    assert rule["value"] == pytest.approx(value)
    assert rule["result"] == ("passed" if value <= 0.45 else "failed")


def test_a_clip_is_no_matter_where_no_metric_depends_on_it(run, rows, clipped, policy):
    def brier(name, *arguments):
        done = run("compare", *arguments, "--metrics", "brier", "--select", "brier", "-f", "json")
        assert done.status == 0, name
        return json.loads(done.out)["comparisons"][0]["differences"][0]["brier"]["baseline"]

    expected = brier("rows", rows, rows)
    assert brier("state", clipped, rows) == pytest.approx(expected)
    assert brier("another clip", rows, clipped, "--clip", "0.1") == pytest.approx(expected)
    for clip in ("", "clip = 0.1\n"):
        policy.write_text(f'{clip}[[rules]]\nmetric = "brier"\nmax_increase = 0.01\n')
        for files in ((clipped, "--baseline", rows), (rows, "--baseline", clipped)):
            done = run("check", *files, "--policy", policy, "-f", "json")
            assert (done.status, done.err) == (0, "")
            (rule,) = json.loads(done.out)["results"][0]["rules"]
            assert (rule["value"], rule["baseline"]) == pytest.approx((expected, expected))
        policy.write_text(f'{policy.read_text()}[[rules]]\nmetric = "calibration_slope"\nmin = 0\n')
        assert "clip" in run("check", clipped, "--policy", policy).out
