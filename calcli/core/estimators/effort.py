"""How many permutations are worth their time.

Work is counted, not timed, so that a seed gives the same anywhere. The unit is a look at one score, of which
a processor takes some twenty million a second. What else a metric costs was measured in such looks.
"""

from __future__ import annotations

from calcli.core.estimators.calibrationerror import SHARPNESS

CALL = 20_000  # what computing any metric again costs, besides its scores
CLASS = 1_000  # and each class of it
GRID = 20_000  # one error on the fine grid of the unit interval

ENOUGH = 30_000_000  # for all permutations of a metric, however few the scores
EACH_SCORE = 2_000  # looks at each, where there are more
MOST_WORK = 150_000_000  # for the fewest permutations of so many tests, however many there are
COUNTED = 3


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
    least = max(1, draws // (2 * SHARPNESS))
    affordable = int(max(ENOUGH, EACH_SCORE * scores) / (tests * effort))
    if affordable >= least:
        return min(draws, affordable)
    return least if least * effort * min(tests, COUNTED) <= MOST_WORK else 0
