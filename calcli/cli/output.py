"""Standard output and standard error."""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from typing import TextIO

from calcli.core.language.errors import InputError
from calcli.core.language.text import plain

ESCAPE = "calcli.escape"  # a way to encode
STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}


def open_streams() -> None:
    """Make the standard streams safe to use, even if closed or unable to encode all letters.

    A closed stream would become the next opened file. Standard output then cannot be written to, and the
    user is informed; letters missing in an encoding become escapes as in JSON.
    """
    codecs.register_error(ESCAPE, _escapes)
    for number, (name, mode) in enumerate(STREAMS.items()):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)  # the lowest number is free
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
        if number and isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors=ESCAPE)


def _escapes(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def emit(text: str) -> None:
    """Write results to standard output; a reader that has seen enough, such as `head`, is not an error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
    except OSError as error:
        silence()
        raise InputError(f"standard output cannot be written: {error.strerror}") from error


def silence(stream: TextIO | None = None) -> None:
    """Stop writing to a stream that nobody reads, by default standard output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


def remark(text: str) -> None:
    """Tell the user something besides the results; if that fails, the exit status stays the same."""
    try:
        print("calcli: " + "\n  ".join(map(plain, text.split("\n  "))), file=sys.stderr, flush=True)
    except OSError:  # nobody reads on, or a full disk
        silence(sys.stderr)


def colored() -> bool:
    """Return whether standard output may be colored: on a terminal, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
