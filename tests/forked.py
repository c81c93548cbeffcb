"""A `calcli` that starts at once: a process that has loaded everything runs each call in a fork of itself.

`put_shim` writes the command, which hands its arguments, folder, environment and streams to that process.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

import typer.main

ROOT = Path(__file__).resolve().parents[1]
BESIDE = (
    "pandas", "pyarrow.parquet", "pyarrow.csv", "pyarrow.feather", "matplotlib.backends.backend_agg",
    "numpy.random", "encodings.koi8_r", "encodings.cp1252", "encodings.cp437",
)  # fmt: skip
CLIENT = """#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
socket.send_fds(server, [b"."], [0, 1, 2])
server.sendall(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode())
server.shutdown(socket.SHUT_WR)
sys.exit(int(server.recv(16) or 70))
"""


def put_shim(path: Path) -> None:
    """Write the command `calcli` to a file."""
    path.write_text(CLIENT.format(python=sys.executable, address=_started()))
    path.chmod(0o755)


@cache
def _started() -> str:
    """Start the process that forks, once, and return the address of its socket; it ends with this one."""
    folder = tempfile.TemporaryDirectory()
    address = str(Path(folder.name) / "socket")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "OPENBLAS_NUM_THREADS": "1"}
    call = [sys.executable, "-m", "tests.forked", address]
    server = subprocess.Popen(
        call, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    assert server.stdout.readline() == "ready\n"
    atexit.register(folder.cleanup)
    atexit.register(server.communicate)
    return address


@cache
def load() -> None:
    """Load all of calcli, and what it loads when it is used."""
    import calcli

    for module in pkgutil.walk_packages(calcli.__path__, "calcli."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in BESIDE:
        importlib.import_module(name)
    from calcli.cli import main

    app = main.app_of()
    command = typer.main.get_command(app)
    with suppress(Exception):  # loads what typer loads on its first call
        command(["inspect"], standalone_mode=False)
    main.app_of = lambda commands=(): app  # made once, not in each fork
    typer.main.get_command = lambda _: command
    gc.freeze()  # forks share what is not touched


def call(arguments: list[str], folder: str, environment: Mapping[str, str]) -> int:
    """Run a call in a folder, on the standard streams that this process has now, and return its exit status.

    Whatever the call does to this process stays done: it is for forks.
    """
    from calcli.cli.main import run

    encoding, _, errors = environment.get("PYTHONIOENCODING", "utf-8").partition(":")
    for number, name in enumerate(("stdin", "stdout", "stderr")):  # anew, as some can be sought in
        mode = "w" if number else "r"
        stream = open(number, mode, 1, encoding=encoding, errors=errors or None, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["calcli", *arguments]
    status = 1
    try:
        run()
    except SystemExit as left:
        status = int(left.code or 0)
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):
            stream.flush()
    return status


def _serve(address: str) -> None:
    """Fork for every call, until standard input is closed."""
    load()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    print("ready", flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    waiting = selectors.DefaultSelector()
    waiting.register(0, selectors.EVENT_READ)
    waiting.register(listener, selectors.EVENT_READ)
    while all(key.fileobj is listener for key, _ in waiting.select()):
        caller, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _answer(caller)
        caller.close()


def _answer(caller: socket.socket) -> None:
    """Run the call of one client and tell it the exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    status = 1
    try:
        _, streams, _, _ = socket.recv_fds(caller, 1, 3)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        arguments, folder, environment = json.loads(b"".join(iter(lambda: caller.recv(1 << 16), b"")))
        status = call(arguments, folder, environment)
    finally:
        caller.sendall(str(status).encode())
        os._exit(status)


if __name__ == "__main__":
    _serve(sys.argv[1])
