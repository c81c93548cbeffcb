"""The kinds of cases: a function each that writes what is hostile and returns a call."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa

from calcli.core.language.figures import FIGURES
from calcli.works.settings import System
from tests.hostile import files, models, options, tables
from tests.hostile.cases import Case
from tests.hostile.drawing import Draw, damaged, text_of
from tests.hostile.models import made
from tests.hostile.options import OUTPUTS, Place, declared, metric, metrics
from tests.hostile.relations import RELATIONS

ENDINGS = (".csv", ".npy", ".npz", ".parquet", ".jsonl", ".arrow", ".json")
READERS = (
    *("evaluate",) * 8, *("inspect",) * 3, "fit", "apply", "plot", "compare", "check", "check", "benchmark",
    "segments", "threshold", "export",
)  # fmt: skip


def make(seed: int, number: int, folder: Path, store: Path) -> Case:
    """Write the files of a case, the same for the same numbers, and return its call."""
    kind, draw = kind_of(number), Draw(f"{seed} {number}")
    draw.folder, draw.store, draw.outputs = folder, store, []
    case = KINDS[kind](draw)
    return replace(case, kind=kind, arguments=list(map(text_of, case.arguments)), outputs=draw.outputs)


def kind_of(number: int) -> str:
    """Return the kind of a case; they take turns."""
    return list(KINDS)[number % len(KINDS)]


def call(draw: Draw, place: Place, given: list[str] = [], command: str = "", most: int = 0) -> Case:  # noqa: B006
    """Return a call that reads files: what the command needs, what is given, and up to so many options."""
    command = command or draw.choice(READERS)
    arguments = [command, *_needed(draw, place, command), *given]
    most = most or (2 if draw.chance(0.4) else 0)
    arguments += options.options(draw, command, place, most)
    known = {one.name: one.choices for one in declared(command)}
    arguments += draw.maybe(0.3, "--format", draw.choice(known["--format"])) if "--format" in known else []
    arguments += draw.maybe(0.1, "--html", draw.output(".html")) if "--html" in known else []
    readable = [text for text in arguments if text in place.files and (draw.folder / text).is_file()]
    if readable and draw.chance(0.05):
        arguments[arguments.index(readable[0])] = "-"
        return Case(arguments, stdin=readable[0])
    return Case(arguments)


def _needed(draw: Draw, place: Place, command: str) -> list[str]:
    """Return what a command needs at the least, with a short run where its usual one is long."""
    first, classes = list(place.files[:1]), min(max(len(place.classes), 2), 5)
    known = {path.name for path in draw.folder.iterdir()}
    if command == "fit":
        method = options.method(draw) if draw.chance(0.7) else draw.choice(("auto", "temperature", "dp"))
        return [*first, "-m", method, "-o", draw.output(draw.choice((".json", ".npz"))), "--folds", "2"]
    if command in ("apply", "export"):
        there = sorted(known & {"cal.json", "cal.npz"})
        cal = there[0] if there else made(draw, "calibrator", classes, calm=True)
        out = draw.maybe(0.7, "-o", draw.output(draw.choice(ENDINGS)))
        return [cal, *(first if command == "apply" else ()), *out]
    if command == "plot":
        return [*place.files, "-o", draw.output(""), *draw.maybe(0.7, "--figure", draw.choice(list(FIGURES)))]
    if command == "compare":
        return [*first, *(place.files[1:] or first)]
    if command == "check":
        if "calcli.toml" in known:
            return [*first, "-p", "calcli.toml"]
        return [*first, *draw.choice((["--init"], ["-p", made(draw, "policy", classes, calm=True)]))]
    if command == "benchmark":
        return ["--cal", *first, "--test", *first, "--methods", draw.choice(models.FITTED)]
    if command == "threshold":
        return [*first, "--max-error", "0.2"]
    return [*(first if command == "segments" else place.files)]


def place_of(columns: tables.Columns, *names: str) -> Place:
    known = list(dict.fromkeys(map(str, files.labels_of(columns).ravel()[:200].tolist())))[:10]
    return Place(names, [name for name, _ in columns], known, len(columns[0][1]) if columns else 0)


def sound_place(draw: Draw) -> Place:
    """Write sound rows of a few classes."""
    count = draw.choice((2, 3))
    return Place([draw.put("t.csv", models.sound(count))], classes=[str(n) for n in range(count)])


def a_table(draw: Draw) -> Case:
    """Sizes, names and layouts, all as they should be, but for the names; on terminals that nobody has."""
    columns = tables.table(draw)
    case = call(draw, place_of(columns, files.write(draw, columns)))
    odd = {name: draw.choice(values) for name, values in TERMINALS.items()}
    return replace(case, environment=odd if draw.chance(0.3) else {})


TERMINALS = {
    "PYTHONIOENCODING": ("ascii", "latin-1", "utf-8", "koi8-r", "cp1252"), "NO_COLOR": ("", "1"),
    "COLUMNS": ("0", "1", "20", "-5", "x", "100000"), "LC_ALL": ("C", "POSIX", "none"),
}  # fmt: skip


def broken_tables(draw: Draw) -> Case:
    columns = tables.table(draw, small=draw.chance(0.7))
    names = [files.write(draw, tables.broken(draw, columns), stem="a")]
    if draw.chance(0.3):
        names.append(files.write(draw, draw.choice((columns, tables.table(draw, small=True))), stem="b"))
    return call(draw, place_of(columns, *names))


def folders(draw: Draw) -> Case:
    """Parts in a folder, at times in folders named by values of a column, which the files may have too."""
    columns = tables.table(draw, small=True)
    keys = draw.some(("country", "date", columns[0][0], draw.name()), 2)
    usual = draw.choice(("csv", "parquet", "npy", "jsonl", "arrow"))
    for part in range(draw.choice((1, 2, 3))):
        values = "DE", "FR", str(part), draw.name(), "__HIVE_DEFAULT_PARTITION__"
        named = [f"{key}={draw.choice(values)}"[:80].replace("/", "%2F").replace("\0", "") for key in keys]
        own = [(name, values[part:]) for name, values in columns]
        own = tables.broken(draw, own) if draw.chance(0.2) else own
        form = usual if draw.chance(0.95) else draw.choice(list(files.WRITERS))
        files.write(draw, own, form, "/".join(["lake", *named, str(part)]))
    if draw.chance(0.2):
        draw.put("lake/" + draw.choice((".hidden", "notes.txt", "_SUCCESS", "x.pkl")), b"\x80\x04")
    given = [draw.choice(("--by", "--label-column")), keys[0]] if keys and draw.chance(0.4) else []
    given += draw.maybe(0.1, "--engine", draw.choice(("spark", "", "Dask", "tcp://127.0.0.1:1")))
    place = place_of(columns, draw.choice(("lake", "lake", "lake/", "lake/*", "lake/**/*")))
    return call(draw, place, given, "evaluate" if given else "")


def _damaged_file(form: str) -> Callable[[Draw], Case]:
    def damaged_file(draw: Draw) -> Case:
        columns = tables.table(draw, small=True)
        name = files.write(draw, columns, form, "t")
        draw.put(name, damaged(draw, (draw.folder / name).read_bytes()))
        return call(draw, place_of(columns, name))

    return damaged_file


def heads(draw: Draw) -> Case:
    """Arrays whose heads promise something else."""
    ending, of = draw.choice(((".npy", files.npy_with_head), (".npz", files.npz_with_heads)))
    draw.put("labels.npy", files.npy(draw.arrays.integers(3, size=40)))
    beside = [] if ending == ".npz" else ["--labels", "labels.npy"]
    return call(draw, Place([draw.put(f"t{ending}", of(draw))], rows=40), beside)


def types(draw: Draw) -> Case:
    """Columns of which one, or a part of what is in it, has any type that Arrow has."""
    columns = [*tables.table(draw, small=True), ("odd", range(30))]
    while True:
        try:
            found, form = files.arrow_table(draw, columns, typed=True), draw.choice(("parquet", "arrow"))
            name = draw.put(f"t.{form}", (files.parquet if form == "parquet" else files.arrow)(draw, found))
            break
        except (pa.ArrowException, OSError, ValueError, TypeError):  # what the format or the version lacks
            continue
    given = draw.maybe(0.3, draw.choice(("--by", "--cluster", "--weights", "--key")), "odd")
    return call(draw, place_of(columns, name), given, "evaluate")


def rows(draw: Draw) -> Case:
    """Rows that statistics are afraid of, and options that nobody need refuse."""
    draw.calm = True
    of = tables.odd_rows(draw)
    if draw.chance(0.2):
        of = of.with_column("id", tables.other(draw, len(of.labels), ["a", "b"]))
    stems = draw.choice((("a",), ("a",), ("a", "b"), ("e/0", "e/1", "e/2")))
    names = [files.write(draw, of.columns(), draw.choice(("csv", "parquet", "jsonl")), stems[0])]
    for stem in stems[1:]:
        other = tables.another(draw, of)
        usual = slice(draw.choice((None, None, 1)))
        kept = draw.arrays.permutation(len(of.labels)) if draw.chance(0.2) else usual
        names.append(files.write(draw, other.part(kept).columns(), "parquet", stem))
    command = draw.choice(READERS)
    metered = "--metrics" in [one.name for one in declared(command)]
    given = draw.maybe(0.5 * metered, "--metrics", metrics(draw))
    return call(draw, place_of(of.columns(), *names), given, command, most=5)


def some_options(draw: Draw) -> Case:
    if draw.chance(0.1):
        return Case(["explain", draw.choice((metrics(draw), options.method(draw), draw.name()))])
    return call(draw, sound_place(draw), most=4)


def addresses(draw: Draw) -> Case:
    """Names of files that are addresses; nobody listens at those of the web."""
    place = sound_place(draw)
    name = "".join(draw.choice(part) for part in ADDRESS).replace("HERE", str(draw.folder))
    outside = ":///" in name and str(draw.folder) not in name  # the root of the disk, as asked for
    outputs = [] if outside or ".." in name or "%2e" in name else [["--html", name], ["-o", name]]
    given = draw.choice(([], [], ["--labels", name], ["--costs", name], *outputs))
    places = name.partition("://")[2], name.rpartition("://")[2]
    draw.outputs += ["made", name, *(f"{place}/".removeprefix(f"{draw.folder}/") for place in places)]
    given += options.options(draw, "evaluate", place, most=1)
    return Case([draw.choice(("evaluate", "evaluate", "compare")), name, *place.files, *given])


ADDRESS = (
    ("http://", "https://", "memory://", "file://", "zip://", "data://", "reference://", "simplecache::",
    "s3://",
     "ftp://", "tar://", "x://", "://", "HTTP://", "filecache::file://", "dir://", "local://", "generic://"),
    ("127.0.0.1:1", "[::1", "u:secret@127.0.0.1:1", "HERE", "127.0.0.1:99999", "",
    "t.csv::file://HERE/t.csv"),
    ("/", "", "/../"),
    ("t.csv", "made/x.csv", "*.csv", "t.csv?key=secret", "%00", "%2e%2e/t.csv", "", "[", "é"),
)  # fmt: skip
NAMES = "scores", "probs", "logits", "labels", "y", "y_test", "classes", "weights", "val_probs", "test/probs"


def archives(draw: Draw) -> Case:
    """Archives of many arrays, of which some fit to each other."""
    columns = tables.table(draw, small=True)
    values, labels = files.matrix(columns), files.labels_of(columns)
    odd = (
        values, values, values.T, values[:, :1], values[..., None], values[None], labels, labels,
        np.eye(3)[labels.astype(int) % 3] if labels.dtype.kind in "iub" else labels, values > 0.5,
        np.array(3.0),
        np.array("text"), np.ones(len(values)), np.abs(values) > 0.1, np.zeros((0, 3)), np.arange(5),
    )  # fmt: skip
    arrays = {draw.choice(NAMES): draw.choice(odd) for _ in range(draw.choice((1, 2, 3, 6)))}
    arrays |= {"scores": values, "labels": labels} if draw.chance(0.5) else {}
    with io.BytesIO() as file:
        np.savez(file, **arrays)
        draw.put("t.npz", file.getvalue())
    option = draw.choice(("--scores", "--labels", "--weights", "--classes"))
    place = Place(["t.npz"], list(arrays), [str(n) for n in range(3)], len(values))
    return call(draw, place, draw.maybe(0.4, option, draw.choice((*NAMES, draw.name()))), "evaluate")


def simulations(draw: Draw) -> Case:
    command, system = draw.choice(("simulate", "simulate", "study")), draw.choice(get_args(System))
    given = [command, system, *options.options(draw, command, Place([], [], []), 2)]
    if command == "simulate":
        return Case([*given, "--rows", "40", "-o", draw.output(draw.choice(ENDINGS))])
    return Case([*given, "--series", "3", "--rows", "10,40", "--metrics", metrics(draw)])


def side_files(draw: Draw) -> Case:
    """Costs, priors or groups of classes in a file."""
    place, kind = sound_place(draw), draw.choice(("costs", "priors", "groups"))
    name = models.side_file(draw, kind, place.classes)
    given = [f"--{kind}", name]
    if kind == "groups":
        given = ["--class-groups", f"kind={name}", "--metrics", "ece:lens=kind"]
    return call(draw, place, given, draw.choice(("evaluate", "evaluate", "compare")))


def labels(draw: Draw) -> Case:
    """Scores whose labels are in another file."""
    draw.put("t.npy", files.npy(tables.scores(draw, 40, 3)))
    given = ["--labels", models.labels_file(draw, 40, ["0", "1", "2"])]
    return call(draw, Place(["t.npy"], rows=40), given)


def calibrators(draw: Draw) -> Case:
    place = sound_place(draw)
    name = made(draw, "calibrator", len(place.classes))
    if draw.chance(0.2):
        return call(draw, place, ["--calibrator", name, "--figure", "calibration-map"], "plot")
    return call(draw, place, [], draw.choice(("apply", "apply", "export")))


def states(draw: Draw) -> Case:
    """States hurt; or of parts, numbered, known by keys or by neither, which need not fit to each other."""
    names, place = [], Place([])
    if draw.chance(0.5):
        names = [made(draw, "state", 3, f"{name}.calcli") for name in draw.choice(("a", "a", "ab"))]
    else:
        draw.calm = draw.chance(0.9)
        of = tables.odd_rows(draw)
        place = place_of(of.columns())
        for part in range(draw.choice((1, 2, 2, 3))):
            own = of if draw.chance(0.8) else tables.another(draw, of)
            own = own.part(slice(draw.randrange(len(of.labels)), None))
            name = files.write(draw, own.columns(), "parquet", f"p{part}")
            asked = ["--metrics", draw.choice((metrics(draw), "log_loss,ece,auroc"))]
            asked += [*draw.maybe(0.5, "--key", "id"), *options.options(draw, "evaluate", place, most=1)]
            models.by_calcli(draw.folder, ["evaluate", name, *asked, "-q", "--save-state", f"s{part}.calcli"])
            names += [f"s{part}.calcli"] if (draw.folder / f"s{part}.calcli").exists() else [name]
    command = draw.choice(("merge", "merge", "evaluate", "compare", "check", "plot", "inspect"))
    given = ["-o", draw.output(".calcli")] if command == "merge" else []
    return call(draw, replace(place, files=names), given, command)


def policies(draw: Draw) -> Case:
    place = sound_place(draw)
    if draw.chance(0.3):
        made(draw, "policy", len(place.classes))
    else:
        models.policy(draw, [metric(draw), metric(draw), "log_loss", "accuracy", "ece"])
    baseline = draw.choice((place.files[0], made(draw, "report", len(place.classes))))
    return call(draw, place, draw.maybe(0.6, "--baseline", baseline), "check")


def pipes(draw: Draw) -> Case:
    """A file of any format that is piped in, and places where a pipe may be named."""
    columns = tables.table(draw, small=True)
    name = files.write(draw, columns, draw.choice(("csv", "csv", *files.WRITERS)), "t")
    content = (draw.folder / name).read_bytes()
    draw.put(name, draw.choice((damaged(draw, content), content, content, content[: draw.choice((0, 1))])))
    cal = made(draw, "calibrator", 3, calm=True)
    words = draw.choice((
        "evaluate -", "evaluate -", "evaluate - -", "evaluate - t", "inspect -", "evaluate - --labels -",
        "evaluate t --labels -", "evaluate t --costs -", "evaluate t --priors -", "apply cal -", "apply - t",
        "apply - -", "apply cal - -o out.csv", "compare t -", "compare - t", "check -", "check t -p -",
        "check - -p -", "fit - -m dp -o -", "fit - -m dp -o out.json", "plot - -o out",
        "merge - -o out.calcli",
    )).split()  # fmt: skip
    draw.outputs += ["out", "out.csv", "out.json", "out.calcli"]
    words = [{"t": name, "cal": cal}.get(word, word) for word in words]
    return Case([*words, *options.options(draw, words[0], place_of(columns, name), most=1)], stdin=name)


SOUND = (
    "evaluate t.csv --metrics log_loss,ece -f json", "compare t.csv t.csv --metrics brier", "inspect t.csv",
    "fit t.csv -m dp -o out.json", "apply cal t.csv -o out.csv", "check --init t.csv -p out.toml",
    "explain ece",
    "plot t.csv -o out --figure ks", "simulate cal --rows 40 -o out.csv", "guide files", "schema report",
    "study mixture --metrics ece:lens=class-1 --rows 20 --series 3",
    "benchmark --pair t.csv t.csv --methods dp",
    "evaluate t.csv --fail-if log_loss>0.5", "--version", "--help", "", "merge t.csv -o out.calcli",
    "threshold t.csv --max-error 0.2", "export cal -o out.json", "segments t.csv",
)  # fmt: skip
WORDS = (
    "--", "-", "--o", "--metric", "--no-such", "-x", "-ofoo", "--metrics=", "--metrics", "=", "-q", "-qq",
    "--format=xml",
    "t.csv", "t.csv" * 40, "*", "?", "~", "$HOME", "evaluate", "eval", "--help", "-h", "--quiet", "--bins=-1",
    "x" * 100_000, "--draws=٣", "-1", "0", "\udcff",
)  # fmt: skip


def calls(draw: Draw) -> Case:
    """A sound call whose words somebody shuffled, cut, doubled or left out."""
    cal = made(draw, "calibrator", len(sound_place(draw).classes), calm=True)
    words = draw.choice(SOUND).replace("cal ", f"{cal} ").split()
    draw.outputs += ["out", "out.json", "out.csv", "out.toml", "out.calcli", "calcli.toml", "foo"]
    for _ in range(draw.choice((0, 1, 1, 2, 3))):
        at = draw.randrange(len(words) + 1)
        before, own, behind = words[:at], words[at : at + 1], words[at + 1 :]
        cut = [word[: draw.randrange(len(word) + 1)] for word in own]
        within = draw.choice(([], own * 2, [draw.choice(WORDS), *own], [draw.name(), *own], cut))
        words = draw.sample(words, len(words)) if draw.chance(0.15) else [*before, *within, *behind]
    words = ["out" if word == "/" else text_of(word) for word in words]  # the root is beyond the folder
    if "guide" in words or "--install-completion" in words or not words:
        words = ["explain", *words[1:]]  # what asks a pager or the shell of a person
    words += ["out"] if words[-1] == "-o" else []
    given = [name for text, name in pairwise(words) if text in ("-o", "-p")]
    draw.outputs += [name for name in given if name != "t.csv" or words.count("t.csv") == 1]
    return Case(words)


def onto_themselves(draw: Draw) -> Case:
    """Outputs in the place of what is read, or of another output, however that is spelled, or in no place."""
    classes = len(sound_place(draw).classes)
    names = {"cal": made(draw, "calibrator", classes, calm=True), "pol": made(draw, "policy", classes,
    calm=True),
             "s": made(draw, "state", classes, "s.calcli", calm=True)}  # fmt: skip
    words = draw.choice((
        "evaluate t.csv", "evaluate s", "fit t.csv -m dp", "apply cal t.csv", "plot t.csv",
        "compare t.csv t.csv",
        "check t.csv -p pol", "benchmark --cal t.csv --test t.csv --methods dp", "simulate cal --rows 20",
        "merge s",
    ))  # fmt: skip
    words = [names.get(word, word) if words[:8] != "simulate" else word for word in words.split()]
    command, free = (
        words[0],
        draw.choice(("new.json", "new.html", "new", "deep/er/new.csv", "t.csv/new.json")),
    )
    os.symlink("t.csv", draw.folder / "l.csv")
    (draw.folder / "made").mkdir()
    read = [name for name in words if (draw.folder / name).is_file()]
    draw.outputs += [free, *{"apply": ["t.csv", "l.csv"], "merge": ["s.calcli"]}.get(command, [])]
    for option in draw.some([one.name for one in declared(command) if one.name in OUTPUTS], 3):
        name = draw.choice([free, *read, *(["l.csv"] if "t.csv" in read else [])])
        spelled = name, name, f"./{name}", f"made/../{name}", str(draw.folder / name), f"{name}/"
        words += [option, draw.choice(spelled)]
    return Case(words)


def links(draw: Draw) -> Case:
    """Names that are links, folders or what the system shows as a file."""
    place = sound_place(draw)
    link = draw.choice(("l.csv", "l.parquet", "l.calcli", "l.json"))
    (draw.folder / "made").mkdir()
    if draw.chance(0.3):
        shutil.copy(draw.folder / "t.csv", draw.folder / "made/t.csv")
    os.symlink(
        draw.choice(("t.csv", "nowhere.csv", link, ".", "..", "/proc/self/status", "/dev/null", "made")),
        draw.folder / link,
    )
    odd = (
        link,
        "made",
        ".",
        f"{link}/t.csv",
        "made/",
        "made/../t.csv",
        "t.csv/",
        "/proc/self/cmdline",
        "/proc",
    )
    named = draw.choice(odd)
    command = draw.choice(("evaluate", "inspect", "compare", "fit", "check", "plot", "merge"))
    more = {"fit": ["-m", "dp", "-o", draw.output(".json")], "plot": ["-o", draw.output("")],
            "merge": ["-o", draw.output(".calcli")], "check": ["-p", draw.choice((named, made(draw, "policy",
            3, calm=True)))],
            "evaluate": draw.choice(([], [draw.choice(("--labels", "--costs", "--priors")),
            named]))}  # fmt: skip
    taken = (
        [named, "t.csv"] if command in ("compare", "merge") else [draw.choice((named, named, *place.files))]
    )
    return Case([command, *taken, *more.get(command, [])])


def relations(draw: Draw) -> Case:
    """Two calls that have to say the same of plain rows."""
    draw.calm = True
    return draw.choice(RELATIONS)(draw)


KINDS: dict[str, Callable[[Draw], Case]] = {
    "tables": a_table, "broken tables": broken_tables, "folders": folders,
    **{f"damaged {form}": _damaged_file(form) for form in files.WRITERS},
    "heads": heads, "types": types, "archives": archives,
    "options": some_options, "rows": rows, "more rows": rows, "addresses": addresses,
    "simulations": simulations,
    "side files": side_files, "labels": labels, "calibrators": calibrators, "states": states,
    "policies": policies,
    "pipes": pipes, "calls": calls, "onto themselves": onto_themselves,
    "links": links, "relations": relations, "more relations": relations, "other relations": relations,
}  # fmt: skip
