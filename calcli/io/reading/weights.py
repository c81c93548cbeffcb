"""What each piece of evidence is worth, and its wording: the tables of `evidence.toml`."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any, NamedTuple


class Weight(NamedTuple):
    """What a piece of evidence is worth.

    Attributes
    ----------
    worth
        Log-odds for the reading; the largest absolute value if the evidence has degrees.
    meaning
        The observation, in words.
    option
        The options that settle it: if one is given, the evidence no longer counts against a reading.
    about
        "label" or "scores" if the evidence comes from the name of the label or the scores, else "".
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
        The doubt, as a sentence.
    option
        The options that resolve it.
    asks
        Whether one of these options must be given before the data are read.
    offers
        The options to offer; empty to offer the options of the reading.
    """

    said: str
    option: str = ""
    asks: bool = False
    offers: tuple[dict[str, Any], ...] = ()


_TABLES = tomllib.loads(files("calcli.io.reading").joinpath("evidence.toml").read_text("utf-8"))
WEIGHTS = {name: Weight(*fields) for name, fields in _TABLES["weights"].items()}
DOUBTS = {name: Doubt(*fields) for name, fields in _TABLES["doubts"].items()}
QUESTIONS: dict[str, str] = _TABLES["questions"]
ORDERS: dict[str, str] = _TABLES["orders"]
SETTLES: dict[str, str] = _TABLES["settles"]
MARGIN = 3.0  # with this lead over all readings with other numbers, no remark is needed
REMARK = 1.0  # with this lead, the data are read with a remark; with less, the user is asked
