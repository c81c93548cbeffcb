"""Every format is read, written and recognised alike; a further one is a module and an entry."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from calcli.io import formats
from calcli.io.apply.simulated import write_simulation
from calcli.io.read import read
from calcli.io.tables.arrays import Archive, StoredArray
from calcli.works.simulation import Simulation
from tests.io.samples import random_probs, refused, scores_of

PROBS, LABELS = random_probs()
READ_ONLY = {".eval", ".sas7bdat", ".xpt"} | ({".orc"} if pa.__version__ < "20" else set())
WRITTEN = [end for end in formats.BY_ENDING if end not in READ_ONLY]
ENDINGS = [*WRITTEN, *(f"{end}.gz" for end, form in formats.BY_ENDING.items() if form.text)]


def test_entries_and_modules_belong_together():
    folder = Path(formats.__file__).parent
    shared = {"spooled", "writer"}  # by formats of text, and by what is written
    modules = {(form.where or form.name).rpartition(".")[2] for form in formats.FORMATS}
    assert {file.stem for file in folder.glob("[a-z]*.py")} - shared == modules


def test_the_list_of_formats_loads_none_of_them():
    script = "import sys\nfrom calcli.io import formats\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert not {"numpy", "pyarrow", "pandas"} & set(loaded.split())


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_is_read(ending, tmp_path):
    path = tmp_path / f"t{ending}"
    write_simulation(Simulation(PROBS, "probs", LABELS, PROBS), str(path))
    found = read(path)
    np.testing.assert_allclose(scores_of(found), PROBS, rtol=1e-15 if ending == ".xlsx" else 0)
    np.testing.assert_array_equal(found.labels, LABELS)
    assert found.kind == "probs"
    if ending.endswith(".gz") or formats.BY_ENDING[ending].magic or formats.BY_ENDING[ending].text:
        expected = "gzip" if ending.endswith(".gz") else formats.BY_ENDING[ending].name
        assert formats.sniff(path.read_bytes()) == expected


@pytest.mark.parametrize("ending", [end for end, form in formats.BY_ENDING.items() if form.text])
def test_gzip_is_known_by_its_content(ending, tmp_path):
    write_simulation(Simulation(PROBS, "probs", LABELS, PROBS), str(tmp_path / f"t{ending}"))
    text = (tmp_path / f"t{ending}").read_bytes()
    for name, content in {
        f"T{ending.upper()}.GZ": gzip.compress(text),
        f"plain{ending}": gzip.compress(text),
        f"unpacked{ending}.gz": text,
    }.items():
        (tmp_path / name).write_bytes(content)
        found = read(tmp_path / name)
        np.testing.assert_array_equal(scores_of(found), PROBS)
        np.testing.assert_array_equal(found.labels, LABELS)


def test_a_format_is_a_module_and_an_entry(tmp_path, monkeypatch):
    """One without magic, as raw arrays behind a head are, is known by its ending alone."""
    entry = formats.Format("toy", (".toy",))
    arrays = {"probs": PROBS, "label": LABELS, "id": np.arange(40)}

    def array(name):
        return StoredArray.held(arrays[name], name, "t.toy")

    module = SimpleNamespace(open_file=lambda path, name: Archive(name, tuple(arrays), array))
    monkeypatch.setitem(formats.BY_ENDING, ".toy", entry)
    monkeypatch.setitem(sys.modules, "calcli.io.formats.toy", module)
    (tmp_path / "t.toy").write_bytes(b"anything")
    found = read(tmp_path / "t.toy")
    np.testing.assert_array_equal(scores_of(found), PROBS)
    np.testing.assert_array_equal(found.column("id"), arrays["id"])
    refused(tmp_path / "t.toy.gz", "no such file")
    (tmp_path / "t.toy.gz").write_bytes(b"anything")
    refused(tmp_path / "t.toy.gz", r'ending "\.gz" is not known')


@pytest.mark.parametrize("text", ['{"label": 1}\n', ' \n{"label": 1}\n'])
def test_a_mark_of_the_byte_order_hides_no_format(text):
    assert formats.sniff(text.encode("utf-8-sig")) == formats.sniff(text.encode()) == "jsonl"


def test_predictions_as_weka_prints_them(tmp_path):
    probs, labels = random_probs()
    names, path = np.array(["setosa", "versicolor", "virginica"]), tmp_path / "weka.csv"
    lines = ["inst#,actual,predicted,error,distribution"]
    for n, (row, label) in enumerate(zip(probs, labels, strict=True), 1):
        best = int(row.argmax())
        numbers = ",".join(f"{'*' * (k == best)}{p!r}" for k, p in enumerate(row.tolist()))
        actual, said = (f"{k + 1}:{names[k]}" for k in (label, best))
        lines.append(f"{n},{actual},{said},{'+' * int(label != best)},{numbers}")
    path.write_text("\n".join([*lines, ""]))
    found = read(path)
    assert found.classes == tuple(names)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(scores_of(found), probs, rtol=1e-12)
