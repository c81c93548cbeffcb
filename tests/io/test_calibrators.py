"""Calibrator files give back the same bits, and say what is wrong with them."""

from __future__ import annotations

import base64
import json
import pickle

import numpy as np
import pytest

from calcli.core.calibrators.base import Calibrator, make
from calcli.core.calibrators.histogram import Histogram, Isotonic
from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.calibrators.softmax import DPAffine, VectorScaling
from calcli.core.calibrators.temperature import Temperature
from calcli.core.calibrators.wrappers import PerPredictedClass, PreserveTop1, Reduced
from calcli.core.language.errors import InputError
from calcli.core.language.expressions import parse_method
from calcli.core.language.methods import METHODS
from calcli.io.saved.calibrators import READABLE, load_calibrator, save_calibrator

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(300, 3)) * 2
LABELS = (SCORES + RNG.gumbel(size=(300, 3))).argmax(1)
NESTED = PreserveTop1(calibrator=PerPredictedClass(calibrator=Isotonic(interpolation="steps"), min_rows=20))
CALIBRATORS = {
    **{
        name: make(parse_method(f"{name}:calibrator=dp" if method.family == "wrapper" else name))
        for name, method in METHODS.items()
    },
    "empty bins": Histogram(bins=40, binning="equal-width"),
    "raw": VectorScaling(input="raw"),
    "nested": NESTED,
    "reduced": PerPredictedClass(calibrator=Reduced(calibrator=DPAffine()), min_rows=20),
}


def record_of(calibrator: Calibrator, **changes) -> CalibratorRecord:
    given = {
        "classes": ("a", "b", "ü, 3"),
        "raw": False,
        "priors": (0.2, 0.3, 0.5),
        "fitted_on": {"rows": 300},
    }
    return CalibratorRecord(calibrator, **given | changes)


def same_bits(first: Calibrator, second: Calibrator) -> None:
    assert type(first) is type(second)
    assert repr(first.get_params()) == repr(second.get_params())
    assert first.parameters.keys() == second.parameters.keys()
    for name, value in first.parameters.items():
        array, other = np.asarray(value), np.asarray(second.parameters[name])
        assert (array.shape, array.dtype) == (other.shape, other.dtype), name
        np.testing.assert_array_equal(array, other)
    np.testing.assert_array_equal(first.apply(SCORES), second.apply(SCORES))


@pytest.fixture(params=["cal.json", "cal.npz"])
def path(request, tmp_path):
    """Return where to save, in each of the formats."""
    return tmp_path / request.param


@pytest.mark.parametrize("name", CALIBRATORS)
def test_saved_and_loaded_is_the_same_to_the_last_bit(path, name):
    fitted = CALIBRATORS[name].fit(SCORES, LABELS)
    saved = record_of(fitted, raw=name == "raw")
    save_calibrator(saved, path)
    loaded = load_calibrator(path)
    same_bits(fitted, loaded.calibrator)
    assert (loaded.classes, loaded.raw, loaded.priors) == (saved.classes, saved.raw, saved.priors)
    assert loaded.fitted_on == saved.fitted_on


def test_numbers_that_json_does_not_have(path):
    fitted = DPAffine()
    fitted.parameters = {"alpha": 1e-300, "beta": np.array([-0.0, 1 / 3, -1e99])}
    save_calibrator(record_of(fitted, fitted_on={"before": {"log_loss": np.inf, "ece": np.nan}}), path)
    loaded = load_calibrator(path)
    assert loaded.calibrator.parameters["alpha"] == 1e-300
    assert loaded.calibrator.parameters["beta"].tobytes() == fitted.parameters["beta"].tobytes()
    assert loaded.fitted_on == {"before": {"log_loss": "inf", "ece": "nan"}}


def test_small_ones_can_be_read(tmp_path):
    save_calibrator(record_of(Temperature().fit(SCORES, LABELS)), tmp_path / "cal.json")
    document = json.loads((tmp_path / "cal.json").read_text(encoding="utf-8"))
    assert document["schema"] == "calcli.calibrator/1"
    assert document["method"] == "temperature"
    assert document["classes"] == ["a", "b", "ü, 3"]
    assert isinstance(document["parameters"]["temperature"], float)


def test_large_arrays_are_little_endian_base64(tmp_path):
    values = RNG.normal(size=READABLE + 1)
    calibrator = Isotonic()
    sizes = np.array([len(values)])
    calibrator.parameters = {"classes": 2, "scores": np.sort(values), "values": values, "sizes": sizes}
    calibrator.lens = "top-1"
    save_calibrator(record_of(calibrator, classes=("a", "b"), priors=()), tmp_path / "cal.json")
    stored = json.loads((tmp_path / "cal.json").read_text())["parameters"]["values"]
    assert (stored["dtype"], stored["shape"]) == ("<f8", [len(values)])
    np.testing.assert_array_equal(np.frombuffer(base64.b64decode(stored["base64"]), "<f8"), values)


@pytest.fixture
def document(tmp_path) -> dict:
    """Return a sound calibrator as JSON values."""
    save_calibrator(record_of(VectorScaling().fit(SCORES, LABELS)), tmp_path / "sound.json")
    return json.loads((tmp_path / "sound.json").read_text(encoding="utf-8"))


def refused(path, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_calibrator(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "calcli.calibrator/2"}, "has version 2 .* reads version 1; make it again"),
        ({"schema": "calcli.report/1"}, "is not a calibrator: expected JSON with .schema."),
        ({"schema": None}, "is not a calibrator"),
        ({"method": "magic"}, "is damaged .no entry 'magic'"),
        ({"method": "temperature"}, "is damaged"),
        ({"settings": {"speed": 3}}, "is damaged"),
        ({"settings": {"input": []}}, "is damaged|is not a valid calibrator"),
        ({"method": "isotonic", "settings": {"keep_top": float("-inf")}}, "must be true or false; got -inf"),
        ({"input": "odds"}, "is damaged"),
        ({"classes": ["a", "b"]}, "is damaged .its classes and priors do not agree"),
        ({"classes": ["a", "a", "b"]}, "is damaged"),
        ({"classes": ["a", "b", "c", "d"], "priors": []}, "fitted on 3 classes, the scores have 4"),
        ({"priors": ["much", 1, 2]}, "is damaged"),
        (
            {"priors": [5, -4, 0]},
            "priors of -4 to 5 that sum to 1; expected numbers of 0 or more that sum to 1",
        ),
        ({"priors": [0.2, 0.2, 0.2]}, "priors of 0.2 to 0.2 that sum to 0.6"),
        ({"priors": ["nan", 0.5, 0.5]}, "is damaged .priors of"),
        ({"priors": ["inf", 0.5, 0.5]}, "is damaged .priors of"),
        ({"priors": [0.5, 0.5]}, "its classes and priors do not agree"),
        ({"parameters": {}}, "is not a valid calibrator|is damaged"),
        ({"parameters": [1, 2]}, "is damaged"),
        ({"parameters": {"scale": [1, 2, None], "intercept": [0, 0, 0], "floor": -9}}, "None where a number"),
        ({"parameters": {"scale": [1, 2], "intercept": [0, 0], "floor": -9}}, "fitted on 2 classes"),
        (
            {"parameters": {"scale": [1, 2, "nan"], "intercept": [0, 0, 0], "floor": -9}},
            "scale is empty, or not finite",
        ),
        (
            {"parameters": {"scale": [1, 2, 1e308], "intercept": [0, 0, 0], "floor": -9}},
            "scale is empty, or not finite and at most 1e.100",
        ),
        (
            {"parameters": {"scale": [[1, 2, 3]], "intercept": [0, 0, 0], "floor": -9}},
            "is damaged|fitted on 1",
        ),
        (
            {
                "parameters": {
                    "scale": {"dtype": "<f8", "shape": [3], "base64": "AAAA"},
                    "intercept": 0,
                    "floor": 0,
                }
            },
            "is damaged",
        ),
        (
            {
                "parameters": {
                    "scale": {"dtype": "<c16", "shape": [1], "crc32": 3971697493, "base64": "A" * 22 + "=="},
                    "intercept": 0,
                    "floor": 0,
                }
            },
            "is damaged .an array of type complex128",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path, document, change, message):
    path = tmp_path / "cal.json"
    path.write_text(json.dumps(document | change))
    refused(path, message)


def numbers(values, at=()):
    """Yield the place of every number in nested JSON values; of a long list the first and the last."""
    if isinstance(values, (int, float)):
        yield at
    elif isinstance(values, (dict, list)):
        items = list(values.items() if isinstance(values, dict) else enumerate(values))
        for key, value in items if isinstance(values, dict) else {i: items[i] for i in (0, -1)}.values():
            yield from numbers(value, (*at, key))


@pytest.mark.parametrize("name", CALIBRATORS)
@pytest.mark.parametrize("instead", ["nan", None, "x", [[1], [2, 3]]], ids=repr)
def test_a_damaged_number_is_an_error(tmp_path, name, instead):
    path = tmp_path / "cal.json"
    calibrator = CALIBRATORS[name]
    save_calibrator(record_of(calibrator.fit(SCORES, LABELS), raw=name == "raw"), path)
    sound = path.read_text(encoding="utf-8")
    for at in numbers(json.loads(sound)["parameters"]):
        if isinstance(calibrator, Histogram) and at[0] == "values" and instead == "nan":
            continue  # a bin without rows
        document = json.loads(sound)
        inner = document["parameters"]
        for key in at[:-1]:
            inner = inner[key]
        inner[at[-1]] = instead
        path.write_text(json.dumps(document))
        refused(path, "is damaged|is not a valid calibrator")


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("temperature", {"temperature": 0}, "a temperature of 0"),
        ("temperature", {"temperature": -1.5}, "a temperature of -1.5"),
        ("ensemble-temperature", {"temperature": -1, "weights": [1, 0, 0]}, "a temperature of -1"),
        ("isotonic", {"classes": 3, "scores": [0.5, 0.4], "values": [0, 1], "sizes": [2]}, "is damaged"),
        (
            "histogram",
            {"classes": 3, "lower_edges": [0] * 3, "values": [0, 2, 1], "sizes": [1] * 3},
            "out of range",
        ),
        (
            "isotonic",
            {"classes": 3, "scores": [-3, 2] * 3, "values": [0, 1] * 3, "sizes": [2] * 3},
            "scores out of range",
        ),
        (
            "scaling-binning",
            {
                "classes": 3, "slope": [1] * 3, "intercept": [0] * 3,
                "zero_log_prob": [-9] * 3, "zero_log_complement": [-9] * 3,
                "lower_edges": [0, 9] * 3, "log_probs": [-0.7, 500] * 3, "log_complements": [-0.7, -0.7] * 3,
                "sizes": [2] * 3,
            },
            "probabilities do not sum to 1",
        ),
        ("temperature", {"temperature": 1e-320}, "do not give probabilities"),
        ("ensemble-temperature", {"temperature": 1, "weights": [5, -4, 0]}, "do not give probabilities"),
        ("ensemble-temperature", {"temperature": 1, "weights": [5, 5, 5]}, "do not give probabilities"),
        ("bias", {"beta": [[1, 2, 3], [4, 5, 6], [7, 8, 9]]}, "is damaged"),
        ("dp", {"alpha": [[1], [2], [3]], "beta": [1, 2, 3]}, "is damaged"),
    ],
)  # fmt: skip
def test_what_no_fit_gives_is_refused(tmp_path, document, name, parameters, message):
    path = tmp_path / "cal.json"
    path.write_text(json.dumps(document | {"method": name, "settings": {}, "parameters": parameters}))
    refused(path, message)


@pytest.mark.parametrize("instead", [2 + 1j, "2", True, np.datetime64("2020-01-01")], ids=repr)
def test_parameters_of_an_archive_are_real_numbers(tmp_path, instead):
    path = tmp_path / "cal.npz"
    save_calibrator(record_of(Temperature().fit(SCORES, LABELS)), path)
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez(path, **arrays | {"temperature": np.array(instead)})
    refused(path, "is damaged .an array of type")


def test_a_changed_array_does_not_have_its_checksum(tmp_path):
    path = tmp_path / "cal.json"
    calibrator = DPAffine()
    calibrator.parameters = {"alpha": 1.0, "beta": RNG.normal(size=READABLE + 1)}
    names = tuple(map(str, range(READABLE + 1)))
    save_calibrator(record_of(calibrator, classes=names, priors=()), path)
    document = json.loads(path.read_text(encoding="utf-8"))
    stored = document["parameters"]["beta"]
    stored["base64"] = stored["base64"].replace(stored["base64"][40:44], "AAAA", 1)
    path.write_text(json.dumps(document))
    refused(path, "does not have its checksum")


@pytest.mark.parametrize(
    "missing", ["method", "settings", "input", "classes", "priors", "fitted_on", "parameters"]
)
def test_a_missing_entry_is_named(tmp_path, document, missing):
    path = tmp_path / "cal.json"
    path.write_text(json.dumps({name: value for name, value in document.items() if name != missing}))
    refused(path, f"is damaged .no entry '{missing}'")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not complete and valid JSON"),
        (b"\xff\xfe\x00", "not complete and valid JSON"),
        (b"[1, 2]", "is not a calibrator"),
        (b"PK\x03\x04 and no more", "is not a calibrator, or it is damaged"),
        (pickle.dumps(Temperature()), "not complete and valid JSON"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    path = tmp_path / "cal.json"
    path.write_bytes(content)
    refused(path, message)


def test_files_cut_anywhere_are_refused(path):
    save_calibrator(record_of(Isotonic().fit(SCORES, LABELS)), path)
    whole = path.read_bytes()
    for size in range(0, len(whole) - 2, len(whole) // 40):
        path.write_bytes(whole[:size])
        refused(path, "is not a calibrator")


def test_an_archive_of_something_else_and_one_with_a_pickle(tmp_path):
    np.savez(tmp_path / "a.npz", scores=SCORES)
    refused(tmp_path / "a.npz", "no entry 'calibrator'")
    np.savez(tmp_path / "b.npz", calibrator=np.array("{}"), beta=np.array([Temperature()], dtype=object))
    refused(tmp_path / "b.npz", "the array beta holds Python objects .a pickle.")
    np.savez_compressed(tmp_path / "c.npz", calibrator=np.array("{}"), beta=np.zeros(40_000_000))
    refused(tmp_path / "c.npz", "beta.npy would have 0.3 GB, packed into 0.3 MB")


def test_there_must_be_a_file(tmp_path):
    refused(tmp_path / "none.json", "no such file; expected a calibrator")
    refused(tmp_path, "no such file")


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "cal.json"
    path.write_text("old")
    fitted = Temperature().fit(SCORES, LABELS)
    with pytest.raises(TypeError):
        save_calibrator(record_of(fitted, fitted_on={"rows": {1}}), path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["cal.json"]


def test_control_characters_are_escapes(tmp_path):
    classes = ("a\u202eb", "c\x85", "ü, 3")
    save_calibrator(record_of(Temperature().fit(SCORES, LABELS), classes=classes), tmp_path / "cal.json")
    text = (tmp_path / "cal.json").read_text(encoding="utf-8")
    assert r'["a\u202eb", "c\u0085", "ü, 3"]' in text
    assert load_calibrator(tmp_path / "cal.json").classes == classes


def test_classes_with_half_a_character_are_damage(tmp_path):
    save_calibrator(
        record_of(Temperature().fit(SCORES, LABELS), classes=("a\ud800", "b", "c")), tmp_path / "c.json"
    )
    with pytest.raises(InputError, match=r"c\.json is damaged"):
        load_calibrator(tmp_path / "c.json")
