"""A command: parse its command line, call its function, and show the result."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, get_type_hints

import typer

from calcli.cli.options import Chosen, made, option, outputs
from calcli.cli.output import colored, emit, remark
from calcli.core.language.errors import UsageError
from calcli.io.places.paths import is_url, name_and_path, path_of

if TYPE_CHECKING:
    from calcli.report.shown import Shown

WRITTEN = {
    "output": "-o",
    "html": "--html",
    "save_state": "--save-state",
    "cross_validated": "--cross-validated",
    "state": "--state",
}
TRUTH = "simulate", "posteriors"  # which is written there, and read by study
READ = "file", "files"  # arguments, which need not be there to be meant
IN_PLACE = "merge", "files"  # what the state of the whole may replace
LAST_IN_PLACE = "apply", "files"  # what new scores may replace
SHOWING = ("details", "format", "html", "digits", "quiet")


def command(
    *formats: str, page: bool = False, details: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Make a command of a function: its parameters become options, and its result is shown.

    A parameter that is `Chosen` from a class of settings becomes several options. Parameters called
    `watcher` and `remark` get the progress bar and remarks; a parameter with the name of an option
    of presentation gets its value.

    Parameters
    ----------
    formats
        Formats of the results on standard output, the default first.
    page
        Whether they can be written as a page.
    details
        Help of the option --details; "" if there is none.
    """

    def decorated(function: Callable[..., Any]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        parameters: list[inspect.Parameter] = []
        groups: dict[str, dict[str, Any]] = {}
        arguments = inspect.signature(function).parameters
        for name, parameter in arguments.items():
            chosen = [mark for mark in getattr(hints[name], "__metadata__", ()) if isinstance(mark, Chosen)]
            if chosen:
                pairs = [parameter for c in chosen for parameter in c.parameters(hints[name].__origin__)]
                groups[name] = {parameter.name: setting for setting, parameter in pairs}
                parameters += [parameter for _, parameter in pairs]
            elif name not in ("watcher", "remark", *SHOWING) or hasattr(hints[name], "__metadata__"):
                parameters.append(option(name, hints[name], parameter.default))
        parameters += outputs(formats, details, page=page)

        @functools.wraps(function)
        def run(**values: Any) -> None:
            from calcli.io.places.outputs import refuse_folders, refuse_nowhere, together
            from calcli.report.progress import progress, unsaid

            refuse_clashes(function.__name__, values)
            html, output = values.get("html"), values.get("output")
            refuse_folders(html)
            refuse_nowhere(html, new_folder=output)
            settings = {
                name: made(hints[name].__origin__, group.values(), values) for name, group in groups.items()
            }
            with progress(wanted=not values["quiet"]) as watcher, together() if page else nullcontext():
                values |= {"watcher": watcher, "remark": unsaid if values["quiet"] else remark} | settings
                report = function(**{name: values[name] for name in arguments})
                if html is not None:
                    report.in_full().write(html, "html")
            if report is not None:
                _show(report, values)

        run.settings = {name: setting for group in groups.values() for name, setting in group.items()}  # type: ignore[attr-defined]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorated


def _show(result: Shown, values: Mapping[str, Any]) -> None:
    """Write results to standard output, and anything that their form has no place for to standard error."""
    from calcli.report.page import Figures
    from calcli.report.shown import render

    result, form = result.with_details(values.get("details")), values.get("format", "table")
    if isinstance(result, Figures):
        emit(str(result))
    elif values.get("output") == "-":  # which standard output has
        sys.stderr.write("" if values["quiet"] else render(result, form))
    else:
        emit(render(result, form, color=colored()))
    for sentence in () if values["quiet"] else result.beside(form):
        remark(sentence)
    for sentence in result.faults():
        remark(sentence)
    if result.exit_status:
        raise typer.Exit(result.exit_status)


def refuse_clashes(command: str, values: Mapping[str, Any]) -> None:
    """Raise an error for a call that would write two things to one place, or over a file that it reads.

    Parameters
    ----------
    command
        Its name.
    values
        Values of all its parameters.

    Raises
    ------
    UsageError
        If there is such a clash.
    """
    written: dict[str, str] = {}
    for name, place in _outputs(command, values):
        where = os.path.realpath(place)
        if where in written:
            raise UsageError(f"{written[where]} and {name} are both {place}; choose two places")
        written[where] = name
    for name in values.keys() - WRITTEN.keys() if written else ():
        value = [] if (command, name) in (TRUTH, IN_PLACE) else values[name]
        value = value[:-1] if (command, name) == LAST_IN_PLACE else value
        texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
        for text in (_on_disk(name_and_path(text)[1] if name in READ else text) for text in texts):
            is_read = os.path.isfile(text) or (name in READ and not os.path.exists(text))
            if is_read and (where := os.path.realpath(text)) in written:
                raise UsageError(
                    f"{written[where]} would replace {text}, which is read; choose another place"
                )


def _outputs(command: str, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield options with the files and folders that they name."""
    places = [(spelled, str(values.get(name) or "")) for name, spelled in WRITTEN.items()]
    if command == TRUTH[0]:
        places.append(("--posteriors", values[TRUTH[1]] or ""))
    places += [("--write", text.partition("=")[2]) for text in values.get("write") or ()]
    for name, text in places:
        place = _on_disk(text)
        if place and place != "-" and "://" not in place and not _is_device(place):
            yield name, place


def _on_disk(text: str) -> str:
    """Return the path of a URL such as file://preds.csv; other paths unchanged."""
    return str(path_of(text)) if is_url(text) else text


def _is_device(place: str) -> bool:
    """Return whether a path is a device or a pipe."""
    return os.path.exists(place) and not (os.path.isfile(place) or os.path.isdir(place))
