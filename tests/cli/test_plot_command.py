"""`calcli plot`: the files it writes, the numbers in them against other tools, and calls that are wrong."""

from __future__ import annotations

import csv
import json
import math
import os
import shutil

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.calibration import calibration_curve
from sklearn.metrics import log_loss

from calcli.core.language.figures import FIGURES

MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture
def two_classes(tmp_path):
    """Return a file of 400 rows and the probabilities and labels in it."""
    rng = np.random.default_rng(0)
    probs = rng.random(400).round(6)
    labels = (rng.random(400) < probs**2).astype(int)
    place = np.where(np.arange(400) % 4 == 0, "north", "south")
    lines = [
        f"{label},{1 - p:.6f},{p:.6f},{where}" for label, p, where in zip(labels, probs, place, strict=True)
    ]
    file = tmp_path / "two.csv"
    file.write_text("\n".join(["label,prob_0,prob_1,place", *lines]) + "\n")
    return file, probs, labels, place


def table(file, name: str | None = None) -> list[dict[str, str]]:
    """Return the rows of a CSV file: all, or those of the table of that name."""
    with file.open(newline="") as lines:
        return [row for row in csv.DictReader(lines) if name is None or row["name"] == name]


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("cancer_bayes_test.csv", ["reliability", "deviation", "ks", "risk"]),
        ("iris_logistic_test.csv", ["reliability", "deviation", "ks", "class-wise", "simplex"]),
        ("digits_network_test.npy", ["reliability", "deviation", "ks", "class-wise"]),
    ],
)
def test_the_standard_set_fits_the_classes(run, sample, tmp_path, file, names):
    folder = tmp_path / "figures"
    done = run("plot", sample / file, "-o", folder, "-q", "--draws", 9)
    assert done == (0, "".join(f"{folder}/{name}.png\n" for name in names), "")
    assert sorted(path.stem for path in folder.iterdir()) == sorted(names)
    assert all(path.read_bytes().startswith(MAGIC["png"]) for path in folder.iterdir())


@pytest.mark.parametrize("format", MAGIC)
def test_formats_and_stable_bytes(run, preds, tmp_path, format):
    for folder in ("a", "b"):
        command = [
            "plot",
            preds,
            "--figure",
            "reliability",
            "-f",
            format,
            "--draws",
            9,
            "-o",
            tmp_path / folder,
        ]
        assert run(*command).out == f"{tmp_path / folder}/reliability.{format}\n"
    first = (tmp_path / "a" / f"reliability.{format}").read_bytes()
    assert first.startswith(MAGIC[format])
    assert first == (tmp_path / "b" / f"reliability.{format}").read_bytes()


def test_the_data_are_the_bins_of_scikit_learn(run, two_classes, tmp_path):
    file, probs, labels, _ = two_classes
    options = ["--lens", "class-1", "--bins", "8", "--data", "--draws", "9"]
    done = run("plot", file, "--figure", "reliability", *options, "-o", tmp_path)
    names = ("reliability.png", "reliability.csv", "reliability.txt")
    assert done.out == "".join(f"{tmp_path}/{name}\n" for name in names)
    caption = (tmp_path / "reliability.txt").read_text()
    assert "8 equal-width bins of the score (class-1)" in caption
    assert "9 data sets drawn from the scores, seed 0" in caption
    rows = table(tmp_path / "reliability.csv", "two.csv")
    frequency, mean = calibration_curve(labels, probs, n_bins=8)
    np.testing.assert_allclose([float(row["frequency"]) for row in rows], frequency)
    np.testing.assert_allclose([float(row["mean_score"]) for row in rows], mean)
    ece, _ = table(tmp_path / "reliability.csv", "two.csv, errors")
    weight = np.array([float(row["rows"]) for row in rows]) / len(labels)
    assert float(ece["value"]) == pytest.approx(weight @ np.abs(frequency - mean))


def test_a_region_leaves_out_the_other_rows(run, two_classes, tmp_path):
    file, probs, labels, _ = two_classes
    figure = "reliability:binning=equal-mass:region=0.5..0.9"
    options = ["--figure", figure, "--lens", "class-1", "--bins", "4", "--data"]
    assert run("plot", file, *options, "-o", tmp_path).status == 0
    rows = table(tmp_path / "reliability.csv", "two.csv, 0.5..0.9")
    inside = (probs >= 0.5) & (probs < 0.9)
    assert sum(int(row["rows"]) for row in rows) == inside.sum()
    hits = sum(int(row["rows"]) * float(row["frequency"]) for row in rows)
    assert hits == pytest.approx(labels[inside].sum())
    shares = table(tmp_path / "reliability.csv", "two.csv, 0.5..0.9, distribution")
    expected = np.histogram(probs[inside], np.linspace(0.5, 0.9, 21))[0] / inside.sum()
    np.testing.assert_allclose([float(row["share"]) for row in shares], expected)


def test_edges_are_bins(run, two_classes, tmp_path):
    file, probs, _, _ = two_classes
    options = ["--figure", "reliability:binning=0/0.3/1", "--lens", "class-1", "--data"]
    assert run("plot", file, *options, "-o", tmp_path).status == 0
    rows = [int(row["rows"]) for row in table(tmp_path / "reliability.csv", "two.csv")]
    assert rows == [np.count_nonzero(probs < 0.3), np.count_nonzero(probs >= 0.3)]


def test_slices_are_the_rows_of_each_value(run, two_classes, tmp_path):
    file, probs, labels, place = two_classes
    done = run("plot", file, "--figure", "risk", "--by", "place", "--data", "-o", tmp_path)
    assert done.out.count("\n") == 6  # asking for slices adds their figure
    rows = table(tmp_path / "slices.csv")
    assert [(row["slice"], int(row["rows"])) for row in rows] == [("place=north", 100), ("place=south", 300)]
    for row, where in zip(rows, ("north", "south"), strict=True):
        chosen = place == where
        assert float(row["value"]) == pytest.approx(log_loss(labels[chosen], probs[chosen]))
        assert float(row["low"]) < float(row["value"]) < float(row["high"])


def test_slices_are_weighted_to_priors(run, two_classes, tmp_path):
    file, probs, labels, place = two_classes
    options = ["--figure", "slices", "--by", "place", "--priors", "0.9,0.1", "--data"]
    assert run("plot", file, *options, "-o", tmp_path).status == 0
    for row, where in zip(table(tmp_path / "slices.csv"), ("north", "south"), strict=True):
        own = labels[place == where]
        weights = np.array([0.9, 0.1])[own] / np.bincount(own)[own]
        loss = log_loss(own, probs[place == where], sample_weight=weights)
        assert float(row["value"]) == pytest.approx(loss)


def test_several_files_are_in_one_figure(run, sample, tmp_path):
    files = [sample / "release_1.parquet", sample / "release_2.parquet"]
    options = ["--figure", "reliability,scores", "--figure", "ks", "--data", "-o", tmp_path]
    options += ["--metrics", "normalized_log_loss", "--draws", "9"]
    done = run("plot", *files, *options)
    assert [line.rpartition("/")[2] for line in done.out.split()] == [
        f"{name}.{ending}" for name in ("reliability", "scores", "ks") for ending in ("png", "csv", "txt")
    ]
    report = run("evaluate", *files, "--metrics", "ece,normalized_log_loss", "-f", "json", "-q")
    metrics = [result["metrics"] for result in json.loads(report.out)["results"]]
    scores = table(tmp_path / "scores.csv")
    shown = [float(row["value"]) for row in scores if row["metric"] == "normalized_log_loss"]
    assert shown == pytest.approx([found["normalized_log_loss"]["value"] for found in metrics])
    for file, found in zip(files, metrics, strict=True):
        bins = [
            row
            for row in table(tmp_path / "reliability.csv")
            if row["name"] == file.name and row["gap"] != "nan"
        ]
        gaps = sum(float(row["weight"]) * abs(float(row["gap"])) for row in bins)
        assert gaps / sum(float(row["weight"]) for row in bins) == pytest.approx(found["ece"]["value"])


def test_epochs_over_a_series(run, sample, tmp_path):
    files = sorted((sample / "epochs").iterdir())
    done = run(
        "plot", *files, "--figure", "epochs", "--metrics", "log_loss,accuracy", "--data", "-o", tmp_path
    )
    assert done.status == 0
    rows = table(tmp_path / "epochs.csv")
    losses = [float(row["value"]) for row in rows if row["name"] == "log_loss"]
    assert len(rows) == 2 * len(losses) == 20
    assert np.argmin(losses) == 3  # as the notes on the sample data say


@pytest.mark.filterwarnings("error")
def test_long_names_of_metrics_leave_room_for_their_lines(run, sample, tmp_path):
    files = sorted((sample / "epochs").iterdir())[:3]
    long = "unexplained:training=test:score=error_rate:recalibrator=vector-histogram"
    named = f"{long},mean_confidence,expected_miscalibration:binning=equal-width:lens=canonical:bins=2"
    done = run("plot", *files, "--figure", "epochs", "--metrics", named, "-o", tmp_path)
    assert (done.status, (tmp_path / "epochs.png").exists()) == (0, True)


def test_each_folder_is_a_series_of_epochs(run, sample, tmp_path):
    for folder in ("train", "test"):
        tmp_path.joinpath(folder).mkdir()
        for number in (1, 2, 10):
            copy = tmp_path / folder / f"e_{number}.parquet"
            shutil.copy(sample / "epochs" / f"epoch_{number:02}.parquet", copy)
    files = sorted(tmp_path.glob("*/*"))  # e_1, e_10, e_2
    options = ["--metrics", "log_loss,error_rate", "--data", "-o", tmp_path / "out"]
    assert run("plot", *files, *options, "--figure", "epochs:smooth=savgol/11").status == 0
    rows = table(tmp_path / "out" / "epochs.csv")
    assert [row["number"] for row in rows if row["name"] == "log_loss, train"] == ["1", "2", "10"]
    assert len(rows) == 12
    assert all(row["value"] == row["smoothed"] for row in rows)  # fewer than 11 files
    again = tmp_path / "again"
    said = run("plot", *files, "--figure", "epochs:smooth=savgol/10", "-o", again).err
    assert "smooth=savgol/10: expected none, moving/N or savgol/N" in said
    copy = shutil.copy(files[0], tmp_path / "test" / "e_01.parquet")
    assert "have the same number 1" in run("plot", *files, copy, "--figure", "epochs", "-o", again).err
    assert not again.exists()


def test_costs_join_the_scores(run, sample, tmp_path):
    options = ["--figure", "scores", "--costs", "abstain:0.1,balanced", "--data"]
    assert run("plot", sample / "cancer_bayes_test.csv", *options, "-o", tmp_path).status == 0
    metrics = [row["metric"] for row in table(tmp_path / "scores.csv")]
    assert "normalized_bayes_risk:costs=balanced" in metrics
    assert len(metrics) == 6


def test_groups_of_classes_make_a_simplex(run, sample, tmp_path):
    groups = ["--class-groups", "shape=0+6+8+9,1+4+7,2+3+5"]
    file = sample / "digits_network_test.npy"
    for binning in ("equal-width", "recursive"):
        options = [*groups, "--data", "-o", tmp_path]
        assert run("plot", file, "--figure", f"simplex:binning={binning}", *options).status == 0
        rows = table(tmp_path / "simplex.csv")
        assert sum(int(row["rows"]) for row in rows) == 997
        mean = [sum(float(row[f"mean_{name}"]) for name in ("0+6+8+9", "1+4+7", "2+3+5")) for row in rows]
        np.testing.assert_allclose(mean, 1)


def cancer(file):
    """Return the probabilities and labels in a file of the sample data."""
    rows = table(file)
    probs = [float(row["prob_malignant"]) for row in rows]
    return np.array(probs), np.array([row["label"] == "malignant" for row in rows])


def test_calibration_maps(run, sample, tmp_path):
    calibrator = tmp_path / "cal.json"
    file = sample / "cancer_bayes_calibration.csv"
    assert run("fit", file, "-m", "temperature", "--folds", "0", "-o", calibrator).status == 0
    temperature = json.loads(calibrator.read_text())["parameters"]["temperature"]
    done = run(
        "plot", file, "--figure", "calibration-map", "--calibrator", calibrator, "--data", "-o", tmp_path
    )
    assert done.status == 0
    name = "cal.json on cancer_bayes_calibration.csv"
    rows = table(tmp_path / "calibration-map.csv", name)
    before, after = (np.array([float(row[name]) for row in rows]) for name in ("before", "after"))
    np.testing.assert_allclose(after, 1 / (1 + ((1 - before) / before) ** (1 / temperature)))
    probs, labels = cancer(file)
    log_odds = logit(probs).clip(-14, 14)
    edges = np.linspace(log_odds.min(), log_odds.max(), 16)
    each = (None, 1.0 * labels, probs)
    rows, hits, total = (np.histogram(log_odds, edges, weights=weights)[0] for weights in each)
    frequency, mean = hits[rows > 0] / rows[rows > 0], total[rows > 0] / rows[rows > 0]
    observed = table(tmp_path / "calibration-map.csv", f"{name}, observed")
    np.testing.assert_allclose([float(row["frequency"]) for row in observed], frequency)
    np.testing.assert_allclose([float(row["mean_score"]) for row in observed], mean, atol=1e-9)
    other = run("plot", sample / "iris_logistic_test.csv", "--calibrator", calibrator, "-o", tmp_path / "new")
    assert (other.status, other.out) == (2, "")
    assert "iris_logistic_test.csv" in other.err
    assert not (tmp_path / "new").exists()


def test_a_region_where_no_row_has_weight_is_refused(run, tmp_path):
    rows = ["0,.9,.1,0", "1,.8,.2,0", "0,.4,.6,1", "1,.3,.7,1"]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["label,prob_0,prob_1,w", *rows]))
    region = ["--weights", "w", "--figure", "reliability:region=0..0.25"]
    result = run("plot", path, "-o", tmp_path / "new", *region)
    assert (result.status, result.out) == (2, "")
    assert "no row has a score from 0 to 0.25" in result.err
    assert not (tmp_path / "new").exists()


def test_every_figure_is_in_the_help(run):
    shown = " ".join(run("plot", "--help-all").out.split())
    assert f"Figures: {', '.join(FIGURES)}." in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--figure", "reliabilty,simplx"],
            "unknown figure 'reliabilty', did you mean 'reliability'; 'simplx', did",
        ),
        (["--lens", "clas-1"], "unknown lens 'clas-1', did you mean 'class-1'; for these classes it can be"),
        (["--lens", "class-7"], "unknown lens 'class-7'; for these classes it can be"),
        (["--figure", "ks", "--lens", "canonical"], "the lens canonical has several outcomes"),
        (
            ["--figure", "simplex"],
            "a simplex needs 3 or 4 classes, but {preds} has 2; draw --figure reliability",
        ),
        (["--figure", "ks:region=0.9..1"], "region with {preds}: no row has a score from 0.9 to 1"),
        (
            ["--figure", "rejection:region=0..1"],
            "figure 'rejection' has no argument 'region'; it takes: none",
        ),
        (["--figure", "ks:binning=recursive"], "no argument 'binning'; it takes: region, knots"),
        (["--figure", "ks:knots=3"], "ks: knots is 3; expected a whole number from 4 to 1000"),
        (["--figure", "epochs:seeds=x"], "epochs: seeds is 'x'; expected true or false"),
        (["--figure", "ks,ks:knots=5"], "the figure ks is asked for twice"),
        (
            ["--figure", "simplex:binning=equal-mass"],
            "the figure simplex has no equal-mass bins; those that do: reliability, deviation",
        ),
        (
            ["--figure", "corp:region=high"],
            "corp: region must be two numbers in [0, 1], as in 0.8..1, not 'high'",
        ),
        (
            ["--figure", "reliability:binning=equal-with"],
            "edges that ascend from 0 to 1 such as 0/0.5/0.9/1, not 'equal-with', did you mean 'equal-width'",
        ),
        (["--figure", "slices"], "the figure slices needs a column to slice by: --by COLUMN"),
        (["--by", "place"], "{preds}: no column 'place'"),
        (["--figure", "calibration-map"], "a calibration map needs a calibrator file"),
        (["--calibrator", "{preds}"], "{preds} is not a calibrator"),
        (["--figure", "deviation", "--draws", "0"], "a deviation diagram needs simulated data"),
        (["--figure", "scores", "--metrics", "brier,ece"], "calibration errors, not brier; see --metrics"),
        (["{preds}"], "{preds} is given twice; expected different files"),
        (["--format", "gif"], "'gif' is not one of 'png', 'svg', 'pdf'"),
    ],
)
def test_wrong_calls(run, preds, tmp_path, arguments, message):
    arguments = [argument.format(preds=preds) for argument in arguments]
    done = run("plot", preds, *arguments, "-o", tmp_path / "figures")
    assert (done.status, done.out) == (2, "")
    assert message.format(preds=preds) in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "figures").exists()


def test_two_groups_make_no_simplex(run, sample, tmp_path):
    groups = ["--class-groups", "half=0+1+2+3+4,5+6+7+8+9"]
    file = sample / "digits_network_test.npy"
    done = run("plot", file, "--figure", "simplex", *groups, "-o", tmp_path)
    assert done.status == 2
    assert "a simplex needs 3 or 4 groups of classes, but " in done.err
    both = [*groups, "--class-groups", "other=0,1,2+3+4+5+6+7+8+9"]
    assert (
        "choose with --lens: half, other"
        in run("plot", file, "--figure", "simplex", *both, "-o", tmp_path).err
    )
    assert run("plot", file, "--figure", "simplex", *both, "--lens", "other", "-o", tmp_path).status == 0


def test_more_files_than_go_on_a_page(run, tmp_path):
    done = run("plot", *(f"epoch_{number}.csv" for number in range(21)), "-o", tmp_path)
    assert done.status == 2
    assert "at most 20 systems, not 21; for a series of files use --figure epochs" in done.err


def test_ten_files_in_three_lines(run, sample, tmp_path):
    files = sorted((sample / "epochs").iterdir())
    assert run("plot", *files, "--figure", "reliability", "--data", "-o", tmp_path, "--draws", 9).status == 0
    rows = table(tmp_path / "reliability.csv")
    assert [row["name"] for row in rows if row["lower_edge"] == "0.0"] == [file.name for file in files]


def test_systems_of_other_classes(run, sample, tmp_path):
    files = [sample / "iris_logistic_test.csv", sample / "digits_network_test.npy"]
    assert run("plot", *files, "--figure", "reliability", "-o", tmp_path).status == 0
    assert run("plot", *files, "--figure", "class-wise", "-o", tmp_path / "new").status == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(run, preds, tmp_path):
    tmp_path.joinpath("closed").mkdir(mode=0o500)
    done = run("plot", preds, "-o", tmp_path / "closed" / "figures")
    assert done.status == 2
    assert "cannot be written as a folder" in done.err


def test_slices_of_metrics_with_the_usual_argument_where_another_is_assumed(run, two_classes, tmp_path):
    options = ["--figure", "slices", "--by", "place", "--metrics", "ece:bins=15,ece", "--bins", "10"]
    done = run("plot", two_classes[0], *options, "--draws", "0", "--data", "-o", tmp_path)
    assert done.status == 0
    found = {row["metric"]: row["value"] for row in table(tmp_path / "slices.csv")}
    assert len(found) == len(set(found.values())) == 2


def test_a_file_is_no_folder(run, preds):
    (file := preds.with_name("file")).touch()
    done = run("plot", preds, "-o", file)
    assert done.status == 2
    assert f"{file} cannot be written as a folder" in done.err


def test_what_was_there_stays_if_a_figure_fails(run, preds, tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "reliability.png").write_text("old")
    assert run("plot", preds, "--figure", "reliability,simplex", "-o", tmp_path / "figures").status == 2
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["reliability.png"]
    assert (tmp_path / "figures" / "reliability.png").read_text() == "old"


def test_errors_beside_scores_with_the_recalibrator_asked_for(run, two_classes, tmp_path):
    """The right of fig. 2 and 5 of Ferrer & Ramos 2024: errors, calibration losses, their intervals."""
    name = "relative_calibration_loss:score=brier:recalibrator=temperature:training=test"
    asked = ("--metrics", f"normalized_brier,{name},ece")
    folder = tmp_path / "figures"
    assert run("plot", two_classes[0], "--figure", "scores", "--data", *asked, "-o", folder).status == 0
    drawn = {row["metric"].partition(":")[0]: row for row in table(folder / "scores.csv")}
    assert set(drawn) == {"normalized_brier", "relative_calibration_loss", "ece"}
    done = run("evaluate", two_classes[0], *asked, "-f", "json", "--draws", 0)
    for key, one in json.loads(done.out)["results"][0]["metrics"].items():
        row = drawn[key.partition(":")[0]]
        assert float(row["value"]) == one["value"]
        low = one.get("low", math.nan)
        assert float(row["low"] or "nan") == pytest.approx(low, nan_ok=True)


def test_the_figure_divergence_is_for_two_classes(run, two_classes, sample, tmp_path):
    asked = ("--figure", "divergence", "--data", "-o", tmp_path / "figures")
    assert run("plot", two_classes[0], *asked).status == 0
    (mean,) = [row for row in table(tmp_path / "figures" / "divergence.csv") if row["mean"]]
    assert float(mean["mean"]) == pytest.approx(1 - two_classes[1].mean())
    done = run("plot", sample / "iris_logistic_test.csv", *asked[:2], "-o", tmp_path / "other")
    assert (done.status, "needs 2 classes" in done.err) == (2, True)


def test_figures_need_files(run, tmp_path):
    assert "there is nothing to draw" in run("plot", "-o", tmp_path / "none").err


def test_figures_that_cannot_show_so_many_systems_are_left_out_unless_asked_for(run, two_classes, tmp_path):
    files = [tmp_path / f"{n}.csv" for n in range(8)]
    for file in files:
        file.write_bytes(two_classes[0].read_bytes())
    done = run("plot", *files, "--draws", "9", "-o", tmp_path / "out")
    assert done.status == 0
    assert "calcli: the figure risk shows at most 7 systems, not 8, and is left out" in done.err
    assert not (tmp_path / "out" / "risk.png").exists()
    assert (tmp_path / "out" / "ks.png").exists()
    assert run("plot", *files, "--figure", "risk", "-o", tmp_path / "other").status == 2


@pytest.mark.parametrize("call", [("plot", "ks.png"), ("evaluate", "report.html")])
def test_a_folder_that_is_named_like_a_file_is_refused(run, preds, tmp_path, call):
    command, name = call
    status, out, err = run(command, preds, "-o", tmp_path / name)
    assert (status, out) == (2, "")
    assert "a folder is written here" in err
    assert not (tmp_path / name).exists()


def test_a_page_where_the_folder_is_to_be(run, tmp_path):
    (tmp_path / "t.csv").write_text("label,prob_a,prob_b\n" + "a,0.5,0.5\nb,0.2,0.8\n" * 10)
    done = run("plot", tmp_path / "t.csv", "-o", tmp_path / "out", "--html", tmp_path / "out")
    assert done.status == 2
    assert "-o and --html are both" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_folders_with_control_characters_are_shown_as_escapes(run, preds, tmp_path):
    done = run("plot", preds, "-o", tmp_path / "\x9b31m", "--figure", "reliability", "-q")
    assert done == (0, f"{tmp_path}/\\x9b31m/reliability.png\n", "")
    assert (tmp_path / "\x9b31m" / "reliability.png").exists()


def test_sums_of_nothing_have_axes_without_a_warning(run, tmp_path, recwarn):
    (tmp_path / "t.csv").write_text("label,weight,prob_0,prob_1\n0,0.5,1,0\n0,0.5,1,0\n")
    done = run("plot", tmp_path / "t.csv", "-o", tmp_path, "--figure", "ks", "--lens", "class-1", "-q")
    assert done == (0, f"{tmp_path}/ks.png\n", "")
    assert not recwarn.list


def test_a_lens_that_no_figure_looks_through_is_told(run, two_classes, tmp_path):
    calls = ("plot", two_classes[0], "--lens", "top-1", "-o", tmp_path)
    told = "--lens top-1 has no effect: no figure asked for uses it"
    assert told in run(*calls, "--figure", "risk").err
    assert told not in run(*calls, "--figure", "risk", "--figure", "ks").err


def test_options_that_no_figure_makes_use_of_are_told(run, two_classes, tmp_path):
    def told(*options):
        return run("plot", two_classes[0], "-o", tmp_path, *options).err

    metrics = "--metrics has no effect"
    given = ("--metrics", "log_loss", "--figure", "ks")
    assert metrics in told(*given)
    assert metrics not in told(*given, "--figure", "scores")


def test_recursive_bins_of_a_simplex(run, sample, tmp_path):
    def drawn(figure):
        asked = ("plot", sample / "digits_network_test.npy", "--figure", figure, "--lens", "largest-2")
        assert run(*asked, "--data", "-o", tmp_path).status == 0
        return (tmp_path / "simplex.csv").read_bytes()

    recursive = drawn("simplex:binning=recursive")
    assert drawn("simplex") != recursive != drawn("simplex:binning=recursive:min_rows=400")


@pytest.mark.parametrize("classes", [3, 40])
def test_figures_of_classes_say_whose_chance_they_show(run, classes, tmp_path):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(classes), 90)
    table = {f"prob_{k}": probs[:, k] for k in range(classes)} | {"label": rng.integers(0, classes, 90)}
    pd.DataFrame(table | {"patient": np.arange(90) // 3}).to_csv(tmp_path / "t.csv", index=False)
    for options, told in (((), False), (("--cluster", "patient"), True)):
        asked = ("plot", tmp_path / "t.csv", *options, "--data", "-o", tmp_path / str(told), "--figure")
        assert run(*asked, "simplex" if classes == 3 else "class-wise").status == 0
        (caption,) = (path.read_text() for path in (tmp_path / str(told)).glob("*.txt"))
        assert ("What chance explains is shown for independent rows" in caption) == told


@pytest.mark.parametrize("options", [("--cluster", "patient"), ("--priors", "uniform")])
def test_figures_show_no_chance_where_outcomes_cannot_be_drawn(run, tmp_path, options):
    rng = np.random.default_rng(0)
    prob, patient = rng.random(90), np.arange(90) // 3
    table = {"label": rng.random(90) < prob, "prob": prob, "patient": patient}
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    asked = ("plot", tmp_path / "t.csv", *options, "--draws", 9, "-o")
    assert run(*asked, tmp_path / "usual").status == 0
    assert not list((tmp_path / "usual").glob("deviation*"))
    found = [part for name in ("reliability", "ks", "corp", "smooth") for part in ("--figure", name)]
    assert run(*asked, tmp_path / "named", *found, "--data").status == 0
    captions = {path.stem: path.read_text() for path in (tmp_path / "named").glob("*.txt")}
    assert "if calibrated" not in captions["reliability"] + captions["ks"]
    assert "Gray" not in captions["corp"] + captions["smooth"]
    assert pd.read_csv(tmp_path / "named" / "reliability.csv")["beyond_chance"].isna().all()
    done = run(*asked, tmp_path / "none", "--figure", "deviation")
    assert (done.status, (tmp_path / "none").exists()) == (2, False)
    assert "the figure deviation shows what chance explains and needs independent rows" in done.err
