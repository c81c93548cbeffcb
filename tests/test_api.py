"""The Python interface gives what the command line gives."""

from __future__ import annotations

import copy
import inspect
import io
import itertools
import json
import pickle
import re
import struct
import subprocess
import sys
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn import metrics
from threadpoolctl import threadpool_info

import calcli
from calcli.cli.main import status_of
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.methods import METHODS
from calcli.core.language.settings import Settings
from calcli.figures import View
from calcli.io.handed import from_arrays
from calcli.report.shown import spelled

CANCER = "sample_data/cancer_bayes_test.csv"


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch):
    monkeypatch.chdir(Path(__file__).resolve().parents[1])


@pytest.fixture
def arrays() -> tuple[np.ndarray, np.ndarray]:
    table = pd.read_csv(CANCER)
    return table[["prob_benign", "prob_malignant"]].to_numpy(), table["label"].to_numpy()


def test_arrays_and_files_give_the_same_results(arrays):
    probs, labels = arrays
    from_arrays = calcli.evaluate(probs, labels, classes=["benign", "malignant"])
    from_file = calcli.evaluate(calcli.read(CANCER))
    found, expected = from_arrays.results[0].metrics, from_file.results[0].metrics
    assert found.keys() == expected.keys()
    for name, one in expected.items():  # products of matrices are rounded by where these lie in memory
        assert found[name].value == pytest.approx(one.value, rel=1e-9), name
        assert found[name].signature == one.signature
    assert from_arrays.results[0].per_class == from_file.results[0].per_class


def test_values_are_those_of_scikit_learn(arrays):
    probs, labels = arrays
    classes = ["benign", "malignant"]
    found = calcli.evaluate(probs, labels, classes=classes, metrics="auroc,accuracy").results[0].metrics
    sums = probs.sum(1)
    sums[np.abs(sums - 1) < 2e-15] = 1  # up to rounding
    auroc = metrics.roc_auc_score(labels == "malignant", probs[:, 1] / sums)
    accuracy = metrics.accuracy_score(labels, np.array(classes)[probs.argmax(1)])
    assert found["auroc"].value == pytest.approx(auroc, abs=1e-12)
    assert found["accuracy"].value == pytest.approx(accuracy, abs=1e-12)


def test_to_dict_is_the_json_of_the_command(capsys):
    assert status_of(["evaluate", CANCER, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == calcli.evaluate(calcli.read(CANCER)).to_dict()


@pytest.mark.parametrize("per_class", [False, True])
def test_to_frame_has_the_numbers_of_the_command(capsys, per_class):
    assert status_of(["evaluate", CANCER, "--format", "csv", *(["--details"] if per_class else [])]) == 0
    table = pd.read_csv(io.StringIO(capsys.readouterr().out))
    table["p"] = table["corrected_p"].fillna(table["p_value"])
    frame = calcli.evaluate(calcli.read(CANCER)).to_frame(per_class, signature=True)
    assert list(frame) == ["class"] * per_class + ["metric", "value", "low", "high", "p", "signature"]
    columns = [name for name in frame if name not in ("class", "signature")]
    pd.testing.assert_frame_equal(frame[columns], table[columns], check_dtype=False)
    assert "signature" not in calcli.evaluate(calcli.read(CANCER)).to_frame()


def test_printed_it_shows_the_tables(capsys):
    assert status_of(["evaluate", CANCER]) == 0
    report = calcli.evaluate(calcli.read(CANCER))
    tables, _, hints = capsys.readouterr().out.rpartition("\n\n")
    assert str(report) == tables
    assert "--details" in hints
    assert "269 rows, 2 classes" in repr(report)
    assert "| brier | 0.0551 |" in report._repr_markdown_()


OF_COMMANDS = re.compile(r"--(details|html|draws|test|clip)|calcli [a-z]+ [A-Z]|`calcli")


def test_python_shows_no_hints_for_a_command_line(capsys, tmp_path):
    network = "sample_data/digits_network_test.npy"
    report = calcli.evaluate(network, draws=19)  # which a recalibration improves
    many = calcli.evaluate(network, by="predicted-class", draws=19, test=True)
    shown = [str(report), report._repr_html_(), report._repr_markdown_(), str(many), str(many.with_details())]
    report.save(tmp_path / "page.html")
    shown.append((tmp_path / "page.html").read_text(encoding="utf-8").partition("</style>")[2])
    for text in shown:
        assert not OF_COMMANDS.search(text), OF_COMMANDS.search(text)
    assert spelled("--draws 99 is enough; --test-all does") == "draws=99 is enough; test_all does"
    assert status_of(["evaluate", network, "--draws", "19"]) == 0
    assert "`calcli fit VALIDATION -o" in capsys.readouterr().out
    assert "calcli fit VALIDATION -m temperature" in json.dumps(
        report.to_dict()
    )  # JSON is the same everywhere


def test_settings_are_those_of_the_command(capsys):
    options = ["--bins", "5", "--metrics", "ece,log_loss"]
    assert status_of(["evaluate", CANCER, "-f", "json", *options]) == 0
    report = calcli.evaluate(calcli.read(CANCER), bins=5, metrics=["ece", "log_loss"])
    shown = json.loads(capsys.readouterr().out)
    assert shown["results"] == report.to_dict()["results"]


def test_decisions_and_recalibration_are_those_of_the_command(capsys):
    other = CANCER.replace("test", "calibration")
    options = ("--costs", "abstain:0.1,balanced", "--priors", "0.3,0.7", "--calibration-data", other)
    assert status_of(["evaluate", CANCER, "--format", "json", "--draws", "0", *options]) == 0
    expected = json.loads(capsys.readouterr().out)["results"][0]
    report = calcli.evaluate(
        calcli.read(CANCER),
        costs="abstain:0.1,balanced",
        priors="0.3,0.7",
        calibration_data=calcli.read(other),
        draws=0,
    )
    assert report.to_dict()["results"][0] == expected


@pytest.mark.parametrize(
    "given",
    [
        {"priors": "0.3,0.7"},
        {"cluster": "part"},
        {"cluster": "part", "weights": "weight"},
        {"clip": 0.01},
    ],
)
def test_settings_told_are_those_of_the_command_line(tmp_path, capsys, given):
    table = pd.read_csv(CANCER)
    table = table.assign(part=np.arange(len(table)) // 3, weight=1 + np.arange(len(table)) % 2)
    table.to_csv(tmp_path / "t.csv", index=False)
    options = [str(one) for name, value in given.items() for one in (f"--{name}", value)]
    command = ["evaluate", str(tmp_path / "t.csv"), "--draws", "49", "--format", "json", *options]
    assert status_of([*command, "--metrics", "accuracy,log_loss"]) == 0
    expected = json.loads(capsys.readouterr().out)
    report = calcli.evaluate(tmp_path / "t.csv", draws=49, metrics="accuracy,log_loss", **given)
    assert report.to_dict() == expected
    assert report.to_dict()["settings"]["draws"] == 49


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: calcli.evaluate([[0.5, 0.5]]), "labels are missing"),
        (lambda: calcli.evaluate([[0.5, 0.5]], [0], bin=3), "unknown argument bin; expected some of metrics"),
        (lambda: calcli.read(CANCER, label="y"), "unknown argument label; expected some of labels"),
        (lambda: calcli.evaluate(calcli.read(CANCER), [0, 1]), "labels and classes of their own"),
        (lambda: calcli.evaluate([[0.5, 0.5]], [0], metrics="ecee"), "did you mean 'ece'"),
        (lambda: calcli.compare(np.eye(2), np.eye(2)), "labels are missing"),
        (lambda: calcli.evaluate(pd.DataFrame({"p": [0.5], "labels": [0]}), [0]), "label_column="),
        (lambda: calcli.evaluate(np.eye(2), [0, 1], label_column="y"), "label_column= is for tables"),
    ],
)
def test_wrong_calls_are_told(call, message):
    with pytest.raises(UsageError, match=message):
        call()


def test_there_is_nothing_else():
    calibrators = [method.where.split(":")[1] for method in METHODS.values()]
    functions = ["Report", "__version__", "evaluate", "figures", "load", "read", "save", "simulate"]
    functions += ["CheckReport", "ComparisonReport", "Fitted", "State", "ThresholdReport", "threshold"]
    functions += ["MonitorReport", "SegmentsReport", "monitor", "segments"]
    functions += ["check", "compare", "fit", "plan", "plot"]
    assert dir(calcli) == sorted([*functions, *calibrators])
    with pytest.raises(AttributeError, match="fit_all"):
        calcli.fit_all  # noqa: B018


def test_type_checkers_know_the_same_names():
    source = Path(calcli.__file__).read_text(encoding="utf-8")
    assert {"__version__", *re.findall(r" as (\w+)$", source, re.MULTILINE)} == set(calcli.__all__)


@pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
def test_every_calibrator_is_fitted_saved_and_loaded(tmp_path, method):
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(60, 3)), rng.integers(3, size=60)
    inner = {"calibrator": calcli.DPAffine()} if method.family == "wrapper" else {}
    calibrator = getattr(calcli, method.where.split(":")[1])(**inner)
    probs = calibrator.fit(logits, labels).predict_proba(logits)
    np.testing.assert_allclose(probs.sum(1), 1)
    calcli.save(calibrator, tmp_path / "cal.json", range(3))
    np.testing.assert_array_equal(calcli.load(tmp_path / "cal.json").predict_proba(logits), probs)


def test_saved_calibrators_are_applied_by_the_command_line(tmp_path):
    scores = pd.read_csv(CANCER)[["prob_benign", "prob_malignant"]].to_numpy()
    labels = (pd.read_csv(CANCER)["label"] == "malignant").to_numpy()
    with np.errstate(divide="ignore"):
        calibrator = calcli.DPAffine().fit(np.log(scores), labels)
        expected = calibrator.predict_proba(np.log(scores))
    calcli.save(calibrator, tmp_path / "cal.json", ["benign", "malignant"], priors=[0.5, 0.5])
    assert status_of(["apply", str(tmp_path / "cal.json"), CANCER, "-o", str(tmp_path / "out.parquet")]) == 0
    found = pd.read_parquet(tmp_path / "out.parquet")[["prob_benign", "prob_malignant"]]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_raw_logits_are_remembered_within_wrappers(tmp_path):
    logits = np.random.default_rng(0).normal(size=(60, 2))
    inner = calcli.VectorScaling(input="raw")
    wrapped = calcli.PreserveTop1(calibrator=inner).fit(logits, logits.argmax(1))
    calcli.save(wrapped, tmp_path / "cal.json", ["benign", "malignant"])
    assert status_of(["apply", str(tmp_path / "cal.json"), CANCER]) == 2


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(UsageError, match="Temperature has not been fitted"):
        calcli.save(calcli.Temperature(), tmp_path / "cal.json", range(3))
    fitted = calcli.Temperature().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    with pytest.raises(UsageError, match="3 priors are given for 2 classes"):
        calcli.save(fitted, tmp_path / "cal.json", "a,b", priors=[0.2, 0.3, 0.5])
    with pytest.raises(UsageError, match=r"priors of 0\.2 to 0\.3 that sum to 0.5; expected numbers"):
        calcli.save(fitted, tmp_path / "cal.json", "a,b", priors=[0.2, 0.3])
    assert not list(tmp_path.iterdir())


def test_groups_as_on_the_command_line_or_as_mappings():
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(3), 200), rng.integers(0, 3, 200)
    metrics = ["expected_miscalibration:lens=pair:min_rows=50", "ece:binning=0/0.5/1"]
    as_text = calcli.evaluate(probs, labels, metrics=metrics, groups="pair=0+1,2", intervals=False)
    as_mapping = calcli.evaluate(
        probs, labels, metrics=metrics, groups={"pair": {"0": "a", "1": "a", "2": "b"}}, intervals=False,
    )  # fmt: skip
    found = [{name: e.value for name, e in one.results[0].metrics.items()} for one in (as_text, as_mapping)]
    assert found[0] == found[1]
    with pytest.raises(UsageError, match="edges that ascend from 0 to 1"):
        calcli.evaluate(probs, labels, metrics="ece:binning=0.5/0.2")


def test_one_column_to_slice_by_needs_no_list():
    predictions = from_arrays([[0.9, 0.1]] * 4, [0, 1, 0, 0])
    predictions = replace(predictions, columns={"day": np.array([1, 1, 2, 2])})
    found = calcli.evaluate(predictions, by="day", metrics="accuracy").results
    assert [str(one.slice) for one in found] == ["None", "day=1", "day=2"]


def test_simulated_predictions_know_their_truth():
    simulation = calcli.simulate("mcs", rows=500, seed=3, logit_scale=2, n_classes=4)
    assert simulation.scores.shape == simulation.posteriors.shape == (500, 4)
    report = calcli.evaluate(simulation.scores, simulation.labels, kind=simulation.kind, metrics="log_loss")
    truth = calcli.evaluate(simulation.posteriors, simulation.labels, metrics="log_loss")
    assert report.results[0].metrics["log_loss"].value > truth.results[0].metrics["log_loss"].value
    assert calcli.simulate("table-1", exact=True).scores.shape == (60, 3)
    for system, parameters, said in [
        ("mcx", {}, "unknown system 'mcx', did you mean 'mc"),
        ("mixture", {"slope": float("nan")}, "slope is nan; expected a finite number"),
    ]:
        with pytest.raises(UsageError, match=said):
            calcli.simulate(system, **parameters)


def test_figures_need_no_import_of_their_own():
    script = "import calcli; print(calcli.figures.draw, calcli.figures.standard_set)"
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


@pytest.mark.parametrize("name", ["check", "compare", "evaluate", "load", "plan", "read", "save", "simulate"])
def test_functions_document_what_they_take_return_and_raise(name):
    function = getattr(calcli, name)
    sections = re.split(r"\n(\w+)\n-{4,}\n", inspect.getdoc(function))
    found = dict(zip(sections[1::2], sections[2::2], strict=True))
    assert set(found) == {"Parameters", "Raises"} | ({"Returns"} if name != "save" else set())
    heads = re.findall(r"^(\S[^:\n]*)", found["Parameters"], re.MULTILINE)
    documented = {named.strip(" *") for head in heads for named in head.split(",")}
    taken = inspect.signature(function).parameters.values()
    assert documented >= {parameter.name for parameter in taken if parameter.kind != parameter.VAR_KEYWORD}


FEW = {"draws": 19}


class Tensor:
    """An array on the processor that speaks DLPack alone."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __len__(self):
        return len(self.values)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_files_tables_arrays_and_tensors_are_the_same_predictions(arrays):
    probs, labels = arrays
    frame = pd.read_csv(CANCER)
    numbers = (labels == "malignant").astype(int)
    expected = calcli.evaluate(calcli.read(CANCER), **FEW).results[0].metrics
    for given in (
        calcli.evaluate(CANCER, **FEW),
        calcli.evaluate(Path(CANCER), **FEW),
        calcli.evaluate(frame, label_column="label", scores="prob_*", **FEW),
        calcli.evaluate(pa.Table.from_pandas(frame), **FEW),
        calcli.evaluate(scores=probs, labels=numbers, **FEW),
        calcli.evaluate(Tensor(probs), Tensor(numbers), **FEW),
    ):
        assert {name: found.value for name, found in given.results[0].metrics.items()} == pytest.approx(
            {name: found.value for name, found in expected.items()}, rel=1e-9, abs=1e-12
        )


def test_a_report_gives_each_estimate_by_its_name():
    report = calcli.evaluate(CANCER, metrics="ece,ece:bins=5,log_loss", **FEW)
    assert report["ece:bins=5"] is report.results[0].metrics["ece:bins=5"]
    assert report["ece:bins=15"] is report["ece"]
    assert len(repr(report["log_loss"])) < 100
    with pytest.raises(KeyError, match="brier was not computed"):
        report["brier"]
    with pytest.raises(KeyError, match="0 is not the name of a metric; there are ece, ece:bins=5, log_loss"):
        report[0]
    with pytest.raises(KeyError, match="is not the name of a metric"):
        report[["ece"]]


def test_a_report_has_the_names_of_its_metrics():
    report = calcli.evaluate(CANCER, metrics="ece,ece:bins=5,log_loss", **FEW)
    assert list(report) == ["ece", "ece:bins=5", "log_loss"]
    assert [report[name] for name in report] == list(report.results[0].metrics.values())
    assert "log_loss" in report
    assert "ece:bins=15" in report
    for other in ("brier", "ecee", "ece:zz=3", 0, None, ["ece"]):
        assert other not in report


def test_what_has_many_settings_shows_those_that_were_changed():
    assert repr(Settings(bins=10)) == "Settings(bins=10)"
    assert repr(View(by=("part",))) == "View(by=('part',))"
    found = calcli.compare(CANCER, CANCER, metrics="accuracy", **FEW)
    difference = found.comparisons[0].differences[0]["accuracy"]
    assert repr(difference).startswith("<accuracy: 0.9294 to 0.9294, ")


def test_categories_as_polars_hands_them_over_are_labels():
    frame = pd.read_csv(CANCER)
    codes, names = pd.factorize(frame["label"])
    views = pa.array(names.tolist(), pa.string_view())
    labels = pa.DictionaryArray.from_arrays(pa.array(codes, pa.uint32()), views)
    table = pa.table({"label": labels, **{name: frame[name] for name in frame if name.startswith("prob_")}})
    assert calcli.evaluate(table, metrics="brier", **FEW)["brier"].value == pytest.approx(
        calcli.evaluate(CANCER, metrics="brier", **FEW)["brier"].value, abs=1e-12
    )


def test_labels_beside_a_data_frame_of_scores():
    names, probs = ["dog", "cat"], np.random.default_rng(0).dirichlet(np.ones(2), 60)
    codes = np.arange(60) % 2
    frame = pd.DataFrame(probs, columns=names, index=range(7, 67))
    for table, labels in (
        (frame, codes),
        (frame, pd.Series(codes)),
        (frame, np.array(names)[codes]),
        (frame.add_prefix("prob_"), np.array(names)[codes]),
        (pa.Table.from_pandas(frame, preserve_index=False), codes),
    ):
        report = calcli.evaluate(table, labels, metrics="accuracy", **FEW)
        assert report["accuracy"].value == (probs.argmax(axis=1) == codes).mean()
        assert report.evaluation.predictions.classes == ("dog", "cat")
    with pytest.raises(InputError, match=r"labels of shape \(3,\) for 60 rows"):
        calcli.evaluate(frame, codes[:3])


def test_slices_of_a_data_frame():
    frame = pd.read_csv(CANCER).assign(half=lambda table: np.where(table.index % 2, "odd", "even"))
    report = calcli.evaluate(frame, by="half", metrics="accuracy", **FEW)
    assert [str(result.slice) for result in report.results[1:]] == ["half=even", "half=odd"]


def test_reports_are_saved_in_the_form_of_their_ending(tmp_path):
    report = calcli.evaluate(CANCER, metrics="accuracy,ece", **FEW)
    for ending in ("html", "HTML", "json", "md", "csv", "txt"):
        report.save(tmp_path / f"report.{ending}")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == report.to_dict()
    for ending in ("html", "HTML"):
        assert "<svg" in (tmp_path / f"report.{ending}").read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="reports are written as"):
        report.save(tmp_path / "report.doc")
    assert not (tmp_path / "report.doc").exists()


def test_comparisons_and_checks_are_frames_and_files(tmp_path):
    compared = calcli.compare(CANCER, CANCER, metrics="accuracy,ece", draws=19)
    checked = calcli.check(CANCER, {"rules": [{"metric": "accuracy", "min": 0.99}]})
    frame = compared.to_frame()
    assert frame["metric"].tolist()[0] == "accuracy"
    assert frame.loc[0, "verdict"] == "undecided"
    assert checked.to_frame()[["metric", "result"]].to_numpy().tolist() == [["accuracy", "failed"]]
    for result in (compared, checked):
        result.save(tmp_path / "page.html")
        assert "</html>" in (tmp_path / "page.html").read_text(encoding="utf-8")
        result.save(tmp_path / "numbers.csv")
        assert len(pd.read_csv(tmp_path / "numbers.csv")) == len(result.to_frame())


def test_figures_take_arguments_and_lay_out_the_axes_of_others():
    report = calcli.evaluate(CANCER, metrics="accuracy,ece", **FEW)
    assert "equal-mass bins" in report.plot("reliability:binning=equal-mass").caption
    figure = Figure(figsize=(8, 4))
    places = figure.subplots(1, 2)
    for name, place in zip(("reliability", "ks"), places, strict=True):
        report.plot(name, ax=place)
    figure.draw_without_rendering()
    boxes = [axes.get_tightbbox().padded(-1) for axes in figure.findobj(Axes)]
    assert not any(box.overlaps(other) for box, other in itertools.combinations(boxes, 2))


def test_notebooks_show_figures_and_tables():
    report = calcli.evaluate(CANCER, metrics="accuracy,ece", **FEW)
    assert report.plot()._repr_png_().startswith(b"\x89PNG")
    assert calcli.plot({"a": CANCER, "b": CANCER}, figure="ks", **FEW).tables
    shown = report._repr_html_()
    assert "<td" in shown
    assert b64decode(shown.partition("base64,")[2].partition('"')[0]).startswith(b"\x89PNG")


def test_figures_have_the_title_size_and_fonts_of_the_user():
    report = calcli.evaluate(pd.read_csv(CANCER), metrics="accuracy", **FEW)
    alone = calcli.plot(pd.read_csv(CANCER), **FEW)
    assert alone.title == report.plot().title
    assert "DataFrame" not in alone.title
    drawing = report.plot("ks", title="Naive Bayes", figsize=(5, 4))
    assert drawing.title.endswith("of Naive Bayes (n = 269)")
    assert tuple(drawing.figure.get_size_inches()) == (5, 4)
    figure, (left, right) = pyplot.subplots(1, 2)
    with pytest.raises(UsageError, match="leave out figsize"):
        report.plot(ax=right, figsize=(5, 4))
    drawing = report.plot(ax=right)
    assert drawing.figure is figure
    assert left in figure.axes
    assert right not in figure.axes
    assert len(figure.axes) == 3
    assert drawing._repr_png_().startswith(b"\x89PNG")
    pyplot.close(figure)
    usual = report.plot().figure.axes[0].yaxis.label
    with matplotlib.rc_context({"font.size": 15, "font.family": "serif", "savefig.dpi": 50}):
        drawing = report.plot(figsize=(5, 4))
        label = drawing.figure.axes[0].yaxis.label
        assert (label.get_fontsize(), label.get_family()) == (2 * usual.get_fontsize(), ["serif"])
        assert struct.unpack(">II", drawing._repr_png_()[16:24]) == (250, 200)


def test_a_fit_in_python_is_that_of_the_commands(tmp_path):
    other, target = CANCER.replace("test", "calibration"), tmp_path / "calibrated.csv"
    fitted = calcli.fit(pd.read_csv(other), method="beta")
    fitted.save(tmp_path / "cal.json")
    assert status_of(["fit", other, "-m", "beta", "-q", "-o", str(tmp_path / "c.json")]) == 0
    assert status_of(["apply", str(tmp_path / "c.json"), CANCER, "-q", "-o", str(target)]) == 0
    expected = pd.read_csv(target)[["prob_benign", "prob_malignant"]].to_numpy()
    frame = pd.read_csv(CANCER)
    for data in (CANCER, frame, frame[["prob_benign", "prob_malignant"]].to_numpy()):
        np.testing.assert_allclose(fitted.apply(data), expected, atol=1e-9)
    loaded = calcli.load(tmp_path / "cal.json")
    assert loaded.get_params() == fitted.calibrator.get_params()


@pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
def test_every_fit_is_pickled_and_copied(method):
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(3), 90), rng.integers(3, size=90)
    call = f"{method.name}:calibrator=dp" if method.family == "wrapper" else method.name
    fitted = calcli.fit(probs, labels, method=call, folds=0)
    for again in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        np.testing.assert_array_equal(again.apply(probs), fitted.apply(probs))
        assert str(again) == str(fitted)


@pytest.mark.parametrize("ending", ["frame", "csv", "parquet", "jsonl", "feather"])
def test_what_is_read_of_tables_is_pickled(ending, tmp_path):
    table, path = pd.read_csv(CANCER), str(tmp_path / f"t.{ending}")
    write = {"parquet": table.to_parquet, "feather": table.to_feather}
    write["jsonl"] = lambda to: table.to_json(to, orient="records", lines=True)
    if ending != "frame":
        write.get(ending, lambda to: table.to_csv(to, index=False))(path)
    data = table if ending == "frame" else path
    probs = table[["prob_benign", "prob_malignant"]]
    fitted, report = calcli.fit(data, method="dp", folds=0), calcli.evaluate(data, metrics="ece", **FEW)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).apply(probs), fitted.apply(probs))
    assert str(pickle.loads(pickle.dumps(report))) == str(report)
    again = pickle.loads(pickle.dumps(calcli.read(data, drop_missing=True)))
    assert calcli.evaluate(again, metrics="ece", **FEW)["ece"] == report["ece"]


def test_a_choice_is_pickled_and_used_in_another_process(arrays):
    probs, labels = arrays
    fitted = calcli.fit(probs, labels, classes=["benign", "malignant"], candidates=["dp", "temperature"])
    script = "import pickle, sys; sys.stdout.buffer.write(pickle.load(sys.stdin.buffer).apply([[0.2, 0.8]]))"
    done = subprocess.run(
        [sys.executable, "-c", script], input=pickle.dumps(fitted), capture_output=True, check=True
    )
    np.testing.assert_array_equal([np.frombuffer(done.stdout)], fitted.apply([[0.2, 0.8]]))


def test_a_fit_is_applied_to_lists_columns_and_arrays_of_several_axes(arrays):
    probs, labels = arrays
    fitted = calcli.fit(probs, labels, classes=["benign", "malignant"], method="dp", folds=0)
    expected = fitted.apply(probs)
    np.testing.assert_array_equal(fitted.apply(probs.tolist()), expected)
    np.testing.assert_array_equal(fitted.apply(probs[:6].reshape(2, 3, 2)), expected[:6].reshape(2, 3, 2))
    np.testing.assert_array_equal(fitted.apply(pd.Series(probs[:6, 1])), fitted.apply(probs[:6, 1]))
    np.testing.assert_array_equal(fitted.apply(probs[:6, 1:])[:, 1], fitted.apply(probs[:6, 1])[:, 1])


def test_columns_of_a_data_frame_are_arrays(arrays):
    probs, labels = arrays
    frame = pd.DataFrame({"prob": probs[:, 1], "label": labels == "malignant", "weight": probs[:, 0] + 1})
    numbers = frame["label"].astype(int)
    expected = calcli.evaluate(
        probs[:, 1], numbers.to_numpy(), weights=frame["weight"].to_numpy(), metrics="log_loss", **FEW
    )
    names = ["benign", "malignant"]
    for given, weights, more in (
        (frame["label"], frame["weight"], {}),
        (numbers.astype(object), frame["weight"].astype(object), {}),
        (numbers.astype("Int64"), frame["weight"].astype("Float64"), {}),
        (Tensor(numbers), Tensor(frame["weight"]), {}),
        (np.array(labels, np.dtypes.StringDType()), frame["weight"], {"classes": names}),
        (pd.Series(labels).astype("category"), frame["weight"].tolist(), {"classes": names}),
    ):
        found = calcli.evaluate(frame["prob"], given, weights=weights, metrics="log_loss", **more, **FEW)
        assert found["log_loss"] == expected["log_loss"]
    with pytest.raises(UsageError, match="labels are missing"):
        calcli.evaluate(frame["prob"])


@pytest.mark.parametrize("single", [False, True])
def test_a_fit_to_percentages_is_applied_to_percentages(single):
    """Temperature scaling by hand."""
    second = np.array([1, 30, 62.5, 80, 99, 45.0])
    data = second if single else np.column_stack([100 - second, second])
    fitted = calcli.fit(data, [0, 1, 1, 0, 1, 0], method="temperature", kind="percent", folds=0)
    odds = (second / (100 - second)) ** (1 / fitted.calibrator.parameters["temperature"])
    np.testing.assert_allclose(fitted.apply(data)[:, 1], odds / (1 + odds), rtol=1e-9)


def test_a_fit_has_one_thread_as_in_the_command(monkeypatch):
    seen = []

    def fit_to(*arguments, **more):
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        raise UsageError("seen")

    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setattr("calcli.work.fit._fit_to", fit_to)
    before = threadpool_info()
    with pytest.raises(UsageError, match="seen"):
        calcli.fit(calcli.read(CANCER))
    assert set(seen) <= {1}
    assert threadpool_info() == before
