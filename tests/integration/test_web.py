"""Files on the web: a server with TLS that gives ranges, one that gives only whole files."""

from __future__ import annotations

import datetime
import functools
import http.server
import ipaddress
import re
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("aiohttp", reason="aiohttp is not installed: make integration")
x509 = pytest.importorskip("cryptography.x509", reason="cryptography is not installed: make integration")
SAMPLE = Path("sample_data/release_1.parquet")
METRICS = ("--metrics", "log_loss,ece", "-q")


class Whole(http.server.SimpleHTTPRequestHandler):
    """Gives whole files, as Python's own server does."""

    sent = 0

    def log_message(self, *_):
        pass

    def copyfile(self, source, outputfile):
        data = source.read()
        type(self).sent += len(data)
        outputfile.write(data)


class Ranges(Whole):
    """Gives ranges, to those who know the token."""

    def do_GET(self):
        self._answer(body=True)

    def do_HEAD(self):
        self._answer(body=False)

    def _answer(self, body):
        path, _, query = self.path.partition("?")
        file = Path(self.directory) / path.lstrip("/")
        if query != "token=hush" or not file.is_file():
            self.send_error(403 if query != "token=hush" else 404)
            return
        data, found = file.read_bytes(), re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        first, last = (int(found[1]), int(found[2] or len(data) - 1)) if found else (0, len(data) - 1)
        part = data[first : last + 1]
        self.send_response(206 if found else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(part)))
        if found:
            self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(data)}")
        self.end_headers()
        if body:
            type(self).sent += len(part)
            self.wfile.write(part)


def serving(handler, folder, context=None) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(handler, directory=str(folder))
    )
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http{'s' if context else ''}://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def plain(tmp_path):
    yield from serving(Whole, tmp_path)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> Path:
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    own = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "own.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(secret + own.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture
def secure(tmp_path, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    yield from serving(Ranges, tmp_path, context)


def said(done, place: str) -> list[str]:
    """Return the words of a report, however its lines are broken, with one name for its file."""
    return done.stdout.replace(place, "FILE").split()


def test_a_server_of_whole_files(run, plain, tmp_path):
    for file in (SAMPLE, Path("sample_data/cancer_bayes_test.csv")):
        (tmp_path / file.name).write_bytes(file.read_bytes())
        found, here = run("evaluate", f"{plain}/{file.name}", *METRICS), run("evaluate", str(file), *METRICS)
        assert found.returncode == 0, found.stderr
        assert said(found, f"{plain}/{file.name}") == said(here, str(file))
    missing = run("evaluate", f"{plain}/none.parquet")
    assert (missing.returncode, missing.stderr) == (2, f"calcli: {plain}/none.parquet: no such file\n")
    folder = run("evaluate", f"{plain}/", "--concat", *METRICS)
    assert "holds" in folder.stderr or "formats" in folder.stderr


def test_a_signed_url_over_tls_gives_the_columns_needed(run, secure, certificate, tmp_path):
    table, noise = pq.read_table(SAMPLE), np.random.default_rng(0)
    pictures = pa.array([noise.bytes(2000) for _ in range(table.num_rows)])
    pq.write_table(table.append_column("picture", pictures), tmp_path / "p.parquet")
    Whole.sent = Ranges.sent = 0
    trusted = {"SSL_CERT_FILE": str(certificate)}
    found = run("evaluate", f"{secure}/p.parquet?token=hush", *METRICS, **trusted)
    assert found.returncode == 0, found.stderr
    assert "hush" not in found.stdout
    assert said(found, f"{secure}/p.parquet") == said(run("evaluate", str(SAMPLE), *METRICS), str(SAMPLE))
    assert 0 < Ranges.sent < 600_000 < 2_000_000 < (tmp_path / "p.parquet").stat().st_size
    refused = run("evaluate", f"{secure}/p.parquet?token=hushh", **trusted)
    assert refused.returncode == 2
    assert "access is refused" in refused.stderr
    assert "hush" not in refused.stderr
    untrusted = run("evaluate", f"{secure}/p.parquet?token=hush")
    assert (untrusted.returncode, untrusted.stderr.count("\n")) == (2, 1)
    assert "hush" not in untrusted.stderr
