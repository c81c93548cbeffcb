"""Survival tables, where a row without the event may simply not have been observed for long enough."""

from __future__ import annotations

import re
import shlex

import numpy as np

from calcli.io.reading.head import Head
from calcli.io.words import tokens

EVENT = re.compile(r"event|status|death|dead|died|deceased|censor\w*|relapse|progression")
DURATION = re.compile(r"time|futime|follow|followup|duration|survival|os|pfs|dfs|rfs")
LONGEST = 1e5  # days; larger numbers are dates


def censoring(head: Head, label: str) -> str:
    """Return a doubt about a label of events if another column holds the time to them, else ""."""
    if not any(EVENT.fullmatch(word) for word in tokens(label)) or set(head.values[label]) != {"0", "1"}:
        return ""
    events = head.text[label] == "1"
    for name in head.numeric:
        time = head.columns[name].astype(np.float64)
        is_duration = any(DURATION.fullmatch(word) for word in tokens(name))
        if is_duration and name != label and time.min() >= 0 and 1 < time.max() < LONGEST:
            return (
                f"{label} beside {name} looks like a survival table: {int(np.sum(~events)):,} of "
                f"{head.n:,} rows have no event, after a median time of {np.median(time[~events]):.3g}, and "
                "may be censored before the horizon of the scores; leave out such rows, and say "
                f"--label-column {shlex.quote(label)}"
            )
    return ""
