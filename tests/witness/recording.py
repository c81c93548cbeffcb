"""A plugin of pytest that keeps the files which tests read, with the options they are read with."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import calcli.io.read
from calcli.core.language.declaring import declared
from calcli.io.options import ReadOptions

MOST_BYTES = 4_000_000  # of a folder
KEPT = Path(os.environ["WITNESS"])
read_concat = calcli.io.read.read_concat


def _recording(paths: Sequence[str | Path], options: ReadOptions | None = None):
    _keep([Path(one) for one in paths], options or ReadOptions())
    return read_concat(paths, options)


def _keep(paths: list[Path], options: ReadOptions) -> None:
    folder = Path(os.path.commonpath([one.parent.absolute() for one in paths]))
    if not all(one.exists() for one in paths) or folder.is_relative_to(Path(__file__).parents[2]):
        return
    if sum(one.stat().st_size for one in folder.rglob("*") if one.is_file()) > MOST_BYTES:
        return
    own = KEPT / f"{len(list(KEPT.glob('*.json'))):05}"
    shutil.copytree(folder, own, symlinks=True)
    words = ["--concat"] if len(paths) > 1 and not options.concat else []
    for name, said in declared(ReadOptions).items():
        value = getattr(options, name)
        if value == said.default:
            continue
        if isinstance(value, bool):
            words.append(said.option)
        elif isinstance(value, tuple):
            words += [
                f"{said.option}={one}"
                for one in ([",".join(value)] if said.values.several == "commas" else value)
            ]
        else:
            words.append(f"{said.option}={str(value).replace(f'{folder}/', '')}")
    files = [str(one.absolute().relative_to(folder)) for one in paths]
    own.with_suffix(".json").write_text(json.dumps([str(own), files, words]))


calcli.io.read.read_concat = _recording
