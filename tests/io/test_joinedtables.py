"""CSV parts of one data set read as one file with all their lines does."""

from __future__ import annotations

import pytest

from calcli.io.formats import spooled
from calcli.io.options import ReadOptions
from calcli.io.read import read, read_concat

HEAD = "label,prob_a,prob_b,group\n"
VALUES = {
    "words": (["NA", "NA", ""], ["x", "NA", ""]),
    "empty": (["", "", ""], ["x", "", "y"]),
    "null": (["null", "N/A", "NaN"], ["x", "y", "z"]),
    "numbers": (["NA", "NA", ""], ["1", "2", "NA"]),
    "both missing": (["NA", "NA", "NA"], ["NA", "", "NA"]),
}


def lines(values):
    """Return lines of scores with these values beside them."""
    return "".join(f"a,0.25,0.75,{value}\n" for value in values)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("turned", [False, True])
def test_words_for_what_is_missing_read_as_in_one_file(tmp_path, kind, turned):
    parts = VALUES[kind][:: -1 if turned else 1]
    for n, values in enumerate(parts):
        folder = tmp_path / "parts" / f"day={n}"  # partitions are columns besides
        folder.mkdir(parents=True)
        (folder / "part.csv").write_text(HEAD + lines(values))
    (tmp_path / "whole.csv").write_text(HEAD + "".join(map(lines, parts)))
    options = ReadOptions(concat=True)
    found, whole = read(tmp_path / "parts", options), read(tmp_path / "whole.csv")
    assert list(map(str, found.columns["group"])) == list(map(str, whole.columns["group"]))
    assert found.columns["day"].tolist() == ["0"] * 3 + ["1"] * 3


def test_so_do_parts_of_one_large_file(tmp_path, monkeypatch):
    values = ["NA"] * 300 + ["x", "", "NA"]
    (tmp_path / "whole.csv").write_text(HEAD + lines(values))
    monkeypatch.setattr(spooled, "PART_BYTES", 1000)
    assert read(tmp_path / "whole.csv").columns["group"].tolist() == values
    (tmp_path / "head.csv").write_text(HEAD + lines(values[:300]))
    (tmp_path / "tail.csv").write_text(HEAD + lines(values[300:]))
    joined = read_concat([tmp_path / "head.csv", tmp_path / "tail.csv"], ReadOptions(concat=True))
    assert joined.columns["group"].tolist() == values


def test_numbers_in_one_part_and_text_in_another_are_text(tmp_path):
    (tmp_path / "head.csv").write_text(HEAD + lines(["NA", "1"]))
    (tmp_path / "tail.csv").write_text(HEAD + lines(["x", "NA"]))
    joined = read_concat([tmp_path / "head.csv", tmp_path / "tail.csv"], ReadOptions(concat=True))
    assert joined.columns["group"].tolist() == ["NA", "1", "x", "NA"]
