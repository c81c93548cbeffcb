"""Servers on the loopback interface, and calcli as users run it: `make integration`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def run() -> Run:
    """Return what runs a command, with variables of its own."""

    def running(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "calcli", *arguments]
        environment = {**PLAIN, "COLUMNS": "80", "PYTHONPATH": str(ROOT), **variables}
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    return running


@pytest.fixture(scope="session")
def s3() -> Iterator[dict[str, str]]:
    """Start an object store, and return the variables that lead to it."""
    moto = pytest.importorskip("moto.server", reason="moto is not installed: make integration")
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed: make integration")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    variables = {
        "AWS_ENDPOINT_URL": "http://{}:{}".format(*server.get_host_and_port()),
        "AWS_ACCESS_KEY_ID": "AKIAHUSHKEY",
        "AWS_SECRET_ACCESS_KEY": "hushsecret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    lake = s3fs.S3FileSystem(
        endpoint_url=variables["AWS_ENDPOINT_URL"], key="k", secret="s", skip_instance_cache=True
    )
    lake.mkdir("lake")
    for file in (ROOT / "sample_data").glob("*.*"):
        lake.put(str(file), f"lake/flat/{file.name}")
    for day in ("01", "02"):
        lake.put(
            str(ROOT / f"sample_data/epochs/epoch_{day}.parquet"), f"lake/hive/date=2026-11-{day}/p.parquet"
        )
    yield variables
    server.stop()
