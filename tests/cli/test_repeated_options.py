"""Options that are given more than once."""

from __future__ import annotations

import csv
import io


def metrics_in(text: str) -> list[str]:
    return [row["metric"] for row in csv.DictReader(io.StringIO(text))]


def test_lists_add_up(run, sample):
    options = ["--metrics", "log_loss", "--metrics", "brier,accuracy", "-f", "csv"]
    done = run("evaluate", sample / "cancer_bayes_test.csv", *options)
    assert metrics_in(done.out) == ["log_loss", "brier", "accuracy"]
    costs = ["--costs", "abstain:0.1", "--costs=zero-one", "--metrics", "bayes_risk:costs=abstain"]
    done = run("evaluate", sample / "cancer_bayes_test.csv", *costs, "-f", "csv")
    assert done.status == 0, "the first costs are known"


def test_of_others_the_last_counts_and_that_is_told(run, sample):
    options = ["--metrics", "ece", "--bins", "10", "--bins", "20", "--draws", "0", "-f", "csv"]
    done = run("evaluate", sample / "cancer_bayes_test.csv", *options)
    assert "|bins:20|" in done.out
    assert "calcli: --bins is given 2 times; the last one is used: 20\n" in done.err
    assert "given" not in run("evaluate", sample / "cancer_bayes_test.csv", *options, "--quiet").err
    same = ["--metrics", "ece", "--bins", "20", "--bins", "20", "--draws", "0"]
    assert "given" not in run("evaluate", sample / "cancer_bayes_test.csv", *same).err
