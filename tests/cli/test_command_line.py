"""Exit statuses, streams, pipes and interrupts: what holds for every subcommand."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.main import get_command

import calcli
from calcli.cli import main
from calcli.cli.main import COMMANDS, HEADINGS, app_of


def one_sentence(done) -> str:
    """Return the sentence on standard error, having checked that it stands alone."""
    assert done.status == 2
    assert done.out == ""
    assert done.err.startswith("calcli: ")
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err
    return done.err.removeprefix("calcli: ").rstrip("\n")


def calcli_process(*arguments: object, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "calcli", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


def test_version(run):
    assert run("--version") == (0, f"calcli {calcli.__version__}\n", "")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_the_commands_and_exit_statuses(run, arguments):
    status, out, err = run(*arguments)
    assert (status, err) == (0, "")
    assert "Exit status: 0 fine, 1 a check failed, 2 the input or the call is wrong." in out
    assert all(name in out for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(run, command):
    status, out, _ = run(command, "--help")
    assert status == 0
    assert out.splitlines()[2].strip() == COMMANDS[command]
    assert f"  calcli {command} " in out
    assert "Exit status: 0 fine" in out
    assert "<str>" not in out
    assert "list[" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["evaluate"], "Missing argument 'FILE'"),
        (["evaluate", "x.npy", "--frob"], "No such option.*--frob"),
        (["evaluate", "x.npy", "--bins", "many"], "--bins"),
        (["evaluate", "x.npy", "--kind", "odds"], "'odds' is not one of"),
        (["evaluate", "x.npy", "--level", "95"], "--level is 95; expected a number between 0 and 1"),
        (["evaluate", "x.npy", "--metrics", ""], "--metrics is empty; leave it out"),
        (["fit", "x.npy", "-m", "auto", "--candidates", ","], "--candidates is empty; leave it out"),
        (["benchmark", "--cal", "x.npy", "--methods", ","], "--methods is empty; leave it out"),
        (["evaluate", "x.npy", "--metrics", "ecee,brierr"], "'ece'.*'brier'"),
        (["evaluate", "x.npy", "--fail-if", "log_loss=1"], "'log_loss=1' is not a limit"),
        (["evaluate", "x.npy"], "x.npy: no such file"),
    ],
)
def test_wrong_calls_are_one_sentence(run, arguments, message):
    assert re.search(message, one_sentence(run(*arguments)))


def test_the_hint_names_the_command(run):
    assert one_sentence(run("evaluate")).endswith("(calcli evaluate --help says more)")


def test_a_fault_of_the_program_is_one_sentence_too(run, monkeypatch, preds):
    def broken(*_):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("calcli.work.evaluate.evaluate_predictions", broken)
    sentence = one_sentence(run("evaluate", preds))
    assert "bug in calcli (ZeroDivisionError: division by zero); please report it" in sentence
    monkeypatch.setenv(main.DEBUG, "1")
    with pytest.raises(ZeroDivisionError):
        run("evaluate", preds)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (PermissionError(13, "Permission denied", "x.csv"), "x.csv: Permission denied"),
        (MemoryError(), "not enough memory"),
        (SystemError("error return without exception set"), "a library failed without a reason"),
    ],
)
def test_faults_of_the_machine_are_told(run, monkeypatch, preds, fault, message):
    def broken(*_):
        raise fault

    monkeypatch.setattr("calcli.work.evaluate.evaluate_predictions", broken)
    assert message in one_sentence(run("evaluate", preds))


def test_an_escape_in_a_damaged_head_brings_no_warning(tmp_path):
    path = tmp_path / "t.npy"
    np.save(path, np.zeros((3, 2)))
    path.write_bytes(path.read_bytes().replace(b"'shape'", b"'sh\\ope'"))
    process = calcli_process("evaluate", path)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err == f"calcli: {path}: the head of this .npy file is damaged; save it again\n"


def test_an_interrupt_has_its_own_status(run, monkeypatch, preds, tmp_path):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("calcli.report.pictures.Album.draw", interrupted)
    status, out, _ = run("evaluate", preds, "-o", tmp_path / "report")
    assert (status, out) == (130, "")
    assert not (tmp_path / "report").exists()


def test_control_c_leaves_no_half_folder(sample, tmp_path):
    folder = tmp_path / "report"
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs of a script are born deaf to it
    process = calcli_process(
        "evaluate", sample / "iris_logistic_test.csv", "-", "-o", folder, "--draws", 9, stdin=subprocess.PIPE
    )
    signal.signal(signal.SIGINT, handler)
    # more than a pipe holds: this returns when the first file is drawn and the second is being read
    process.stdin.write("label,prob_cat,prob_dog\n" + "cat,0.8,0.2\n" * 500_000)
    process.stdin.flush()
    assert list(folder.glob(".calcli-*/**/*.png"))
    process.send_signal(signal.SIGINT)
    assert process.communicate() == ("", "")
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_a_run_goes_on_under_nohup():
    handler = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    process = calcli_process("evaluate", "-", "--metrics", "accuracy", "-q", stdin=subprocess.PIPE)
    signal.signal(signal.SIGHUP, handler)
    # more than a pipe holds: this returns when the rest is being read
    process.stdin.write("label,prob_cat,prob_dog\n" + "cat,0.8,0.2\ncat,0.7,0.3\ndog,0.8,0.2\n" * 7_000)
    process.stdin.flush()
    process.send_signal(signal.SIGHUP)
    out, err = process.communicate("dog,0.2,0.8\n" * 20)
    assert (process.returncode, err) == (0, "")
    assert "accuracy" in out


def test_a_reader_that_has_seen_enough_is_no_error(sample):
    files = [sample / "cancer_bayes_test.csv"] * 3
    evaluate = ("evaluate", *files, "--format", "json", "--metrics", "accuracy")
    for command in (evaluate, ("simulate", "mcps", "--rows", "50000")):
        with calcli_process(*command) as process:
            process.stdout.close()
            assert process.stderr.read() == ""
            assert process.wait() == 0


@pytest.mark.parametrize(("file", "status"), [("iris_logistic_test.csv", 1), ("missing.csv", 2)])
def test_the_exit_status_stays_when_nobody_reads_on(sample, file, status):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "calcli", "evaluate", str(sample / file), "--metrics", "accuracy"]
    done = subprocess.run([*command, "--fail-if", "accuracy>0"], stdout=writing, stderr=writing)
    os.close(writing)
    assert done.returncode == status


def test_a_word_that_is_no_choice_is_told_plainly(run):
    done = run("simulate", "foo")
    assert done.status == 2
    assert "Invalid value for 'SYSTEM': 'foo' is not one of 'cal', 'mcs'" in done.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_a_full_disk_is_told(sample):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "calcli", "evaluate", str(sample / "iris_logistic_test.csv")]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "calcli: standard output cannot be written: No space left on device\n"


def on_a_terminal(*arguments: object, **environment: str) -> str:
    """Return what `calcli` shows on a terminal."""
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "calcli", *map(str, arguments)]
    env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"}
    process = subprocess.Popen(command, stdout=child, stderr=child, env=env | environment)
    os.close(child)
    shown = b""
    while True:
        try:
            chunk = os.read(parent, 65536)
        except OSError:  # how Linux says that the other end was closed
            chunk = b""
        if not chunk:
            break
        shown += chunk
    os.close(parent)
    assert process.wait() == 0
    return shown.decode()


def test_bold_and_a_progress_bar_on_a_terminal_only(sample):
    file = sample / "iris_logistic_test.csv"
    assert "\x1b[1m" in on_a_terminal("evaluate", file, "--quiet")
    assert "100%" in on_a_terminal("evaluate", file)
    plain = on_a_terminal("evaluate", file, "-q", NO_COLOR="1")
    assert "log_loss" in plain
    assert "\x1b" not in plain


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("calcli evaluate --per", ["--per-character"]),
        ("calcli evaluate --metrics ece,log_", ["ece,log_loss"]),
        ("calcli fit -m temp", ["temperature", "temperature-mix"]),
        ("calcli plot --figure reli", ["reliability"]),
        ("calcli plot --lens within", ["within-top-2", "within-top-3"]),
    ],
)
def test_completion(words, offered):
    environment = os.environ | {
        "_CALCLI_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1),
    }  # fmt: skip
    command = [sys.executable, "-m", "calcli"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == offered


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_one_screen_of_the_options_that_people_use(run, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    short, full = (run(command, option).out.splitlines() for option in ("--help", "--help-all"))
    assert len(short) <= 45
    few, every = ({word for word in text if word.startswith("  -")} for text in (short, full))
    assert min(len(every), 12) <= len(few) <= 18
    assert few <= every


def test_options_stand_in_groups_each_once(run):
    text = run("evaluate", "--help-all").out
    heads = [line.rstrip(":") for line in text.splitlines() if line and line[0] != " " and line.endswith(":")]
    assert heads[:2] == ["Arguments", "Options"]
    assert "Reading" in heads
    options = [line.split()[0].rstrip(",") for line in text.splitlines() if line.startswith("  -")]
    assert len(set(options)) == len(options) > 40
    assert text.index("--metrics") < text.index("Reading:") < text.index("--renormalize")


def test_heads_of_arrays_that_python_2_wrote_are_read_without_a_warning(tmp_path):
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (4L, 2L), }"
    length = len(head).to_bytes(2, "little")
    (tmp_path / "t.npy").write_bytes(b"\x93NUMPY\x01\x00" + length + head + np.full((4, 2), 0.5).tobytes())
    np.save(tmp_path / "t_labels.npy", [0, 1, 0, 1])
    call = [sys.executable, "-m", "calcli", "inspect", str(tmp_path / "t.npy")]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_meant_for_matplotlib_elsewhere(preds, tmp_path):
    """A shell of a notebook, a build of another project, a style of the user and no home are all the same."""
    (tmp_path / "style").write_text("figure.figsize: none\nbackend: nobody\ntext.usetex: True\n")
    elsewhere = {
        "MPLBACKEND": "module://matplotlib_nowhere.backend",
        "MATPLOTLIBRC": str(tmp_path / "style"),
        "SOURCE_DATE_EPOCH": "x",
        "MPLCONFIGDIR": "/proc/nowhere",
    }
    written = []
    for name, variables in (("plain", {}), ("elsewhere", elsewhere)):
        call = "plot", preds, "-o", tmp_path / name, "--figure", "ks", "--format", "pdf", "-q"
        process = calcli_process(*call, env=os.environ | variables)
        out, err = process.communicate()
        assert (process.returncode, err) == (0, ""), out + err
        written.append([path.read_bytes() for path in sorted((tmp_path / name).iterdir())])
    assert written[0] == written[1]


def test_settings_of_matplotlib_that_are_not_utf_8(preds, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matplotlibrc").write_bytes(b"font.family: caf\xe9\n")
    process = calcli_process("plot", preds, "-o", "out")
    assert "matplotlibrc, of this folder or the user: expected UTF-8" in process.communicate()[1]
    assert process.returncode == 2


def test_a_sentence_has_an_end(run, preds):
    done = run("evaluate", preds, "--metrics", ",".join(f"unknown{n}" for n in range(300)))
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert 4000 < len(done.err) < 4100


def test_a_working_folder_that_is_gone(preds, tmp_path, monkeypatch, run):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    done = run("evaluate", preds, "-o", "out")
    assert done.status == 2
    assert done.err == "calcli: the working directory no longer exists; change to another one\n"


@pytest.mark.parametrize("digits", ["9" * 6000, "²", "٣"])
@pytest.mark.parametrize(
    "call",
    [
        "evaluate column.npz --positive DIGITS",
        "evaluate column.npz --classes DIGITS,1",
        "evaluate preds.csv --ignore-label DIGITS",
        "evaluate column.npz --ignore-label DIGITS",
        "evaluate preds.csv --metrics ece:lens=class-DIGITS",
        "plot preds.csv -o out --figure epochs:smooth=savgol/DIGITS",
        "fit preds.csv -m histogram:lens=top-DIGITS -o cal.json",
    ],
)
def test_digits_that_are_no_number_to_python(call, digits, preds, monkeypatch, run):
    """It converts no thousands of them, and no powers."""
    monkeypatch.chdir(preds.parent)
    np.savez("column.npz", scores=np.linspace(0, 1, 8), labels=np.arange(8) % 2)
    status, _, err = run(*call.replace("DIGITS", digits).split())
    assert status in (0, 2)
    assert "bug in calcli" not in err


def test_help_begins_with_evaluate_and_groups_the_commands(run):
    done = run("--help")
    assert "Begin with: calcli evaluate FILE" in done.out
    headings = [line.rstrip(":") for line in done.out.splitlines() if re.fullmatch("[A-Z][a-z]+:", line)]
    assert headings == ["Options", "Look", "Improve", "Decide", "Learn", "More"]
    assert sum(count for _, count in HEADINGS) == len(COMMANDS)
    for calls in (("help",), ()):
        assert run(*calls) == done
    assert run("help", "evaluate") == run("evaluate", "--help")
    assert run("-V").out == run("--version").out


def test_a_file_in_place_of_a_command_is_answered_with_the_command(run, sample):
    file = sample / "iris_logistic_test.csv"
    done = run(file)
    assert (done.status, done.out) == (2, "")
    assert done.err == f"calcli: {file} is a file, not a command; to evaluate it: calcli evaluate {file}\n"


@pytest.mark.parametrize(("command", "most"), [("evaluate", 50), ("compare", 44)])
def test_commands_have_no_more_options_than_people_can_read(command, most):
    options = [
        one for one in get_command(app_of()).commands[command].params if one.param_type_name == "option"
    ]
    assert len(options) <= most
