"""Series of files: lines through their values, the best and the chosen file, and p-values beside errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import savgol_filter

from calcli.core.curves.series import courses, score_sets, smoother
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings

PLAIN = Settings(("log_loss", "accuracy", "mean_gap", "mean_confidence"), draws=0, intervals=False)


@pytest.mark.parametrize("window", [5, 11, 21])
def test_savgol_is_that_of_scipy(window):
    value = np.random.default_rng(0).normal(size=40).cumsum()
    smooth, width = smoother(f"savgol/{window}")
    assert width == window
    np.testing.assert_allclose(smooth(value), savgol_filter(value, window, polyorder=3), atol=1e-12)
    np.testing.assert_allclose(smooth(value[:window]), savgol_filter(value[:window], window, 3), atol=1e-12)


def test_moving_means_and_what_is_left_alone():
    smooth, _ = smoother("moving/3")
    np.testing.assert_allclose(smooth(np.array([1.0, 2.0, 6.0, 1.0])), [1, 3, 3, 1])
    assert smooth(np.array([1.0, 2.0, 6.0, 1.0, np.inf]))[:3].tolist() == [1, 3, 3]
    few = np.arange(10.0) ** 2
    for text in ("savgol/11", "moving/11", "none"):
        assert smoother(text)[0](few) is few
    for text in ("savgol", "savgol/10", "savgol/3", "moving/1", "moving/x", "mean/3", ""):
        with pytest.raises(UsageError, match=r"expected none, moving/N or savgol/N"):
            smoother(text)


@pytest.fixture(scope="module")
def files(predict):
    """Return the estimates of five files, of which that in the middle is calibrated."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 500)
    labels = (probs.cumsum(1) < rng.random((500, 1))).sum(1)
    return [
        evaluate(predict(power * np.log(probs), labels, "logits"), PLAIN).estimates
        for power in (0.2, 0.5, 1.0, 2.0, 4.0)
    ]


def test_courses_find_the_best_file_of_each_metric(files):
    systems = {f"run/e_{number}.npy": found for number, found in zip([1, 10, 2, 20, 3], files, strict=True)}
    found = courses(systems, "moving/3").named()
    assert list(found) == ["log_loss", "accuracy", "mean_gap"]  # no confidence is better than another
    loss = found["log_loss"]
    assert loss.number.tolist() == [1, 2, 3, 10, 20]  # by number, not by name
    assert loss.value.tolist() == [files[n]["log_loss"].value for n in (0, 2, 4, 1, 3)]
    assert loss.best == loss.value.argmin() != loss.line.argmin()
    assert found["accuracy"].best == 0  # all the same: the first
    assert found["mean_gap"].best == np.abs(found["mean_gap"].value).argmin()
    parted = courses({f"{'ab'[n % 2]}/e_{n}.npy": found for n, found in enumerate(files)}).named()
    assert list(parted)[:2] == ["log_loss, a", "log_loss, b"]
    assert parted["log_loss, b"].number.tolist() == [1, 3]
    unnumbered = courses(dict(zip("edcba", files, strict=True)))
    assert not unnumbered.numbered
    assert unnumbered.named()["log_loss"].value.tolist() == [one["log_loss"].value for one in files]
    with pytest.raises(UsageError, match="share no metric that says which is better"):
        courses({"a": {}, "b": {}})


def test_score_sets_hold_the_normalized_scores_that_all_systems_have(predict):
    rows = predict(np.eye(2), [0, 1])

    def of(*names):
        return evaluate(rows, replace(PLAIN, metrics=names)).estimates

    table = score_sets({"a": of("normalized_brier", "brier")})["a"].tables()[""]
    assert table["metric"].tolist() == ["normalized_brier"]
    assert np.isnan(table["low"]).all()
    both = {"a": of("normalized_brier", "normalized_error_rate"), "b": of("normalized_error_rate")}
    for found in score_sets(both).values():
        assert [str(estimate.metric) for estimate in found.estimates] == ["normalized_error_rate"]
    with pytest.raises(UsageError, match="normalized_log_loss"):
        score_sets({"a": {}})


@pytest.fixture(scope="module")
def of_run(predict):
    """Return what gives three files of the test set of each run, the last one first, the best of them 1."""
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(2), 300)
    labels = (probs[:, 1] > rng.random(300)).astype(int)
    settings = Settings(("log_loss", "ece"), draws=99, intervals=False)

    def files(runs):
        return {
            f"{run}/test/e_{n}.npy": evaluate(
                predict(n * np.log(probs), labels, "logits"), settings
            ).estimates
            for run in runs
            for n in (3, 1, 2)
        }

    return files


def test_p_values_follow_their_errors_and_have_no_best(of_run):
    found = courses(of_run("a"), p_values=True).courses
    loss, error, p = (series[0] for series in found.values())
    assert list(found) == ["log_loss", str(error.metric), f"p of {error.metric}"]
    ordered = [of_run("a")[f"a/test/e_{n}.npy"] for n in (1, 2, 3)]
    assert loss.value.tolist() == [one["log_loss"].value for one in ordered]
    assert p.value.tolist() == [one["ece"].if_calibrated.p_value for one in ordered]
    assert (loss.best, p.best, p.marked) == (0, None, None)


def test_runs_are_parted_from_sets(of_run):
    found = courses(of_run("ab"), runs=True)
    assert [(one.run, one.series) for one in found.courses["log_loss"]] == [("a", ""), ("b", "")]
    both = of_run("ab") | {path.replace("test", "train"): one for path, one in of_run("ab").items()}
    names = {(one.run, one.series) for one in courses(both, runs=True).courses["log_loss"]}
    assert names == {("a", "test"), ("b", "test"), ("a", "train"), ("b", "train")}
    assert "log_loss, b, train" in courses(both, runs=True).named()


def test_what_another_set_chose_is_marked_everywhere(of_run):
    found = courses(of_run("ab"), p_values=True, runs=True, chosen={"a": 2, "b": 3}).courses
    assert [[one.marked for one in several] for several in found.values()] == [[1, 2]] * 3
    (table,) = found["log_loss"][1].tables().values()
    assert table["chosen"].tolist() == [0, 0, 1]
    (only,) = courses(of_run("a"), chosen={"": 3}).courses["log_loss"]
    assert only.marked == 2


def test_what_cannot_be_marked_or_tested_is_refused(of_run):
    with pytest.raises(UsageError, match="no files in b, for b/test; there are files in a"):
        courses(of_run("ab"), chosen={"a": 2})
    with pytest.raises(UsageError, match="chose number 7"):
        courses(of_run("a"), chosen={"": 7})
    untested = {path: {"log_loss": one["log_loss"]} for path, one in of_run("a").items()}
    with pytest.raises(UsageError, match="p_values are those of calibration errors"):
        courses(untested, p_values=True)
