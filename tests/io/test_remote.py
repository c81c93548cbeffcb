"""Files elsewhere: here in the memory of fsspec, which is a file system like those of object stores."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import calcli
from calcli.cli.main import status_of
from calcli.core.language.errors import InputError, UsageError
from calcli.io.options import ReadOptions
from calcli.io.places import paths as remote
from calcli.io.places.paths import Remote, is_url, path_of, without_secrets
from calcli.io.read import read
from tests.io.samples import random_logits, scores_of, table_of

fsspec = pytest.importorskip("fsspec")
SAMPLE = Path("sample_data")
NAMES = [f"logit_{k}" for k in range(12)]


@pytest.fixture
def memory(monkeypatch):
    monkeypatch.setattr(remote, "_secrets", {})
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


@pytest.fixture
def there(memory, tmp_path):
    """Return what puts a local file or folder there and gives its URL."""

    def put(path: Path, name: str = "") -> str:
        memory.put(str(path), f"/lake/{name or path.name}", recursive=path.is_dir())
        return f"memory://lake/{name or path.name}"

    return put


@pytest.mark.parametrize(
    "form", ["npz", "csv", "csv.gz", "tsv", "parquet", "arrow", "jsonl", "jsonl.gz", "json"]
)
def test_every_format_says_there_what_it_says_here(there, tmp_path, form):
    sample = random_logits()
    pq.write_table(table_of(sample.scores, sample.labels, NAMES), tmp_path / "p.parquet")
    cal = tmp_path / "cal.json"
    assert status_of(["fit", str(tmp_path / "p.parquet"), "-m", "temperature", "-o", str(cal), "-q"]) == 0
    local = tmp_path / f"a.{form}"
    assert status_of(["apply", str(cal), str(tmp_path / "p.parquet"), "-o", str(local), "-q"]) == 0
    here, elsewhere = read(local), read(there(local))
    np.testing.assert_array_equal(scores_of(here), scores_of(elsewhere))
    np.testing.assert_array_equal(here.labels, elsewhere.labels)
    assert elsewhere.provenance.path == f"memory://lake/a.{form}"


def test_arrays_have_their_labels_beside_them_there_too(there):
    url = there(SAMPLE / "digits_network_test.npy")
    there(SAMPLE / "digits_network_test_labels.npy")
    assert read(url).provenance.labels == "memory://lake/digits_network_test_labels.npy"
    labels = "memory://lake/digits_network_test_labels.npy"
    np.testing.assert_array_equal(read(url, ReadOptions(labels=labels)).labels, read(url).labels)
    expected = calcli.evaluate(str(SAMPLE / "digits_network_test.npy"))
    assert calcli.evaluate(url).results[0].metrics == expected.results[0].metrics


def test_only_the_columns_and_row_groups_needed_are_read(there, tmp_path, monkeypatch):
    sample = random_logits(4000)
    wide = np.random.default_rng(0).bytes(4000 * 1000)
    more = pa.array([wide[i : i + 1000] for i in range(0, len(wide), 1000)])
    pq.write_table(
        table_of(sample.scores, sample.labels, NAMES, picture=more),
        tmp_path / "p.parquet",
        row_group_size=500,
    )
    url, sizes = there(tmp_path / "p.parquet"), []
    plain = remote._Told.read
    monkeypatch.setattr(remote._Told, "read", lambda self, n=-1: sizes.append(n) or plain(self, n))
    found = read(url)
    np.testing.assert_array_equal(scores_of(found), sample.scores)
    assert 4000 * 12 * 4 < sum(sizes) < 1_200_000 < (tmp_path / "p.parquet").stat().st_size
    sizes.clear()
    next(iter(read(url, ReadOptions(limit=10)).scores.blocks(10)))
    assert sum(sizes) < 500_000  # labels of all, scores of the first rows


def test_folders_name_a_column(there, tmp_path, capsys):
    for day in ("01", "02"):
        (tmp_path / "lake" / f"date=2026-11-{day}").mkdir(parents=True)
        shutil.copy(
            SAMPLE / "epochs" / f"epoch_{day}.parquet", tmp_path / f"lake/date=2026-11-{day}/part-0.parquet"
        )
    url = there(tmp_path / "lake", "preds")
    command = ["evaluate", url, "--concat", "--by", "date", "--metrics", "accuracy", "--format", "json"]
    assert status_of(command) == 0
    found = json.loads(capsys.readouterr().out)["results"]
    assert [one["slice"] and one["slice"]["value"] for one in found] == [None, "2026-11-01", "2026-11-02"]
    for one, day in zip(found[1:], ("01", "02"), strict=True):
        alone = calcli.evaluate(str(SAMPLE / f"epochs/epoch_{day}.parquet"), metrics="accuracy")
        assert one["metrics"]["accuracy"]["value"] == alone["accuracy"].value


def test_patterns_stand_for_files(there, capsys):
    for n in (1, 2, 3):
        there(SAMPLE / f"epochs/epoch_0{n}.parquet")
    assert (
        status_of(
            ["evaluate", "memory://lake/epoch_0[12]*", "--metrics", "accuracy", "--format", "csv", "-q"]
        )
        == 0
    )
    assert "epoch_02.parquet" in (out := capsys.readouterr().out)
    assert "epoch_03" not in out
    assert calcli.read("memory://lake/epoch_*.parquet").n_rows == 3 * 650
    assert status_of(["evaluate", "memory://lake/none*.parquet"]) == 2
    assert capsys.readouterr().err == "calcli: memory://lake/none*.parquet: no such files\n"


def test_what_is_written_goes_there(there, memory, capsys):
    url = there(SAMPLE / "release_1.parquet")
    command = ["evaluate", url, "--metrics", "log_loss,ece", "--draws", "9", "-q"]
    command += ["-o", "memory://out/report"]
    assert (
        status_of([*command, "--save-state", "memory://out/a.calcli", "--html", "memory://out/a.html"]) == 0
    )
    assert status_of(["fit", url, "-m", "temperature", "-o", "memory://out/cal.json", "-q"]) == 0
    assert status_of(["apply", "memory://out/cal.json", url, "-o", "memory://out/b.parquet", "-q"]) == 0
    assert status_of(["plot", url, "-o", "memory://out/figures", "-q", "--figure", "ks"]) == 0
    found = {name.removeprefix("/out/") for name in memory.find("/out")}
    files = {"report/report.json", "report/report.html", "report/reliability.png", "a.calcli", "a.html"}
    assert files | {"cal.json", "b.parquet", "figures/ks.png"} <= found
    capsys.readouterr()
    assert status_of(["evaluate", "memory://out/a.calcli", "--format", "json"]) == 0
    stored = json.loads(capsys.readouterr().out)["results"][0]["metrics"]
    expected = calcli.evaluate(url, metrics="log_loss,ece").results[0].metrics
    values = {name: estimate.value for name, estimate in expected.items()}
    assert {name: one["value"] for name, one in stored.items()} == pytest.approx(values, abs=1e-6)
    assert status_of(["check", url, "--policy", "memory://out/none.toml"]) == 2
    assert "memory://out/none.toml: no such file" in capsys.readouterr().err


def test_a_folder_is_applied_to_part_by_part(there, memory, tmp_path):
    shutil.copytree(SAMPLE / "epochs", tmp_path / "epochs")
    url = there(tmp_path / "epochs")
    assert (
        status_of(["fit", f"{url}/epoch_01.parquet", "-m", "temperature", "-o", "memory://lake/c.json", "-q"])
        == 0
    )
    assert status_of(["apply", "memory://lake/c.json", url, "-o", "memory://out/new", "-q"]) == 0
    assert len(memory.find("/out/new")) == 10


@pytest.mark.parametrize(
    ("given", "shown", "full"),
    [
        ("https://u:pw@h.org/a.csv", "https://h.org/a.csv", "https://u:pw@h.org/a.csv"),
        ("https://h.org/a.csv?X-Sig=pw", "https://h.org/a.csv", "https://h.org/a.csv?X-Sig=pw"),
        ("--labels=https://pw@h.org/a.npy", "--labels=https://h.org/a.npy", None),
        ("ftp://u:pw@h.org/d", "ftp://h.org/d", None),
        ("abfs://box@account.core/a.csv", "abfs://box@account.core/a.csv", None),
        ("simplecache::https://h.org/a.csv?t=pw", "simplecache::https://h.org/a.csv", None),
        ("s3://b/a?.csv", "s3://b/a?.csv", None),
        ("log_loss>0.5", "log_loss>0.5", None),
    ],
)
def test_logins_and_queries_are_used_and_not_shown(memory, monkeypatch, given, shown, full):
    assert without_secrets(given) == shown
    assert without_secrets(shown) == shown
    if full is not None:
        seen = []
        monkeypatch.setattr("fsspec.core.url_to_fs", lambda url, **how: seen.append(url) or (None, url))
        assert Remote(shown)._system == (None, full)


def test_a_secret_is_in_no_message(memory, capsys):
    for url in (
        "memory://u:hush@lake/a.parquet",
        "s3://key:hush@bucket/a.parquet",
        "https://hush@h.invalid/a.x",
    ):
        assert status_of(["evaluate", url]) == 2
        said = capsys.readouterr()
        assert "hush" not in said.err + said.out
    assert status_of(["evaluate", "https://h.org/a.csv?t=hush", "https://h.org/a.csv?t=other"]) == 2
    assert "different logins or queries" in capsys.readouterr().err


def test_nothing_is_written_through_a_chain(tmp_path, capsys):
    target = tmp_path / "kept.csv"
    target.write_text("mine")
    call = ["evaluate", "sample_data/cancer_bayes_test.csv", "--html", f"filecache::file://{target}"]
    assert status_of(call) == 2
    assert "a chain of URLs is for reading; choose another place" in capsys.readouterr().err
    assert target.read_text() == "mine"
    assert [*tmp_path.iterdir()] == [target]


def test_what_is_missing_is_said(memory, monkeypatch, capsys):
    for url, sentence in {
        "memory://lake/a.parquet": "memory://lake/a.parquet: no such file",
        "nowhere://lake/a.parquet": "nowhere://lake/a.parquet: nowhere:// is not a known kind of URL",
    }.items():
        assert status_of(["evaluate", url]) == 2
        assert capsys.readouterr().err == f"calcli: {sentence}\n"
    with pytest.raises(InputError, match="is for reading; choose another place"):
        Remote("https://h.org/out").require_writable()
    for module in ("fsspec", "fsspec.core"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match="URLs need the package fsspec, which is not installed"):
        read("s3://lake/a.parquet")


def test_an_object_store_that_refuses_is_told_apart_from_one_that_is_empty(memory, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError("key AKIAHUSH is not allowed")

    monkeypatch.setattr(type(memory), "info", refuse)
    with pytest.raises(InputError, match="access is refused; log in as for other tools") as found:
        read("memory://lake/a.parquet")
    assert "HUSH" not in str(found.value)


def test_local_paths_stay_local(tmp_path):
    assert path_of("a/b.npy") == Path("a/b.npy")
    assert path_of("file:///a%20b.npy") == Path("/a b.npy")
    assert not is_url("C://x") or is_url("s3://x")
    assert not is_url(tmp_path)
