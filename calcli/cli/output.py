"""What goes to standard output and standard error."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from calcli.core.language.errors import InputError


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
    """Let nothing more be written to a stream that nobody reads, standard output unless told otherwise."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


def remark(text: str) -> None:
    """Tell the user something beside the results; the exit status stays what it is if nobody reads on."""
    try:
        print(f"calcli: {text}", file=sys.stderr, flush=True)
    except BrokenPipeError:
        silence(sys.stderr)


def colored(no_color: bool) -> bool:
    """Return whether standard output is to be emphasized: on a terminal, unless told otherwise."""
    return sys.stdout.isatty() and not no_color and not os.environ.get("NO_COLOR")
