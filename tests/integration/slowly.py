"""Work that lasts long enough to be disturbed; workers import this."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from calcli.io.read import Piece
from calcli.work.distributed import made_of

PAUSE = 0.2  # seconds


def slowly(part: Piece, **how) -> bytes:
    """Do the work after a pause."""
    time.sleep(PAUSE)
    return made_of(part, **how)


def deadly(part: Piece, **how) -> bytes:
    """Let one part kill every process that works on it."""
    if Path(part.path).stem.endswith("3"):
        os.kill(os.getpid(), signal.SIGKILL)
    return made_of(part, **how)
