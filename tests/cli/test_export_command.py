"""`calcli export`: code that runs without calcli gives what `calcli apply` gives."""

from __future__ import annotations

import ctypes
import json
import math
import shutil
import sqlite3
import subprocess

import numpy as np
import pandas as pd
import pytest

from calcli.core.language.methods import METHODS

ROWS = 5_000
OF_TWO = [name for name, one in METHODS.items() if one.family not in ("pool", "wrapper")]
OF_MANY = ("temperature", "bias", "dp", "vector", "matrix", "dirichlet")
WRAPPED = ("reduced:calibrator=isotonic", "preserve-top1:calibrator=dp")
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Return a folder with predictions of two classes to fit to, and 5,000 probabilities, 0, 1 and .5 too."""
    folder, rng = tmp_path_factory.mktemp("export"), np.random.default_rng(0)
    logits = rng.normal(-1, 2, 4_000)
    labels = np.where(rng.random(4_000) < 1 / (1 + np.exp(-0.7 * logits - 0.4)), "yes", "no")
    pd.DataFrame({"p_yes": 1 / (1 + np.exp(-logits)), "label": labels}).to_csv(
        folder / "two.csv", index=False
    )
    new = np.concatenate([rng.random(3_000), 1 / (1 + np.exp(-rng.normal(0, 8, 1_997))), [0.0, 0.5, 1.0]])
    np.save(folder / "new.npy", new.astype(np.float32).astype(np.float64))  # in single precision as well
    return folder


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Return the same of three classes in an order that is not that of their names."""
    folder, rng = tmp_path_factory.mktemp("three"), np.random.default_rng(1)
    names = np.array(["wolf", "cat", "dog"])
    logits = rng.normal(0, 2, (4_000, 3))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = names[(probs.cumsum(axis=1) < rng.random((4_000, 1))).sum(axis=1)]
    pd.DataFrame({f"p_{k}": probs[:, n] for n, k in enumerate(names)} | {"label": labels}).to_csv(
        folder / "three.csv", index=False
    )
    new = np.concatenate([rng.dirichlet([0.2, 0.2, 0.2], ROWS - 3), np.eye(3)])
    np.save(folder / "new.npy", new)
    return folder


def fitted(run, folder, name, method, *options):
    file = folder / f"{method.replace(':', '_')}.json"
    if not file.exists():
        done = run("fit", folder / f"{name}.csv", "-m", method, "--folds", 0, "-o", file, *options)
        assert done.status == 0, done.err
    return file


def applied(run, file, frame):
    """Return what `calcli apply` makes of probabilities."""
    given, made = file.with_suffix(".given.parquet"), file.with_suffix(".made.parquet")
    frame.to_parquet(given)
    done = run("apply", file, given, "-o", made)
    assert done.status == 0, done.err
    return pd.read_parquet(made).to_numpy()


def in_sql(connection, code, rows, columns):
    """Return what an expression makes of rows of a table."""
    frame = pd.DataFrame(rows, columns=columns)
    if isinstance(connection, sqlite3.Connection):
        frame.to_sql("t", connection, if_exists="replace", index=False)
        return np.array(connection.execute(f"SELECT {code} FROM t").fetchall(), np.float64)
    connection.register("t", frame)
    return connection.execute(f"SELECT {code} FROM t").df().to_numpy(np.float64)


def in_python(code, rows):
    names = {}
    exec(code, names)
    assert "calcli" not in code
    return np.array([names["calibrate"](row) for row in rows.tolist()])


def in_c(code, rows, folder):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("C is not compiled: there is no cc")
    source, library = folder / "calibrate.c", folder / f"calibrate_{abs(hash(code))}.so"
    source.write_text(code)
    subprocess.run(
        [compiler, "-Wall", "-Werror", "-std=c99", "-O1", "-shared", "-fPIC", source, "-o", library, "-lm"],
        check=True,
    )
    calibrate = ctypes.CDLL(str(library)).calibrate
    if rows.ndim == 1:
        calibrate.argtypes, calibrate.restype = [ctypes.c_double], ctypes.c_double
        return np.array([calibrate(one) for one in rows])
    many, found = ctypes.c_double * rows.shape[1], []
    for row in rows:
        calibrate(many(*row), out := many())
        found.append(list(out))
    return np.array(found)


def in_onnx(path, rows):
    session = pytest.importorskip("onnxruntime").InferenceSession(path)
    (found,) = session.run(None, {"p": rows.reshape(len(rows), -1).astype(np.float32)})
    return found


def engines():
    for connection in (pytest.importorskip("duckdb").connect(), sqlite3.connect(":memory:")):
        yield connection
        connection.close()


def has_logarithms(connection):
    try:
        connection.execute("SELECT EXP(LN(2.0))").fetchall()
    except sqlite3.OperationalError:
        return False
    return True


@pytest.mark.parametrize("method", [*OF_TWO, *WRAPPED])
def test_every_method_of_two_classes_is_that_of_apply(run, two, method):
    """In SQL, Python, C and ONNX, also of 0, 1, where it steps, and in single precision."""
    file, new = fitted(run, two, "two", method), np.load(two / "new.npy")
    expected = applied(run, file, pd.DataFrame({"p_yes": new}))[:, 0]
    said = run("export", file, "--as", "sql")
    assert said.status == 0, said.err
    assert float(said.err.split()[-1]) <= TOLERANCE
    for connection in engines():
        if "LN(" not in said.out or has_logarithms(connection):
            found = in_sql(connection, said.out, new, ["p"])[:, 0]
            np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)
    code = run("export", file, "--as", "python").out
    np.testing.assert_allclose(in_python(code, new), expected, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(
        in_c(run("export", file, "--as", "c").out, new, two), expected, rtol=0, atol=TOLERANCE
    )
    model = two / "model.onnx"
    assert run("export", file, "--as", "onnx", "-o", model).status == 0
    np.testing.assert_allclose(in_onnx(model, new)[:, 0], expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("method", OF_MANY)
def test_several_classes_are_written_in_closed_form_and_in_their_order(run, three, method):
    file, new = fitted(run, three, "three", method), np.load(three / "new.npy")
    classes = json.loads(file.read_text())["classes"]
    columns = [f"p_{name}" for name in classes]
    expected = applied(run, file, pd.DataFrame(new, columns=columns))
    said = run("export", file, "--as", "sql")
    assert float(said.err.split()[-1]) < 1e-12
    for connection in engines():
        if has_logarithms(connection):
            found = in_sql(connection, said.out, new, columns)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(in_python(run("export", file, "--as", "python").out, new), expected, atol=1e-9)
    np.testing.assert_allclose(in_c(run("export", file, "--as", "c").out, new, three), expected, atol=1e-9)
    assert run("export", file, "--as", "onnx", "-o", three / "model.onnx").status == 0
    np.testing.assert_allclose(in_onnx(three / "model.onnx", new), expected, rtol=0, atol=1e-6)


def test_nothing_stays_nothing(run, two):
    for method in ("dp", "histogram"):
        code = run("export", fitted(run, two, "two", method), "--as", "sql", "--column", "a b").out
        connection = pytest.importorskip("duckdb").connect()
        found = connection.execute(f'SELECT {code} FROM (SELECT CAST(NULL AS DOUBLE) AS "a b")').fetchall()
        assert found == [(None,)]
        assert math.isnan(
            in_python(run("export", two / f"{method}.json", "--as", "python").out, np.array([np.nan]))[0]
        )


def test_a_finer_tolerance_takes_more_lines(run, two):
    file = fitted(run, two, "two", "spline")
    coarse, fine = (run("export", file, "--as", "sql", "--tolerance", x) for x in (1e-2, 1e-5))
    assert len(fine.out.splitlines()) > len(coarse.out.splitlines())
    assert float(fine.err.split()[-1]) <= 1e-5


@pytest.mark.parametrize(
    "promise",
    [("--max-error", 0.3), ("--max-error", 0.3, "--by", "country"), ("--min-precision", "yes=0.7")],
)
def test_thresholds_answer_as_apply_does(run, two, promise):
    data = pd.read_csv(two / "two.csv").assign(country=["DE", "O'K"] * 2_000)
    data["p_yes"] = data["p_yes"].round(2)  # ties of p and 1 - p
    data.to_csv(two / "by.csv", index=False)
    threshold, answered = two / "threshold.json", two / "answered.csv"
    assert run("threshold", two / "by.csv", *promise, "-o", threshold).status == 0
    assert run("apply", threshold, two / "by.csv", "-o", answered).status == 0
    (column,) = set(pd.read_csv(answered)) - set(data)
    expected = pd.read_csv(answered)[column].to_numpy() == 1
    assert 0 < expected.mean() < 1
    code = run("export", threshold, "--as", "sql", "--column", "p_yes").out
    connection = pytest.importorskip("duckdb").connect()
    connection.register("t", data)
    np.testing.assert_array_equal(connection.execute(f"SELECT {code} AS y FROM t").df()["y"], expected)
    names = {}
    exec(run("export", threshold, "--as", "python").out, names)
    rows = zip(data["p_yes"], *([data["country"]] if "--by" in promise else []), strict=True)
    name = "is_above" if "--min-precision" in promise else "answers"
    np.testing.assert_array_equal([names[name](*row) for row in rows], expected)


def test_thresholds_of_answers_are_of_the_confidence(run, tmp_path):
    rng = np.random.default_rng(4)
    sure = rng.random(3_000)
    pd.DataFrame({"confidence": sure, "correct": (rng.random(3_000) < sure).astype(int)}).to_csv(
        tmp_path / "answers.csv", index=False
    )
    threshold = tmp_path / "threshold.json"
    assert run("threshold", tmp_path / "answers.csv", "--max-error", 0.2, "-o", threshold).status == 0
    least = json.loads(threshold.read_text())["thresholds"][0]["threshold"]
    names = {}
    exec(run("export", threshold, "--as", "python").out, names)
    np.testing.assert_array_equal([names["answers"](one) for one in sure], sure >= least)


HOSTILE = ('no"""; 1 / 0', "new york */ int x;", "100%\\")


@pytest.mark.parametrize("count", [2, 3])
def test_names_of_classes_do_not_end_the_code(run, tmp_path, count):
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.ones(count), 600)
    labels = np.array(HOSTILE)[(probs.cumsum(axis=1) < rng.random((600, 1))).sum(axis=1)]
    frame = pd.DataFrame({f"p_{k}": probs[:, n] for n, k in enumerate(HOSTILE[:count])})
    frame.assign(label=labels).to_parquet(tmp_path / "odd.parquet")
    file = tmp_path / "odd.json"
    done = run("fit", tmp_path / "odd.parquet", "-m", "dp", "--folds", 0, "-o", file)
    assert done.status == 0, done.err
    classes = json.loads(file.read_text())["classes"]
    rows = frame[[f"p_{name}" for name in classes]].to_numpy()
    expected = applied(run, file, frame[[f"p_{name}" for name in classes]])
    given, found = (rows[:, 1], expected[:, 1]) if count == 2 else (rows, expected)
    np.testing.assert_allclose(in_python(run("export", file, "--as", "python").out, given), found, atol=1e-9)
    np.testing.assert_allclose(in_c(run("export", file, "--as", "c").out, given, tmp_path), found, atol=1e-9)
    columns = ["p"] if count == 2 else [f"p_{name}" for name in classes]
    sql = in_sql(
        pytest.importorskip("duckdb").connect(), run("export", file, "--as", "sql").out, given, columns
    )
    np.testing.assert_allclose(sql if count == 3 else sql[:, 0], found, atol=1e-9)


@pytest.mark.parametrize(
    ("method", "arguments", "said"),
    [
        ("isotonic", ["--as", "python"], "isotonic of 3 classes has no closed form"),
        ("dp", ["--as", "sql", "--column", "p"], "--column names 1 probabilities; expected 3: "),
        ("dp", ["--as", "c", "--column", "a,b,c"], "--column names columns of SQL; as c it takes p"),
        ("dp", ["--as", "onnx"], "say where to write it: --output model.onnx"),
        ("dp", [], "Missing option '--as'"),
    ],
)
def test_what_cannot_be_written_is_refused(run, three, method, arguments, said):
    done = run("export", fitted(run, three, "three", method), *arguments)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_raw_logits_are_refused(run, tmp_path):
    rng = np.random.default_rng(2)
    logits = rng.normal(0, 2, (400, 2))
    labels = np.where(logits[:, 1] > logits[:, 0] + rng.normal(0, 3, 400), "yes", "no")
    frame = pd.DataFrame({"logit_no": logits[:, 0], "logit_yes": logits[:, 1], "label": labels})
    frame.to_csv(tmp_path / "two.csv", index=False)
    file = fitted(run, tmp_path, "two", "vector", "--input", "raw")
    done = run("export", file, "--as", "c")
    assert (done.status, "raw logits" in done.err) == (2, True)


@pytest.mark.parametrize("method", OF_TWO)
def test_probabilities_of_all_sizes_keep_the_tolerance(run, sample, tmp_path, method):
    """Naive Bayes says 1e-100 and 1: what is next to 0 has floors and steep lines."""
    file, new = tmp_path / "cal.json", np.concatenate([[0.0], 10.0 ** -np.arange(0, 320, 0.7)])
    assert (
        run("fit", sample / "cancer_bayes_calibration.csv", "-m", method, "--folds", 0, "-o", file).status
        == 0
    )
    frame = pd.DataFrame({"prob_benign": 1 - new, "prob_malignant": new})
    expected = applied(run, file, frame)[:, 1]
    done = run("export", file, "--as", "sql")
    assert float(done.err.split()[-1]) <= TOLERANCE
    found = in_sql(pytest.importorskip("duckdb").connect(), done.out, new, ["p"])[:, 0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)
