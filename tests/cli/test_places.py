"""What is written replaces nothing that is read, and nothing else that is written."""

from __future__ import annotations

import pytest

PREDS = "label,prob_a,prob_b\n" + "a,0.5,0.5\nb,0.2,0.8\n" * 10


@pytest.fixture
def place(run, tmp_path, monkeypatch):
    """A folder with predictions, a link to them, a calibrator and a state of them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(PREDS)
    (tmp_path / "l.csv").symlink_to("t.csv")
    (tmp_path / "made").mkdir()
    assert run("fit", "t.csv", "-m", "temperature", "-o", "cal.json").status == 0
    assert run("evaluate", "t.csv", "--save-state", "s.calcli").status == 0
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("evaluate t.csv --html t.csv", "--html would replace t.csv, which is read"),
        ("evaluate t.csv --html ./l.csv", "--html would replace t.csv, which is read"),
        ("evaluate t.csv --html made/../t.csv", "--html would replace t.csv, which is read"),
        ("evaluate s.calcli --save-state s.calcli", "--save-state would replace s.calcli, which is read"),
        ("apply cal.json t.csv -o cal.json", "-o would replace cal.json, which is read"),
        ("fit t.csv -m dp -o new.json --cross-validated l.csv", "--cross-validated would replace t.csv"),
        ("fit t.csv -m dp -o new.json --html new.json", "-o and --html are both new.json"),
        ("fit t.csv -m dp -o new.json --cross-validated ./new.json", "-o and --cross-validated are both"),
        ("check t.csv --write json=new --write markdown=new", "--write and --write are both new"),
        ("compare t.csv t.csv --html t.csv", "--html would replace t.csv, which is read"),
        ("simulate cal -o new.csv --posteriors ./new.csv", "-o and --posteriors are both ./new.csv"),
        ("plot t.csv -o new --html new", "-o and --html are both new"),
        ("check t.csv --init --html new", "--init writes a policy and judges nothing; leave out --html"),
        ("check t.csv --init --write json=new", "leave out --write"),
        ("evaluate t.csv --class-axis 0 -o new", "--class-axis 0: t.csv is a table, with a column for each"),
        ("evaluate t.csv new -o new", "-o would replace new, which is read"),
        ("evaluate file://t.csv --html local://l%2Ecsv", "--html would replace t.csv, which is read"),
        ("evaluate t.csv -o file://a%00b", "no file has a NUL in its name"),
    ],
)
def test_a_clash_is_refused_and_nothing_is_touched(run, place, call, told):
    before = contents(place)
    done = run(*call.split())
    assert (done.status, done.out) == (2, "")
    assert told in done.err
    assert done.err.count("\n") == 1
    assert contents(place) == before


def test_scores_and_states_may_take_the_place_of_what_they_come_from(run, place):
    assert run("apply", "cal.json", "t.csv", "-o", "l.csv").status == 2
    assert run("apply", "cal.json", "t.csv", "-o", "l.csv", "--in-place").status == 0
    assert (place / "t.csv").read_text() != PREDS
    assert (place / "l.csv").is_symlink()
    assert run("merge", "s.calcli", "-o", "s.calcli").status == 0


@pytest.mark.parametrize(
    "call",
    [
        "evaluate t.csv --save-state new.calcli --html nowhere/page.html",
        "evaluate t.csv --save-state nowhere/new.calcli --html page.html",
        "evaluate t.csv -o new --html nowhere/page.html",
        "fit t.csv -m dp -o new.json --html nowhere/page.html",
        "fit t.csv -m dp -o new.json --cross-validated nowhere/cv.csv",
        "plot t.csv -o new --html nowhere/page.html",
        "check t.csv -p p.toml --write json=new.json --html nowhere/page.html",
        "simulate cal -o new.csv --posteriors nowhere/truth.csv",
    ],
)
def test_nothing_is_written_where_another_output_has_no_folder(run, place, call):
    assert run("check", "t.csv", "--init", "-p", "p.toml").status == 0
    before = {path.name for path in place.iterdir()}
    done = run(*call.split())
    assert done.status == 2
    assert done.err.count("\n") == 1
    assert {path.name for path in place.iterdir()} == before


def test_a_page_in_a_folder_that_is_made(run, place):
    assert run("evaluate", "t.csv", "-o", "new", "--html", "new/page.html", "--draws", "9").status == 0
    assert (place / "new" / "page.html").exists()


@pytest.mark.parametrize(
    "call",
    [
        "evaluate t.csv -o made --html page.html --save-state s.calcli --draws 9",
        "fit t.csv -m dp -o cal.json --cross-validated cv.csv --html page.html",
        "apply cal.json t.csv -o new.csv",
        "simulate cal --rows 20 -o new.csv --posteriors truth.csv",
        "plot t.csv -o made --html page.html --figure ks",
        "compare t.csv t.csv --html page.html --draws 9",
        "benchmark --cal t.csv --test t.csv --methods dp --html page.html",
        "study mixture --series 3 --rows 20 --metrics ece:lens=class-1 -o study.png",
        "merge s.calcli -o new.calcli",
    ],
)
def test_what_was_written_before_is_replaced(run, place, call):
    assert [run(*call.split()).status for _ in range(2)] == [0, 0]


def test_a_device_takes_what_two_options_send(run, place):
    assert run("fit", "t.csv", "-m", "dp", "-o", "/dev/null", "--html", "/dev/null").status in (0, 2)
    assert run("evaluate", "t.csv", "-o", "made", "--html", "/dev/null", "--draws", "9").status == 0
