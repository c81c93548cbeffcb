"""How many permutations, or resamples, are worth their time.

Work is counted, not timed, so that a seed gives the same anywhere. The unit is a look at one score, of which
a processor takes some twenty million a second. What else a metric costs was measured in such looks.
"""

from __future__ import annotations

from calcli.core.estimators.consistency import SHARPNESS

CALL = 20_000  # what computing any metric again costs, besides its scores
CLASS = 1_000  # and each class of it
GRID = 20_000  # one error on the fine grid of the unit interval
FIT = 10_000  # any fit of a calibrator
FIT_ROWS = 4_000  # rows whose scores cost as much as all else that grows with what is learned

ENOUGH = 30_000_000  # for all permutations of a metric, however few the scores
EACH_SCORE = 2_000  # looks at each, where there are more
BEARABLE = 150_000_000  # for the fewest permutations of so many tests, however many there are
COUNTED = 3

DEALS = 20  # of rows into folds, at most
DEALT = 20_000  # rows of all deals together: of many rows deals differ little
DEALING = 5_000_000  # for the fits of all deals

RESAMPLES = 200  # for a standard deviation with an error of 5%
FEWEST = 50  # with one of 10%
SPREADS = 40_000_000  # for the standard deviation of a metric, however few the scores


def affordable_draws(draws: int, effort: float, scores: int, tests: int = 1) -> int:
    """Return how many permutations are made of those wanted.

    Where few are affordable there are as many as the strictest of the tests needs, which `draws` were meant
    for; none, where these would take too long as well.

    Parameters
    ----------
    draws
        How many are wanted.
    effort
        What one of them costs, in looks at a score.
    scores
        Those of both systems.
    tests
        How many pairs of systems, on how many slices, are tested on the same metric.
    """
    enough = max(ENOUGH, EACH_SCORE * scores)
    least = max(1, draws // (2 * SHARPNESS))
    affordable = int(enough / (tests * effort))
    if affordable >= least:
        return min(draws, affordable)
    return least if least * effort * min(tests, COUNTED) <= BEARABLE else 0


def affordable_resamples(effort: float, scores: int) -> int:
    """Return how many resamples a standard deviation is made of.

    Parameters
    ----------
    effort
        What computing the metric once costs, in looks at a score.
    scores
        How many there are.
    """
    affordable = int(max(SPREADS, EACH_SCORE * scores) / effort)
    return min(RESAMPLES, max(FEWEST, affordable))


def affordable_deals(rows: int, effort: float) -> int:
    """Return how often rows may be dealt into folds, to see how much of a cross-validation is chance.

    Parameters
    ----------
    rows
        Their number.
    effort
        What the fits of one deal cost, in looks at a score.
    """
    return max(1, min(DEALS, DEALT // rows, int(DEALING / effort)))
