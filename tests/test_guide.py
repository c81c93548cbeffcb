"""What the README and the guide show is what calcli prints; `python -m tests.test_guide` writes it anew.

Their examples run in a folder that has `sample_data/` and a few predictions under the names they use. In a
document, from top to bottom: `console` and `python` blocks must print what stands there, `sh` blocks must end
with status 0, and a block with a file name beside its language becomes that file.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command

from calcli.cli.main import CHECK_FAILED, FINE, WRONG, app_of
from calcli.core.language.declaring import Setting, as_option, declared
from calcli.core.language.entries import Tier
from calcli.core.language.figures import FIGURES
from calcli.core.language.methods import METHODS
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import Settings
from calcli.core.language.version import __version__
from calcli.guide import PAGES, summary
from calcli.io.layouts import LAYOUTS
from calcli.io.reading.weights import WEIGHTS
from tests import picture
from tests.forked import put_shim

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "calcli" / "guide"
DOCUMENTS = {"README": ROOT / "README.md", **{page: FOLDER / f"{page}.md" for page in PAGES}}
BLOCK = re.compile(
    r"^```(\w+)(?: (\S+))?\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", flags=re.MULTILINE | re.DOTALL
)
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]\d+)?")
ROUNDING = Decimal("1e-9")  # of numbers with all their digits
INSTALLER = "python3 -m pip"  # changes the machine, so such a block is not run
COPIES = {"main": "release_1", "val": "digits_forest_calibration", "test": "digits_forest_test"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ADDRESS = PROJECT["project"]["urls"]["Repository"]
OPTIONS = [name for one in get_command(app_of()).commands["evaluate"].params for name in one.opts]
STATUSES = {
    FINE: "fine",
    CHECK_FAILED: "a check failed: a rule of `calcli check` is broken, or a limit given with `--fail-if` "
    "holds",
    WRONG: "the input or the call is wrong, or a limit could not be judged; one sentence says what, and how "
    "to correct it",
}


def write_log(path: Path, values: list[str]) -> None:
    """Write a log of Inspect whose samples have these scores."""
    samples = [{"id": n, "epoch": 1, "scores": {"match": {"value": one}}} for n, one in enumerate(values)]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr("header.json", json.dumps({"status": "success"}))
        log.writestr("summaries.json", json.dumps(samples))


def write_findings(folder: Path) -> None:
    """Write what two models say of three findings that may be there at once; some are not known."""
    rng = np.random.default_rng(5)
    logits = rng.normal(size=(900, 1)) + rng.normal(size=(900, 3)) - [0, 1, 2]
    labels = (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int)
    labels[rng.random(labels.shape) < 0.05] = -1
    names = np.array(["edema", "effusion", "hernia"])
    for name, factor in (("findings", 1.0), ("findings_old", 1.5)):
        probs = 1 / (1 + np.exp(-factor * logits))
        np.savez(folder / f"{name}.npz", y_true=labels, y_prob=probs.round(4), label_names=names)


def set_stage(folder: Path) -> Path:
    """Put what the examples use into a folder: `calcli`, the sample data, predictions by usual names."""
    sample = folder / "sample_data"
    shutil.copytree(ROOT / "sample_data", sample)
    for number, series in enumerate(("train", "test")):
        (folder / series).mkdir()
        for file in sorted((sample / "epochs").glob("*.parquet")):
            pd.read_parquet(file)[number::2].to_parquet(folder / series / file.name)
    for name, source in COPIES.items():
        shutil.copy(sample / f"{source}.parquet", folder / f"{name}.parquet")
    table = pd.read_parquet(sample / "release_1.parquet")
    others = {"patient": table["id"] // 2, "fold": table["id"] % 5, "country": table["ink"]}
    table.assign(**others).to_parquet(folder / "preds.parquet")
    for name, share in (("main", 0.7), ("branch", 0.68)):
        values = ["C" if place % 50 < 50 * share else "I" for place in range(200)]
        write_log(folder / f"{name}.eval", values)
    write_findings(folder)
    (folder / "bin").mkdir()
    put_shim(folder / "bin" / "calcli")
    return folder


def shell(command: str, folder: Path) -> tuple[int, str]:
    """Run a command line and return its status and both streams as a terminal would show them."""
    environment = {
        "PATH": f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "80",
        "LANG": "C.UTF-8",
    }
    line = ["sh", "-e", "-c", f"exec 2>&1; {command}"]
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


known: dict[str, str] = {}  # what commands printed that several documents show


def session(command: str, folder: Path) -> str:
    """Return what a command prints; one that only reads the sample data is run once."""
    pure = command.startswith("calcli evaluate sample_data/") and not re.search(" -o |[|<>]", command)
    if command in known:
        return known[command]
    printed = shell(command, folder)[1]
    if pure:
        known[command] = printed
    return printed


def example(block: re.Match[str], folder: Path) -> str:
    """Run a block and return it with what it prints now."""
    language, file, body, printed = block.groups()
    if file is not None:
        (folder / file).write_text(body)
    elif language == "console":
        commands = re.findall(r"^\$ (.*)$", body, re.MULTILINE)
        shown = "".join(f"$ {command}\n{session(command, folder)}" for command in commands)
        return f"```console\n{shown}```\n"
    elif language == "python":
        (folder / "example.py").write_text(body)
        status, text = shell(f'"{sys.executable}" example.py', folder)
        assert status == FINE, text
        if printed is not None:
            return f"```python\n{body}```\n\n```text\n{text}```\n"
    elif language == "sh" and not body.startswith(INSTALLER):
        status, text = shell(body, folder)
        assert status == FINE, f"{body}{text}"
    return block[0]


def markdown(heads: str, *rows: tuple[object, ...]) -> str:
    lines = [heads, "|" + "---|" * (heads.count("|") - 1)]
    lines += [f"| {' | '.join(map(str, row))} |".replace("  ", " ") for row in rows]
    return "\n".join(lines)


def yaml(*lines: str) -> str:
    return "\n".join(["```yaml", *lines, "```"])


def option_of(one: Setting) -> str:
    """Return the option of a setting; none where others spell it."""
    return f"`{one.option}`" if one.option in OPTIONS else ""


def default_of(one: Setting) -> str:
    return "" if one.default in (None, (), {}) else f"`{one.default}`"


def tables() -> dict[str, str]:
    """Return the tables that documents hold, made from the registries."""
    metrics = {
        f"metrics: {tier}": markdown(
            "| metric | what it says |",
            *((f"`{m.name}`", m.meaning) for m in METRICS.values() if m.tier == tier),
        )
        for tier in get_args(Tier)
    }
    methods = [(f"`{m.name}`", m.learns, m.parameters) for m in METHODS.values()]
    figures = [(f"`{kind.name}`", kind.meaning) for kind in FIGURES.values()]
    settings = [
        (f"`{one.keyword}`", option_of(one), f"`{one.key}`" * one.in_policies, default_of(one), one.help)
        for one in declared(Settings).values()
    ]
    pages = [(f"[{page}](calcli/guide/{page}.md)", summary(page)) for page in PAGES]
    return {
        **metrics,
        "methods": markdown("| method | what it learns | parameters |", *methods),
        "figures": markdown("| figure | what it shows |", *figures),
        "settings": markdown("| keyword | option | key of a policy | default | what it says |", *settings),
        "layouts": markdown(
            "| layout | scores | labels |", *((one.name, one.scores, one.labels) for one in LAYOUTS)
        ),
        "weights": markdown(
            "| weight | what is seen | options that settle it |",
            *(
                (
                    f"{one.worth:+g}",
                    one.meaning,
                    ", ".join(f"`{name}`" for name in map(as_option, one.option.split())),
                )
                for one in WEIGHTS.values()
            ),
        ),
        "pages": markdown("| page | |", *pages),
        "action": yaml(
            "jobs:",
            "  probabilities:",
            "    runs-on: ubuntu-latest",
            "    permissions:",
            "      contents: read",
            "      pull-requests: write    # for the comment",
            "    steps:",
            "      - uses: actions/checkout@v4",
            "      # a step that makes preds.parquet and main.parquet",
            f"      - uses: {ADDRESS.partition('.com/')[2]}@v{__version__}",
            "        with:",
            "          files: preds.parquet",
            "          baseline: main.parquet",
        ),
        "hook": yaml(
            "repos:",
            f"  - repo: {ADDRESS}",
            f"    rev: v{__version__}",
            "    hooks:",
            "      - id: calcli-check",
            "        files: ^predictions/.*[.]parquet$",
        ),
        "exit statuses": markdown("| exit status | |", *STATUSES.items()),
    }


def refreshed(text: str, folder: Path) -> str:
    """Return a document with its examples run again and its tables written anew."""
    text = BLOCK.sub(lambda block: example(block, folder), text)
    for name, table in tables().items():
        before, begin, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- /{name} -->")
        text = f"{before}{begin}{table}\n{end}{after}" if end else text
    return text


def with_near_digits(found: str, shown: str) -> str:
    """Return what was found, with the numbers that are shown where the last digit differs by one at most.

    Processors round sums in different ways.
    """
    numbers = [NUMBER.findall(text) for text in (found, shown)]
    if NUMBER.sub("#", found) != NUMBER.sub("#", shown):
        return found
    near = (
        there if _is_near(*map(Decimal, (one, there))) else one for one, there in zip(*numbers, strict=True)
    )
    return NUMBER.sub(lambda _: next(near), found)


def _is_near(one: Decimal, other: Decimal) -> bool:
    last = max(Decimal((0, (1,), number.as_tuple().exponent)) for number in (one, other))
    return abs(one - other) <= max(last, abs(one) * ROUNDING)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_show_what_is_printed(name, tmp_path):
    text = DOCUMENTS[name].read_text(encoding="utf-8")
    found = with_near_digits(refreshed(text, set_stage(tmp_path)), text)
    assert found == text, f"run `python -m tests.test_guide {name}` and look at the difference"


@pytest.mark.parametrize(
    ("found", "same"),
    [("p 0.2215, 3", True), ("p 0.2218, 3", False), ("p 0.2216, 4", False), ("q 0.2216, 3", False)],
)
def test_one_in_the_last_digit_is_no_difference(found, same):
    assert (with_near_digits(found, "p 0.2216, 3") == "p 0.2216, 3") is same


def test_the_picture_of_the_readme_says_what_is_computed():
    _, said = picture.drawn()
    shown = picture.kept()
    assert with_near_digits(said, shown) == shown, "run `python -m tests.picture` and look at the picture"


def test_commands_in_the_tables_of_the_works_run(tmp_path):
    rows = re.findall(
        r"^\| .* \| `([^`]*)` \|$", DOCUMENTS["works"].read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(rows) > 40
    stage = set_stage(tmp_path)
    failed = {row: text for row in rows for status, text in [shell(row, stage)] if status != FINE}
    assert not failed


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_name_options_that_there_are(name):
    commands = [get_command(app_of()), *get_command(app_of()).commands.values()]
    options = {
        option
        for command in commands
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    named = re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", DOCUMENTS[name].read_text(encoding="utf-8"))
    assert not set(named) - options - {"--help", "--help-all"}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    document = DOCUMENTS[name]
    for link in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
        assert (document.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES)
def test_pages_begin_with_a_title_and_one_line(page):
    title, line, _ = DOCUMENTS[page].read_text(encoding="utf-8").split("\n\n", 2)
    assert re.fullmatch(r"# [A-Z][^\n]*", title)
    assert re.fullmatch(r"[A-Z][^\n]{10,109}[.?]", line)


def test_every_page_is_listed_and_shipped():
    package = PROJECT["tool"]["setuptools"]["package-data"]
    shipped = [file for pattern in package["calcli"] for file in (ROOT / "calcli").glob(pattern)]
    assert {file.stem for file in FOLDER.glob("*.md")} == set(PAGES)
    assert {DOCUMENTS[page] for page in PAGES} <= set(shipped)


def test_development_names_files_that_there_are():
    text = DOCUMENTS["development"].read_text(encoding="utf-8")
    named = re.findall(r"`((?:core|io|report|figures|guide|cli|tests)/[\w/.]*)`", text)
    assert len(named) > 10
    for path in named:
        assert (ROOT / path).exists() or (ROOT / "calcli" / path).exists(), path


def test_the_works_behind_every_entry_are_listed():
    rows = re.findall(r"^\| (\S.* \d{4}) \|", DOCUMENTS["works"].read_text(encoding="utf-8"), re.MULTILINE)
    for entry in [*METRICS.values(), *METHODS.values(), *FIGURES.values()]:
        for cited in re.findall(r"[A-Zv][^;,(]*?(?:, [A-Z][^;,(]*?)* \d{4}", entry.source):
            assert cited in rows, entry.name


if __name__ == "__main__":
    for name in sys.argv[1:] or DOCUMENTS:
        with tempfile.TemporaryDirectory() as folder:
            text = DOCUMENTS[name].read_text(encoding="utf-8")
            DOCUMENTS[name].write_text(refreshed(text, set_stage(Path(folder))), encoding="utf-8")
