"""What one checkout computes on generated data: `python running.py ONLY EVERY` writes a JSON object.

It is run with the folder of the checkout first in the path, and uses what `import calcli` gives.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

import calcli
from calcli.core.language.methods import METHODS
from calcli.core.language.metrics import METRICS

SPELLINGS = "", ":lens=class-0", ":bins=7:binning=equal-mass"
SETTINGS: dict[str, dict[str, Any]] = {"draws": {"draws": 99}, "plain": {"draws": 0, "intervals": False}}
COMPARED = [
    "log_loss",
    "brier",
    "accuracy",
    "ece",
    "ks",
    "auroc",
    "cw_ece",
    "mean_gap",
    "smooth_ece",
    "calibration_slope",
]


def data_sets() -> dict[str, dict[str, Any]]:
    """Return scores, labels and options by a name that says what is special about them."""
    sets: dict[str, dict[str, Any]] = {}
    for number, (classes, rows) in enumerate([(2, 300), (3, 400), (10, 600), (3, 25_000)]):
        rng = np.random.default_rng(number)
        logits = rng.normal(size=(rows, classes)) * 1.5
        probs = np.exp(0.6 * logits)
        probs /= probs.sum(axis=1, keepdims=True)
        labels = (probs.cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1)
        shown = np.exp(logits)
        shown /= shown.sum(axis=1, keepdims=True)
        plain = {"data": logits, "labels": labels, "kind": "logits"}
        size = f"{rows} x {classes}"
        sets[f"{size} logits"] = plain
        if rows > 1_000:
            sets[f"{size} float32"] = plain | {"data": logits.astype(np.float32)}
            continue
        sets[f"{size} probs"] = {"data": shown, "labels": labels}
        sets[f"{size} weights"] = plain | {"weights": rng.integers(0, 4, rows).astype(float)}
        ties = np.round(shown, 1)
        ties[:, 0] += 1 - ties.sum(axis=1)
        sets[f"{size} ties"] = {"data": np.clip(ties, 0, 1), "labels": labels, "renormalize": True}
        sets[f"{size} priors"] = plain | {"priors": "uniform"}
        sets[f"{size} folds"] = plain | {"seed": 3, "folds": 3}
        if classes > 2:
            sets[f"{size} absent"] = plain | {"labels": labels % (classes - 1)}
    sure = {"confidence": np.linspace(0.3, 0.99, 200), "correct": np.arange(200) % 3 != 0}
    return sets | {"answers": sure}


def told(made: Callable[[], Any]) -> Any:
    """Return what is made, or the sentence that refuses it."""
    try:
        return made()
    except Exception as fault:
        return f"{type(fault).__name__}: {fault}"


def entries() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of each computation, and the computation."""
    for name, data in data_sets().items():
        few = len(data.get("labels", ())) < 1_000
        for how, settings in SETTINGS.items():
            for metric in METRICS:
                for spelling in SPELLINGS if few else SPELLINGS[:1]:
                    yield (
                        f"evaluate {metric}{spelling} / {name} / {how}",
                        _evaluated(data, metric + spelling, settings),
                    )
        yield f"evaluate / {name}", _evaluated(data, None, SETTINGS["draws"])
        fitted = {key: value for key, value in data.items() if key not in ("priors", "folds")}
        for method in METHODS if few else ("temperature", "dp", "vector", "isotonic"):
            yield f"fit {method} / {name}", _fitted(fitted, method)
        if "labels" in data and not data.keys() & {"priors", "folds"}:
            yield f"compare / {name}", _compared(data, paired=True)
            yield f"compare unpaired / {name}", _compared(data, paired=False)
            yield f"states / {name}", _merged(data)


def _evaluated(data: dict[str, Any], metric: str | None, settings: dict[str, Any]) -> Callable[[], Any]:
    asked = {"metrics": [metric]} if metric else {}
    return lambda: calcli.evaluate(**data, **settings, **asked).to_dict()["results"]


def _fitted(data: dict[str, Any], method: str) -> Callable[[], Any]:
    def made() -> Any:
        found = calcli.fit(**data, method=method)
        again = {key: value for key, value in data.items() if key in ("data", "confidence")}
        first = {key: value[:50] for key, value in again.items()}
        applied = found.apply(*first.values()) if "data" in first else None
        return {"fit": found.to_dict(), "applied": None if applied is None else np.asarray(applied).tolist()}

    return made


def _compared(data: dict[str, Any], *, paired: bool) -> Callable[[], Any]:
    def made() -> Any:
        scores = data["data"] + 0.2 * np.roll(data["data"], 1, axis=0)
        if "kind" not in data:
            scores = scores / scores.sum(axis=1, keepdims=True)
        systems = [_table(data | {"data": one}) for one in (data["data"], scores)]
        asked = [name for name in COMPARED if len(systems[0].classes) == 2 or name != "calibration_slope"]
        return calcli.compare(*systems, metrics=asked, draws=99, paired=paired).to_dict()

    return made


def _merged(data: dict[str, Any]) -> Callable[[], Any]:
    def made() -> Any:
        rows, labels = _table(data), data["labels"]
        cut = len(labels) // 3
        parts = [
            calcli.State.of(_table({key: _cut(value, part) for key, value in data.items()}))
            for part in (slice(0, cut), slice(cut, rows.n_rows))
        ]
        both = parts[0].merge(parts[1]), parts[1].merge(parts[0])
        return [calcli.evaluate(whole, draws=99).to_dict()["results"] for whole in both]

    return made


def _cut(value: Any, part: slice) -> Any:
    return value[part] if isinstance(value, np.ndarray) else value


def _table(data: dict[str, Any]) -> Any:
    kind = "logit" if "kind" in data else "prob"
    columns = {f"{kind}_{k}": scores for k, scores in enumerate(data["data"].T)} | {"label": data["labels"]}
    if "weights" not in data:
        return calcli.read(pd.DataFrame(columns), renormalize="renormalize" in data)
    return calcli.read(pd.DataFrame(columns | {"weight": data["weights"]}), weights="weight")


if __name__ == "__main__":
    asked = [(name, made) for name, made in entries() if sys.argv[1] in name][:: int(sys.argv[2])]
    json.dump({name: told(made) for name, made in asked}, sys.stdout)
