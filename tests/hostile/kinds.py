"""The kinds of cases: what is hostile in each, from files of predictions to the width of a terminal."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import get_args

import numpy as np

from calcli.works.settings import System
from tests.hostile import expressions, files, heads, models, rows, sidefiles, surroundings, tables, typed
from tests.hostile.agreements import agreements
from tests.hostile.damage import damaged
from tests.hostile.drawing import Draw
from tests.hostile.made import Store
from tests.hostile.options import options
from tests.hostile.places import Made, Place, place_of, sound_place
from tests.hostile.relations import relations

ENDINGS = (".csv", ".npy", ".npz", ".parquet", ".jsonl", ".arrow", ".json")


def _a_table(draw: Draw, store: Store) -> Made:
    """Sizes, names and layouts, all of them as they should be, but for the names."""
    columns = tables.table(draw)
    return Made(place_of(columns, files.write(draw, columns)))


def _broken_table(draw: Draw, store: Store) -> Made:
    columns = tables.broken(draw, tables.table(draw, calm=draw.chance(0.7)))
    return Made(place_of(columns, files.write(draw, columns)))


def _two_tables(draw: Draw, store: Store) -> Made:
    columns = tables.table(draw, calm=True)
    others = tables.broken(draw, columns) if draw.chance(0.7) else tables.table(draw, calm=True)
    names = files.write(draw, columns, stem="a"), files.write(draw, others, stem="b")
    return Made(
        place_of(columns, *names), command=draw.choice(("compare", "evaluate", "check", "plot", "benchmark"))
    )


def _a_folder(draw: Draw, store: Store) -> Made:
    columns = tables.table(draw, calm=True)
    forms = ("csv", "parquet", "npy", "jsonl", "arrow")
    usual = draw.choice(forms)
    for part in range(draw.choice((1, 2, 3))):
        own = [(name, values[part:]) for name, values in columns]
        own = tables.broken(draw, own) if draw.chance(0.2) else own
        files.write(draw, own, usual if draw.chance(0.95) else draw.choice(forms), f"parts/{part}")
    if draw.chance(0.2):
        draw.put("parts/" + draw.choice((".hidden", "notes.txt", "_SUCCESS", "x.pkl")), b"\x80\x04")
    return Made(place_of(columns, "parts"))


def _damaged_file(form: str) -> Callable[[Draw, Store], Made]:
    def made(draw: Draw, store: Store) -> Made:
        columns = tables.table(draw, calm=True)
        name = files.write(draw, columns, form, "t")
        draw.put(name, damaged(draw, (draw.folder / name).read_bytes()))
        return Made(place_of(columns, name))

    return made


def _head(of: Callable[[Draw], bytes], ending: str) -> Callable[[Draw, Store], Made]:
    def made(draw: Draw, store: Store) -> Made:
        draw.put(f"t{ending}", of(draw))
        sidefiles.labels_file(draw, 40, ["0", "1", "2"])
        beside = ["--labels", "labels.npy"] if ending == ".npy" else []
        command = draw.choice(("evaluate", "evaluate", "inspect", "fit"))
        return Made(Place([f"t{ending}"], rows=40), beside, command)

    return made


def _options(draw: Draw, store: Store) -> Made:
    command = draw.choice(("evaluate", "inspect", "fit", "apply", "plot", "compare", "check", "benchmark"))
    place = sound_place(draw)
    return Made(place, options(draw, command, place, most=4), command)


DEEP = ("evaluate",) * 4 + ("compare", "compare", "check", "plot", "fit", "fit", "apply", "benchmark")


def _rows(draw: Draw, store: Store) -> Made:
    """Rows that statistics are afraid of, and options that nobody need refuse."""
    draw.calm = True
    columns = rows.rows(draw)
    names = [files.write(draw, columns, draw.choice(("csv", "parquet", "jsonl")), "a")]
    if draw.chance(0.4):
        names.append(files.write(draw, rows.another(draw, columns), "parquet", "b"))
    place = place_of(columns, *names)
    command = draw.choice(DEEP)
    given = ["--metrics", expressions.metrics(draw)] if command in METERED and draw.chance(0.5) else []
    return Made(place, [*given, *options(draw, command, place, most=5)], command)


def _epochs(draw: Draw, store: Store) -> Made:
    """Folders of a file each epoch."""
    draw.calm = draw.chance(0.7)
    columns = rows.rows(draw)
    for epoch in range(draw.choice((1, 2, 3, 4))):
        own = rows.another(draw, columns) if draw.chance(0.95) else rows.rows(draw)
        for part in draw.choice((("val",), ("val",), ("val", "test"))):
            files.write(draw, own, "parquet", f"{part}/{epoch:02}{draw.choice(('', '', '', 'x'))}")
    val = sorted(str(path.relative_to(draw.folder)) for path in (draw.folder / "val").iterdir())
    command = draw.choice(("plot", "plot", "compare", "compare", "evaluate", "check"))
    place = place_of(columns, *val)
    chosen = ["--select", draw.choice(("log_loss", "accuracy,brier", expressions.metric(draw)))]
    given: dict[str, list[str]] = {
        "plot": ["--figure", "epochs", *(chosen if draw.chance(0.5) else [])],
        "compare": [*val[2:], *chosen, *(["--report-on", "test/*"] if draw.chance(0.4) else [])],
        "evaluate": ["--sort", expressions.metric(draw)],
    }
    return Made(place, [*given.get(command, []), *options(draw, command, place, most=3)], command)


def _addresses(draw: Draw, store: Store) -> Made:
    """Names of files that are addresses; nobody listens at those of the web."""
    place = sound_place(draw)
    name = "".join(draw.choice(part) for part in ADDRESS).replace("HERE", str(draw.folder))
    command = draw.choice(("evaluate", "evaluate", "inspect", "plot", "compare"))
    beside = options(draw, command, place, most=1)
    outside = ":///" in name and str(draw.folder) not in name  # the root of the disk, as asked for
    outputs = [] if outside or ".." in name or "%2e" in name else [["--html", name], ["-o", name]]
    given = draw.choice(([], [], ["--labels", name], ["--costs", name], *outputs))
    draw.outputs += ["made", name]
    draw.outputs += [
        f"{part}/".removeprefix(f"{draw.folder}/")
        for part in (name.partition("://")[2], name.rpartition("://")[2])
    ]
    return Made(Place([name, *place.files], place.columns, place.classes), [*given, *beside], command)


METERED = ("evaluate", "compare", "plot", "benchmark")
ADDRESS = (
    ("http://", "https://", "memory://", "file://", "zip://", "data://", "reference://", "simplecache::", "s3://",
     "ftp://", "tar://", "x://", "://", "HTTP://", "filecache::file://", "dir://", "local://", "generic://"),
    ("127.0.0.1:1", "[::1", "user:secret@127.0.0.1:1", "HERE", "127.0.0.1:99999", "", "t.csv::file://HERE/t.csv"),
    ("/", "", "/../"),
    ("t.csv", "made/x.csv", "*.csv", "t.csv?key=secret", "%00", "%2e%2e/t.csv", "", "[", "é"),
)  # fmt: skip


def _archives(draw: Draw, store: Store) -> Made:
    """Archives of many arrays, of which some fit to each other."""
    columns = tables.table(draw, calm=True)
    values, labels = files.matrix(columns), files.labels_of(columns)
    names = (
        "scores",
        "probs",
        "logits",
        "labels",
        "y",
        "y_test",
        "classes",
        "weights",
        "val_probs",
        "test/probs",
    )
    made = (
        values, values, values.T, values[:, :1], values[..., None], values[None], labels, labels,
        np.eye(3)[labels % 3] if labels.dtype.kind in "iu" else labels, np.array("text"), values > 0.5,
        np.array(3.0), np.ones(len(values)), np.abs(values) > 0.1, np.zeros((0, 3)), np.arange(5),
    )  # fmt: skip
    arrays = {draw.choice(names): draw.choice(made) for _ in range(draw.choice((1, 2, 3, 6)))}
    arrays |= {"scores": values, "labels": labels} if draw.chance(0.5) else {}
    with io.BytesIO() as file:
        np.savez(file, **arrays)
        draw.put("t.npz", file.getvalue())
    given = [
        f"--{draw.choice(('scores', 'labels', 'weights', 'classes'))}",
        draw.choice((*names, draw.name())),
    ]
    place = Place(["t.npz"], list(arrays), [str(n) for n in range(values.shape[1])], len(values))
    return Made(place, given if draw.chance(0.4) else [])


def _simulation(draw: Draw, store: Store) -> Made:
    command = draw.choice(("simulate", "simulate", "study"))
    system = draw.choice(get_args(System)) if draw.chance(0.95) else draw.name()
    given = [system, *options(draw, command, Place([]), most=2)]
    if command == "simulate":
        return Made(Place([]), [*given, "--rows", "40", "-o", draw.output(draw.choice(ENDINGS))], command)
    return Made(
        Place([]),
        [*given, "--series", "3", "--rows", "10,40", "--metrics", expressions.metrics(draw)],
        command,
    )


def _expressions(draw: Draw, store: Store) -> Made:
    place = sound_place(draw)
    command = draw.choice(("evaluate", "evaluate", "compare", "fit", "plot", "explain", "benchmark"))
    text = expressions.metrics(draw)
    if command == "explain":
        return Made(Place([]), [draw.choice((text, expressions.method(draw), draw.name()))], command)
    return Made(
        place, ["--metrics", text] if command in ("evaluate", "compare", "benchmark") else [], command
    )


def _side_files(draw: Draw, store: Store) -> Made:
    place = sound_place(draw)
    names = list(place.classes)
    given: dict[str, Callable[[], list[str]]] = {
        "costs": lambda: ["--costs", sidefiles.side_file(draw, "costs", names)],
        "priors": lambda: ["--priors", sidefiles.side_file(draw, "priors", names)],
        "groups": lambda: [
            "--class-groups", "kind=" + sidefiles.side_file(draw, "groups", names),
            "--metrics", "ece:lens=kind",
        ],
    }  # fmt: skip
    return Made(place, given[draw.choice(list(given))](), draw.choice(("evaluate", "evaluate", "compare")))


def _labels(draw: Draw, store: Store) -> Made:
    scores = tables.scores(draw, 40, 3)
    draw.put("t.npy", files.npy(scores))
    labels = ["--labels", sidefiles.labels_file(draw, 40, ["0", "1", "2"])]
    return Made(
        Place(["t.npy"], rows=40), labels, draw.choice(("evaluate", "evaluate", "inspect", "fit", "apply"))
    )


def _calibrators(draw: Draw, store: Store) -> Made:
    place = sound_place(draw)
    name = models.calibrator(draw, store, len(place.classes))
    if draw.chance(0.2):
        return Made(place, ["--calibrator", name, "--figure", "calibration-map"], "plot")
    return Made(place, [], "apply")


def _states(draw: Draw, store: Store) -> Made:
    names = [models.state(draw, store, 3, f"{name}.calcli") for name in draw.choice(("a", "a", "ab"))]
    command = draw.choice(("evaluate", "evaluate", "merge", "compare", "inspect", "check"))
    given = ["-o", draw.output(".calcli")] if command == "merge" else []
    return Made(Place(names), given, command)


def _policies(draw: Draw, store: Store) -> Made:
    place = sound_place(draw)
    models.policy(draw, store, len(place.classes))
    given = ["--baseline", place.files[0]] if draw.chance(0.4) else []
    if draw.chance(0.3):
        given = ["--baseline", models.report(draw, store, len(place.classes))]
    form = draw.choice(("table", "json", "markdown", "junit", "github"))
    return Made(place, [*given, "--format", form], "check")


def _terminals(draw: Draw, store: Store) -> Made:
    """Encodings, widths and places that no programmer has."""
    environment = {
        "PYTHONIOENCODING": draw.choice(("ascii", "latin-1", "utf-8", "koi8-r", "cp1252")),
        "COLUMNS": draw.choice(("0", "1", "20", "-5", "x", "100000")),
        "LC_ALL": draw.choice(("C", "POSIX", "none")),
        "NO_COLOR": draw.choice(("", "1")),
    }
    columns = tables.table(draw, calm=True)
    return Made(place_of(columns, files.write(draw, columns)), environment=environment)


KINDS: dict[str, Callable[[Draw, Store], Made]] = {
    "tables": _a_table,
    "broken tables": _broken_table,
    "two tables": _two_tables,
    "folders": _a_folder,
    **{f"damaged {form}": _damaged_file(form) for form in files.WRITERS},
    "npy heads": _head(heads.npy_file, ".npy"),
    "npz heads": _head(heads.npz_file, ".npz"),
    "options": _options,
    "rows": _rows,
    "more rows": _rows,
    "epochs": _epochs,
    "addresses": _addresses,
    "archives": _archives,
    "simulations": _simulation,
    "expressions": _expressions,
    "side files": _side_files,
    "labels": _labels,
    "calibrators": _calibrators,
    "states": _states,
    "policies": _policies,
    "terminals": _terminals,
    "agreements": agreements,
    "relations": relations,
    "folders of values": surroundings.folders_of_values,
    "pipes": surroundings.pipes,
    "keys": surroundings.keys,
    "parts of runs": surroundings.parts_of_runs,
    "several systems": surroundings.several_systems,
    "calls": surroundings.calls,
    "links": surroundings.links,
    "onto themselves": surroundings.onto_themselves,
    "told classes": surroundings.told_classes,
    "types": typed.types,
}
