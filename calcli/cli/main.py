"""The command `calcli`: its subcommands, and the place that turns faults into exit statuses."""

from __future__ import annotations

import gc
import json
import logging
import os
import re
import signal
import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from itertools import islice
from typing import Annotated, Any

import typer

from calcli.cli.output import emit, open_streams, remark, silence
from calcli.cli.parsing import ALL, Command, PlainGroup
from calcli.core.language.errors import CalcliError, UsageError
from calcli.core.language.version import __version__
from calcli.io.places.paths import without_secrets
from calcli.report.shown import ON_COMMAND_LINE

DEBUG = "CALCLI_DEBUG"
COMPLETING = "_CALCLI_COMPLETE"  # set by a shell that asks how a word may go on
HELP = ("-h", "--help", "--version", "-V")
FINE, CHECK_FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
BLAS_THREADS = "OPENBLAS_NUM_THREADS"
OF_MATPLOTLIB = ("MPLBACKEND", "MATPLOTLIBRC", "SOURCE_DATE_EPOCH")  # for others, as in a notebook's shell
COLLECTED = 10_000  # objects before garbage is looked for: modules that load make many, but no garbage
ENDS = 1_000  # characters at the end of a sentence, which is to have at most four times as many
EXIT_STATUSES = "Exit status: 0 fine, 1 a check failed, 2 the input or the call is wrong."
USAGE_ERROR = typer.BadParameter.__mro__[2]  # of all faults that the parser of the command line finds

COMMANDS = {  # by name, what help says of them; each is a function of that name, in a module of that name
    "evaluate": "Evaluate how good predicted probabilities are.",
    "plot": "Draw figures.",
    "inspect": "Show how files are read.",
    "segments": "Find segments with probabilities that are off beyond chance.",
    "fit": "Fit a recalibration.",
    "apply": "Recalibrate the scores of a file.",
    "threshold": "Find the threshold that promises a rate of errors, hits or alerts.",
    "export": "Write a calibrator as code that runs without calcli.",
    "benchmark": "Try every calibrator: fit to some rows, judge on others.",
    "compare": "Compare systems: do they differ beyond chance?",
    "plan": "Find how many rows a decision needs, before you label more.",
    "check": "Check predictions against the rules of a policy.",
    "monitor": "Watch a stream: are its probabilities still right, however often one looks?",
    "explain": "Explain a metric, calibrator, figure, argument or option.",
    "guide": "Read the manual.",
    "merge": "Merge the states of parts.",
    "simulate": "Simulate predictions with known truth.",
    "study": "Study estimators of calibration errors; procedures of the works.",
    "schema": "Print the JSON Schema of a report or of a calibrator.",
}
HEADINGS = (("Look", 4), ("Improve", 5), ("Decide", 4), ("Learn", 2), ("More", 4))  # over so many commands


class Commands(PlainGroup):
    """The commands; help lists them without loading their modules."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with their help, in groups by purpose."""
        commands = iter(COMMANDS.items())
        for heading, count in HEADINGS:
            with formatter.section(heading):
                formatter.write_dl([*islice(commands, count)])


def app_of(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """Return the command line with some of its subcommands, without loading the others."""
    app = typer.Typer(
        name="calcli",
        cls=Commands,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=EXIT_STATUSES,
    )
    app.callback()(calcli)
    for name in commands:
        command = getattr(import_module(f"calcli.cli.{name}"), name)
        unknown = {"ignore_unknown_options": name == "explain"}  # which says what options are
        helped = {"help_option_names": ["-h", "--help", ALL]}
        app.command(cls=Command, epilog=EXIT_STATUSES, context_settings=helped | unknown)(command)
    return app


def _version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"calcli {__version__}")
        raise typer.Exit


def calcli(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Evaluate, recalibrate and guard the probabilities of classifiers, from saved prediction files.

    Begin with: calcli evaluate FILE
    """


def run() -> None:
    """Run the command line and exit.

    Every fault becomes one sentence on standard error: status 2 if the input or the call is wrong.
    """
    # products of blocks that are small enough for the cache: more threads would wait for each other
    os.environ.setdefault(BLAS_THREADS, "1")
    for name in OF_MATPLOTLIB:  # figures here have one look, no window and no date
        os.environ.pop(name, None)
    gc.set_threshold(COLLECTED)
    open_streams()
    if not os.environ.get(DEBUG):
        warnings.filterwarnings("ignore", "Reading `.npy`", UserWarning)  # heads of Python 2, or damage
        warnings.simplefilter("ignore", SyntaxWarning)  # of the text of a damaged head
        # what it says of a style of the user, or of no place for a cache
        logging.getLogger("matplotlib").setLevel(logging.ERROR)
        warnings.simplefilter("ignore", RuntimeWarning)  # of numpy: what is infinite is told in the results
        sys.unraisablehook = lambda _: None  # what fails while it is thrown away, after all was told
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, _end)
    sys.exit(status_of(sys.argv[1:]))


def _end(number: int, frame: object) -> None:
    """Exit after cleaning up."""
    _end_signals.append(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)


_end_signals: list[int] = []  # by these signals


def status_of(arguments: list[str]) -> int:
    """Run the command line and return its exit status."""
    token = ON_COMMAND_LINE.set(True)
    try:
        arguments = [without_secrets(text) for text in arguments]
        command, *options = arguments or ["help"]
        if command == "help":
            command, *options = [*options, "--help"]
        if command not in COMMANDS and os.path.exists(command):
            raise UsageError(f"{command} is a file, not a command; to evaluate it: calcli evaluate {command}")
        app = app_of(_needed(command))
        return app([command, *options], prog_name="calcli", standalone_mode=False) or FINE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        silence()
        return FINE
    except SystemExit as left:
        if not isinstance(left.__context__, BrokenPipeError):  # the parser's own way to take a closed pipe
            raise
        silence()
        return FINE
    except Exception as fault:
        if _end_signals:  # compiled code may take that for an error of its own
            return 128 + _end_signals[0]
        if os.environ.get(DEBUG):
            raise
        sentence = _sentence(fault)
        _emit_readings(sentence, arguments)
        remark(sentence if len(sentence) <= 4 * ENDS else f"{sentence[: 3 * ENDS]} ... {sentence[-ENDS:]}")
        return WRONG
    finally:
        ON_COMMAND_LINE.reset(token)


AS_JSON = re.compile(r"(-f|--format)[ =]?json\b")
READING = re.compile(r"^  \d\. (.*)\n     (.*)$", re.MULTILINE)  # of a file, and the command that chooses it


def _emit_readings(question: str, arguments: list[str]) -> None:
    """Write the readings that a question offers, if any, as JSON on request."""
    offers = [
        {"reading": reading.strip(), "command": command} for reading, command in READING.findall(question)
    ]
    if offers and AS_JSON.search(" ".join(arguments)):
        emit(json.dumps({"error": question.partition("\n")[0], "readings": offers}, indent=2) + "\n")


def _needed(command: str) -> Iterable[str]:
    """Return the commands with needed modules, by the first argument."""
    if command in COMMANDS:
        return (command,)
    # help needs none; a misspelled command needs all, for the nearest one, and so does a shell that completes
    return () if command in HELP and COMPLETING not in os.environ else COMMANDS


def _sentence(fault: Exception) -> str:
    if isinstance(fault, CalcliError):
        return str(fault)
    if isinstance(fault, USAGE_ERROR):
        command = fault.ctx.command_path if fault.ctx else "calcli"  # type: ignore[attr-defined]
        message = fault.format_message().replace("Value error, ", "").replace("\n\t", " ")  # type: ignore[attr-defined]
        return f"{message} ({command} --help says more)"
    if isinstance(fault, FileNotFoundError) and not fault.filename:  # of os.getcwd
        return "the working directory no longer exists; change to another one"
    if isinstance(fault, OSError):
        return f"{fault.filename or 'a file'}: {fault.strerror or fault}"
    if isinstance(fault, MemoryError):
        return "not enough memory for this; use fewer rows"
    if isinstance(fault, SystemError) and "without" in str(fault):  # an exception being set
        return "a library failed without a reason, probably for lack of memory; use fewer rows"
    fault_text = f"{type(fault).__name__}: {fault}"
    return f"this is a bug in calcli ({fault_text}); please report it, with what {DEBUG}=1 shows"
