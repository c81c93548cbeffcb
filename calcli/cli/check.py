"""`calcli check`: the gate of a release."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, get_args

from typer import Argument

from calcli.cli.command import command
from calcli.cli.options import Engine, Pairing, ReadingSystems, text
from calcli.cli.output import emit
from calcli.core.language.errors import UsageError
from calcli.core.language.text import Watcher
from calcli.report.progress import Remark
from calcli.report.shown import Format, Shown

FORMATS = "table", "json", "markdown", "junit", "github"


@command(*FORMATS, page=True, details="Show all files, not only those that failed.")
def check(
    files: Annotated[list[str], Argument(metavar="FILE", help="Predictions to check.")],
    *,
    reading: ReadingSystems,
    policy: Annotated[
        str | None,
        text(
            "FILE",
            "The rules, in TOML; - for standard input. By default calcli.toml, or [tool.calcli] in "
            "pyproject.toml.",
            "--policy",
            "-p",
        ),
    ] = None,
    baseline: Annotated[
        str | None, text("FILE", "The baseline: predictions, a state, or a JSON report.")
    ] = None,
    pairing: Pairing,
    engine: Engine = None,
    threshold: Annotated[
        str | None, text("FILE", "What calcli threshold wrote: is its promise true? In place of a policy.")
    ] = None,
    undecided: Annotated[
        Literal["fail", "pass", "warn"] | None,
        text(None, "The outcome of every rule that the data leave undecided.", "--undecided"),
    ] = None,
    strict: Annotated[bool, text(None, "Status 2 if no rule uses the baseline.", "--strict")] = False,
    init: Annotated[bool, text(None, "Write a first policy, which the file passes.", "--init")] = False,
    write: Annotated[
        list[str] | None, text("FORMAT=FILE", "Also write the results there. Repeatable.")
    ] = None,
    format: str,
    html: str | None,
    details: bool,
    watcher: Watcher,
    remark: Remark,
) -> Shown | None:
    """Check predictions against the rules of a policy.

    For continuous integration: exit status 1 if a rule is broken, 2 if a file or a rule could not be
    judged, 0 otherwise.

    \b
    calcli check --init preds.parquet --baseline old.parquet
    calcli check preds.parquet
    calcli check new.parquet --baseline old.parquet --write junit=check.xml
    calcli check preds.parquet --policy strict.toml --format github
    calcli check labelled.parquet --threshold threshold.json
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.check import check_files, check_threshold
    from calcli.work.policy import policy_for, write_policy

    if init:
        judging = {"--write": write, "--html": html, "--strict": strict, "--details": details}
        judging |= {"--undecided": undecided, "--threshold": threshold}
        _refuse("--init writes a policy and judges nothing", judging | {"--format": format != FORMATS[0]})
        path = policy or "calcli.toml"
        if len(files) != 1:
            raise UsageError(f"--init takes the values of one file; {len(files)} were given")
        if path != "-" and Path(path).is_file():
            raise UsageError(f"{path} exists; give another name with --policy, or - for standard output")
        text, notes = policy_for(files[0], reading, baseline, pairing)
        if path == "-":
            emit(text)
        else:
            write_policy(text, path)
            against = "" if baseline is None else " --baseline BASELINE"
            notes.append(
                f"wrote {path}; check files against it with calcli check FILE --policy {path}{against}"
            )
        for sentence in notes:
            remark(sentence)
        return None
    targets = [_target(text) for text in write or ()]
    if threshold is not None:
        clashing = {"--policy": policy, "--baseline": baseline, "--strict": strict}
        _refuse("--threshold judges a promise by itself", clashing)
        report = check_threshold(files, threshold, reading, undecided)
    else:
        report = check_files(
            files,
            policy,
            reading,
            baseline,
            pairing,
            undecided=undecided,
            strict=strict,
            engine=engine,
            watcher=watcher,
        )
    for form, path in targets:
        report.with_details(details).write(path, form)
    return report


def _refuse(why: str, options: Mapping[str, object]) -> None:
    """Raise a UsageError for the first option that was given."""
    for option, value in options.items():
        if value:
            raise UsageError(f"{why}; leave out {option}")


def _target(text: str) -> tuple[Format, str]:
    form, _, path = text.partition("=")
    kind: Format
    for kind in get_args(Format):
        if form == kind and path == "-":
            raise UsageError(f"--write {text}: standard output has one form; choose it with --format {form}")
        if form == kind and path:
            return kind, path
    raise UsageError(f"--write {text}: expected a format and a file, as in junit=check.xml")
