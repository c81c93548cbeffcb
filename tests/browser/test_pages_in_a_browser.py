"""Pages in a real browser: no network is asked, tables sort, systems switch, figures tell their values."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calcli
from calcli.cli.main import status_of

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: make browser")
if not (shutil.which("chromium") and shutil.which("chromedriver")):
    pytest.skip("chromium and chromedriver are not installed", allow_module_level=True)

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
FILES = ["sample_data/digits_network_test.npy", "sample_data/digits_forest_test.parquet"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}", "--window-size=1280,900"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    assert status_of(["evaluate", FILES[0], "-q", "--html", str(folder / "one.html")]) == 0
    assert status_of(["evaluate", *FILES, "-q", "--html", str(folder / "two.html")]) == 0
    old, new = (f"sample_data/release_{number}.parquet" for number in (1, 2))
    (folder / "policy.toml").write_text('[[rules]]\nmetric = "log_loss"\nmax = 0.4\n', encoding="utf-8")
    fitted = "sample_data/digits_network_calibration.npy"
    calls = {
        "compare": (old, new, "--key", "id", "--by", "ink", "--draws", "19"),
        "check": (new, old, "--policy", str(folder / "policy.toml")),
        "benchmark": ("--cal", fitted, "--test", FILES[0], "--methods", "temperature,platt"),
        "fit": (fitted, "-m", "dp", "-o", str(folder / "cal.json")),
        "plot": ("sample_data/cancer_bayes_test.csv", "--figure", "rejection,risk,ks,smooth"),
    }
    for name, call in calls.items():
        assert status_of([name, *call, "-q", "--html", str(folder / f"{name}.html")]) == (name == "check")
    return folder


def open_page(browser: Any, path: Path) -> None:
    browser.get_log("performance")
    browser.get(path.as_uri())


def column(table: Any, number: int) -> list[str]:
    return [row.find_elements("css selector", "th, td")[number].text for row in rows(table)]


def rows(table: Any) -> list[Any]:
    return [row for row in table.find_elements("css selector", "tbody tr") if row.is_displayed()]


NAMES = [f"{name}.html" for name in ("one", "two", "compare", "check", "benchmark", "fit", "plot")]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_asks_for_nothing_and_reports_no_error(browser: Any, pages: Path, name: str) -> None:
    open_page(browser, pages / name)
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert asked == [(pages / name).as_uri()]
    assert browser.get_log("browser") == []


def test_tables_sort_both_ways_and_back(browser: Any, pages: Path) -> None:
    open_page(browser, pages / "one.html")
    table = browser.find_element("css selector", "#classes table")
    head = next(h for h in table.find_elements("css selector", "thead th") if h.text == "recall")
    place = table.find_elements("css selector", "thead th").index(head)
    first = column(table, place)
    by_value = sorted(first, key=float)
    for order, expected in (("ascending", by_value), ("descending", by_value[::-1]), (None, first)):
        head.find_element("css selector", "button").click()
        assert head.get_attribute("aria-sort") == order
        assert column(table, place) == expected


def test_systems_are_switched_off_and_on(browser: Any, pages: Path) -> None:
    open_page(browser, pages / "two.html")
    table = browser.find_element("css selector", "#scores table")
    assert len(rows(table)) == 2
    box = browser.find_element("css selector", ".systems input")
    box.click()
    assert column(table, 0) == [Path(FILES[1]).name]
    albums = [one for one in browser.find_elements("css selector", ".album") if one.is_displayed()]
    assert len(albums) == 1
    box.click()
    assert len(rows(table)) == 2


def test_pointing_at_a_bar_tells_its_numbers(browser: Any, pages: Path, capsys: Any) -> None:
    assert status_of(["evaluate", FILES[0], "-q", "-f", "json"]) == 0
    last = json.loads(capsys.readouterr().out)["results"][0]["reliability"][-1]
    open_page(browser, pages / "one.html")
    bars = browser.find_elements("css selector", "header .tip")
    webdriver.ActionChains(browser).move_to_element(bars[-1]).perform()
    told = browser.find_element("css selector", "#tip").text
    assert f"mean score {last['predicted']:.4f}, frequency {last['observed']:.4f}" in told


def test_pointing_at_a_curve_tells_a_point_of_it(browser: Any, pages: Path) -> None:
    open_page(browser, pages / "plot.html")
    strips = browser.find_elements("css selector", "figure:first-of-type .tip")
    webdriver.ActionChains(browser).move_to_element(strips[len(strips) // 2]).perform()
    told = browser.find_element("css selector", "#tip").text
    kept = calcli.plot("sample_data/cancer_bayes_test.csv", figure="rejection").tables
    table = kept["cancer_bayes_test.csv"]
    points = np.stack([table["rejected"], table["error_rate"], table["promised"]], axis=1)
    shown = re.fullmatch(r"rejected (\S+)\nerror rate (\S+), promised (\S+)", told)
    assert shown is not None
    numbers = [float(one) for one in shown.groups()]
    assert np.isclose(points, numbers, rtol=1e-3, atol=5e-5).all(axis=1).any()


@pytest.mark.parametrize("name", NAMES)
def test_a_page_fits_a_telephone(browser: Any, pages: Path, name: str) -> None:
    size = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    open_page(browser, pages / name)
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    room = browser.execute_script("return document.documentElement.clientWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide <= room
