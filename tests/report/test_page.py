"""Pages of HTML: complete, escaped, and in need of nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import calcli
from calcli.cli.main import status_of
from calcli.report.evaluation import Report
from calcli.report.page import page_text
from calcli.report.shown import Column, Headline, Shown, TextTable

NETWORK = "sample_data/digits_network_test.npy"
EMPTY = {"meta", "input", "br", "rect", "path", "use", "line", "image", "link", "img"}


class Page(HTMLParser):
    """What a browser would find: elements with their attributes, and the text of each kind."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(text.replace("<wbr>", ""))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY or tag == "rect":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [found for kind, found in self.elements if kind == tag]


class Named(Shown):
    """A table of one name."""

    title = "Names"

    def __init__(self, name: str) -> None:
        self.name = name

    def tables(self) -> list[TextTable]:
        columns = (Column("", "left"), Column(self.name))
        return [TextTable(self.name, columns, ((self.name, "1"),), (self.name,), {(0, 1): "best"})]

    def data(self) -> dict[str, str]:
        return {"name": self.name}

    def headline(self) -> Headline:
        return Headline(self.name, self.name, systems=(self.name, "other"))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    assert status_of(["evaluate", NETWORK, "-q", "--html", str(path)]) == 0
    return path


def test_a_page_needs_nothing_else(page: Path) -> None:
    found = Page(page.read_text(encoding="utf-8"))
    links = [value for _, attributes in found.elements for key, value in attributes.items() if "href" in key]
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert links
    assert all(link and link[1:] in ids for link in links if link and not link.startswith("data:"))
    assert all(link and link.startswith(("#", "data:image/")) for link in links)
    assert not any("src" in attributes for _, attributes in found.elements)
    assert len(ids) == len(set(ids))


def test_the_policy_of_a_page_allows_its_own_script_alone(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    script = text[text.index("<script>") + 8 : text.index("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = Page(text).all("meta")[1]["content"]
    assert policy is not None
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}';")


def test_a_page_shows_every_cell_and_note_of_the_tables(page: Path) -> None:
    data = calcli.read(NETWORK)
    report = calcli.evaluate(data)
    found = Page(page.read_text(encoding="utf-8"))
    shown = {word for texts in found.texts.values() for text in texts for word in text.split()}
    tables = replace(report, details=True).tables()
    for table in tables:
        for cell in (cell for row in table.rows for cell in row):
            assert set(cell.split()) <= shown
    assert sum(tag == "section" for tag, _ in found.elements) == len(tables) + 1  # figures


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "</style><b>",
        "a\x1b[31m\nb",
        "&lt;",
        "$x$",
    ],
)
def test_names_stay_text(name: str) -> None:
    text = page_text(Named(name))
    found = Page(text)
    kinds = {tag for tag, _ in found.elements}
    assert not kinds & {"img", "b"}
    assert len(found.all("script")) == 1
    assert not re.search("[\x00-\x08\x0b-\x1f]", text)
    if "\n" not in name:
        assert name in found.texts["h2"]


def test_figures_tell_the_numbers_of_the_report(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["evaluate", NETWORK, "-q", "-f", "json"]) == 0
    bins = json.loads(capsys.readouterr().out)["results"][0]["reliability"]
    told = [text for text in Page(page.read_text(encoding="utf-8")).texts["title"] if "mean score" in text]
    for one in bins:
        if one["rows"]:
            words = (
                f"{one['rows']:,} rows\nmean score {one['predicted']:.4f}, frequency {one['observed']:.4f}"
            )
            assert any(text.endswith(words) for text in told)


@pytest.mark.parametrize(("classes", "megabytes"), [(10, 1), (1000, 3)])
def test_pages_stay_small(tmp_path: Path, classes: int, megabytes: int) -> None:
    draws = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", draws.normal(size=(1000, classes)))
    np.save(tmp_path / "x_labels.npy", draws.integers(classes, size=1000))
    path = tmp_path / "x.html"
    few = ["--draws", "9"]
    assert status_of(["evaluate", str(tmp_path / "x.npy"), "-q", "--html", str(path), *few]) == 0
    assert path.stat().st_size < megabytes * 1e6


def test_every_command_writes_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release = ["sample_data/release_1.parquet", "sample_data/release_2.parquet"]
    policy = tmp_path / "p.toml"
    policy.write_text('[[rules]]\nmetric = "accuracy"\nmin = 0.01\n', encoding="utf-8")
    few = ["--draws", "9"]
    for number, call in enumerate(
        [
            ["compare", *release, *few],
            ["check", release[0], "-p", str(policy)],
            ["fit", release[0], "-m", "temperature"],
            ["benchmark", "--cal", release[0], "--test", release[1], "--methods", "temperature"],
            ["plot", *release, "--draws", "9"],
        ]
    ):
        path = tmp_path / f"{number}.html"
        assert status_of([*call, "-q", "--html", str(path)]) == 0
        assert Page(path.read_text(encoding="utf-8")).texts["h1"]
    assert (
        status_of(["check", release[0], "-q", "-p", str(policy), "--write", f"html={tmp_path / 'w.html'}"])
        == 0
    )
    assert (tmp_path / "w.html").read_bytes() == (tmp_path / "1.html").read_bytes()


def test_a_page_on_standard_output_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["evaluate", NETWORK, "--html", "-"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "--html" in shown.err
    assert status_of(["plot", NETWORK]) == 2
    assert "--html FILE" in capsys.readouterr().err


def luminance(color: str) -> float:
    """Return the relative luminance of #rgb or #rrggbb (WCAG 2.2)."""
    digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
    parts = np.array([int(digits[n : n + 2], 16) for n in (0, 2, 4)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("theme", [0, 1, 2], ids=["light", "dark", "printed"])
def test_words_stand_out_from_what_is_behind_them(theme):
    css = Path("calcli/report/page/page.css").read_text(encoding="utf-8")
    colors = dict(re.findall(r"--(\w+): (#\w+)", re.findall(r":root \{(.*?)\}", css, re.DOTALL)[theme]))
    for text in ("ink", "muted", "link", "good", "bad"):
        for behind in ("paper", "shade"):
            pair = sorted((luminance(colors[text]), luminance(colors[behind])), reverse=True)
            assert (pair[0] + 0.05) / (pair[1] + 0.05) >= 4.5, (text, behind)


def test_first_screens_say_what_was_found(tmp_path):
    old, new = (f"sample_data/release_{n}.parquet" for n in (1, 2))
    compared = calcli.compare(old, new, metrics="log_loss,accuracy", key="id").headline()
    assert compared.read == "release_2.parquet against release_1.parquet"
    assert compared.verdict == "log_loss: worse, 0.3166 to 0.4817."
    rules = {"rules": [{"metric": "log_loss", "max": 0.4}, {"metric": "accuracy", "min": 0.5}]}
    assert calcli.check(new, rules).headline().verdict == "1 of 2 rules failed."
    fitted = calcli.fit("sample_data/cancer_bayes_calibration.csv", method="dp").headline()
    assert re.fullmatch(r"Fitted: dp; log_loss 0\.7493 before, 0\.\d{4} after\.", fitted.verdict)


def test_what_was_read_stands_beside_the_first_figure(page: Path) -> None:
    header = page.read_text(encoding="utf-8").partition("<header>")[2].partition("</header>")[0]
    assert header.index("<h1>") < header.index("<figure>") < header.index("read as")
    assert "<figcaption><b>Reliability diagram</b> of " in header


def test_a_score_without_an_interval_says_so_at_the_head() -> None:
    few = calcli.evaluate([[0.9, 0.1], [0.2, 0.8]] * 10, [0, 1] * 10, metrics="log_loss,ece", draws=19)
    assert few["log_loss"].no_interval
    beside = {one.name: one.beside for one in few.headline().numbers}
    assert beside["log_loss"] == "no interval"


def test_of_many_systems_the_head_says_which_it_shows() -> None:
    rows = np.full((4, 2), 0.5)
    one = calcli.evaluate(rows, [0, 1, 0, 1], metrics="accuracy", draws=0)
    many = Report(one.results * 7, one.settings)
    head = many.headline()
    assert head.read == "7 data sets, 28 rows in all; the first 6:"
    assert len(head.numbers) == 6
