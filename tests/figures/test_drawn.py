"""The arrays drawn equal the results of the core."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.cbook import is_math_text
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.quiver import Quiver

from calcli.core.calibrators.temperature import Temperature
from calcli.core.curves.calibration_maps import TemperatureCurve
from calcli.core.curves.calibration_maps import calibration_map as map_of
from calcli.core.curves.reliability import class_reliability
from calcli.core.curves.series import Course, Courses, Forest, ScoreSet
from calcli.core.curves.series import forest as forest_of
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.estimators.intervals import Interval
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.results import Estimate
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import WRONG_RIGHT, parse_metric
from calcli.core.language.settings import Settings
from calcli.figures import View, calibration_map, draw, epochs, forest, score_bars
from calcli.figures.drawing import classes_of
from calcli.figures.risk import CONSTANT
from calcli.figures.scores import HATCHES
from calcli.figures.simplex import CORNERS
from calcli.figures.style import BAR, OVER, SERIES, UNDER
from calcli.figures.temperature import temperature_curve
from calcli.io.handed import from_arrays
from tests.figures.conftest import make


def boxes_of(axes, color: str) -> dict[float, np.ndarray]:
    """Return the corners (n, 4, 2) of the boxes of one color, by opacity."""
    found = {}
    for drawn in axes.findobj(PolyCollection):
        if len(drawn.get_paths()) and drawn.get_facecolor()[0][:3].tolist() == list(to_rgba(color)[:3]):
            found[drawn.get_alpha()] = np.stack([path.vertices[:4] for path in drawn.get_paths()])
    return found


@pytest.mark.parametrize("lens", ["top-1", "class-1"])
@pytest.mark.parametrize("binning", ["equal-width", "equal-mass"])
def test_reliability_bars_are_the_frequencies(two, lens, binning):
    drawing = draw("reliability", {"a": two}, View(lens, binning, draws=9))
    table, axes = drawing.tables["a"], drawing.figure.axes[0]
    thin = table["rows"] < 10
    for alpha, bins in ((1.0, ~thin), (0.3, thin & (table["rows"] > 0))):
        if not bins.any():
            continue
        bars = boxes_of(axes, BAR)[alpha]
        np.testing.assert_allclose(bars[:, 1, 1], table["frequency"][bins])
        np.testing.assert_allclose(bars[:, 0, 0], table["lower_edge"][bins])
        np.testing.assert_allclose(bars[:, 2, 0], table["upper_edge"][bins])


@pytest.mark.parametrize(("case", "sign"), [("two classes", 1), ("three classes", -1)])
def test_gaps_stand_on_the_mean_score_in_the_color_of_their_sign(evaluations, case, sign):
    drawing = draw("reliability", {"a": evaluations[case]}, View("top-1"))
    table, axes = drawing.tables["a"], drawing.figure.axes[0]
    solid = (table["rows"] >= 10) & (np.sign(table["gap"]) == sign)
    assert solid.any()
    gaps = boxes_of(axes, OVER if sign > 0 else UNDER)[1.0]
    np.testing.assert_allclose(gaps[:, [0, 2], 0].mean(1), table["mean_score"][solid])
    np.testing.assert_allclose(gaps[:, 0, 1], table["frequency"][solid])
    np.testing.assert_allclose(gaps[:, 1, 1], table["mean_score"][solid])


def rare(rows=20_000, frequency=0.01, seed=0):
    """Return an evaluation of rare events, calibrated but for a slope."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(rows) < frequency).astype(int)
    odds = np.log(frequency / (1 - frequency)) + 2 * (rng.normal(size=rows) + 2 * labels) - 2
    logits = np.stack([np.zeros(rows), 1.3 * odds], axis=1)
    return evaluate(Predictions(ArrayScores(logits, "logits"), labels, ("no", "yes")), Settings(draws=9))


def test_scores_that_crowd_are_points_in_log_odds_before_what_calibrated_ones_show():
    drawing = draw("reliability", {"a": rare()}, View("class-1", draws=19))
    table, axes = drawing.tables["a"], drawing.figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("logit", "logit")
    assert "15 equal-mass bins" in "".join(text.get_text() for text in axes.texts)
    assert drawing.tables["a, errors"]["metric"][0] == "ece:lens=class-1:binning=equal-mass"
    low, high = axes.get_ylim()
    drawn = np.concatenate([np.asarray(one.get_offsets()) for one in axes.findobj(PathCollection)])
    drawn = drawn[np.argsort(drawn[:, 0])]
    np.testing.assert_allclose(drawn[:, 0], table["mean_score"])
    np.testing.assert_allclose(drawn[:, 1], np.clip(table["frequency"], low, high))
    bands = axes.findobj(LineCollection)[0].get_segments()
    expected = np.clip([table["low_if_calibrated"], table["high_if_calibrated"]], low, high).T
    np.testing.assert_allclose([band[:, 1] for band in bands], expected)
    assert drawing.tables["a, distribution"]["share"].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "view", [View("class-1", "equal-width"), View("top-1"), View("class-1", region="0..0.5")]
)
def test_scores_that_crowd_are_linear_on_wish(view):
    assert (
        draw("reliability", {"a": rare(2000)}, replace(view, draws=0)).figure.axes[0].get_xscale() == "linear"
    )


def test_empty_bins_are_not_drawn(evaluations):
    axes = draw("reliability", {"a": evaluations["one bin filled"]}, View(binning="equal-width")).figure.axes[
        0
    ]
    assert [len(bars) for bars in boxes_of(axes, BAR).values()] == [1]


def test_reliability_tells_the_errors_of_the_evaluation(two):
    figure = draw("reliability", {"a": two}).figure
    (text,) = [text.get_text() for text in figure.axes[0].texts]
    ece, ks = two.estimates["ece"], two.estimates["ks"]
    assert f"ECE {ece.value:.4f}, if calibrated {ece.if_calibrated.mean:.4f}" in text
    assert f"KS {ks.value:.4f}" in text
    legend = [entry.get_text() for entry in figure.axes[1].get_legend().get_texts()]
    row = two.summary.per_class[1]
    assert legend == [f"mean probability {row.mean_prob:.4f}", f"frequency {row.frequency:.4f}"]


def test_axes_name_the_lens(two):
    labels = {
        "auto": "Predicted probability of class number 1",
        "top-1": "Confidence (top-1)",
        "top-2": "Probability of the class ranked 2",
        "within-top-2": "Probability of the 2 first classes",
        "class-1": "Predicted probability of class number 1",
    }
    for lens, label in labels.items():
        assert draw("reliability", {"a": two}, View(lens)).figure.axes[1].get_xlabel() == label


def test_deviations_are_gaps_and_their_bars_the_band(two):
    drawing = draw("deviation", {"a": two})
    table, (axes, below) = drawing.tables["a"], drawing.figure.axes
    marks = np.concatenate([line.get_xydata() for line in axes.lines if line.get_marker() in "ov^"])
    filled = table["rows"] > 0
    order = np.argsort(marks[:, 0])
    np.testing.assert_allclose(marks[order, 0], table["mean_score"][filled])
    np.testing.assert_allclose(marks[order, 1], table["gap"][filled])
    bars = boxes_of(axes, "#9aa3ad")[1.0]
    solid = table["rows"] >= 10
    np.testing.assert_allclose(bars[:, 0, 1], (table["mean_score"] - table["high_if_calibrated"])[solid])
    np.testing.assert_allclose(bars[:, 1, 1], (table["mean_score"] - table["low_if_calibrated"])[solid])
    beyond = (table["beyond_chance"] == 1) & (table["gap"] > 0)
    assert beyond.any()
    over = [line.get_xdata() for line in axes.lines if line.get_marker() == "^"]
    np.testing.assert_allclose(np.sort(np.concatenate(over)), table["mean_score"][beyond])
    (shares,) = boxes_of(below, BAR).values()
    assert shares[:, 1, 1].sum() == pytest.approx(1)


def test_classes_are_drawn_worst_first(evaluations):
    evaluation = evaluations["ten classes"]
    result = class_reliability(evaluation.class_bins, evaluation.predictions.classes)
    panels = [axes for axes in draw("class-wise", {"a": evaluation}).figure.axes if axes.get_visible()]
    assert [axes.get_title("right") for axes in panels] == [f"{e:.4f}" for e in np.sort(result.error)[::-1]]
    worst = result.worst_first[0]
    bars = np.concatenate(list(boxes_of(panels[0], BAR).values()))
    filled = result.bins.count[worst] > 0
    np.testing.assert_allclose(np.sort(bars[:, 1, 1]), np.sort(result.frequency[worst][filled]))


def test_heat_map_has_a_cell_for_every_bin_and_a_color_for_what_exceeds_chance():
    evaluation = make(10_000, 100, 3.0, "many.npy")
    drawing = draw("reliability", {"a": evaluation}, View("class-wise"))
    axes, table = drawing.figure.axes[0], drawing.tables["a"]
    (gray,) = boxes_of(axes, BAR).values()
    every = sum(len(drawn.get_paths()) for drawn in axes.findobj(PolyCollection))
    assert every == np.count_nonzero(table["rows"])
    assert every - len(gray) == table["beyond_chance"].sum() > 0
    assert len(axes.get_yticks()) == 100


def test_calibrated_data_have_no_emphasized_cell():
    rng = np.random.default_rng(5)
    emphasized = 0
    for _ in range(10):
        probs = rng.dirichlet(np.full(60, 0.05), 1000)
        labels = (probs.cumsum(1) < rng.random((1000, 1))).sum(1).clip(max=59)
        columns = {"part": rng.integers(0, 6, 1000)}
        scores = ArrayScores(probs, "probs")
        predictions = Predictions(scores, labels, tuple(map(str, range(60))), columns=columns)
        evaluation = evaluate(predictions, Settings(("log_loss", "ece"), draws=9))
        drawings = [draw(name, {"a": evaluation}, View(by=("part",))) for name in ("class-wise", "deviation")]
        slices = forest_of(evaluation, ["part"], ["log_loss", "ece"])
        emphasized += any(drawing.tables["a"]["beyond_chance"].any() for drawing in drawings)
        for metric in ("log_loss", "ece"):
            emphasized += any(slices.is_marked(name, metric) for name in slices.slices)
    assert emphasized <= 4  # 5% of each of four kinds would be 2


def test_ks_graphs_are_the_cumulative_sums(two):
    drawing = draw("ks", {"a": two})
    table, (sums, warped, slopes, by_score) = drawing.tables["a"], drawing.figure.axes
    promised, observed = sums.lines[:2]
    np.testing.assert_array_equal(promised.get_ydata(), table["score_sum"])
    np.testing.assert_array_equal(observed.get_ydata(), table["outcome_sum"])
    np.testing.assert_array_equal(observed.get_xdata(), table["fractile"])
    np.testing.assert_array_equal(warped.lines[1].get_xdata(), table["score_sum"])
    np.testing.assert_array_equal(slopes.lines[0].get_xydata().T, [table["fractile"], table["score"]])
    np.testing.assert_array_equal(slopes.lines[1].get_xydata().T, [table["fractile"], table["frequency"]])
    np.testing.assert_array_equal(by_score.lines[1].get_xdata(), table["score"])
    (segment,) = sums.findobj(LineCollection)[0].get_segments()
    assert abs(segment[1, 1] - segment[0, 1]) == pytest.approx(two.estimates["ks"].value)


@pytest.mark.parametrize("name", ["corp", "smooth"])
def test_curves_and_bands(name, two):
    drawing = draw(name, {"a": two})
    table, (axes, below) = drawing.tables["a"], drawing.figure.axes
    (bars,) = boxes_of(below, BAR).values()
    np.testing.assert_allclose(bars[:, 1, 1], drawing.tables["a, distribution"]["share"])
    np.testing.assert_array_equal(axes.lines[1].get_xdata(), table["score"])
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), table["frequency"])
    frequency = np.where(table["supported"] == 1, table["frequency"], np.nan)
    np.testing.assert_array_equal(axes.lines[2].get_ydata(), frequency)
    bands = ["_if_calibrated", ""][: 2 if name == "smooth" else 1]
    for suffix, band in zip(bands, axes.findobj(PolyCollection), strict=True):
        heights = band.get_paths()[0].vertices[:, 1]
        assert set(table[f"low{suffix}"]) | set(table[f"high{suffix}"]) <= set(heights)
    ticks = np.concatenate([drawn.get_segments() for drawn in axes.findobj(LineCollection)])
    rows = drawing.tables["a, some rows"]
    np.testing.assert_array_equal(np.sort(ticks[:, 0, 0]), np.sort(rows["score"]))
    assert np.count_nonzero(ticks[:, 1, 1] == 1) == rows["outcome"].sum()


def test_a_region_fills_the_panel_and_bars_stand_on_zero(two):
    view = View(region="0.9..1", draws=9)
    curve, bars = draw("smooth", {"a": two}, view), draw("reliability", {"a": two}, view)
    table, axes = curve.tables["a, 0.9..1"], curve.figure.axes[0]
    assert axes.get_xlim() == bars.figure.axes[0].get_xlim() == (0.9, 1)
    assert axes.get_ylim()[0] == min(table["score"].min(), table["frequency"].min())
    assert bars.figure.axes[0].get_ylim() == (0, 1)


def test_a_frequency_outside_of_the_region_takes_no_room(two):
    sure = replace(two.predictions, labels=np.zeros_like(two.predictions.labels))
    drawing = draw("reliability", {"a": evaluate(sure, two.settings)}, View(region="0.9..1", draws=9))
    drawing.figure.draw_without_rendering()  # warns where lines push the axes together
    (axes, below) = drawing.figure.axes
    assert below.lines[1].get_xdata() == [0, 0]
    assert axes.get_position().width > 0.7


def test_names_are_no_formulas(two):
    names = [r"$\frac$", "up to $50, $60"]  # the first is no formula that could be set
    renamed = replace(two, predictions=replace(two.predictions, classes=tuple(names)))
    figure = draw("class-wise", {"$a$": renamed}).figure
    figure.draw_without_rendering()
    titles = {axes.get_title(loc="left") for axes in figure.axes}
    assert titles == {name.replace("$", r"\$") for name in names}
    assert not any(is_math_text(title) for title in titles)


def test_constant_decisions_of_other_class_frequencies(two):
    single = replace(two.predictions, labels=np.zeros_like(two.predictions.labels))
    other = evaluate(single, two.settings)
    for systems, lines in (({"a": two, "b": two}, 1), ({"a": two, "b": other}, 2)):
        for axes in draw("risk", systems).figure.axes:
            dotted = [line for line in axes.lines if line.get_linewidth() == CONSTANT["linewidth"]]
            assert sum(len(line.get_xdata()) > 0 for line in dotted) == lines
            assert [text.get_text() for text in axes.get_legend().get_texts()].count("constant decision") == 1


def test_risk_curves(two):
    drawing = draw("risk", {"a": two})
    odds, linear = drawing.figure.axes
    drawn = np.concatenate([odds.lines[0].get_ydata(), linear.lines[0].get_ydata() / 2])
    np.testing.assert_array_equal(drawn, drawing.tables["a"]["risk"])
    assert f"a: {two.estimates['log_loss'].value:.4f}" in [
        t.get_text() for t in odds.get_legend().get_texts()
    ]
    assert f"a: {two.estimates['brier'].value:.4f}" in [t.get_text() for t in linear.get_legend().get_texts()]


@pytest.mark.parametrize("label", [0, 1])
def test_normalized_scores_of_one_class_are_undefined(two, label):
    single = replace(two.predictions, labels=np.full_like(two.predictions.labels, label))
    drawing = draw("weighted-risk", {"a": evaluate(single, two.settings), "b": two})
    assert all(np.isnan(value).all() for value in drawing.tables["a, scores"].values())
    nce, nbs = (two.estimates[f"normalized_{name}"].value for name in ("log_loss", "brier"))
    for axes, name, value in zip(drawing.figure.axes, ("NCE", "NBS"), (nce, nbs), strict=True):
        told = [text.get_text() for text in axes.get_legend().get_texts()]
        assert told == [f"a: {name} undefined", f"b: {name} {value:.4f}"]


def test_weights_of_ones_own_have_a_panel_each(two):
    own = {"mine": ((0.0, 0.0), (0.2, 1.5), (1.0, 0.0))}
    asked = ("weighted_risk:weights=mine", "beta_score:a=3")
    evaluation = evaluate(two.predictions, replace(two.settings, metrics=asked, threshold_weights=own))
    drawing = draw("weighted-risk", {"a": evaluation})
    heads = ["W = mine: area = weighted risk", "W = Beta(3, 1): area = beta score"]
    assert [axes.get_title("left") for axes in drawing.figure.axes] == heads
    for axes, name in zip(drawing.figure.axes, asked, strict=True):
        (line,) = axes.lines
        np.testing.assert_array_equal(line.get_ydata(), drawing.tables["a"][f"risk_for_{name}"])
        found = evaluation.estimates[name]
        (told,) = (text.get_text() for text in axes.get_legend().get_texts())
        assert told == f"a: normalized {found.value / found.parts['constant']:.4f}"
    with pytest.raises(UsageError, match="expected one of them among the metrics"):
        draw("weighted-risk", {"a": evaluation}, View(metrics=("accuracy",)))


def test_rejection_curves(two):
    drawing = draw("rejection", {"a": two})
    (axes,) = drawing.figure.axes
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), drawing.tables["a"]["error_rate"])
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), drawing.tables["a"]["promised"])
    legend = drawing.figure.legends[0]
    assert legend.get_texts()[0].get_text() == "a"
    assert {line.get_color() for line in legend.get_lines()} == {axes.lines[0].get_color()}
    assert "95% interval" in drawing.caption
    both = evaluate(two.predictions, replace(two.settings, metrics=("aurc", "augrc")))
    told = "AURC {:.4f}, AUGRC {:.4f}".format(*(one.value for one in both.estimates.values()))
    drawing = draw("rejection", {"a": both})
    assert drawing.figure.legends[0].get_texts()[0].get_text() == f"a\n{told}"
    assert drawing.caption.endswith(f" a: {told}.")


def test_curves_of_thresholds_and_what_needs_no_scores(two, three):
    drawing = draw("precision-recall", {"a": two})
    (axes,), table = drawing.figure.axes, drawing.tables["a"]
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), np.c_[table["recall"], table["precision"]])
    assert set(axes.lines[1].get_ydata()) == {round(np.mean(two.predictions.labels), 6)}
    for name, x, y in (("roc", "false_positive_rate", "recall"), ("gains", "share", "recall")):
        marking = evaluate(two.predictions, replace(two.settings, thresholds=(0.2, 0.6)))
        drawing = draw(name, {"a": marking})
        axes, table, marked = drawing.figure.axes[0], drawing.tables["a"], drawing.tables["a, marked"]
        np.testing.assert_array_equal(axes.lines[0].get_xydata()[1:], np.c_[table[x], table[y]])
        np.testing.assert_array_equal(axes.lines[1].get_xydata(), np.c_[marked[x], marked[y]])
        assert [text.get_text() for text in axes.texts] == ["0.2", "0.6"]
        assert marked["threshold"].tolist() == [0.2, 0.6]
    area = f"AUROC {marking.estimates['auroc'].value:.4f}"
    assert draw("roc", {"a": marking}).figure.legends[0].get_texts()[0].get_text() == f"a  {area}"
    lift = drawing.figure.axes[1].lines[0].get_xydata()
    np.testing.assert_array_equal(lift, np.c_[table["share"], table["lift"]])
    drawing = draw("net-benefit", {"a": two})
    (axes,), table = drawing.figure.axes, drawing.tables["a"]
    for line, name in zip(axes.lines[:2], ("net_benefit", "treat_all"), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.c_[table["threshold"], table[name]])
    assert set(axes.lines[2].get_ydata()) == {0}
    told = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    assert told == ["a", "treat all", "treat none"]
    answers = replace(two, predictions=replace(two.predictions, classes=WRONG_RIGHT))
    for name in ("precision-recall", "net-benefit", "roc", "gains"):
        with pytest.raises(UsageError, match=r"needs 2 classes, but .* has 3; see --against-rest"):
            draw(name, {"a": three})
        with pytest.raises(UsageError, match="and these are answers that are right or wrong"):
            draw(name, {"a": answers})
    none = replace(two.predictions, labels=np.zeros_like(two.predictions.labels))
    with pytest.raises(UsageError, match="gains: no row of a is of the class; it has no recall"):
        draw("gains", {"a": evaluate(none, Settings(("accuracy",), draws=0))})


def test_a_decision_curve_has_intervals_and_the_difference_of_two():
    systems = {"a": make(800, 2, 2.0, "two.csv"), "b": make(800, 2, 1.0, "two.csv")}
    drawing = draw("net-benefit", systems)
    above, below = drawing.figure.axes
    table, change = drawing.tables["b, intervals"], drawing.tables["b minus a"]
    bars = [bar for bar in above.collections if isinstance(bar, LineCollection)]
    drawn = np.array(bars[1].get_segments())[:, :, 1]
    np.testing.assert_array_equal(drawn, np.c_[table["low"], table["high"]])
    np.testing.assert_array_equal(below.lines[1].get_xydata(), np.c_[change["threshold"], change["value"]])
    at = np.searchsorted(table["threshold"], 0.5)
    values = [drawing.tables[f"{name}, intervals"]["value"][at] for name in "ab"]
    assert change["value"][at] == pytest.approx(values[1] - values[0])
    assert drawing.caption.endswith("Below: the difference of both on the same rows.")


def test_the_wide_end_of_an_interval_does_not_flatten_rejection_curves():
    """Of 2,000 sure rows the interval on the last ten reaches 28%; the curves stay below 3%."""
    wrong = np.arange(2000) % 50 == 0
    confidence = np.where(wrong, 0.9, 0.97) + np.arange(2000) / 1e5
    predictions = from_arrays(np.column_stack([1 - confidence, confidence]), np.where(wrong, 0, 1))
    drawing = draw("rejection", {"a": evaluate(predictions, Settings(draws=9))})
    (axes,) = drawing.figure.axes
    table = drawing.tables["a"]
    assert table["high"].max() > 0.2
    assert 0.02 < axes.get_ylim()[1] < 0.05
    assert [text.get_text() for text in axes.texts] == ["cut at the top"]


def test_the_positive_class_is_called_by_the_event(two):
    rows = replace(two.predictions, classes=("0", "1"))
    for labels, name in (('column "is_fraud"', "fraud"), ('column "label"', "1")):
        named = replace(rows, provenance=replace(rows.provenance, labels=labels))
        assert list(classes_of({"a": replace(two, predictions=named)})) == ["0", name]


def test_arrows_lead_from_prediction_to_observation(three):
    drawing = draw("simplex", {"a": three})
    table, axes = drawing.tables["a"], drawing.figure.axes[0]
    names = three.predictions.classes
    mean = np.stack([table[f"mean_{name}"] for name in names], axis=1) @ CORNERS
    change = np.stack([table[f"frequency_{name}"] for name in names], axis=1) @ CORNERS - mean
    arrows = axes.findobj(Quiver)
    drawn = np.concatenate([np.column_stack([q.X, q.Y, q.U, q.V]) for q in arrows])
    told = (table["rows"] >= 10) | table["beyond_chance"]  # of fewer rows the dot alone
    assert 0 < told.sum() < len(told)
    expected = np.column_stack([mean, change])[told]
    np.testing.assert_allclose(drawn[np.lexsort(drawn.T)], expected[np.lexsort(expected.T)])
    dots = np.concatenate([drawn.get_offsets() for drawn in axes.findobj(PathCollection)])
    np.testing.assert_allclose(np.sort(dots[:, 0]), np.sort(mean[:, 0]))


def test_four_classes_are_a_tetrahedron_and_its_faces(evaluations):
    drawing = draw("simplex", {"a": evaluations["four classes"]})
    shown = [axes.get_title("left") for axes in drawing.figure.axes[:6]]
    assert shown == ["a", "turned", *list(drawing.tables)[1:]]
    assert all(name.startswith("without ") for name in list(drawing.tables)[1:])
    assert len(drawing.tables) == 5
    for axes in drawing.figure.axes[:2]:  # a face hides no edge, an edge one, a corner three
        edges = [line.get_linestyle() for line in axes.get_lines()]
        assert (len(edges), edges.count("--")) in ((6, 0), (6, 1), (6, 3))
        arrows = sum(len(quiver.X) for quiver in axes.findobj(Quiver))
        table = drawing.tables["a"]
        assert arrows == np.count_nonzero((table["rows"] >= 10) | table["beyond_chance"])


def test_bars_and_intervals_of_scores(two, three):
    drawing = draw("scores", {"a": two, "b": three})
    (axes,) = drawing.figure.axes
    drawn = [bar.get_width() for container in axes.containers for bar in container]
    np.testing.assert_array_equal(drawn, [*drawing.tables["a"]["value"], *drawing.tables["b"]["value"]])
    lines = np.concatenate([found.get_segments() for found in axes.findobj(LineCollection)])
    tables = drawing.tables.values()
    ends = np.concatenate([np.column_stack([table["low"], table["high"]]) for table in tables])
    np.testing.assert_array_equal(lines[:, :, 0], ends[~np.isnan(ends[:, 0])])


def test_a_system_without_a_finite_score_has_its_own_look_in_the_key():
    scores = {name: parse_metric(name) for name in ("normalized_brier", "normalized_log_loss")}
    systems = {
        name: ScoreSet(tuple(Estimate(call, value, "") for call in scores.values()))
        for name, value in (("a", 0.5), ("b", math.nan), ("c", 0.7))
    }
    figure = score_bars(systems)
    looks = [(patch.get_facecolor(), patch.get_hatch()) for patch in figure.legends[0].get_patches()]
    assert looks == [(to_rgba(color), hatch) for color, hatch in zip(SERIES[:3], HATCHES[:3], strict=True)]
    first, none, third = figure.axes[0].containers
    assert [(bar.get_facecolor(), bar.get_hatch()) for bar in (first[0], third[0])] == looks[::2]
    assert len(none) == 0
    assert [text.get_text() for text in figure.axes[0].texts].count(" undefined") == 2


def test_epochs_ring_the_best_file(two):
    call = two.estimates["log_loss"].metric
    value, line = np.array([3.0, 1.0, 2.0]), np.array([2.0, 1.5, 1.4])
    course = Course(call, "", np.array([1, 5, 9]), value, line, 1)
    figure = epochs(Courses({"log_loss": [course]}, numbered=True), smoothing="moving/3")
    axes = figure.axes[0]
    smoothed, ring = axes.lines
    (raw,) = axes.collections
    np.testing.assert_array_equal(raw.get_offsets()[:, 1], value)
    np.testing.assert_array_equal(smoothed.get_ydata(), line)
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (5, 1)  # of the values, not of the line
    assert [text.get_text() for text in axes.texts] == ["best: 5"]
    assert "moving mean, window 3" in figure.get_supxlabel()


def test_epochs_have_a_dot_where_a_value_has_no_neighbor(two):
    call = two.estimates["ece"].metric

    def dotted(*value):
        course = Course(call, "", np.arange(len(value)), np.array(value), np.array(value), 0)
        (line,) = epochs(Courses({"ece": [course]}, numbered=True)).axes[0].lines
        return line.get_markevery() if line.get_marker() == "o" else []

    assert dotted(0.1) == [0]
    assert dotted(0.1, math.nan, 0.2, 0.3, math.inf, 0.1) == [0, 5]
    assert dotted(0.1, 0.2) == []


def test_epochs_tell_no_more_best_files_than_there_is_room_for(two):
    def told(*names):
        call, number = two.estimates["log_loss"].metric, np.array([7, 8])
        found = [Course(call, name, number, np.arange(2.0), np.arange(2.0), 0) for name in names]
        figure = epochs(Courses({"log_loss": found, "brier": found, "accuracy": found}, numbered=True))
        figure.draw_without_rendering()  # warns where axes have no room
        return [text.get_text() for text in figure.axes[0].texts]

    assert told("train", "test") == ["best: train 7, test 7"]
    assert told(*(f"a name of letters {n}" for n in range(5))) == ["best: 7, 7, 7, 7, 7"]
    assert told(*(f"{n}" for n in range(40))) == []


def test_epochs_of_several_sets_and_metrics(two):
    def course(metric, series, *value):
        found = np.array(value)
        return Course(two.estimates[metric].metric, series, np.array([1, 2]), found, found, 0)

    courses = {
        name: [course(name, "train", 3.0, 2.0), course(name, "test", 3.5, 4.0)]
        for name in ("log_loss", "brier")
    }
    apart = epochs(Courses(courses, numbered=True))
    assert [len(axes.lines) for axes in apart.axes[:2]] == [4, 4]
    assert apart.axes[0].lines[0].get_color() != apart.axes[0].lines[2].get_color()
    together = epochs(Courses(courses, numbered=True), [["log_loss", "brier"]])
    (axes,) = together.axes
    lines = axes.lines[::2]
    assert [line.get_color() for line in lines] == [SERIES[0], SERIES[0], SERIES[1], SERIES[1]]
    assert [line.get_linestyle() for line in lines] == ["-", "--", "-", "--"]
    for figure in (apart, together):
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["train", "test"]


def test_forest_has_a_line_and_an_interval_for_every_slice(two, three):
    whole = two.estimates["log_loss"]
    slices = {"a=1": {"log_loss": whole}, "a=2": {"log_loss": three.estimates["log_loss"]}}
    (axes,) = forest({"two.csv": Forest({"log_loss": whole}, slices, {"a=1": 800, "a=2": 800}, 1600)}).axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert all(label.endswith(" (800)") for label in labels)
    found = [slices[label.removesuffix(" (800)")]["log_loss"] for label in labels]
    assert found == sorted(found, key=lambda estimate: -estimate.value)
    marks = {line.get_ydata()[0]: line for line in axes.lines[1:]}
    assert [marks[y].get_xdata()[0] for y in range(2)] == [estimate.value for estimate in found]
    ends = np.concatenate([lines.get_segments() for lines in axes.findobj(LineCollection)])
    ends = ends[np.argsort(ends[:, 0, 1])]
    np.testing.assert_array_equal(ends[:, :, 0], [(e.interval.low, e.interval.high) for e in found])
    assert marks[found.index(whole)].get_marker() == "o"  # the whole lies within its own interval
    assert marks[1 - found.index(whole)].get_marker() == "D"


def test_a_long_slice_leaves_the_column_to_the_axis_and_the_key_within_the_figure(two):
    both = {name: two.estimates[name] for name in ("log_loss", "ece")}
    names = ["hospital=St. Mary's", "hospital=Universitätsklinikum Hamburg"]
    rows = dict.fromkeys(names, 800)
    figure = forest({"two.csv": Forest(both, dict.fromkeys(names, both), rows, 1600)})
    assert figure.get_supylabel() == "hospital"
    for axes in figure.axes:
        labels = {label.get_text() for label in axes.get_yticklabels()}
        assert labels == {"St. Mary's (800)", "Universitätsk…ikum Hamburg (800)"}
    figure.draw_without_rendering()
    key = figure.legends[0].get_window_extent()
    assert (key.x0 >= 0, key.x1 <= figure.bbox.width) == (True, True)
    short = Forest(both, {"a=1": both}, {"a=1": 800}, 1600)
    assert forest({"two.csv": short}).get_supylabel() == ""


@pytest.mark.parametrize("column", ["country of residence, as declared", "COUNTRY_" * 12])
@pytest.mark.parametrize("count", [1, 3, 30])
def test_a_long_column_is_told_in_lines_within_the_figure(two, column, count):
    whole = {"log_loss": two.estimates["log_loss"]}
    rows = {f"{column}={n}": 800 for n in range(count)}
    figure = forest({"two.csv": Forest(whole, dict.fromkeys(rows, whole), rows, 800 * count)})
    figure.draw_without_rendering()
    (label,) = [text for text in figure.texts if text.get_rotation() == 90]
    ends = label.get_window_extent()
    assert (ends.y0 >= 0, ends.y1 <= figure.bbox.height, ends.x0 >= 0) == (True, True, True)
    told = label.get_text().replace("\n", " " if " " in column else "")
    start = told.removesuffix("…").rstrip()
    assert column.startswith(start)
    assert told == column or told != start


def test_errors_of_slices_stand_beside_chance_instead_of_all_rows(two):
    whole = two.estimates["ece"]
    slices = {"a=1": {"ece": whole}, "a=2": {"ece": replace(whole, if_calibrated=None)}}
    (axes,) = forest({"two.csv": Forest({"ece": whole}, slices, {"a=1": 800, "a=2": 800}, 1600)}).axes
    assert [line.get_marker() for line in axes.lines] == ["o", "o"]  # and no line of all rows
    (bar,) = axes.findobj(PolyCollection)
    null, (path,) = whole.if_calibrated, bar.get_paths()
    ends = [max(null.mean - 2 * null.sd, 0), null.mean + 2 * null.sd]
    assert [path.vertices[:, 0].min(), path.vertices[:, 0].max()] == pytest.approx(ends)


def test_no_slice_stands_out_of_an_infinite_whole(two):
    finite = two.estimates["log_loss"]
    infinite = replace(finite, value=math.inf, interval=Interval(0.4, math.inf, 0.95))
    slices = {"a=1": {"log_loss": infinite}, "a=2": {"log_loss": finite}}
    found = Forest({"log_loss": infinite}, slices, {"a=1": 800, "a=2": 800}, 1600)
    (axes,) = forest({"two.csv": found}).axes
    assert [line.get_marker() for line in axes.lines] == ["o"]
    assert [text.get_text() for text in axes.texts] == ["inf"]


def test_temperature_curve_and_its_minimum(two):
    drawing = draw("temperature", {"a": two})
    table, (axes,) = drawing.tables["a"], drawing.figure.axes
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), table["log_loss"])
    found = drawing.tables["a, fit"]
    ((x, y),) = axes.lines[1].get_xydata()
    assert (x, y) == (found["temperature"][0], found["log_loss"][0])
    assert y <= table["log_loss"].min()


def test_temperature_curve_says_which_rows_it_leaves_out():
    flat = TemperatureCurve(np.array([0.5, 1, 2]), np.zeros(3), rows=2000, all_rows=2000, left_out=1234)
    figure = temperature_curve({"sure.csv": flat, "all.csv": replace(flat, left_out=0)})
    first, second = (text.get_text() for text in figure.legends[0].get_texts())
    assert first == "sure.csv: the same for all\nwithout rows of infinite loss: 1,234"
    assert second == "all.csv: the same for all"
    assert figure.axes[0].get_ylim()[1] > 0.1


@pytest.mark.parametrize(
    ("n", "sign", "said"), [(40, 1, "below 0.125"), (1, 1, "below 0.125"), (9, -1, "above 8")]
)
def test_a_temperature_that_is_fitted_and_not_the_best_says_so(n, sign, said):
    """Of rows that are all right, or all wrong, no temperature is the best."""
    odds, labels = np.linspace(1, 3, n), np.arange(n) % 2
    scores = np.stack([0 * odds, sign * np.where(labels == 1, odds, -odds)], axis=1)
    predictions = from_arrays(scores, labels, kind="logits")
    drawing = draw("temperature", {"a": evaluate(predictions, Settings(metrics=("log_loss",)))})
    (axes,), fit = drawing.figure.axes, drawing.tables["a, fit"]["temperature"][0]
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    told = f"a: best {said}"
    if sign > 0:
        assert fit == pytest.approx(Temperature().fit(scores, labels).parameters["temperature"])
        ((x, y),) = dots[0].get_xydata()
        assert (x, y) == (fit, pytest.approx(np.log1p(np.exp(-odds / fit)).mean()))
        told += f"\na fit takes {fit:.4g} (dot)"
    assert [text.get_text() for text in drawing.figure.legends[0].get_texts()] == [told]
    assert len(dots) == (sign > 0)


@pytest.mark.parametrize("case", ["two classes", "three classes"])
def test_calibration_map_is_the_map(evaluations, case):
    predictions = evaluations[case].predictions
    result = map_of(Temperature().fit(predictions.scores.array, predictions.labels), predictions)
    (axes,) = calibration_map({"temperature": result}, predictions.classes).axes
    np.testing.assert_array_equal(axes.lines[1].get_xdata(), result.before)
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), result.after)
    solid, faint = (drawn.get_offsets() for drawn in axes.findobj(PathCollection))
    assert len(faint) == result.thin.sum()
    kept = result.bins.count >= 10
    frequency = result.bins.outcome[kept] / result.bins.weight[kept]
    np.testing.assert_allclose(solid[:, 1], np.clip(frequency, *axes.get_ylim()))
    assert result.before[0] <= solid[:, 0].min()
    assert result.before[-1] >= solid[:, 0].max()


def test_errors_have_an_axis_of_their_own_beside_the_scores():
    names = ["normalized_brier", "ece", "relative_calibration_loss", "normalized_error_rate"]
    both = ScoreSet(tuple(Estimate(parse_metric(name), 0.5, "") for name in names))
    left, right = score_bars({"a": both}).axes
    assert [text.get_text() for text in left.get_yticklabels()] == [
        "Brier score, normalized",
        "Error rate, normalized",
    ]
    assert [text.get_text() for text in right.get_yticklabels()] == ["Calibration loss, relative", "ECE"]
    assert len(score_bars({"a": ScoreSet(both.estimates[::2])}).axes) == 1


def test_the_area_is_the_log_loss_of_rows_next_to_certainty():
    probs = np.array([[1.0, 1e-20], [1e-20, 1.0], [0.3, 0.7], [0.6, 0.4]])
    predictions = from_arrays(probs, [1, 0, 1, 0])
    drawn = draw("risk", {"x": evaluate(predictions, Settings(metrics=("log_loss",)))})
    expected = -np.log([1e-20, 1e-20, 0.7, 0.6]).mean()
    legend = drawn.figure.axes[0].get_legend().get_texts()[0].get_text()
    assert legend.endswith(f"{expected:.4f}")
