"""How often comparisons are right: few discordant questions, many systems, headlines, and equivalence.

What few discordant questions tell is summed over all outcomes, without chance; systems are drawn. Results
stand in `comparisons.json` beside this file; `python -m tests.benchmarks.comparisons` makes those that are
missing, `--page` writes the tables of the guide.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import multinomial, norm

from calcli.core.comparing.comparison import Plan, compare
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.estimators.evidence import FEW_DISCORDANT, ExactShares, Studentized
from calcli.core.estimators.intervals import Influences, Interval
from calcli.core.language.settings import Settings
from tests.benchmarks.keeping import GUIDE, Kept, between, table

RESULTS = Path(__file__).with_suffix(".json")
PAGE = GUIDE / "statistics.md"
QUESTIONS, DISCORDANT, WON = (30, 60, 200), (0.03, 0.1, 0.3), (0.5, 0.75)
SYSTEMS = {2: 400, 5: 400, 10: 400, 20: 400, 40: 200}  # by number of systems, how many data sets
ROWS, NOISE, MORE_NOISE = 400, 0.8, 1.3  # of the log-odds, whose own standard deviation is 1.5
MARGIN = 0.05
LEAST = 1e-7  # probability of an outcome that counts


@cache
def judged(gained: int, lost: int, questions: int) -> tuple[Interval, float, Interval]:
    """Return the interval, p, and the interval at 90% of so many discordant questions."""
    if gained + lost < FEW_DISCORDANT:
        exact = ExactShares(gained, questions, lost, questions, 0.5, paired=True)
        ends, inner = exact.interval(0.95), exact.interval(0.9)
        assert ends is not None
        assert inner is not None
        return ends, exact.p_value(), inner
    each = np.repeat([1.0, -1.0, 0.0], [gained, lost, questions - gained - lost])
    own = Influences(float(each.mean()), (each - each.mean()) / questions, questions)
    found = Studentized(Influences(0.0, np.zeros(questions), questions), own, paired=True)
    return found.difference.spread.interval(0.95), found.p_value(), found.difference.spread.interval(0.9)


def tango(gained: int, lost: int, questions: int) -> float:
    """Return the width of the score interval (Tango 1998)."""

    def score(d: float) -> float:
        a, b, c = 2 * questions, (2 * questions - gained + lost) * d - gained - lost, -lost * d * (1 - d)
        q = (np.sqrt(max(b * b - 4 * a * c, 0)) - b) / (2 * a)
        spread = np.sqrt(max(questions * (2 * q + d * (1 - d)), 1e-30))
        return float((gained - lost - questions * d) / spread)

    z, value, near = norm.ppf(0.975), (gained - lost) / questions, 1 - 1e-9
    low = brentq(lambda d: score(d) - z, -near, value) if score(-near) > z and value > -near else -1.0
    high = brentq(lambda d: score(d) + z, value, near) if score(near) < -z and value < near else 1.0
    return float(high - low)


def discordant(questions: int, share: float, won: float) -> dict[str, float]:
    """Return how often the interval misses and p is at most 5%, the widths, and how often both are equal."""
    truth, found = (
        share * (2 * won - 1),
        dict.fromkeys(("missed", "told", "width", "tango", "95", "tost"), 0.0),
    )
    for gained in range(questions + 1):
        lost = np.arange(questions - gained + 1)
        counts = np.stack([np.full(len(lost), gained), lost, questions - gained - lost], axis=1)
        chances = multinomial.pmf(counts, questions, (share * won, share * (1 - won), 1 - share))
        for number, chance in zip(lost.tolist(), chances.tolist(), strict=True):
            if chance > LEAST:
                ends, p, inner = judged(gained, number, questions)
                found["missed"] += chance * (not ends.contains(truth))
                found["told"] += chance * (p <= 0.05)
                found["width"] += chance * (ends.high - ends.low)
                found["tango"] += chance * tango(gained, number, questions)
                for name, one in (("95", ends), ("tost", inner)):
                    found[name] += chance * (one.low >= -MARGIN and one.high <= MARGIN)
    return found


def drawn(number: int, better: int, rng: np.random.Generator) -> list[Predictions]:
    """Return systems that see the truth with noise, as many as asked for with less noise than the others."""
    true = rng.normal(0, 1.5, ROWS)
    labels = (rng.random(ROWS) < expit(true)).astype(np.int32)
    noise = np.where(np.arange(number) < better, NOISE, MORE_NOISE)
    seen = [true + one * rng.normal(size=ROWS) for one in noise]
    return [Predictions(ArrayScores(np.stack([0 * z, z], 1), "logits"), labels, ("no", "yes")) for z in seen]


def ranked(number: int, sets: int) -> dict[str, Any]:
    """Return the sets with a false verdict among equal systems, and the worse ones found, of half of them."""
    rng, asked = np.random.default_rng(number), Settings(("log_loss", "brier"), draws=0)
    found = dict.fromkeys(
        ("worse than best", "against first", "uncorrected", "power", "power, uncorrected"), 0.0
    )
    for _ in range(sets):
        (one,) = compare(drawn(number, number, rng), asked, Plan())
        best = [ranked.to_best for ranked in one.ranking if ranked.to_best]
        found["worse than best"] += any(each.verdict == "worse" for each in best)
        found["uncorrected"] += any(each.p_value <= 0.05 for each in best)
        found["against first"] += any(d["brier"].verdict in ("better", "worse") for d in one.differences)
        (one,) = compare(drawn(number, number // 2, rng), asked, Plan())
        apart = [ranked.to_best for ranked in one.ranking if ranked.to_best and ranked.system >= number // 2]
        found["power"] += sum(each.verdict == "worse" for each in apart) / (number - number // 2)
        found["power, uncorrected"] += sum(each.p_value <= 0.05 for each in apart) / (number - number // 2)
    return {"sets": sets, **{name: count / sets for name, count in found.items()}}


def headlines(sets: int) -> dict[str, Any]:
    """Return how often something is proven of two equal systems by the usual metrics."""
    rng, said, alone, single = np.random.default_rng(0), 0, 0, 0
    for _ in range(sets):
        (one,) = compare(drawn(2, 2, rng), Settings(draws=0), Plan())
        every = one.differences[0]
        first = every["log_loss"].verdict in ("better", "worse")
        single += first
        said += first or any(each.p_over_metrics <= 0.05 for each in every.values())
        alone += any(each.p_value <= 0.05 for each in every.values())
    return {"sets": sets, "said": said / sets, "log_loss": single / sets, "any": alone / sets}


def page(found: dict[str, Any]) -> str:
    """Return the tables of the guide."""

    def percent(share: float) -> str:
        return f"{share:.1%}"

    def few() -> Iterator[list[str]]:
        for name, one in found["discordant"].items():
            widths = f"{100 * one['width']:.1f}", f"{100 * one['tango']:.1f}"
            yield [*name.split(", "), *map(percent, (one["missed"], one["told"])), *widths]

    def many() -> Iterator[list[str]]:
        names = "worse than best", "uncorrected", "against first", "power", "power, uncorrected"
        for number, one in found["ranked"].items():
            yield [number, *(percent(one[name]) for name in names)]

    heads = ["questions", "discordant", "won by the better one", "interval misses", "told apart"]
    tables = [*table([*heads, "width, points", "Tango's"], list(few())), ""]
    heads = ["systems", 'a false "worse than the best"', "uncorrected", "a false verdict against the first"]
    tables += [*table([*heads, "worse ones found", "uncorrected"], list(many())), ""]
    said = found["headlines"]["usual"]
    tables += [
        f"Of two equal systems the headline claims something in {percent(said['said'])} of {said['sets']} "
        f"data sets; without the correction one of the usual metrics would in {percent(said['any'])}.",
        "",
    ]
    equal = found["discordant"]["200, 10%, 50%"]
    tables += [
        f"Two equally good runs on 200 questions, of which 10% are discordant, are proven equivalent within "
        f"5 points in {percent(equal['95'])} by default, and in {percent(equal['tost'])} with `--tost`.",
        "",
    ]
    return "\n".join(tables)


def refreshed(text: str, found: dict[str, Any]) -> str:
    """Return the page of the guide with its tables written anew."""
    return between(text, "comparisons", page(found))


def main() -> None:
    """Run the study, or write its tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", action="store_true", help="write the tables of the guide")
    asked, _ = parser.parse_known_args()
    kept = Kept(RESULTS, "discordant", "ranked", "headlines")
    if asked.page:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), kept.found), encoding="utf-8")
        return
    cells = [(n, share, won) for n in QUESTIONS for share in DISCORDANT for won in WON]
    parts: list[tuple[str, str, Any, tuple[Any, ...]]] = [
        ("discordant", f"{n}, {share:.0%}, {won:.0%}", discordant, (n, share, won)) for n, share, won in cells
    ]
    parts += [("headlines", "usual", headlines, (400,))]
    parts += [("ranked", str(number), ranked, (number, sets)) for number, sets in SYSTEMS.items()]
    for part, name, simulate, arguments in parts:
        if name not in kept.found[part]:
            kept.found[part][name] = simulate(*arguments)
            kept.write()
            print(part, name, kept.found[part][name], flush=True)


if __name__ == "__main__":
    main()
