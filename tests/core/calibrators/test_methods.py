"""The registry says of each calibrator what is true of its class, and expressions print back."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re

import numpy as np
import pytest

from calcli.core import calibrators
from calcli.core.calibrators.base import Calibrator, make
from calcli.core.calibrators.histogram import Histogram
from calcli.core.calibrators.temperature import Temperature
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_method, parse_methods
from calcli.core.language.methods import METHODS

EXPRESSIONS = {
    name: f"{name}:calibrator=temperature" if method.family == "wrapper" else name
    for name, method in METHODS.items()
}


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*(subclasses(below) for below in kind.__subclasses__()))


def test_every_calibrator_is_registered():
    for module in pkgutil.iter_modules(calibrators.__path__):
        importlib.import_module(f"{calibrators.__name__}.{module.name}")
    made = {kind for kind in subclasses(Calibrator) if hasattr(kind, "name")}
    assert made == {method.made for method in METHODS.values()}
    assert all(method.made.name == name for name, method in METHODS.items())


@pytest.mark.parametrize("name", METHODS)
def test_settings_are_those_of_the_class(name):
    entry = METHODS[name]
    inner = {"scores_are": "logits"} | ({"calibrator": Temperature()} if entry.family == "wrapper" else {})
    assert entry.made(**inner).get_params() == entry.defaults | inner
    made = make(parse_method(EXPRESSIONS[name])).get_params()
    assert made.keys() == entry.defaults.keys() | {"scores_are"}
    assert {**made, **inner} == entry.defaults | inner


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dp-shift", "unknown method 'dp-shift', did you mean 'dp'; `calcli explain` lists them all"),
        ("xyz", "unknown method 'xyz'; `calcli explain`"),
        ("histogram:bin=3", "'histogram' has no argument 'bin=3'; it takes: lens, keep_top, ranks, bins"),
        ("histogram:bins", "'histogram:bins': bins has no value; expected bins=VALUE"),
        ("histogram:bins=0", "bins must be a whole number of at least 1, not '0'"),
        ("platt:target_smoothing=yes", "target_smoothing must be one of auto, true, false, not 'yes'"),
        ("isotonic:smoothing=much", "smoothing must be a number of at least 0, not 'much'"),
        ("dirichlet:intercept_penalties=1/x", "numbers from 0 to 1e.09, as in 1/0.1, not '1/x'"),
    ],
)
def test_wrong_expressions_say_what_is_known(text, message):
    with pytest.raises(UsageError, match=message):
        parse_method(text)


WRONG = [
    (name, key, "mine" if argument.choices or key == "lens" else float("nan"))
    for name, method in METHODS.items()
    for key, argument in method.arguments.items()
    if argument.choices or key == "lens" or type(argument.default) in (int, float, tuple)
]


@pytest.mark.parametrize(("name", "key", "wrong"), WRONG)
def test_what_a_setting_cannot_be_is_refused_by_its_name(name, key, wrong):
    entry = METHODS[name]
    inner = {"calibrator": Temperature()} if entry.family == "wrapper" else {}
    with pytest.raises(UsageError, match=rf"{key}\b"):
        entry.made(**inner, **{key: wrong})


def test_numbers_of_numpy_are_numbers():
    assert Histogram(bins=np.int64(7), smoothing=np.float32(0.5)).bins == 7


def test_common_settings_go_where_they_are_known_and_give_way():
    calls = parse_methods(["temperature", "platt", "platt", "spline:lens=within-top-2"], {"lens": "top-1"})
    assert list(map(str, calls)) == ["temperature", "platt:lens=top-1", "spline:lens=within-top-2"]


def free_numbers(calibrator: Calibrator) -> int:
    """Count what was learned; of parameters that sum to 0 one is not free."""
    fixed = ("floor", "zero_log_prob", "zero_log_complement", "classes")
    found = {name: np.asarray(v) for name, v in calibrator.parameters.items() if name not in fixed}
    return sum(v.size - (name in ("beta", "intercept") and "slope" not in found) for name, v in found.items())


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", ["temperature", "bias", "dp", "vector", "platt", "beta"])
def test_number_of_parameters_is_what_is_learned(name, classes):
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(80, classes)), rng.integers(classes, size=80)
    call = parse_method(name)
    assert free_numbers(make(call).fit(scores, labels)) == call.parameters(classes)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_setting_is_documented(method):
    calibrator = method.made
    documented = re.findall(r"^(\w+(?:, \w+)*) : ", inspect.getdoc(calibrator), re.MULTILINE)
    documented = ", ".join(documented).split(", ") if documented else []
    documented.append("scores_are")  # of all of them, where they are declared
    assert sorted(documented) == sorted(inspect.signature(calibrator).parameters)
