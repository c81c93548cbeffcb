"""A cluster of Dask: two workers, one of which dies, give the bits of one process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import calcli
from calcli.core.language.errors import InputError
from calcli.core.language.settings import Settings
from calcli.io.options import ReadOptions
from calcli.io.read import in_pieces
from calcli.io.saved.states import to_bytes
from calcli.work.distributed import Engine, gather, made_of, merged
from tests.integration.slowly import deadly, slowly

pytest.importorskip("distributed", reason="distributed is not installed: make integration")
psutil = pytest.importorskip("psutil")
pytestmark = pytest.mark.filterwarnings("default")
ROOT = Path(__file__).resolve().parents[2]
METRICS = ("log_loss", "accuracy", "ece", "ks")
HOW = {"options": ReadOptions(), "settings": Settings(metrics=METRICS), "hidden": {}}


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> list[str]:
    """Return files of 24,000 rows of three classes in all, some too small to be dealt out alone."""
    folder, rng = tmp_path_factory.mktemp("lake") / "preds", np.random.default_rng(0)
    folder.mkdir()
    for number in range(8):
        logits = rng.normal(size=(1600 + 400 * number, 3)).astype(np.float32) * 2
        labels = (logits + rng.gumbel(size=logits.shape)).argmax(1)
        columns = {f"logit_{k}": column for k, column in enumerate(logits.T)}
        pq.write_table(pa.table({"label": labels, **columns}), folder / f"part-{number}.parquet")
    return sorted(map(str, folder.iterdir()))


@pytest.fixture(scope="module")
def alone(parts) -> bytes:
    """Return the state that one process makes."""
    pieces = in_pieces([str(Path(parts[0]).parent)], ReadOptions())
    return merged([made_of(one, **HOW) for one in pieces])


def test_one_process_that_reads_all_at_once_finds_the_same(parts, alone):
    rows = calcli.read(str(Path(parts[0]).parent))
    found, expected = (
        calcli.evaluate(one).results[0].metrics
        for one in (calcli.State.from_bytes(alone), calcli.State.of(rows, metrics=METRICS))
    )
    assert found.keys() == expected.keys()
    for name, one in found.items():
        assert one.value == pytest.approx(expected[name].value, rel=1e-9), name


def _started(*arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", *arguments, "--host", "127.0.0.1", "--no-dashboard"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)


@pytest.fixture
def cluster(tmp_path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Start a scheduler and two workers; give the address and the workers."""
    file = tmp_path / "scheduler.json"
    scheduler = _started("distributed.cli.dask_scheduler", "--port", "0", "--scheduler-file", str(file))
    workers = []
    try:
        for _ in range(600):
            if file.exists() and file.stat().st_size:
                break
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        how = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny")
        workers = [_started(*how), _started(*how)]
        yield address, workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


def test_a_worker_that_dies_changes_no_bit(parts, alone, cluster):
    address, workers = cluster

    def watch(done: int) -> None:
        if done >= 2:
            workers[0].kill()

    pieces = in_pieces(parts, ReadOptions())
    assert gather(pieces, partial(slowly, **HOW), watch, address) == alone
    assert workers[0].poll() is not None
    left = Engine(address).read([str(Path(parts[0]).parent)], ReadOptions(), lambda _: HOW["settings"])
    assert to_bytes(left.state) == alone


def test_the_command_line_says_what_the_state_says(run, parts, alone, cluster, tmp_path):
    address, _ = cluster
    folder, how = str(Path(parts[0]).parent), ("--engine", address, "-q")
    saved, asked = tmp_path / "new.calcli", ("--metrics", ",".join(METRICS), "--format", "json")
    found = run("evaluate", folder, *asked, *how, "--save-state", str(saved))
    assert (found.returncode, found.stderr) == (0, "")
    assert saved.read_bytes() == alone
    expected = calcli.evaluate(calcli.State.from_bytes(alone)).results[0].metrics
    metrics = json.loads(found.stdout)["results"][0]["metrics"]
    assert {name: one["value"] for name, one in metrics.items()} == {n: e.value for n, e in expected.items()}
    for command in (
        ("plot", folder, "-o", str(tmp_path / "figures")),
        ("check", folder, "--policy", str(tmp_path / "p.toml")),
    ):
        (tmp_path / "p.toml").write_text('[[rules]]\nmetric = "log_loss"\nmax = 1.0\n')
        done = run(*command, *how)
        assert (done.returncode, done.stderr) == (0, ""), (command, done.stderr)
    wrong = run("evaluate", folder, *how, "--by", "label")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)


def test_faults_are_one_sentence(run, parts, tmp_path):
    folder = str(Path(parts[0]).parent)
    nobody = run("evaluate", folder, "--engine", "tcp://127.0.0.1:9")
    assert nobody.stderr == "calcli: --engine tcp://127.0.0.1:9: no Dask scheduler answers there\n"
    assert nobody.returncode == 2
    for n, part in enumerate(parts[:2]):
        (tmp_path / f"part-{n}.parquet").write_bytes(Path(part).read_bytes()[: -n * 1000 or None])
    damaged = run("evaluate", str(tmp_path), "--engine", "dask")
    assert (damaged.returncode, damaged.stderr.count("\n")) == (2, 1)
    assert "part-1.parquet is not a complete and valid parquet file" in damaged.stderr
    guilty = r"part-3.parquet( or \S+)*: every process that worked on it died, 4 in all"
    with pytest.raises(InputError, match=guilty):  # its process may have had a part that came before or after
        gather(in_pieces(parts, ReadOptions()), partial(deadly, **HOW), lambda done: None)


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        (["evaluate"], 0.3),  # while the processes start
        (["fit", "-m", "temperature", "-o"], 0.3),
    ],
)
def test_an_interrupt_leaves_no_logs(tmp_path, command, seconds):
    rng = np.random.default_rng(0)
    for number in range(200):
        table = {f"logit_{k}": rng.normal(size=300) for k in range(3)}
        pq.write_table(
            pa.table({"label": rng.integers(0, 3, 300), **table}), tmp_path / f"part-{number}.parquet"
        )
    target = [str(tmp_path / "cal.json")] if command[-1] == "-o" else []
    words = [*command, *target, str(tmp_path), "--engine", "dask"]
    running = subprocess.Popen(
        [sys.executable, "-m", "calcli", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for _ in range(600):
        if running.poll() is not None or len(psutil.Process(running.pid).children()) > 1:
            break
        time.sleep(0.05)
    time.sleep(seconds)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    out, said = running.communicate(timeout=60)
    assert (running.returncode, out, said) == (130, "", "")
    assert not (tmp_path / "cal.json").exists()


def test_a_fit_is_to_the_sample_of_the_state(run, parts, cluster, tmp_path):
    folder, method = str(Path(parts[0]).parent), ("-m", "dp", "-q", "--format", "json")
    done = run("fit", folder, *method, "--engine", cluster[0])
    assert (done.returncode, done.stderr) == (0, "")
    found, expected = json.loads(done.stdout), json.loads(run("fit", folder, *method).stdout)
    assert found["input"]["rows"] == 20_000 < found["input"]["sampled_from"] == expected["input"]["rows"]
    assert found["after"]["log_loss"] == pytest.approx(expected["after"]["log_loss"], abs=0.01)
    assert found["learned"]["alpha"] == pytest.approx(expected["learned"]["alpha"], rel=0.05)


def test_names_of_folders_are_columns_to_slice_by(run, parts, cluster, tmp_path):
    for number, part in enumerate(parts[:4]):
        folder = tmp_path / "lake" / f"date=2026-11-{number % 2 + 1:02}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / Path(part).name).write_bytes(Path(part).read_bytes())
    how = ("--by", "date", "--metrics", ",".join(METRICS), "-q", "--format", "json")
    ours, expected = (
        run("evaluate", str(tmp_path / "lake"), *how, *more) for more in (("--engine", cluster[0]), ())
    )
    assert (ours.returncode, ours.stderr) == (0, "")
    results = [json.loads(done.stdout)["results"] for done in (ours, expected)]
    assert [one["slice"] for one in results[0]] == [one["slice"] for one in results[1]]
    assert [one["slice"]["value"] for one in results[0][1:]] == ["2026-11-01", "2026-11-02"]
    for own, other in zip(*results, strict=True):
        assert own["input"]["rows"] == other["input"]["rows"]
        for name, metric in other["metrics"].items():
            assert own["metrics"][name]["value"] == pytest.approx(metric["value"], abs=1e-6)


def test_the_default_report_of_two_classes_is_that_of_the_whole_in_every_metric(cluster, tmp_path):
    rng = np.random.default_rng(3)
    (tmp_path / "lake").mkdir()
    for number in range(4):
        prob = rng.beta(0.5, 0.5, 30_000 + number).astype(np.float32)
        columns = {"prob": prob, "label": (rng.random(len(prob)) < prob**1.2).astype(np.int8)}
        pq.write_table(pa.table(columns), tmp_path / "lake" / f"part-{number}.parquet")
    left = Engine(cluster[0]).read([str(tmp_path / "lake")], ReadOptions(), lambda _: Settings())
    found, expected = (
        calcli.evaluate(one, draws=0).results[0].metrics
        for one in (left, calcli.State.of(calcli.read(str(tmp_path / "lake"))))
    )
    assert found.keys() == expected.keys() >= {"average_precision", "ks", "relative_calibration_loss"}
    for name, metric in found.items():
        if metric.rows is None:  # the two states have samples of different rows
            assert metric.value == pytest.approx(expected[name].value, rel=1e-6), name
