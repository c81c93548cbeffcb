"""What the study of recalibration found: `auto` against every other contestant, for guide and tables."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from scipy.stats import t

from calcli.core.estimators.calibrationerror import holm
from tests.benchmarks.keeping import between, table
from tests.benchmarks.recalibrators import AS_THEY_ARE, AUTO, CONTESTANTS

LIBRARIES = ("probmetrics", "netcal", "betacal", "psrcal", "scikit-learn")
LISTED = 12  # methods in the guide
NOMINAL = 2.0  # standard errors from which an excess is listed
ALPHA = 0.05
NOT_FOR_IT = "NotImplementedError"  # of a method for two classes, where there are more

Found = Mapping[str, Any]


@dataclass(frozen=True)
class Excess:
    """By how much the log-loss of `auto` is above that of another contestant on a set.

    Attributes
    ----------
    data, other
        The set and the contestant.
    mean
        Over the halves.
    error
        Its standard error, corrected for the rows that halves share (Nadeau & Bengio 2003).
    halves
        How many.
    """

    data: str
    other: str
    mean: float
    error: float
    halves: int

    @property
    def p_value(self) -> float:
        """Of the hypothesis that `auto` is no worse, by Student's t."""
        if self.error == 0:
            return float(self.mean <= 0)
        return float(t.sf(self.mean / self.error, self.halves - 1))

    @property
    def is_nominal(self) -> bool:
        """Whether it is more than two standard errors."""
        return self.mean > NOMINAL * self.error

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f}"


def excess(data: str, other: str, losses: Sequence[float], others: Sequence[float]) -> Excess:
    """Compare losses of `auto` with those of another on the same halves."""
    apart = np.subtract(losses, others)
    count = len(apart)
    # as many rows are judged on as were fitted to: the variance counts 1 / count + 1 times
    return Excess(data, other, float(apart.mean()), math.sqrt((1 / count + 1) * apart.var(ddof=1)), count)


def is_peer(name: str) -> bool:
    """Tell whether a contestant is another library's."""
    return name.startswith(LIBRARIES)


def losses(entry: Found, name: str) -> list[float] | None:
    """Return the losses of a contestant on a set; None where it has none."""
    return entry["contestants"].get(name, {}).get("losses")


def complete(sets: Mapping[str, Found]) -> dict[str, Found]:
    """Return the sets on which `auto` was judged, and some other library."""
    return {
        name: entry
        for name, entry in sets.items()
        if losses(entry, AUTO)
        and any(is_peer(other) and losses(entry, other) for other in entry["contestants"])
    }


def contestants(sets: Mapping[str, Found]) -> list[str]:
    """Return all contestants but `auto`, in the order in which they were first tried."""
    return [
        name
        for name in dict.fromkeys(n for entry in sets.values() for n in entry["contestants"])
        if name != AUTO
    ]


def excesses(sets: Mapping[str, Found], names: Sequence[str]) -> list[Excess]:
    """Return the excess of `auto` over each of the contestants on each set."""
    return [
        excess(data, name, entry["contestants"][AUTO]["losses"], others)
        for data, entry in complete(sets).items()
        for name in names
        if (others := losses(entry, name))
    ]


def beyond_chance(found: Sequence[Excess]) -> list[Excess]:
    """Return those that exceed chance, all at once (Holm, at 5%)."""
    adjusted = holm([one.p_value for one in found])
    return [one for one, p in zip(found, adjusted.tolist(), strict=True) if p <= ALPHA]


def average(found: Sequence[Excess]) -> tuple[float, float]:
    """Return the mean over sets, and its standard error from their spread."""
    means = np.array([one.mean for one in found])
    return float(means.mean()), float(means.std(ddof=1) / math.sqrt(len(means))) if len(means) > 1 else 0.0


def _by_contestant(sets: Mapping[str, Found], names: Sequence[str], most: int | None = None) -> Iterator[str]:
    """Yield the table of contestants, the best first; with a number, as many of those tried on all sets."""
    rows = []
    for name in names:
        if not (own := excesses(sets, [name])) or (most and len(own) < len(complete(sets))):
            continue
        mean, error = average(own)
        worst = max(own, key=lambda one: one.mean)
        fits, applications = (median(values) for values in zip(*_seconds(sets, name), strict=True))
        cells = [len(own), f"{mean:+.4f} ± {error:.4f}", f"{worst.mean:+.4f} ({worst.data})"]
        cells += [sum(one.is_nominal for one in own), f"{fits:.3f}", f"{1000 * applications:.1f}"]
        rows.append((mean, [f"`{name}`", *cells]))
    rows.sort(key=lambda row: -row[0])
    heads = ["method", "sets", "auto minus method, mean", "largest", "beyond 2 se", "fit, s", "apply, ms"]
    yield from table(heads, [row for _, row in rows[:most]])
    yield ""


def _seconds(sets: Mapping[str, Found], name: str) -> list[tuple[float, float]]:
    own = [entry["contestants"][name] for entry in sets.values() if losses(entry, name)]
    return [(one["fit"], one["apply"]) for one in own]


def _by_set(sets: Mapping[str, Found]) -> Iterator[str]:
    rows = []
    for data, entry in sorted(complete(sets).items(), key=lambda item: (item[1]["kind"], item[0])):
        peers = [name for name in entry["contestants"] if is_peer(name)]
        best = max(excesses({data: entry}, peers), key=lambda one: one.mean)
        before, after = (f"{np.mean(losses(entry, name)):.4f}" for name in (AS_THEY_ARE, AUTO))
        size = [f"{entry['rows']:,}", entry["classes"]]
        seconds = f"{entry['contestants'][AUTO]['fit']:.1f}"
        rows.append([data, entry["kind"], *size, before, after, f"`{best.other}`", best, seconds])
    heads = [
        "set",
        "kind",
        "rows",
        "K",
        "uncalibrated",
        "auto",
        "best other",
        "auto minus other",
        "fit of auto, s",
    ]
    yield from table(heads, rows)
    yield ""


def _faults(sets: Mapping[str, Found]) -> Iterator[str]:
    """Yield sentences on what could not be tried."""
    faults: dict[str, set[str]] = {}
    for entry in sets.values():
        for name, own in entry["contestants"].items():
            if "fault" in own and not own["fault"].startswith(NOT_FOR_IT):
                faults.setdefault(name, set()).add(re.sub(r"\(\d+, \d+\)", "(N, K)", own["fault"]))
    tried = {name for name in contestants(sets) if excesses(sets, [name])}
    for name, why in faults.items():
        where = "on some sets" if name in tried else "on any set"
        yield f"- `{name}`, {where}: {'; '.join(sorted(why))}"


def page(found: Found) -> str:
    """Return what the guide says."""
    sets = found["sets"]
    names = contestants(sets)
    peers = _peers(sets)
    against = excesses(sets, peers)
    beyond = beyond_chance(against)
    nominal = sorted((one for one in against if one.is_nominal), key=lambda one: -one.mean / one.error)
    better = ", ".join(_ahead(sets, peers)) or "none"
    dates = sorted(entry["date"] for entry in complete(sets).values())
    versions = ", ".join(f"{package} {number}" for package, number in found["versions"].items())
    others = f"{len(peers)} methods of other libraries ({versions})"
    worse = f"`auto` is worse beyond chance (Holm, 5%) in {len(beyond)}"
    pairs = "; ".join(f"{one.data}, `{one.other}`: {one}" for one in beyond)
    judged = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    lines = [
        f"{len(complete(sets))} sets, {others}; {judged}.",
        "",
        f"- Methods of others that are better than `auto` on average over their sets: {better}.",
        f"- Of {len(against)} pairs of set and such a method, {worse}{': ' * bool(pairs)}{pairs}.",
        f"- Worse by more than two standard errors, as chance makes some, in {len(nominal)}"
        f"{': ' * bool(nominal)}{'; '.join(f'{one.data}, `{one.other}`: {one}' for one in nominal)}.",
        "",
        f"The {LISTED} best of the methods tried on all sets:",
        "",
        *_by_contestant(sets, names, LISTED),
    ]
    return "\n".join(lines)


def tables(found: Found) -> str:
    """Return the tables of all sets and contestants."""
    sets = found["sets"]
    names = contestants(sets)
    lines = [
        "# Recalibration: every method on every set",
        "",
        "Written by `python -m tests.benchmarks.recalibration --page`; the page of the guide says how it was "
        "measured.",
        "",
        "## By set",
        "",
        *_by_set(sets),
        "## Methods of other libraries",
        "",
        *_by_contestant(sets, _peers(sets)),
        "## Methods of calcli",
        "",
        *_by_contestant(sets, [name for name in names if not is_peer(name)]),
    ]
    if faults := list(_faults(sets)):
        lines += ["## What failed", "", *faults, ""]
    if untried := [name for name in CONTESTANTS if name not in (AUTO, *names)]:
        lines += [f"Not tried: {', '.join(f'`{name}`' for name in untried)}.", ""]
    return "\n".join(lines)


def _peers(sets: Mapping[str, Found]) -> list[str]:
    return [name for name in contestants(sets) if is_peer(name) and excesses(sets, [name])]


def _ahead(sets: Mapping[str, Found], names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if own := excesses(sets, [name]):
            mean, error = average(own)
            if mean > 0:
                yield f"`{name}` ({mean:+.4f} ± {error:.4f} on {len(own)} sets)"


def refreshed(text: str, found: Found) -> str:
    """Return the page of the guide with what was found written anew."""
    return between(text, "study", page(found))
