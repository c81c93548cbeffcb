"""A `calcli` that starts at once: a process that has loaded everything runs each call in a fork of itself.

`put_shim` writes the command, which hands its arguments, folder, environment and streams to that process.
"""

from __future__ import annotations

import atexit
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
from contextlib import suppress
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BESIDE = ("pyarrow.parquet", "pyarrow.csv", "pyarrow.feather", "matplotlib.backends.backend_agg")
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


def _serve(address: str) -> None:
    """Fork for every call, until standard input is closed."""
    import calcli

    for module in pkgutil.walk_packages(calcli.__path__, "calcli."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in BESIDE:
        importlib.import_module(name)
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
    from calcli.cli.main import run

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(caller, 1, 3)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    for number, name in enumerate(("stdin", "stdout", "stderr")):  # anew, as some can be sought in
        mode = "w" if number else "r"
        setattr(sys, name, open(number, mode, 1, encoding="utf-8", closefd=False))  # noqa: SIM115
    arguments, folder, environment = json.loads(b"".join(iter(lambda: caller.recv(1 << 16), b"")))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["calcli", *arguments]
    status = 1
    try:
        run()
    except SystemExit as left:
        status = int(left.code or 0)
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(BrokenPipeError):
                stream.flush()
        caller.sendall(str(status).encode())
        os._exit(status)


if __name__ == "__main__":
    _serve(sys.argv[1])
