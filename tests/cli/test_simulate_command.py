"""`calcli simulate` writes what `calcli evaluate` reads, and the papers' numbers come out."""

from __future__ import annotations

import json
import math
import sys
from io import BytesIO, TextIOWrapper

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm


@pytest.fixture
def value(run):
    """Return a function of a file and metric expressions that returns their values."""

    def values(file, *metrics: str) -> list[float]:
        options = ["--metrics", ",".join(metrics), "--draws", "0", "-f", "json"]
        done = run("evaluate", file, *options)
        assert done.status == 0, done.err
        found = json.loads(done.out)["results"][0]["metrics"]
        assert list(found) == list(metrics)
        return [entry["value"] for entry in found.values()]

    return values


@pytest.mark.parametrize(
    ("system", "log_loss", "brier"),
    [
        (["cal"], 0.34, 0.29),
        (["mcs", "--logit-scale", "0.48"], 0.42, 0.34),
        (["mcs", "--logit-scale", "2"], 0.42, 0.31),
        (["cal", "--variance", "0.19"], 0.42, 0.36),
    ],
)
def test_figure_1_of_ferrer_and_ramos(run, value, tmp_path, system, log_loss, brier):
    file = tmp_path / "system.npy"
    assert run("simulate", *system, "--prior", "0.6", "--rows", "100000", "-o", file).status == 0
    # 0.005 for the printed digit, and 2 to 3 standard errors of the sample
    assert value(file, "normalized_log_loss", "normalized_brier") == pytest.approx(
        [log_loss, brier], abs=0.01
    )


@pytest.mark.parametrize("ending", ["npy", "npz", "csv", "tsv", "csv.gz", "parquet", "arrow", "jsonl"])
def test_every_format_holds_the_same(run, value, tmp_path, ending):
    file, truth = tmp_path / f"a.{ending}", tmp_path / f"truth.{ending}"
    options = ["--n-classes", "3", "--rows", "500", "--seed", "3"]
    assert run("simulate", "mcp", *options, "-o", file, "--posteriors", truth, "-q") == (0, "", "")
    assert run("simulate", "mcp", *options, "-o", tmp_path / "b.csv").status == 0
    assert value(file, "log_loss", "accuracy") == value(tmp_path / "b.csv", "log_loss", "accuracy")
    assert value(truth, "log_loss") < value(file, "log_loss")


def test_what_was_written_is_told(run, tmp_path):
    done = run("simulate", "cal", "--rows", "1234", "-o", tmp_path / "a.npy")
    expected = f"calcli: 1,234 rows of 2 classes in {tmp_path}/a.npy, {tmp_path}/a_labels.npy\n"
    assert done == (0, "", expected)
    assert len(np.load(tmp_path / "a_labels.npy")) == 1234


def test_a_pipe(run, value, monkeypatch):
    simulated = run("simulate", "table-1", "--exact")
    assert simulated.err == ""
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(simulated.out.encode())))
    found = value("-", "ece", "cw_ece", "expected_miscalibration:min_rows=20")
    # calibrated for the top class and for every class, while every vector is off by 0.1
    assert found == pytest.approx([0, 0, 0.1], abs=1e-12)


@pytest.mark.parametrize(
    ("system", "off"),
    [
        ("table-2", 0.4 / 3),  # the classes are off by 0.1, 0.1 and 0.2
        ("thesis-2.3", (0.35 / 2 + 0.05 * 3 / 4 + 0.3 / 4 + 0.25 * 3 / 4 + 0.3 / 4) / 3),
    ],
)
def test_tables_that_are_calibrated_for_the_top_class_only(run, value, tmp_path, system, off):
    file = tmp_path / "table.csv"
    assert run("simulate", system, "--exact", "-o", file).status == 0
    assert value(file, "ece", "cw_ece") == pytest.approx([0, off], abs=1e-12)


def test_the_mixture_with_the_wrong_sign(run, value, tmp_path):
    file = tmp_path / "mixture.npy"
    options = ["--intercept", "1", "--slope", "1", "--rows", "100000"]
    assert run("simulate", "mixture", *options, "-o", file).status == 0

    def density(x: float) -> float:
        return (norm.pdf(x, -1) + norm.pdf(x, 1)) / 2

    def lost(x: float) -> float:
        return abs(expit(1 + x) - expit(-2 * x)) * density(x)

    parts = [quad(lost, *ends, limit=200)[0] for ends in [(-math.inf, -1 / 3), (-1 / 3, math.inf)]]
    # 100 bins are fine enough; 3 standard errors of the sample
    assert value(file, "ece:lens=class-0:bins=100") == pytest.approx([sum(parts)], abs=0.005)


def test_seeds_decide(run):
    first, again, other = (run("simulate", "mcps", "--seed", seed).out for seed in (1, 1, 2))
    assert first == again != other
    assert first.startswith("label,log_prob_0,log_prob_1\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["mixture", "--logit-scale", "3"],
            "--logit-scale is not for mixture, which takes --intercept, --slope",
        ),
        (["table-1", "--prior", "0.3"], "--prior is not for table-1, which has no parameters"),
        (["cal", "--prior", "1"], "--prior is 1; expected a number between 0 and 1"),
        (["mcs", "--logit-scale", "0"], "--logit-scale is 0; expected a number above 0"),
        (["cal", "--exact"], "--exact is for table-1, table-2, thesis-2.3, not for cal"),
        (["table-2", "--exact", "--rows", "3"], "--exact has 20 rows; leave out --rows"),
        (["cal", "-o", "x.txt"], 'x.txt: the ending ".txt" is not known'),
        (["cal", "--posteriors", "-"], "--posteriors and --output are both -; choose two places"),
        (
            ["cal", "-o", "no/x.npy", "--posteriors", "no/x_labels.npy"],
            "no/x_labels.npy would hold both labels and probabilities; expected another name",
        ),
        (["dog"], "'dog' is not one of"),
    ],
)
def test_wrong_calls(run, arguments, message):
    done = run("simulate", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
