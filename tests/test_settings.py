"""Settings, wherever they are written: the same values are taken, and refused in the same words."""

from __future__ import annotations

import inspect
from dataclasses import asdict, fields

import numpy as np
import pytest
from typer.main import get_command

import calcli
from calcli.cli.main import app_of, status_of
from calcli.core.data.derived import Priors
from calcli.core.estimators.costs import CostWord
from calcli.core.language.declaring import declared, documented
from calcli.core.language.errors import CalcliError, UsageError
from calcli.core.language.settings import Settings
from calcli.io.options import ReadOptions, read_options
from calcli.io.saved.policies import parse_policy
from calcli.io.saved.settings import settings_of

RULES = {"rules": [{"metric": "log_loss", "max": 0.5}]}
EVALUATE = {option: one for one in get_command(app_of()).commands["evaluate"].params for option in one.opts}
ALL = [*declared(Settings).values(), *declared(ReadOptions).values()]
OF_PYTHON = (
    "intervals",
    "seed",
    "trained_at",
    "training",
    "precision",
    "rows",
    "resample_predictions",
    "sd",
    "folds",
    "fold_column",
    "limit",
    "workers",
    "threshold_weights",
)  # or two in one
WRONG = [
    ("bins", 0, "0; expected a whole number from 1 to 100000"),
    ("bins", 100_001, "100001; expected a whole number from 1 to 100000"),
    ("level", 95, "95; expected a number between 0 and 1, such as 0.95"),
    ("level", 0, "0; expected a number between 0 and 1, such as 0.95"),
    ("draws", -1, "-1; expected a whole number from 0 to 1000000"),
    ("draws", 2**63, f"{2**63}; expected a whole number from 0 to 1000000"),
    ("clip", 1, "1; expected a small probability, such as 1e-12"),
    ("clip", -0.5, "-0.5; expected a small probability, such as 1e-12"),
]


@pytest.mark.parametrize(("name", "value", "sentence"), WRONG)
def test_one_sentence_refuses_a_value_wherever_it_is_written(capsys, name, value, sentence):
    assert status_of(["evaluate", "none.npy", f"--{name}={value}"]) == 2
    assert capsys.readouterr().err == f"calcli: --{name} is {sentence}\n"
    with pytest.raises(UsageError) as found:
        settings_of({name: value})
    assert str(found.value) == f"{name} is {sentence}"
    if declared(Settings)[name].in_policies:
        with pytest.raises(CalcliError) as found:
            parse_policy({name: value, **RULES}, "p.toml")
        assert str(found.value) == f"p.toml: {name} is {sentence}"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("bins", True, "bins is True; expected a whole number"),
        ("bins", 2.5, "bins is 2.5; expected a whole number"),
        ("level", "high", "level is 'high'; expected a number between"),
        ("level", float("nan"), "level is nan; expected"),
        ("test", 1, "test is 1; expected true or false"),
        ("precision", "singel", "precision is 'singel'; .*did you mean 'single'"),
        ("precision", ["single"], "precision is \\['single'\\]; expected one of \"auto\""),
        ("training", "never", "training is 'never'; expected one of \"cross-validation\""),
        ("cluster", 3, "cluster is 3; expected text"),
        ("metrics", [3], "metrics is \\[3\\]; expected a list of text"),
        ("metrics", "", "metrics is empty; leave it out"),
        ("metrics", "ecee", "did you mean 'ece'"),
        ("costs", 3, "costs is 3; expected a list of text"),
        ("priors", ["x", "y"], r"priors is \['x', 'y'\]; expected text, or a number for each class"),
        ("groups", 3, "groups is 3; expected a list of text"),
        ("groups", "top-1=a,b", "^groups top-1=a,b: top-1 has a meaning"),
        ("groups", "kind=a+a", "^groups kind=a\\+a: class 'a' is there twice"),
        ("shift_to_priors", True, "^shift_to_priors is True; expected text, or a number for each class"),
        ("trained_at", (0.5, 0.5), "^trained_at says what shift_to_priors moves from; give that as well"),
        ("bin", 3, "unknown argument bin; expected some of metrics, bins"),
    ],
)
def test_wrong_settings_are_told(name, value, message):
    with pytest.raises(UsageError, match=message):
        settings_of({name: value})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("limit", 0, "limit is 0; expected a whole number of at least 1"),
        ("kind", "odds", "kind is 'odds'; expected one of \"auto\""),
        ("classes", [1, None], "classes is \\[1, None\\]; expected a list of text"),
        ("renormalize", "yes", "renormalize is 'yes'; expected true or false"),
        ("label", "y", "unknown argument label; expected some of labels"),
    ],
)
def test_wrong_options_of_reading_are_told(name, value, message):
    with pytest.raises(UsageError, match=message):
        read_options({name: value})


def test_weights_of_thresholds_are_checked():
    with pytest.raises(CalcliError, match=r"^threshold_weights mine: entry 2 is 1; expected two columns"):
        settings_of({"threshold_weights": {"mine": [(0, 1), 1]}})


KINDS = {"cat": "pet", "dog": "pet", "cow": "farm"}


@pytest.mark.parametrize(
    ("setting", "given", "message"),
    [
        *(
            ("groups", {name: KINDS}, f"^groups '{name}': {name} has a meaning of its own; choose another")
            for name in ("top-1", "canonical", "predicted-1", "class-0", "largest-2")
        ),
        ("groups", {None: KINDS}, "^groups None: expected a name and what it stands for"),
        ("groups", {"a b": KINDS}, "^groups 'a b': expected a name and what it stands for"),
        ("groups", {"kind": None}, "^groups kind is None; expected the group of each class"),
        ("groups", {"kind": {}}, "^groups kind is {}; expected the group of each class"),
        ("groups", {"kind": [["cat"], ["cow"]]}, "^groups kind is .*; expected the group of each class"),
        ("groups", {"kind": {"cat": None}}, "^groups kind: the group of class 'cat' is None; expected text"),
        ("threshold_weights", {"uniform": [(0, 1), (1, 1)]}, "uniform has a meaning of its own; choose"),
        ("threshold_weights", {3: [(0, 1), (1, 1)]}, "^threshold_weights 3: expected a name and what"),
        ("threshold_weights", {"mine": None}, "^threshold_weights mine: entry 1 is None; expected"),
        ("threshold_weights", {"mine": "table"}, "^threshold_weights mine=table: expected a CSV file"),
        ("threshold_weights", {"mine": {}}, "^threshold_weights mine weighs nothing"),
        ("costs", [CostWord("abstain", "abstain", 0.1)] * 2, "2 of the costs are called 'abstain-0.1'"),
    ],
)
def test_objects_are_checked_as_text_is(setting, given, message):
    with pytest.raises(CalcliError, match=message):
        settings_of({setting: given})


def test_objects_may_hold_text_and_numbers():
    found = settings_of({"groups": {"kind": "cat+dog,cow", "digit": {0: 1, 1: 2}}})
    assert found.groups["kind"] == {"cat": "cat+dog", "dog": "cat+dog", "cow": "cow"}
    assert found.groups["digit"] == {"0": "1", "1": "2"}


def test_nothing_given_is_the_default():
    assert settings_of({}) == Settings()
    assert settings_of({}, "key", Settings(draws=7)) == Settings(draws=7)
    assert settings_of({"draws": 8, "cluster": None}, "key", Settings(draws=7)).draws == 8
    assert read_options({"classes": None}) == ReadOptions()


@pytest.mark.parametrize("one", declared(Settings).values(), ids=declared(Settings))
def test_defaults_are_values_that_are_taken(one):
    given = {} if one.default is None else {one.keyword: one.default}
    assert settings_of(given) == Settings()


def test_text_stands_for_lists_and_objects():
    found = settings_of(
        {
            "metrics": "ece, log_loss",
            "costs": "abstain:0.1,balanced",
            "priors": "0.2,0.8",
            "groups": "kind=cat+dog,cow",
            "threshold_weights": {"mine": np.array([[0, 1], [1, 2]])},
        }
    )
    assert found.metrics == ("ece", "log_loss")
    assert found.costs == (CostWord("abstain", "abstain", 0.1), CostWord("balanced", "balanced"))
    assert found.priors == Priors((0.2, 0.8))
    assert found.groups == {"kind": {"cat": "cat+dog", "dog": "cat+dog", "cow": "cow"}}
    assert found.threshold_weights == {"mine": ((0, 1), (1, 2))}
    again = {"costs": list(found.costs), "priors": found.priors, "groups": found.groups}
    assert settings_of(asdict(found) | again) == found
    assert read_options({"classes": "cat,dog"}).classes == ("cat", "dog")


def test_numbers_of_numpy_become_those_of_python():
    found = settings_of({"bins": np.int64(5), "level": np.float32(0.5)})
    assert (found.bins, found.level) == (5, 0.5)
    assert (type(found.bins), type(found.level)) == (int, float)


@pytest.mark.parametrize("one", ALL, ids=[one.keyword for one in ALL])
def test_options_and_keywords_are_described_by_the_declaration(one):
    described = inspect.getdoc(Settings if one in declared(Settings).values() else ReadOptions)
    assert f"\n{one.keyword} : {one.values.name}, default {one.default!r}\n    " in described
    if one.keyword not in OF_PYTHON:
        assert EVALUATE[one.option].help.startswith(one.help)


def test_descriptions_name_other_settings_as_keywords():
    assert "in training, from which shift_to_priors moves" in inspect.getdoc(Settings)


def test_docstrings_keep_what_is_around_the_settings():
    @documented(ReadOptions)
    def function():
        """Read.

        Parameters
        ----------
        {ReadOptions}

        Raises
        ------
        """

    lines = inspect.getdoc(function).splitlines()
    names = [line.partition(" : ")[0] for line in lines if " : " in line]
    assert names == [one.name for one in fields(ReadOptions)]
    assert lines[:4] == ["Read.", "", "Parameters", "----------"]
    assert lines[-3:] == ["", "Raises", "------"]


@pytest.mark.parametrize(
    ("function", "settings"),
    [
        (calcli.evaluate, declared(Settings)),
        (calcli.compare, declared(Settings)),
        (calcli.read, declared(ReadOptions)),
        (calcli.evaluate, ["kind", "classes", "positive", "renormalize"]),
    ],
)
def test_help_tells_every_keyword(function, settings):
    described = inspect.getdoc(function)
    assert "{Settings}" not in described
    assert "{ReadOptions}" not in described
    known = declared(Settings) | declared(ReadOptions)
    for name in settings:
        assert "\n".join(known[name].described()) in described


def test_python_refuses_what_the_declarations_refuse():
    with pytest.raises(UsageError, match=r"^level is 95; expected a number between 0 and 1"):
        calcli.evaluate([[0.5, 0.5]], [0], level=95)
    with pytest.raises(UsageError, match=r"^kind is 'odds'; expected one of"):
        calcli.evaluate([[0.5, 0.5]], [0], kind="odds")
    with pytest.raises(UsageError, match=r"^limit is 0; expected a whole number of at least 1"):
        calcli.read("none.csv", limit=0)


def test_a_negative_form_is_refused_with_the_positive_one():
    with pytest.raises(UsageError, match="unknown argument no_intervals; write intervals=False"):
        calcli.evaluate([0.2, 0.7], [0, 1], no_intervals=True)
