"""What holds for every figure: stable bytes, readable text inside the page, nobody's settings touched."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from calcli import figures
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.figures import FIGURES, standard_names
from calcli.figures import View, draw, save, standard_set
from tests.figures.conftest import everything, make, systems

FOLDER = Path(figures.__file__).parent
SMALLEST = 5.0  # points: class names of a heat map
SLACK = 0.02  # inches
MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def written(figure: Figure, format: str) -> bytes:
    stream = io.BytesIO()
    save(figure, stream, format)
    return stream.getvalue()


def fits(name: str, evaluation) -> bool:
    k = evaluation.predictions.n_classes
    return k in (3, 4) if name == "simplex" else k == 2 or not FIGURES[name].of_two


def assert_page_is_readable(figure: Figure) -> None:
    """Assert that all that is drawn stays on the page, and that no text is tiny."""
    FigureCanvasAgg(figure).draw()
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    overhang = max(-drawn.x0, -drawn.y0, drawn.x1 - width, drawn.y1 - height)
    assert overhang < SLACK, f"{drawn} leaves the page of {width} x {height}"
    for text in figure.findobj(Text):
        assert not text.get_text() or text.get_fontsize() >= SMALLEST


@pytest.mark.parametrize(
    "evaluation",
    ["four classes", "hundred classes", "one bin filled", "sure of everything"],
    indirect=True,
)
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_fits_the_page_whatever_the_data(name, evaluation):
    if not fits(name, evaluation):
        with pytest.raises(UsageError, match="classes"):
            draw(name, {"a": evaluation})
        return
    drawing = draw(
        name, systems(name, evaluation, evaluation.predictions.provenance.path), everything(evaluation)
    )
    assert_page_is_readable(drawing.figure)


@pytest.mark.parametrize("name", FIGURES)
def test_three_systems_fit_side_by_side(name, evaluations):
    case = next(
        case for case in ("ten classes", "three classes", "two classes") if fits(name, evaluations[case])
    )
    three = {f"system_{i}_with_a_long_name.parquet": evaluations[case] for i in range(3)}
    assert_page_is_readable(draw(name, three, everything(evaluations[case])).figure)


@pytest.mark.parametrize("name", ["reliability", "ks"])
def test_seven_systems_fit_in_two_lines(name, two):
    figure = draw(name, {f"system_{i}": two for i in range(7)}).figure
    assert_page_is_readable(figure)
    titles = [axes.get_title("left") for axes in figure.axes if axes.get_visible()]
    assert name == "ks" or [title for title in titles if title] == [f"system_{i}" for i in range(7)]


@pytest.mark.parametrize("name", FIGURES)
def test_same_bytes_every_time(name, two, three):
    evaluation = three if name == "simplex" else two
    drawings = [draw(name, systems(name, evaluation), everything(evaluation)) for _ in range(2)]
    for format in MAGIC if name in ("reliability", "simplex") else ["svg"]:
        first, second = (written(drawing.figure, format) for drawing in drawings)
        assert first == second
        assert first.startswith(MAGIC[format])
        for secret in (b"Matplotlib v", b"CreationDate", b"<dc:date>"):
            assert secret not in first
    assert drawings[0].tables
    for columns in drawings[0].tables.values():
        assert len({len(column) for column in columns.values()}) == 1


@pytest.fixture(scope="module")
def many() -> Evaluation:
    return make(30_000, 2, 1.3, "many.npy")


@pytest.mark.parametrize("name", sorted(set(FIGURES) - {"simplex"}))
def test_many_rows_make_no_large_file(name, many):
    figure = draw(name, systems(name, many), everything(many)).figure
    assert len(written(figure, "svg")) < 400_000


def test_png_has_200_dots_an_inch(two):
    figure = draw("reliability", {"a": two}).figure
    header = written(figure, "png")[16:24]
    width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:], "big")
    np.testing.assert_allclose([width, height], 200 * figure.get_size_inches(), atol=1)


def test_one_figure_is_a_column_wide(two):
    for name in ("reliability", "deviation", "corp", "smooth", "rejection", "temperature"):
        assert draw(name, {"a": two}).figure.get_size_inches()[0] == pytest.approx(3.3)


def test_the_callers_style_is_neither_used_nor_changed(two):
    plain = written(draw("reliability", {"a": two}).figure, "svg")
    with matplotlib.rc_context({"lines.linewidth": 9, "axes.facecolor": "black", "svg.hashsalt": "other"}):
        before = dict(matplotlib.rcParams)
        assert written(draw("reliability", {"a": two}).figure, "svg") == plain
        assert dict(matplotlib.rcParams) == before


def test_the_callers_fonts_and_dots_an_inch_are_kept(two):
    with matplotlib.rc_context({"font.size": 9, "savefig.dpi": 72}):
        figure = draw("reliability", {"a": two}).figure
        header = written(figure, "png")[16:24]
    width = int.from_bytes(header[:4], "big")
    assert (
        figure.axes[0].xaxis.label.get_fontsize()
        > draw("reliability", {"a": two}).figure.axes[0].xaxis.label.get_fontsize()
    )
    assert width == pytest.approx(72 * figure.get_size_inches()[0], abs=1)


def test_text_in_the_upper_corner_covers_no_bar(evaluation):
    figure = draw("reliability", {"a": evaluation}).figure
    FigureCanvasAgg(figure).draw()
    axes = figure.axes[0]
    (text,) = axes.texts
    if text.get_ha() == "left":  # in the lower corner, on bars, it has a ground of its own
        corner = text.get_window_extent().transformed(axes.transData.inverted())
        shapes = [path for drawn in axes.findobj(PolyCollection) for path in drawn.get_paths()]
        assert shapes
        assert not any(corner.overlaps(path.get_extents()) for path in shapes)
    else:
        assert text.get_bbox_patch() is not None


def test_pyplot_is_never_loaded(tmp_path):
    code = (
        "import sys, calcli.figures\n"
        "from calcli.figures.style import new_figure\n"
        f"calcli.figures.save(new_figure(1, 1), __import__('pathlib').Path({str(tmp_path / 'x.png')!r}))\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_load_without_numpy_or_matplotlib():
    heavy = "'numpy' in sys.modules or 'matplotlib' in sys.modules"
    code = f"import sys, calcli.core.language.figures; sys.exit({heavy})"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_suffix_decides_the_format(two, tmp_path):
    figure = draw("ks", {"a": two}).figure
    for suffix, magic in MAGIC.items():
        save(figure, tmp_path / f"ks.{suffix}")
        assert (tmp_path / f"ks.{suffix}").read_bytes().startswith(magic)
    with pytest.raises(UsageError, match="png, svg, pdf, not as 'gif'"):
        save(figure, tmp_path / "ks.gif")


def test_characters_that_the_font_lacks_are_told():
    figure = Figure()
    figure.text(0.5, 0.5, "a \N{BIRD} \N{CJK UNIFIED IDEOGRAPH-72D0} \N{BIRD}")
    assert save(figure, io.BytesIO(), "png") == ["\N{BIRD}", "\N{CJK UNIFIED IDEOGRAPH-72D0}"]


def test_svg_is_text_with_title_and_description(two):
    drawing = draw("reliability", {"a & b.csv": two})
    stream = io.BytesIO()
    save(drawing.figure, stream, "svg", drawing.title, drawing.caption)
    root = ElementTree.fromstring(stream.getvalue())
    space = "{http://www.w3.org/2000/svg}"
    assert root.find(f"{space}title").text == drawing.title == "Reliability diagram of a & b.csv (n = 800)"
    assert root.find(f"{space}desc").text == drawing.caption
    texts = {"".join(text.itertext()) for text in root.iter(f"{space}text")}
    assert {"a & b.csv", "Predicted probability of class number 1"} <= texts


def test_captions_tell_rows_and_settings(two):
    view = View(draws=49)
    for name in ("reliability", "deviation", "corp", "smooth", "ks", "rejection", "risk", "temperature"):
        caption = draw(name, {"a.csv": two}, view).caption
        assert "a.csv (n = 800)" in caption
    caption = draw("deviation", {"a.csv": two}, view).caption
    assert "15 equal-width bins" in caption
    assert "49 data sets" in caption
    assert "seed 0" in caption


@pytest.mark.parametrize("case", ["two classes", "ten classes"])
def test_standard_set_is_written_in_order(case, evaluations, tmp_path):
    evaluation = evaluations[case]
    paths = standard_set(evaluation, tmp_path)
    names = standard_names(evaluation.predictions.n_classes)
    assert [path.stem for path in paths] == names
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    assert all(path.read_bytes().startswith(MAGIC["png"]) for path in paths)


def test_systems_in_a_figure_of_classes_have_the_same_ones(two, three):
    with pytest.raises(
        InputError, match=r"three\.csv has 3 classes where two\.csv has 2; expected the same classes$"
    ):
        draw("class-wise", {"a": two, "b": three})


def test_figures_that_do_not_fit_say_what_does(three, evaluations):
    with pytest.raises(UsageError, match=r"the figure risk needs 2 classes, but .* has 3"):
        draw("risk", {"a": three})
    with pytest.raises(UsageError, match="give two files or more"):
        draw("epochs", {"a": three})
    with pytest.raises(UsageError, match="did you mean 'simplex'"):
        draw("simplx", {"a": three})
    with pytest.raises(UsageError, match=r"3 or 4 classes, but ten\.npy has 10"):
        draw("simplex", {"a": evaluations["ten classes"]})


def test_every_entry_has_the_file_of_its_name():
    drawn = {file.stem for file in FOLDER.glob("*.py") if "\ndef make(" in file.read_text(encoding="utf-8")}
    assert drawn == {name.replace("-", "_") for name in FIGURES}
