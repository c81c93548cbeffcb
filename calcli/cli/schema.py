"""`calcli schema`: what calcli writes as JSON, for programs that read it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from calcli.cli.options import among
from calcli.cli.output import emit
from calcli.work.schema import DOCUMENTS, schema_of


def schema(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Of what; the names alone if left out.",
            autocompletion=among(DOCUMENTS),
        ),
    ] = None,
) -> None:
    """Print the JSON Schema of a report or of a calibrator.

    `"schema": "calcli.NAME/1"` in a file names its schema.

    \b
    calcli schema
    calcli schema report > report.schema.json
    """  # noqa: D301 (the escape keeps the lines below it apart)
    if name is None:
        emit("".join(f"{document}\n" for document in DOCUMENTS))
    else:
        emit(json.dumps(schema_of(name), indent=2, ensure_ascii=False) + "\n")
