"""Sound calibrators, states, reports and policies, made by calcli for cases to take and to hurt."""

from __future__ import annotations

import os
from pathlib import Path

from calcli.core.language.methods import METHODS
from tests.forked import call
from tests.hostile.drawing import Draw

FITTED = tuple(name for name, method in METHODS.items() if method.family != "wrapper")
KEPT = ("log_loss,ece,auroc", "brier,cw_ece,ks", "accuracy,ece:lens=class-wise")


class Store:
    """A folder that a hunt shares; what is missing there is made once, in a fork."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def calibrator(self, method: str, classes: int, ending: str) -> bytes:
        """Return the file of a fit to 60 rows; ending is .json or .npz."""
        name = f"{method}_{classes}{ending}"
        return self._made(name, classes, ["fit", "FILE", "-m", method, "--folds", "0", "-q", "-o", name])

    def state(self, metrics: str, classes: int) -> bytes:
        """Return the state of an evaluation of 60 rows."""
        name = f"{metrics}_{classes}.calcli".replace(":", "-")
        return self._made(
            name, classes, ["evaluate", "FILE", "--metrics", metrics, "-q", "--save-state", name]
        )

    def policy(self, classes: int) -> bytes:
        """Return the policy that 60 rows pass."""
        return self._made(
            f"policy_{classes}.toml", classes, ["check", "--init", "FILE", "-p", f"policy_{classes}.toml"]
        )

    def report(self, classes: int) -> bytes:
        """Return the report of 60 rows, in JSON."""
        folder = f"report_{classes}"
        return self._made(f"{folder}/report.json", classes, ["evaluate", "FILE", "-q", "-o", folder])

    def _made(self, name: str, classes: int, arguments: list[str]) -> bytes:
        path = self.folder / name
        if not path.exists():
            own = self.folder / f"by_{os.getpid()}"
            own.mkdir(exist_ok=True)
            (own / f"{classes}.csv").write_text(sound(classes))
            texts = [f"{classes}.csv" if text == "FILE" else text for text in arguments]
            by_calcli(own, texts)
            path.parent.mkdir(exist_ok=True)
            (own / name).replace(path)
        return path.read_bytes()


def by_calcli(folder: Path, arguments: list[str]) -> None:
    """Call calcli in a folder, in a fork without streams; what it made is there if it made it."""
    if (child := os.fork()) == 0:
        for number in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        os._exit(call(arguments, str(folder), {"HOME": str(folder), "MPLCONFIGDIR": str(folder)}))
    os.waitpid(child, 0)


def sound(classes: int) -> str:
    """Return 60 rows of predictions as CSV, the same each time."""
    draw = Draw(f"sound {classes}")
    lines = ["label,country," + ",".join(f"prob_{n}" for n in range(classes))]
    for n, row in enumerate(draw.arrays.dirichlet([1.0] * classes, size=60)):
        label = row.argmax() if draw.chance(0.7) else draw.randrange(classes)
        lines.append(f"{label},{('DE', 'FR')[n % 2]}," + ",".join(map(repr, row.tolist())))
    return "\n".join(lines) + "\n"
