"""What is reported of an evaluation, and what to call files."""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile

from calcli.core.evaluating.results import Evaluation, Summary
from calcli.report.findings import Verdict, Warning, verdict, warnings
from calcli.report.recalibration import Gain, recalibration_gains


class Result(Summary):
    """What is reported of one evaluation: what was found out, and what it says in words."""

    @cached_property
    def verdict(self) -> Verdict | None:
        """Whether the confidence keeps what it promises; None where nothing is known of it."""
        return verdict(self)

    @cached_property
    def warnings(self) -> tuple[Warning, ...]:
        """What stands in the way of trusting a number."""
        return tuple(warnings(self))

    @property
    def of_two(self) -> bool:
        """Whether there are two classes, the second of which is the one that is looked at."""
        return self.input.classes == 2 and not self.input.of_answers

    @cached_property
    def recalibration(self) -> tuple[Gain, ...]:
        """What recalibration would win, by each way that was tried."""
        one_class = not self.input.of_answers and sum(row.rows > 0 for row in self.per_class) == 1
        return recalibration_gains(
            self.estimates, self.input.classes, one_class=one_class, backwards=self.backwards_area is not None
        )

    @property
    def gain(self) -> Gain | None:
        """What recalibration would win on rows that it was not fitted to; None where nothing tells."""
        return next((gain for gain in self.recalibration if gain.on_unseen), None)


def summarize(evaluation: Evaluation) -> Result:
    """Return what is reported of an evaluation, without its rows."""
    return Result(**vars(evaluation.summary))


def short_names(paths: Sequence[str]) -> list[str]:
    """Return what tells files apart, for tables: `a/.../x.csv` and `b/.../x.csv`."""
    names = relative_names(paths)
    if any(os.path.abspath(path) == os.sep + name for path, name in zip(paths, names, strict=True)):
        names = list(paths)  # which share the root alone
    split = [path.split(os.sep) for path in names]
    ends = zip(*(reversed(parts[1:]) for parts in split), strict=False)
    shared = sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, ends))
    if shared > 2:
        split = [[*parts[:-shared], "...", parts[-1]] for parts in split]
    return ["standard input" if parts == ["-"] else os.sep.join(parts) for parts in split]


def relative_names(paths: Sequence[str]) -> list[str]:
    """Return paths from the folder that all of them share; `-` stays what it is."""
    whole = [path if path == "-" else os.path.abspath(path) for path in paths]
    shared = os.path.commonpath([os.path.dirname(path) for path in whole if path != "-"] or ["/"])
    return [path if path == "-" else os.path.relpath(path, shared) for path in whole]
