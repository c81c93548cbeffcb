"""Places that a call writes to: no two of them are one, and none is that of a file it reads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from calcli.core.language.errors import UsageError
from calcli.io.places.paths import is_url, path_of

OUTPUTS = {
    "output": "-o",
    "html": "--html",
    "save_state": "--save-state",
    "cross_validated": "--cross-validated",
    "state": "--state",
}
TRUTH = "simulate", "posteriors"  # which is written there, and read by study
INPUTS = "file", "files"  # arguments, which need not be there to be meant
IN_PLACE = "merge", "files"  # what the state of the whole may replace
LAST_IN_PLACE = "apply", "files"  # what new scores may replace


def refuse_clashes(command: str, values: Mapping[str, Any]) -> None:
    """Refuse a call that would write two things to one place, or over a file that it reads.

    Parameters
    ----------
    command
        Its name.
    values
        Of all its parameters.

    Raises
    ------
    UsageError
        If it would.
    """
    written: dict[str, str] = {}
    for option, place in _outputs(command, values):
        where = os.path.realpath(place)
        if where in written:
            raise UsageError(f"{written[where]} and {option} are both {place}; choose two places")
        written[where] = option
    for name in values.keys() - OUTPUTS.keys() if written else ():
        given = [] if (command, name) in (TRUTH, IN_PLACE) else values[name]
        given = given[:-1] if (command, name) == LAST_IN_PLACE else given
        texts = [text for text in (given if isinstance(given, list) else [given]) if isinstance(text, str)]
        for text in map(_on_disk, texts):
            is_read = os.path.isfile(text) or (name in INPUTS and not os.path.exists(text))
            if is_read and (where := os.path.realpath(text)) in written:
                raise UsageError(
                    f"{written[where]} would replace {text}, which is read; choose another place"
                )


def _outputs(command: str, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield options with the files and folders that they name."""
    named = [(option, str(values.get(name) or "")) for name, option in OUTPUTS.items()]
    if command == TRUTH[0]:
        named.append(("--posteriors", values[TRUTH[1]] or ""))
    named += [("--write", text.partition("=")[2]) for text in values.get("write") or ()]
    for option, text in named:
        place = _on_disk(text)
        if place and place != "-" and "://" not in place and not _is_device(place):
            yield option, place


def _on_disk(text: str) -> str:
    """Return the path that a URL such as file://preds.csv stands for; others as they are."""
    return str(path_of(text)) if is_url(text) else text


def _is_device(place: str) -> bool:
    """Tell whether this is something that takes all that is sent to it."""
    return os.path.exists(place) and not (os.path.isfile(place) or os.path.isdir(place))
