"""Every figure beside a small image of how it looked when somebody last approved it.

`PYTHONPATH=. python tests/figures/test_images.py [FIGURE ...]` draws those in `baseline/` again; look at them
before you commit them.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.transforms import Affine2D
from PIL import Image

from calcli.core.curves.needs import metrics_of
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.figures import FIGURES
from calcli.core.language.settings import Settings
from calcli.figures import View, draw, save
from calcli.figures.reliability import OVERS, UNDERS
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.figures.conftest import CASES as MADE
from tests.figures.conftest import everything

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data"
BASELINE = Path(__file__).parent / "baseline"
REDUCED = 4  # baselines have a quarter of the dots an inch
NEARBY = 2  # dots of a baseline
SLACK = 0.15  # where 1 is from black to white
SHADES = 51
TOLERANCE = 0.004  # share of the dots
ALLOWED = (
    TOLERANCE if matplotlib.__version_info__ >= (3, 11) else 3 * TOLERANCE
)  # text is half a dot elsewhere


@dataclass(frozen=True)
class Case:
    """A figure of some sample data."""

    figure: str
    files: tuple[str, ...]
    view: View = field(default_factory=lambda: View(draws=99))

    @property
    def baseline(self) -> Path:
        data = self.files[0].partition(".")[0].replace(" ", "_")
        return BASELINE / f"{self.figure}_{data.rpartition('/')[2]}.png"

    def drawn(self) -> Figure:
        evaluations = {Path(file).name: evaluation_of(file) for file in self.files}
        view = self.view
        if self.figure in ("slices", "calibration-map"):
            record = everything(next(iter(evaluations.values()))).calibrators
            view = View(by=("ink",), calibrators=record)
        return draw(self.figure, evaluations, view).figure


RELEASES = ("release_1.parquet", "release_2.parquet")
EPOCHS = tuple(f"epochs/epoch_{number:02}.parquet" for number in range(1, 11))
CASES = [
    *(Case(name, ("cancer_bayes_test.csv",)) for name in ("reliability", "deviation", "ks", "risk")),
    *(Case(name, ("cancer_bayes_test.csv",)) for name in ("weighted-risk", "divergence")),
    *(Case(name, ("cancer_bayes_test.csv",)) for name in ("precision-recall", "net-benefit")),
    *(Case(name, ("cancer_bayes_test.csv",)) for name in ("roc", "gains")),
    *(Case(name, ("iris_logistic_test.csv",)) for name in ("class-wise", "simplex")),
    *(Case(name, ("digits_network_test.npy",)) for name in ("reliability", "class-wise", "calibration-map")),
    *(Case(name, ("digits_forest_test.parquet",)) for name in ("corp", "smooth", "temperature")),
    *(Case(name, RELEASES) for name in ("reliability", "deviation", "ks", "rejection", "scores", "slices")),
    Case("epochs", EPOCHS),
    Case("class-wise", ("hundred classes",)),
]


@cache
def evaluation_of(file: str) -> Evaluation:
    """Return the evaluation of a sample file, with every metric that some figure shows."""
    if file in MADE:
        return MADE[file]()
    predictions = read(SAMPLE / file, ReadOptions())
    metrics = metrics_of(tuple(FIGURES.values()), predictions, Settings())
    return evaluate(predictions, Settings(metrics=metrics, draws=99))


def image_of(figure: Figure) -> np.ndarray:
    """Return the PNG of a figure as (height, width, 3) in [0, 1], each dot the mean of 4 x 4."""
    stream = io.BytesIO()
    save(figure, stream, "png")
    stream.seek(0)
    image = matplotlib.image.imread(stream)[:, :, :3]
    height, width = (size // REDUCED for size in image.shape[:2])
    blocks = image[: height * REDUCED, : width * REDUCED].reshape(height, REDUCED, width, REDUCED, 3)
    return blocks.mean((1, 3))


def difference(first: np.ndarray, second: np.ndarray) -> float:
    """Return the share of dots in one image without a like one nearby in the other.

    Another version of matplotlib or of its letters moves lines by a dot or two; a moved bar has no like.
    """
    height, width = np.minimum(first.shape, second.shape)[:2]
    assert max(np.abs(np.subtract(first.shape, second.shape))) <= 1
    first, second = first[:height, :width], second[:height, :width]
    return max(_without_like(first, second), _without_like(second, first))


def _without_like(image: np.ndarray, other: np.ndarray) -> float:
    padded = np.pad(other, ((NEARBY, NEARBY), (NEARBY, NEARBY), (0, 0)), "edge")
    near = np.lib.stride_tricks.sliding_window_view(padded, (2 * NEARBY + 1,) * 2, (0, 1))
    unlike = (image < near.min((-2, -1)) - SLACK) | (image > near.max((-2, -1)) + SLACK)
    return float(unlike.any(-1).mean())


def approved(case: Case) -> np.ndarray:
    """Return the baseline of a figure."""
    return matplotlib.image.imread(case.baseline)[:, :, :3]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.baseline.stem)
def test_figures_look_as_approved(case):
    assert difference(image_of(case.drawn()), approved(case)) < ALLOWED


@pytest.mark.parametrize("case", CASES[::3], ids=lambda case: case.baseline.stem)
def test_marks_that_moved_are_seen(case):
    figure = case.drawn()
    for axes in figure.axes:
        left, right = axes.get_xlim()
        sideways = Affine2D().translate((right - left) / 6, 0)
        for mark in [*axes.collections, *axes.lines, *axes.patches]:
            mark.set_transform(sideways + mark.get_transform())
    assert difference(image_of(figure), approved(case)) > TOLERANCE


def test_one_bar_that_moved_by_a_bin_is_seen():
    case = Case("reliability", ("digits_network_test.npy",))
    figure = case.drawn()
    bars = next(shape for shape in figure.axes[0].collections if isinstance(shape, PolyCollection))
    first, *others = [path.vertices for path in bars.get_paths()]
    bars.set_verts([first - [1 / 15, 0], *others])
    assert difference(image_of(figure), approved(case)) > TOLERANCE


def test_colors_that_changed_places_are_seen(monkeypatch):
    case = CASES[0]
    monkeypatch.setitem(OVERS, "facecolor", UNDERS["facecolor"])
    assert difference(image_of(case.drawn()), approved(case)) > TOLERANCE


def test_baselines_are_small_and_none_is_left_over():
    assert {path.name for path in BASELINE.iterdir()} == {case.baseline.name for case in CASES}
    assert sum(path.stat().st_size for path in BASELINE.iterdir()) < 300_000


if __name__ == "__main__":
    for case in CASES:
        if sys.argv[1:] and case.figure not in sys.argv[1:]:
            continue
        image = np.round(image_of(case.drawn()) * SHADES) / SHADES  # fewer shades make smaller files
        Image.fromarray((255 * image).round().astype(np.uint8)).save(case.baseline, optimize=True)
