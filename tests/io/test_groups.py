"""Groups of classes, bin edges and weights of thresholds, from options and files."""

from __future__ import annotations

import pytest

from calcli.core.language.errors import CalcliError
from calcli.io.saved.settings import read_class_groups, read_weights

KINDS = {"cat": "pet", "dog": "pet", "cow": "farm"}


def test_groups_in_the_option():
    found = read_class_groups(("a=cat + dog,cow", "b=cat,dog,cow"))
    assert found["a"] == {"cat": "cat + dog", "dog": "cat + dog", "cow": "cow"}
    assert len(set(found["b"].values())) == 3


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("k.csv", "class,group\ncat,pet\ndog, pet\n\ncow,farm\n"),
        ("k.csv", "cat,pet\ndog,pet\ncow,farm\n"),
        ("k.json", '{"cat": "pet", "dog": "pet", "cow": "farm"}'),
        ("k.toml", 'cat = "pet"\ndog = "pet"\ncow = "farm"\n'),
    ],
)
def test_groups_in_files(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_class_groups((f"kind={tmp_path / name}",)) == {"kind": KINDS}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["cat+dog,cow"], "expected a name and what it stands for, as in size=cat"),
        (["a="], "expected a name"),
        (["2=cat,dog"], "expected a name"),
        (["top-1=cat,dog"], "top-1 has a meaning of its own"),
        (["class-wise=cat,dog"], "class-wise has a meaning of its own"),
        (["a=cat,dog", "a=cat+dog"], "a has been given before"),
        (["a=cat+dog,cow+cat"], "class 'cat' is there twice"),
    ],
)
def test_wrong_groups(texts, message):
    with pytest.raises(CalcliError, match=message):
        read_class_groups(tuple(texts))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("k.csv", "cat,pet\ndog,pet\ncat,farm\n", "class 'cat' is there twice"),
        ("k.csv", "cat,pet,1\n", "expected a line for each class"),
        ("k.csv", "\n", "is empty"),
        ("k.json", '{"pet": ["cat", "dog"]}', r"group of class 'pet' is \['cat', 'dog'\]; expected text"),
        ("k.json", '["cat"]', "holds a list"),
        ("k.toml", "cat: pet", "is not valid TOML"),
    ],
)
def test_damaged_files(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(CalcliError, match=message) as fault:
        read_class_groups((f"kind={tmp_path / name}",))
    assert str(tmp_path / name) in str(fault.value)


@pytest.mark.parametrize("head", ["threshold,weight\n", ""])
def test_weights_of_thresholds(tmp_path, head):
    (tmp_path / "w.csv").write_text(f"{head}0,0\n0.5, 2\n1,0\n")
    assert read_weights((f"mine={tmp_path / 'w.csv'}",)) == {"mine": ((0, 0), (0.5, 2), (1, 0))}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1\n0.5\n", r"w.csv: entry 2 is \['0.5'\]; expected two columns"),
        ("0,1\n0.5,x\n", r"entry 2 is \['0.5', 'x'\]"),
        ("0,1\n1.5,1\n", r"entry 2 is \['1.5', '1'\]; expected"),
        ("0,1\n1,-1\n", r"entry 2 is \['1', '-1'\]; expected"),
        ("0,nan\n1,1\n", r"entry 1 is \['0', 'nan'\]; expected"),
        ("0.5,1\n0.5,1\n", "behind 0.5; expected"),
        ("0,0\n1,0\n", "weighs nothing"),
        ("0,1\n", "weighs nothing"),
        ("\n", "is empty"),
    ],
)
def test_wrong_weights_of_thresholds(tmp_path, text, message):
    (tmp_path / "w.csv").write_text(text)
    with pytest.raises(CalcliError, match=message):
        read_weights((f"mine={tmp_path / 'w.csv'}",))


@pytest.mark.parametrize(
    ("text", "message"),
    [("uniform=w.csv", "uniform has a meaning of its own"), ("mine=0,1", "expected a CSV file, as in mine=")],
)
def test_weights_are_named_and_in_a_file(text, message):
    with pytest.raises(CalcliError, match=message):
        read_weights((text,))
