"""An object store: read, written, and told of when something is wrong."""

from __future__ import annotations

import json

import pytest

RELEASE = "s3://lake/flat/release_1.parquet"


def metrics(done) -> list[dict]:
    assert done.returncode == 0, done.stderr
    return [one["metrics"] for one in json.loads(done.stdout)["results"]]


@pytest.mark.parametrize("file", ["release_1.parquet", "digits_network_test.npy", "cancer_bayes_test.csv"])
def test_numbers_are_those_of_the_local_file(run, s3, file):
    how = ("--format", "json", "-q", "--metrics", "log_loss,accuracy,ece")
    found = run("evaluate", f"s3://lake/flat/{file}", *how, **s3)
    assert metrics(found) == metrics(run("evaluate", f"sample_data/{file}", *how))


def test_partitions_and_patterns(run, s3):
    how = ("--concat", "--metrics", "accuracy", "--format", "json", "-q")
    whole, first, second = metrics(run("evaluate", "s3://lake/hive", "--by", "date", *how, **s3))
    (joined,) = metrics(run("evaluate", "s3://lake/hive/date=*/p.parquet", *how, **s3))
    mean = (first["accuracy"]["value"] + second["accuracy"]["value"]) / 2
    assert whole["accuracy"]["value"] == joined["accuracy"]["value"] == pytest.approx(mean, abs=1e-12)


def test_what_is_written_can_be_read(run, s3):
    state, cal = "s3://lake/out/a.calcli", "s3://lake/out/cal.json"
    made = run("evaluate", RELEASE, "--save-state", state, "-o", "s3://lake/out/report", "-q", **s3)
    assert (made.returncode, made.stderr) == (0, "")
    assert run("compare", state, "s3://lake/flat/release_2.parquet", "-q", **s3).returncode == 0
    assert run("fit", RELEASE, "-m", "temperature", "-o", cal, "-q", **s3).returncode == 0
    assert run("apply", cal, RELEASE, "-o", "s3://lake/out/new.parquet", "-q", **s3).returncode == 0
    assert run("inspect", "s3://lake/out/new.parquet", **s3).returncode == 0
    policy = ("--policy", "s3://lake/out/p.toml")
    assert run("check", "--init", RELEASE, *policy, **s3).returncode == 0
    assert run("check", "s3://lake/flat/release_2.parquet", *policy, **s3).returncode in (0, 1)


@pytest.mark.parametrize("url", ["s3://lake/none.parquet", "s3://nobucket/none.parquet"])
def test_a_missing_object_is_one_sentence(run, s3, url):
    done = run("evaluate", url, **s3)
    assert (done.returncode, done.stderr) == (2, f"calcli: {url}: no such file\n")


def test_a_bucket_that_is_missing_is_not_made(run, s3):
    done = run("evaluate", RELEASE, "--metrics", "accuracy", "-o", "s3://nobucket/report", "-q", **s3)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_dead_server_is_one_sentence_without_keys(run, s3):
    done = run("evaluate", RELEASE, **s3 | {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"})
    assert done.returncode == 2
    assert done.stderr == f"calcli: {RELEASE} cannot be read: EndpointConnectionError\n"
