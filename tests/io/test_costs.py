"""Costs and priors from words and files."""

from __future__ import annotations

import pytest

from calcli.core.data.derived import Priors
from calcli.core.estimators.costs import CostTable, CostWord
from calcli.core.language.errors import InputError, UsageError
from calcli.io.saved.settings import read_costs, read_priors

TABLES = {
    "vet.csv": "\ufeff,cat,dog,escalate\ncat,0,1,0.2\ndog, 5 ,0,0.2\n",
    "vet.json": '{"cat": {"cat": 0, "dog": 1, "escalate": 0.2}, '
    '"dog": {"escalate": 0.2, "cat": 5, "dog": 0}}',
    "vet.toml": "cat = {cat = 0, dog = 1, escalate = 0.2}\n[dog]\ncat = 5\ndog = 0\nescalate = 0.2\n",
}
PRIORS = {
    "p.csv": "class,prior\ncat,0.9\ndog,0.1\n",
    "plain.csv": "cat,0.9\ndog,0.1\n",
    "p.json": '{"cat": 0.9, "dog": 0.1}',
    "p.toml": "cat = 0.9\ndog = 0.1\n",
}


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", TABLES)
def test_tables_in_every_format(name, tmp_path):
    (found,) = read_costs((write(tmp_path, name, TABLES[name]),))
    costs = ((0.0, 1.0, 0.2), (5.0, 0.0, 0.2))
    assert found == CostTable("vet", ("cat", "dog"), ("cat", "dog", "escalate"), costs)


def test_words_and_tables_together(tmp_path):
    path = write(tmp_path, "vet.csv", TABLES["vet.csv"])
    words = ("zero-one", "abstain:0.1", "imbalanced:dog:3", path, "abstain:0.2")
    assert [one.name for one in read_costs(words)] == [
        "zero-one",
        "abstain-0.1",
        "imbalanced",
        "vet",
        "abstain-0.2",
    ]
    assert read_costs(words)[2] == CostWord("imbalanced", "imbalanced", 3.0, "dog")


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("a.csv", "", "a.csv is empty; expected a line of decisions"),
        ("a.csv", ",x,x\ncat,1,2\n", "a decision is named twice"),
        ("a.csv", ",x,y\ncat,1\n", "line 2 has 1 costs for 2 decisions"),
        ("a.csv", ",x\ncat,1\ncat,2\n", "class 'cat' has two rows"),
        ("a.csv", ",x\ncat,much\n", "cat / x is 'much'; expected a finite number"),
        ("a.csv", ",x\ncat,inf\n", "cat / x is 'inf'; expected a finite number"),
        ("a.csv", ",x\n", "a.csv has no costs; expected a row for each class"),
        ("a.json", "{", "a.json is not valid JSON"),
        ("a.json", "[1]", "a.json holds a list; expected an object with a key"),
        ("a.json", '{"cat": 1}', "class 'cat' has no costs by decision"),
        ("a.json", '{"cat": {"x": true}}', "cat / x is True; expected a finite number"),
        (
            "a.json",
            '{"cat": {"x": 1}, "dog": {"y": 1}}',
            "only one of the classes 'cat' and 'dog' has a cost",
        ),
        ("a.toml", "cat = ", "a.toml is not valid TOML"),
    ],
)
def test_damaged_tables(name, text, match, tmp_path):
    with pytest.raises(InputError, match=match):
        read_costs((write(tmp_path, name, text),))


def test_what_is_neither_word_nor_file():
    with pytest.raises(
        UsageError, match=r"'nonsense' is not a list of costs; expected zero-one, balanced, .*\.csv"
    ):
        read_costs(("nonsense",))


@pytest.mark.parametrize("name", PRIORS)
def test_priors_in_every_format(name, tmp_path):
    assert read_priors(write(tmp_path, name, PRIORS[name])) == Priors((0.9, 0.1), ("cat", "dog"))


def test_priors_in_words_and_numbers():
    assert read_priors("uniform") == Priors()
    assert read_priors("0.9, 0.1") == Priors((0.9, 0.1))
    with pytest.raises(
        UsageError, match=r"'half' is not a list of priors; expected uniform, numbers such as 0.9,0.1"
    ):
        read_priors("half")


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("p.csv", "cat,0.5,x\n", "expected a line for each class: its name and its prior"),
        ("p.json", '{"cat": "most"}', "cat is 'most'; expected a finite number"),
    ],
)
def test_damaged_priors(name, text, match, tmp_path):
    with pytest.raises(InputError, match=match):
        read_priors(write(tmp_path, name, text))
