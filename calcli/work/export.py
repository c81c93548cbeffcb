"""Calibrators and thresholds as code that runs without calcli: SQL, Python, C, ONNX."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from calcli.core.calibrators.formula import AffineMap, LineMap, formula_of
from calcli.core.data.arrays import Doubles
from calcli.core.estimators.thresholds import Threshold
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.io.places.outputs import atomic_path
from calcli.io.saved.calibrators import load_calibrator
from calcli.io.saved.policies import is_threshold, load_threshold

Language = Literal["sql", "python", "c", "onnx"]
PLAIN = re.compile(r"[A-Za-z_]\w*")
MOST_OF_SQL = 30  # most classes: an expression has a term for each pair
ROUNDING = 1e-12
ARGUMENTS = {"sql": "", "python": "p", "c": "double p"}


class Words(NamedTuple):
    """The syntax of a language for the parts of formulas."""

    log: str  # probability, raised to its floor
    exp: str
    either: str


WORDS = {
    "sql": Words("LN(CASE WHEN {0} < {1} THEN {1} ELSE {0} END)", "EXP", " OR "),
    "python": Words("math.log({1} if {0} < {1} else {0})", "math.exp", " or "),
    "c": Words("log({0} < {1} ? {1} : {0})", "exp", " || "),
}
_TEMPLATES = tomllib.loads(files("calcli.work").joinpath("export.toml").read_text("utf-8"))
SOFTMAX: dict[str, str] = _TEMPLATES["softmax"]
OF_ONE: dict[str, str] = _TEMPLATES["of_one"]
LINES: dict[str, str] = _TEMPLATES["lines"]


class Exported(NamedTuple):
    """Code, with notes."""

    code: str | bytes
    says: str


def export_file(
    path: str, language: Language, columns: Sequence[str] = (), tolerance: float = 1e-4
) -> Exported:
    """Return a calibrator or a threshold as code.

    Parameters
    ----------
    path
        Its file.
    language
        Language of the code; ONNX needs the package onnx.
    columns
        For SQL the names of the probabilities: for two classes the name of the second one, else one per
        class. A function or a model takes `p`.
    tolerance
        Largest difference of a probability if the calibrator has no closed form.

    Raises
    ------
    InputError
        If the file cannot be read.
    UsageError
        If it cannot be written in this language.
    """
    stored = load_threshold(path) if is_threshold(Path(path)) else load_calibrator(path)
    classes = stored.classes
    if columns and language != "sql":
        raise UsageError(f"--column names columns of SQL; as {language} it takes p")
    names = list(columns) or (["p"] if len(classes) == 2 else [f"p_{class_name}" for class_name in classes])
    if len(names) != (1 if len(classes) == 2 else len(classes)):
        wanted = (
            f"one, that of {classes[1]}" if len(classes) == 2 else f"{len(classes)}: {', '.join(classes)}"
        )
        raise UsageError(f"--column names {len(names)} probabilities; expected {wanted}")
    names = list(map(_identifier, names))
    if isinstance(stored, Threshold):
        return Exported(_of_threshold(stored, language, names), "")
    formula = formula_of(stored, tolerance)
    how = "closed form" if isinstance(formula.map, AffineMap) else f"{len(formula.map.start):,} lines"
    says = f"{how}; the largest difference of a probability from calcli apply is {formula.error:.1g}"
    if language == "onnx":
        return Exported(_onnx(formula.map, classes), says)
    return Exported(_code(formula.map, language, names, classes), says)


def write_code(code: str | bytes, path: str | None) -> None:
    """Write code to a file.

    Raises
    ------
    UsageError
        If there is none.
    """
    if path is None:
        raise UsageError("a model is not text; say where to write it: --output model.onnx")
    with atomic_path(path) as temporary:
        temporary.write_bytes(code.encode() if isinstance(code, str) else code)


def _code(formula: AffineMap | LineMap, language: str, names: list[str], classes: Sequence[str]) -> str:
    argument = names[0] if language == "sql" else "p"
    says = f"the recalibrated probability of {_in_words(classes[1:2])}, given its probability"
    if isinstance(formula, LineMap):
        if language == "sql":
            return f"CASE {_cases(formula, argument)} END\n"
        tables = {name: ", ".join(map(_number, table.tolist())) for name, table in vars(formula).items()}
        return LINES[language].format(says=says, **tables)
    words, count = WORDS[language], len(classes)
    if count == 2:
        logs = _logs((f"1 - {argument}", argument), formula, words.log)
        of_two = _affine(
            formula.weights[0] - formula.weights[1], formula.intercept[0] - formula.intercept[1], logs
        )
        value = f"1 / (1 + {words.exp}({of_two}))"
        return OF_ONE[language].format(
            value=value, what="calibrate", type="double", arguments=ARGUMENTS[language], says=says
        )
    if language != "sql":
        terms = [f"x[{k}]" for k in range(count)]
        z = [_affine(*line, terms) for line in zip(formula.weights, formula.intercept, strict=True)]
        return SOFTMAX[language].format(
            floor=_number(float(formula.floor[0])),
            count=count,
            classes=_in_words(classes),
            z=",\n        ".join(z),
        )
    if count > MOST_OF_SQL:
        raise UsageError(
            f"SQL of {count} classes would be longer than databases take; write Python, C or ONNX"
        )
    logs = _logs(names, formula, words.log)
    values: list[str] = []
    for k, name in enumerate(classes):
        rivals = [j for j in range(count) if j != k]
        odds = [
            _affine(
                formula.weights[j] - formula.weights[k], formula.intercept[j] - formula.intercept[k], logs
            )
            for j in rivals
        ]
        values.append(f"1 / (1 + {' + '.join(f'EXP({odd})' for odd in odds)}) AS {_identifier(name)}")
    return ",\n".join(values) + "\n"


def _cases(formula: LineMap, name: str) -> str:
    *lines, (_, last) = [
        (_number(value), f"{_number(value)} + ({name} - {_number(start)}) * {_number(slope)}")
        for start, value, slope in zip(*(column.tolist() for column in vars(formula).values()), strict=True)
    ]
    cells = zip(formula.start[1:].tolist(), lines, formula.slope.tolist()[:-1], strict=True)
    whens = [f"WHEN {name} < {_number(stop)} THEN {line if m else flat}" for stop, (flat, line), m in cells]
    return "\n  ".join([*whens, f"ELSE {last}"])  # with a term in it: NULL then stays NULL


def _logs(probs: Sequence[str], formula: AffineMap, spelled: str) -> list[str]:
    """Return the logarithms of probabilities, raised to their floors."""
    return [spelled.format(x, _number(least)) for x, least in zip(probs, formula.floor.tolist(), strict=True)]


def _affine(weights: Doubles, intercept: float, terms: Sequence[str]) -> str:
    """Return a sum; negligible weights are rounding errors of others."""
    products = [
        f" {'-' if w < 0 else '+'} {_number(abs(w))} * {x}"
        for w, x in zip(weights.tolist(), terms, strict=True)
        if abs(w) > ROUNDING
    ]
    return _number(float(intercept)) + "".join(products)


def _number(value: float) -> str:
    """Return a number that every language, databases too, reads in double precision."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def _identifier(name: str) -> str:
    """Return a quoted name for SQL."""
    return name if PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _in_words(names: Sequence[str]) -> str:
    """Return names for a comment, without ending the comment."""
    return ", ".join(re.sub(r"[^\w .+-]", "?", name) for name in names)


def _of_threshold(threshold: Threshold, language: Language, names: list[str]) -> str:
    """Return whether a row is at or above its threshold."""
    classes = threshold.classes
    if language == "onnx" or (threshold.by is not None and language == "c"):
        per_value = "" if threshold.by is None else f" for each value of {threshold.by}"
        raise UsageError(f"a threshold{per_value} is written as SQL or Python{'' if per_value else ' or C'}")
    arguments = ARGUMENTS[language]
    if language != "sql":
        names = ["p"] if len(classes) == 2 else [f"p[{k}]" for k in range(len(classes))]
        arguments = (
            arguments if len(classes) == 2 or language == "python" else f"const double p[{len(classes)}]"
        )
    conditions = {cut.value: _at_least(threshold, cut.threshold, names, language) for cut in threshold.found}
    value = conditions.get(None, "")
    if threshold.by is not None and language == "sql":
        whens = [f"WHEN {_quoted(key)} THEN {condition}" for key, condition in conditions.items()]
        value = f"CASE {_identifier(threshold.by)} {' '.join(whens)} ELSE FALSE END"
    elif threshold.by is not None:
        pairs = ", ".join(f"{key!r}: {condition}" for key, condition in conditions.items())
        value = f"{{{pairs}}}.get(value, False)"
        arguments += ", value"
    says = "whether a row is at or above its threshold"
    return (
        OF_ONE[language]
        .format(
            value=value,
            what="is_above" if threshold.target else "answers",
            arguments=arguments,
            says=says,
            type="int",
        )
        .removeprefix("import math\n\n\n")
    )


def _at_least(threshold: Threshold, least: float | None, names: list[str], language: str) -> str:
    if least is None:
        return {"sql": "FALSE", "python": "False", "c": "0"}[language]
    at = [f"{name} >= {_number(least)}" for name in names]
    if len(names) == 1:  # the first class has at least this where p is at most the rest, in its decimals
        at.insert(0, f"{names[0]} <= {_number(float(1 - Decimal(repr(float(least)))))}")
    if threshold.target is not None:
        at = [at[threshold.classes.index(threshold.target.partition(":")[2])]]
    elif threshold.classes == WRONG_RIGHT:
        at = at[1:]
    return f"({WORDS[language].either.join(at)})"


def _quoted(text: str | None) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def _onnx(formula: AffineMap | LineMap, classes: Sequence[str]) -> bytes:
    """Return a model of (n, 1) probabilities of the second of two classes, or (n, K), in single precision."""
    try:
        onnx: Any = import_module("onnx")
    except ImportError as error:
        raise UsageError(
            "--as onnx needs the package onnx, which is not installed; pip install onnx"
        ) from error
    node, width = onnx.helper.make_node, 1 if len(classes) == 2 else len(classes)
    constants: Mapping[str, Any] = {"one": np.array(1.0), "columns": np.array([1])}
    nodes = [node("Cast", ["p"], ["x"], to=onnx.TensorProto.DOUBLE)]
    if isinstance(formula, LineMap):
        constants = {**constants, **vars(formula), "next": np.array([1], np.int64)}
        nodes += [
            node("GreaterOrEqual", ["x", "start"], ["reached"]),
            node("Cast", ["reached"], ["counts"], to=onnx.TensorProto.INT64),
            node("ReduceSum", ["counts", "columns"], ["count"], keepdims=1),
            node("Sub", ["count", "next"], ["line"]),
            *(node("Gather", [name, "line"], [f"own_{name}"]) for name in vars(formula)),
            node("Sub", ["x", "own_start"], ["beyond"]),
            node("Mul", ["beyond", "own_slope"], ["rise"]),
            node("Add", ["own_value", "rise"], ["y"]),
        ]
    else:
        constants = {
            **constants,
            "weights": formula.weights.T,
            "intercept": formula.intercept,
            "floor": formula.floor,
        }
        if width == 1:
            nodes += [node("Sub", ["one", "x"], ["rest"]), node("Concat", ["rest", "x"], ["both"], axis=1)]
        nodes += [
            node("Max", ["both" if width == 1 else "x", "floor"], ["raised"]),
            node("Log", ["raised"], ["logs"]),
            node("MatMul", ["logs", "weights"], ["turned"]),
            node("Add", ["turned", "intercept"], ["z"]),
            node("Softmax", ["z"], ["all" if width == 1 else "y"], axis=1),
            *([node("Gather", ["all", "columns"], ["y"], axis=1)] if width == 1 else []),
        ]
    nodes.append(node("Cast", ["y"], ["calibrated"], to=onnx.TensorProto.FLOAT))
    ends = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["rows", width])
        for name in ("p", "calibrated")
    ]
    inputs = {name for node in nodes for name in node.input}
    tensors = [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items() if k in inputs]
    graph = onnx.helper.make_graph(nodes, "calcli", ends[:1], ends[1:], tensors)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())
