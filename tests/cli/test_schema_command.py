"""`calcli schema`: real outputs are valid, and no key of them may be left out or misspelt."""

from __future__ import annotations

import importlib
import json
import pkgutil
import shlex
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import calcli.report
from calcli.report.shown import Shown
from calcli.work.schema import DOCUMENTS, schema_of
from tests.cli.conftest import ROOT

SAMPLES = ROOT / "sample_data"
CANCER, IRIS = SAMPLES / "cancer_bayes_test.csv", SAMPLES / "iris_logistic_test.csv"
DIGITS = SAMPLES / "digits_forest_test.parquet"
RELEASES = f"{SAMPLES}/release_1.parquet {SAMPLES}/release_2.parquet"
EPOCHS = SAMPLES / "epochs" / "epoch"
CALLS = {
    "report": [
        f"evaluate {CANCER} --costs abstain:0.1 --priors 0.3,0.7 "
        "--metrics normalized_bayes_risk:costs=abstain,ece:binning=0/.5/1,log_loss,brier --draws 19",
        f"evaluate {RELEASES} --by ink --metrics log_loss,ece,expected_miscalibration:binning=recursive "
        "--draws 19 --fail-if log_loss>0.1",
    ],
    "comparison": [f"compare {RELEASES} --by ink --metrics log_loss,ece"],
    "selection": [
        f"compare {EPOCHS}_01.parquet {EPOCHS}_02.parquet --select log_loss,accuracy "
        f"--report-on '{EPOCHS}_0[12].parquet'"
    ],
    "plan": [
        f"plan {RELEASES} --margin log_loss=1%",
        f"plan {SAMPLES}/release_1.parquet --half-width 0.01",
    ],
    "check": [f"check {RELEASES} --policy policy.toml --baseline {SAMPLES}/release_1.parquet"],
    "fit": [
        f"fit {IRIS} -m temperature -o cal.json",
        f"fit {IRIS} -m auto --quick -o cal.json",
        f"fit {DIGITS} -m isotonic --folds 2 -o cal.json",
    ],
    "benchmark": [f"benchmark --cal {IRIS} --test {CANCER.with_name('iris_logistic_test.csv')} --methods dp"],
    "study": ["study mixture --metrics ks --rows 100 --series 3"],
    "procedure": [
        f"study resampling {IRIS} --draws 5",
        f"study objectives {IRIS} --metrics ece",
        f"study trained-bins {IRIS}",
        "study posteriors cal.csv --posteriors true.csv --draws 5",
    ],
    "inspection": [f"inspect {CANCER} {DIGITS}"],
    "threshold": [
        f"threshold {CANCER} --max-error 0.2",
        f"threshold {RELEASES} --max-error 0.01 --by ink",
    ],
    "monitor": [f"monitor {CANCER} --every 50", f"monitor {CANCER} --every 100 --reference {CANCER}"],
    "segments": [f"segments {SAMPLES}/release_2.parquet --columns ink --draws 19"],
    "merge": ["merge one.calcli -o both.calcli"],
    "fits": ["fit labels.csv -m platt --folds 2 -o cal.json"],
}
CALLS |= {"calibrator": CALLS["fit"][::2], "calibrators": CALLS["fits"]}
SAVED = ("calibrator", "calibrators")
BY_NAME = {  # whose keys are names, not words of the format
    "metrics", "tests", "decisions", "by_class", "failures", "worst_slices", "parts", "differences",
    "values", "like_best", "mean_ranks", "learned", "before", "after", "cross_validated", "relative_change",
    "others", "groups", "labels", "parameters", "chosen_on", "reported_on",
}  # fmt: skip
NESTED = {("like_best", "*"), ("mean_ranks", "*"), ("settings", "groups", "*")}
WORDS = {("parts",)}  # of a merge: a list of data sets
MAY_BE_LEFT_OUT = {
    "corrected_p",
    "detectable_difference",
    "rows_needed",
    "no_interval",
    "recalibrator",
    "true",
    "unexplained",
    "untrained",
    "temperature",
    "log_loss",
    "least_log_loss",
    "sd",
    "mean",
    "spread",
    "p_value",
    "parts",
    "bins",
    "sampled_rows",
    "grid_error",
}
POLICY = """
costs = ["abstain:0.1"]
[[rules]]
metric = "log_loss"
max = 0.4
max_increase = "5%"
[[rules]]
metric = "ece"
max = 0.03
slice = "ink=*"
"""


@cache
def validator(name: str) -> Draft202012Validator:
    schema = schema_of(name)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def faults(name: str, found: Any) -> list[str]:
    return [
        f"{'/'.join(map(str, fault.path))}: {fault.message[:300]}"
        for fault in validator(name).iter_errors(found)
    ]


@pytest.fixture
def written(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "labels.csv").write_text(
        "a,b,prob_a,prob_b\n" + "1,1,.9,.8\n0,1,.2,.6\n1,0,.7,.3\n0,0,.4,.2\n" * 9
    )

    def documents(name: str) -> list[dict[str, Any]]:
        if name == "merge":
            run("evaluate", IRIS, "--save-state", "one.calcli")
        if name == "procedure":
            run("simulate", "cal", "--rows", "50", "-o", "cal.csv", "--posteriors", "true.csv", "-q")
        found = []
        for call in CALLS[name]:
            done = run(*shlex.split(call), *(() if name in SAVED else ("--format", "json")))
            assert done.out, done.err
            found.append(json.loads((tmp_path / "cal.json").read_text() if name in SAVED else done.out))
        return found

    return documents


def shortened(value: Any) -> Any:
    """Return a document with at most two entries a list, which is as valid and tried in less time."""
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items()}
    return [shortened(item) for item in value[:2]] if isinstance(value, list) else value


def keys(value: Any, place: tuple[Any, ...] = (), shape: tuple[str, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where each key of a document stands, and that without names and numbers."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from keys(item, (*place, number), shape)
    elif isinstance(value, dict):
        named = bool(shape) and shape not in WORDS and (shape[-1] in BY_NAME or shape in NESTED)
        for key, item in value.items():
            within = (*shape, "*" if named else key)
            if not named:
                yield (*place, key), within
            yield from keys(item, (*place, key), within)


def changed(document: Any, place: tuple[Any, ...], *, misspelt: bool) -> Any:
    document = deepcopy(document)
    parent = document
    for step in place[:-1]:
        parent = parent[step]
    value = parent.pop(place[-1])
    if misspelt:
        parent[f"{place[-1]}_"] = value
    return document


@pytest.mark.parametrize("name", CALLS)
def test_outputs_are_valid_and_no_key_may_be_missing_or_misspelt(name, written):
    by_method = {("settings",), ("labels", "*", "settings")} if name in SAVED else set()
    seen = set()
    for document in written(name):
        assert faults(name, document) == []
        document = shortened(document)
        assert faults(name, document) == []
        for place, shape in keys(document):
            if shape in seen or shape[:-1] in by_method:
                continue
            seen.add(shape)
            assert not validator(name).is_valid(changed(document, place, misspelt=True)), place
            if shape[-1] not in MAY_BE_LEFT_OUT:
                assert not validator(name).is_valid(changed(document, place, misspelt=False)), place
    assert len(seen) > 5


def test_everything_that_is_written_is_tried():
    for module in pkgutil.iter_modules(calcli.report.__path__):
        importlib.import_module(f"calcli.report.{module.name}")
    reports = [Shown]
    for kind in reports:
        reports += kind.__subclasses__()
    written = {kind.schema.removeprefix("calcli.").removesuffix("/1") for kind in reports if kind.schema}
    assert set(CALLS) == set(DOCUMENTS) == written | {*SAVED}


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name not in SAVED])
def test_documents_are_called_as_their_schema_says(name):
    assert schema_of(name)["properties"]["schema"] == {"const": f"calcli.{name}/1"}


def test_the_command(run):
    assert run("schema").out.split() == [*DOCUMENTS]
    assert json.loads(run("schema", "fit").out) == schema_of("fit")
    done = run("schema", "reports")
    assert done.status == 2
    assert "did you mean 'report'" in done.err
