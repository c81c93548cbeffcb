"""What is wrong with a call in Python is said in a sentence; reprs are short."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import calcli
from calcli.core.language.errors import CalcliError, UsageError

RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(3), 60)
LABELS = RNG.integers(0, 3, 60)
FRAME = pd.DataFrame(PROBS, columns=["p_a", "p_b", "p_c"]).assign(
    y=np.array(list("abc"))[LABELS], patient=np.arange(60) // 2, country=np.array(["DE", "FR"])[LABELS % 2]
)
RULE = {"rules": [{"metric": "log_loss", "max_increase": "2%"}]}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: calcli.evaluate(FRAME, cluster="patient", test=True), "but --cluster patient says"),
        (lambda: calcli.evaluate(FRAME, metrics="cllr"), "see --against-rest"),
        (lambda: calcli.evaluate(PROBS * 1.5, LABELS, kind="probs"), "or say --kind logits"),
        (
            lambda: calcli.evaluate(FRAME.assign(label=FRAME.y.to_numpy()[::-1])),
            "--label-column y\n",
        ),
        (lambda: calcli.fit(FRAME, raw=True), "--input raw needs logits"),
        (lambda: calcli.fit(FRAME, method="dp", folds=0).apply(PROBS[:, :2]), "2 columns; expected 3"),
        (lambda: calcli.compare(FRAME, FRAME.iloc[:40]), "compare different test sets with --unpaired"),
        (lambda: calcli.compare(FRAME, FRAME, margins={"accuracy": -1}), "'accuracy=-1' is not a margin"),
        (
            lambda: calcli.compare(FRAME, FRAME[["p_c", "p_a", "p_b", "y"]]),
            "the same classes in different orders; give one order to all files with --classes a,b,c",
        ),
        (lambda: calcli.compare(FRAME, FRAME, margins=5), "margins is 5; expected margins by metric"),
        (lambda: calcli.check(FRAME, RULE, baseline=FRAME, key="id"), "--key id: DataFrame has no"),
        (lambda: calcli.plot(FRAME, figure="slices"), "a column to slice by: --by COLUMN"),
        (lambda: calcli.plot(FRAME, figure="deviation", draws=0), "use --draws 999"),
        (lambda: calcli.plot(FRAME, figure="reliability", knots=5), "'reliability' has no argument 'knots'"),
        (lambda: calcli.plot(FRAME, figure="divergence"), "see --against-rest"),
        (lambda: calcli.State.of(FRAME, cluster="patient"), "--cluster does not go into a state"),
        (
            lambda: calcli.simulate("mcs", n_classes=1),
            "classes is 1; expected a whole number from 2 to 1000000",
        ),
        (lambda: calcli.simulate("cal", rows=2**63), "expected a whole number from 1 to 1000000000000"),
        (lambda: calcli.load("no.json"), "no such file"),
        (
            lambda: calcli.evaluate(FRAME, weights=PROBS[:, 0]),
            "has weights in a column; name it with weights=",
        ),
        (lambda: calcli.read(FRAME, correct=list(LABELS)), "has correct in a column; name it with correct="),
        (lambda: calcli.evaluate(FRAME, cluster=LABELS), "cluster is of type ndarray; expected text"),
        (lambda: calcli.evaluate([[0.1, 0.9], [1.0]], [0, 1]), "the scores are lists of different lengths"),
        (lambda: calcli.evaluate(PROBS[:2], [0, [1]]), "the labels are lists of different lengths"),
        (lambda: calcli.evaluate(PROBS[:2], ["a", pd.NA]), "row 1 has no label"),
        (lambda: calcli.evaluate(PROBS[:2], np.array([0, None], object)), "row 1 has no label"),
        (
            lambda: calcli.evaluate(PROBS[:2], [pd.Timestamp(0), pd.Timestamp(1)]),
            "the labels are lists or the like; expected integers or text",
        ),
        (lambda: calcli.evaluate(PROBS[:2], [0, 1], weights=["a", "b"]), "the weights are text"),
        (
            lambda: calcli.evaluate(confidence=[0.9, 0.8], correct=pd.array([True, None], dtype="boolean")),
            "correct is missing in 1 of 2 rows",
        ),
        (
            lambda: calcli.evaluate(confidence=[0.9, 0.8], correct=pd.array(["yes", None], dtype="string")),
            "correct is missing in 1 of 2 rows",
        ),
        (
            lambda: calcli.evaluate(confidence=[0.9, 0.8], correct=np.array([True, pd.NA], object)),
            "correct is missing in 1 of 2 rows",
        ),
        (lambda: calcli.read(PROBS), "read takes a path or a table, not ndarray; arrays come with labels"),
        (lambda: calcli.read(None), "read takes a path or a table, not NoneType"),
        (lambda: calcli.compare(FRAME, FRAME, margins="accuracy=1"), "expected margins by metric, such as"),
        (lambda: calcli.compare(FRAME, FRAME, margins={3: 0.1}), "margins is {3: 0.1}; expected margins by"),
        (lambda: calcli.compare(FRAME, FRAME, by=["country"]), "by is ['country']; expected the name of a"),
        (lambda: calcli.compare(FRAME, FRAME, rank_by=None), "rank_by is None; expected text"),
        (lambda: calcli.evaluate(FRAME, by=3), "by is 3; expected a list of text"),
        (lambda: calcli.State.of(FRAME, by=[None]), "by is [None]; expected a list of text"),
        (lambda: calcli.check(FRAME, 3), "policy is 3; expected a path, or the content of such a file"),
        (lambda: calcli.check(FRAME, RULE["rules"]), "expected a path, or the content of such a file"),
        (lambda: calcli.check(FRAME, {3: 4}), "policy is {3: 4}; expected a path"),
        (lambda: calcli.fit(FRAME, method=None), "method is None; expected a method by its name"),
        (lambda: calcli.fit(FRAME, method=calcli.SMS()), "method is SMS(); expected a method by its name"),
        (lambda: calcli.fit(FRAME, candidates=3), "candidates is 3; expected a list of text"),
        (lambda: calcli.fit(FRAME, candidates=[calcli.SMS()]), "candidates is [SMS()]; expected a list of"),
        (lambda: calcli.fit(FRAME, method="platt", lens=3), "lens is 3; expected text"),
        (lambda: calcli.fit(FRAME, method="dp", folds=0).save(3), "path is 3; expected a path"),
        (lambda: calcli.plot({"a": FRAME, 1: FRAME}), "expected predictions by names that are text"),
        (lambda: calcli.plot({}), "data holds no predictions"),
        (lambda: calcli.plot(FRAME, figure=None), "figure is None; expected text"),
        (lambda: calcli.plot(FRAME, view="ks"), "view is of type str; expected a View"),
        (
            lambda: calcli.plot(FRAME, figure="calibration-map", calibrator=calcli.SMS()),
            "calibrator is SMS(); expected a path",
        ),
        (lambda: calcli.evaluate(FRAME, draws=0).plot(3), "figure is 3; expected text"),
        (lambda: calcli.evaluate(FRAME, draws=0).save(None), "path is None; expected a path"),
        (lambda: calcli.simulate(3), "system is 3; expected text"),
        (lambda: calcli.load(None), "path is None; expected a path"),
        (lambda: calcli.save(3, "cal.json"), "save takes a calibrator, not int"),
        (lambda: calcli.fit(FRAME, method="dp", folds=0).apply(None), "they are of type NoneType"),
        (lambda: calcli.fit(FRAME, method="dp", folds=0).apply([]), "the scores are of shape (0,)"),
        (
            lambda: calcli.fit(FRAME, method="dp", folds=0).apply([["a", "b", "c"]]),
            "type <U1; expected numbers",
        ),
    ],
)
def test_wrong_calls_are_refused(call, said):
    with pytest.raises(CalcliError) as fault:
        call()
    assert said in str(fault.value)


def test_no_column_is_none():
    for by in (None, (), []):
        assert len(calcli.evaluate(FRAME, by=by, metrics="accuracy", draws=0).results) == 1
        assert calcli.State.of(FRAME, by=by, metrics="accuracy").n_rows == 60


NAMES = np.array(list("cab"))[LABELS]


@pytest.mark.parametrize(
    "classes",
    [
        "c,a,b",
        "c, a, b",
        ["c", "a", "b"],
        ("c", "a", "b"),
        np.array(["c", "a", "b"]),
        pa.array(["c", "a", "b"]),
        pa.chunked_array([["c"], ["a", "b"]]),
    ],
    ids=["text", "blanks", "list", "tuple", "array", "pyarrow", "chunked"],
)
def test_classes_are_written_alike_beside_arrays_and_tables(classes):
    expected = calcli.evaluate(PROBS, LABELS, metrics="log_loss")["log_loss"].value
    frame = pd.DataFrame(PROBS, columns=["c", "a", "b"]).assign(y=NAMES)
    for data in ((PROBS, NAMES), (frame,)):
        assert calcli.evaluate(*data, classes=classes, metrics="log_loss")["log_loss"].value == expected
    fitted = calcli.Temperature(scores_are="probs").fit(PROBS, NAMES, classes=classes)
    assert fitted.classes_.tolist() == ["c", "a", "b"]


def test_classes_that_are_numbers_may_be_text():
    numbers = np.array([3, 1, 2])[LABELS]
    expected = calcli.evaluate(PROBS, LABELS, metrics="log_loss")["log_loss"].value
    for classes in ("3,1,2", [3, 1, 2], np.array([3, 1, 2])):
        found = calcli.evaluate(PROBS, numbers, classes=classes, metrics="log_loss")
        assert found["log_loss"].value == expected


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        ({"a", "b", "c"}, "classes is a set, which has no order; give a list"),
        (frozenset("abc"), "classes is a set, which has no order; give a list"),
        ({"a": 0, "b": 1, "c": 2}, "expected a list of text"),
        (["a", None, "c"], "expected a list of text"),
        (pa.array(["a", None, "c"]), "classes is of type StringArray; expected a list of text"),
        (b"a,b,c", "classes is b'a,b,c'; expected a list of text"),
        ("abc", "names 1 classes (abc)"),
        ("", "classes is empty; leave it out"),
        (5, "classes is 5; expected a list of text"),
    ],
    ids=["set", "frozenset", "dictionary", "none", "pyarrow", "bytes", "letters", "empty", "number"],
)
def test_classes_without_an_order_are_refused(classes, said):
    with pytest.raises(CalcliError, match=re.escape(said)):
        calcli.evaluate(PROBS, NAMES, classes=classes)


def test_calibrators_refuse_a_set_of_classes():
    with pytest.raises(UsageError, match="classes is a set, which has no order; give a list"):
        calcli.Temperature(scores_are="probs").fit(PROBS, NAMES, classes={"a", "b", "c"})


def test_candidates_may_be_text_with_commas():
    found = calcli.fit(PROBS, LABELS, candidates="temperature,dp", folds=2)
    expected = calcli.fit(PROBS, LABELS, candidates=["temperature", "dp"], folds=2)
    assert str(found) == str(expected)
    with pytest.raises(UsageError, match="candidates is a set, which has no order; give a list"):
        calcli.fit(PROBS, LABELS, candidates={"temperature", "dp"})
    with pytest.raises(UsageError, match="candidates is 5; expected a list of text"):
        calcli.fit(PROBS, LABELS, candidates=5)


def test_figures_take_what_a_view_takes():
    drawn = calcli.plot(FRAME, figure="slices", by="country", metrics="accuracy", draws=19)
    assert {"country=DE", "country=FR"} <= {str(value) for value in drawn.tables["predictions"]["slice"]}
    assert calcli.plot(FRAME, figure="ks", lens="class-1", draws=19).tables
    report = calcli.evaluate(FRAME, metrics="accuracy,log_loss", draws=19)
    of_report = report.plot("slices", by="country", metrics=("accuracy",))
    (table,), (expected,) = of_report.tables.values(), drawn.tables.values()
    np.testing.assert_array_equal(table["value"], expected["value"])
    with pytest.raises(UsageError, match="knots is 2; expected a whole number from 4 to 1000"):
        report.plot("ks", knots=2)


def test_results_are_equal_to_themselves_alone_and_can_be_keys():
    def made():
        compared = calcli.compare(FRAME, FRAME, metrics="accuracy", draws=0)
        checked = calcli.check(FRAME, {"rules": [{"metric": "accuracy", "min": 0.1}]})
        report = calcli.evaluate(FRAME, metrics="expected_miscalibration:bins=2", draws=0)
        return [
            report, report.evaluation, report.plot(), compared, checked, calcli.State.of(FRAME),
            calcli.fit(FRAME, method="dp", folds=0), calcli.fit(FRAME, method="dp", folds=0).fit,
            calcli.read(FRAME), calcli.simulate("mcs", rows=50),
        ]  # fmt: skip

    ones, others = made(), made()
    assert len({*ones, *others}) == 2 * len(ones)
    for one, other in zip(ones, others, strict=True):
        assert one == one
        assert not one != one  # noqa: SIM202
        assert one != other
        assert not one == other  # noqa: SIM201


def test_reprs_are_a_line():
    report = calcli.evaluate(FRAME, metrics="accuracy,ece", draws=19)
    compared = calcli.compare(FRAME, FRAME, metrics="accuracy", draws=0)
    checked = calcli.check(FRAME, {"rules": [{"metric": "accuracy", "min": 0.1}]})
    fitted = calcli.fit(FRAME, method="dp", folds=0)
    shown = [
        report, report.results[0], report["ece"], report.evaluation, report.plot(), compared, checked, fitted,
        fitted.fit, fitted.calibrator, checked.checked.outcomes[0], calcli.read(FRAME),
        calcli.State.of(FRAME),
        compared.comparisons[0].differences[0]["accuracy"], calcli.simulate("mcs", rows=50), calcli.SMS(),
    ]  # fmt: skip
    assert [one for one in shown if len(repr(one)) > 300 or "\n" in repr(one)] == []


@pytest.mark.parametrize("priors", [[0.2, 0.3, 0.5], (0.2, 0.3, 0.5), np.array([0.2, 0.3, 0.5])])
def test_priors_may_be_numbers(priors):
    found, expected = (
        calcli.evaluate(PROBS, LABELS, priors=given, metrics="log_loss", draws=0).to_dict()
        for given in (priors, "0.2,0.3,0.5")
    )
    assert found == expected


@pytest.mark.parametrize("priors", [{0.2, 0.3, 0.5}, {"a": 0.2, "b": 0.3, "c": 0.5}, ["a", "b", "c"], 0.5])
def test_priors_without_an_order_or_numbers_are_refused(priors):
    with pytest.raises(UsageError, match="expected text, or a number for each class"):
        calcli.evaluate(PROBS, LABELS, priors=priors)
