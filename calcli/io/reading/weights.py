"""What each piece of evidence is worth, and what is said of it: the tables of `evidence.toml`."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any, NamedTuple


class Weight(NamedTuple):
    """What a piece of evidence is worth.

    Attributes
    ----------
    worth
        Log-odds for the reading; at most so much, in either direction, where the evidence has degrees.
    meaning
        What is seen, in words.
    option
        The options that settle it: with one of them it speaks no more against a reading.
    about
        "label" or "scores", if it is what the name of one says; else "".
    """

    worth: float
    meaning: str
    option: str = ""
    about: str = ""


class Doubt(NamedTuple):
    """What the user should know of a reading.

    Attributes
    ----------
    said
        A sentence.
    option
        Options that end it.
    asks
        Whether nothing is read before one of them is given.
    offers
        What may be said; none if it is that the reading is meant.
    """

    said: str
    option: str = ""
    asks: bool = False
    offers: tuple[dict[str, Any], ...] = ()


_TABLES = tomllib.loads(files("calcli.io.reading").joinpath("evidence.toml").read_text("utf-8"))
WEIGHTS = {name: Weight(*said) for name, said in _TABLES["weights"].items()}
DOUBTS = {name: Doubt(*said) for name, said in _TABLES["doubts"].items()}
QUESTIONS: dict[str, str] = _TABLES["questions"]
MARGIN = 3.0  # a lead over all readings with other numbers that needs no remark
REMARK = 1.0  # a lead that is read with a remark; less is asked
