"""Sentences about options, said of the arguments that they are in Python."""

from __future__ import annotations

import functools
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from calcli.core.language.declaring import declared
from calcli.core.language.errors import CalcliError
from calcli.core.language.figures import ViewSettings
from calcli.core.language.settings import FitSettings, PairSettings, Settings, ThresholdSettings

F = TypeVar("F", bound=Callable[..., Any])

_OWNERS = (ViewSettings, FitSettings, PairSettings, ThresholdSettings, Settings)
_SETTINGS = {s.option: s for owner in _OWNERS for s in declared(owner).values()}
KEYWORDS = {option: setting.keyword for option, setting in _SETTINGS.items()} | {"--margin": "margins"}
FLAGS = {option for option, setting in _SETTINGS.items() if setting.values.type is bool} | {
    "--concat",
    "--drop-missing",
    "--per-character",
    "--renormalize",
}
PAIRED = {"--paired": "paired=True", "--unpaired": "paired=False"}
SHORT = {"-m": "--method"}
RAW = ("--input raw", "raw=True")  # in fits
VERBS = re.compile(  # what follows an option that has no value beside it
    "adds|and|are|asks|be|both|changes?|chooses?|compare|depends|divides|do(es)?|draws|for|goes|has|if|in|is|it|"
    "keeps|leaves|left|makes|may|moves|names?|needs|of|on|only|or|reads|says|shows|that|to|takes|trains|weights|"
    "which|with|would|writes"
)
COMMAND = re.compile(r"calcli \w+ (?:'[^']*'|[^\s;]+) (?=--)")
OPTION = re.compile(r"""(?<![\w-])(?P<option>--[a-z][a-z0-9-]*|-m)
    (?:(?P<joint>[ =])(?P<value>'[^']*'|"[^"]*"|[^\s;()'"]+))?""", re.VERBOSE)  # fmt: skip
PLAIN = re.compile(r"""-?[\d.]+|[A-Z][A-Z_|]*|'.*'|".*\"""", re.VERBOSE)


def of_python(function: F) -> F:
    """Let the errors of a function speak of arguments, as its callers write them."""

    @functools.wraps(function)
    def called(*given: Any, **settings: Any) -> Any:
        try:
            return function(*given, **settings)
        except CalcliError as fault:
            fault.args = (in_arguments(str(fault)),)
            raise

    return called  # type: ignore[return-value]


def tell(sentence: str) -> None:
    """Warn whoever called from Python of what a sentence says of options."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("calcli."):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(in_arguments(sentence), stacklevel=depth)


def in_arguments(sentence: str) -> str:
    """Return a sentence that says `cluster="patient"` for `--cluster patient`."""
    return OPTION.sub(_argument, COMMAND.sub("", sentence).replace(*RAW))


def _argument(found: re.Match[str]) -> str:
    option = SHORT.get(found["option"], found["option"])
    value, end = found["value"] or "", ""
    while value and value[-1] in ",:.":
        value, end = value[:-1], value[-1] + end
    if option in PAIRED:
        return PAIRED[option] + (found["joint"] or "") + value + end
    name = KEYWORDS.get(option, option[2:].replace("-", "_"))
    if option in FLAGS:
        return f"{name}=True{found['joint'] or ''}{value}{end}"
    if not value or (found["joint"] == " " and VERBS.fullmatch(value)):
        return f"{name}={found['joint'] or ''}{value}{end}"
    shown = value if PLAIN.fullmatch(value) else f'"{value}"'
    return f"{name}={shown}{end}"
