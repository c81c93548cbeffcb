"""What surrounds a file: the folders and pipes it comes in, keys and states of its rows, links, the call."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import shutil
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from tests.hostile import expressions, files, models, rows, tables
from tests.hostile.damage import damaged
from tests.hostile.drawing import Draw, text_of
from tests.hostile.made import Store, by_calcli
from tests.hostile.options import OUTPUTS, declared, options
from tests.hostile.places import Made, Place, place_of, sound_place


def folders_of_values(draw: Draw, store: Store) -> Made:
    """Return folders named by the value of a column, at times one that the files have too; and engines."""
    columns = tables.table(draw, calm=True)
    for name in draw.some(tables.OTHERS, 1):
        columns = [*columns, (name, tables.other(draw, len(columns[0][1]), ["cat", "dog"]))]
    keys = [
        draw.choice(("country", "date", columns[0][0], draw.name())) for _ in range(draw.choice((1, 1, 2)))
    ]
    form = draw.choice(("parquet", "parquet", "csv", "jsonl", "arrow"))
    for part in range(draw.choice((1, 2, 3))):
        values = [draw.choice(("DE", "FR", str(part), draw.name(), draw.number()[:50], HIVE)) for _ in keys]
        parts = [
            f"{key}={value}".replace("/", "%2F").replace("\0", "")[:80]
            for key, value in zip(keys, values, strict=True)
        ]
        parts = parts if draw.chance(0.9) else parts[:-1]
        files.write(draw, columns, form, "/".join(["lake", *parts, str(part)]))
    engines = (
        "spark",
        "",
        "Dask",
        "tcp://127.0.0.1:1",
        *([] if importlib.util.find_spec("dask") else ["dask"]),
    )
    engine = ["--engine", draw.choice(engines)] if draw.chance(0.2) else []
    command = draw.choice(("evaluate", "evaluate", "inspect", "compare", "plot", "check", "fit", "apply"))
    given = ["--by", keys[0]] if command == "evaluate" and draw.chance(0.4) else []
    given += ["--label-column", keys[0]] if draw.chance(0.1) else []
    return Made(
        place_of(columns, draw.choice(("lake", "lake/", "lake/*", "lake/**/*"))), [*given, *engine], command
    )


HIVE = "__HIVE_DEFAULT_PARTITION__"


def pipes(draw: Draw, store: Store) -> Made:
    """Return a file of any format that is piped in, and places where a pipe may be named."""
    columns = tables.table(draw, calm=True)
    name = files.write(
        draw, columns, draw.choice(("csv", "csv", "jsonl", "json", "arrow", "npy", "parquet")), "t"
    )
    content = (draw.folder / name).read_bytes()
    draw.put(
        name, damaged(draw, content) if draw.chance(0.3) else content[: draw.choice((0, 1, 10**9, 10**9))]
    )
    cal = models.calibrator(draw, store, 3, calm=True)
    command, given = draw.choice((
        ("evaluate", ["-"]), ("evaluate", ["-"]), ("evaluate", ["-", "-"]), ("evaluate", ["-", name]),
        ("inspect", ["-"]),
        ("evaluate", ["-", "--labels", "-"]), ("evaluate", [name, "--labels", "-"]),
        ("evaluate", [name, "--costs", "-"]),
        ("evaluate", [name, "--priors", "-"]), ("apply", [cal, "-"]), ("apply", ["-", name]),
        ("apply", ["-", "-"]),
        ("apply", [cal, "-", "-o", draw.output(".csv")]), ("compare", ["-", name]), ("compare", [name, "-"]),
        ("check", ["-"]), ("check", [name, "-p", "-"]), ("check", ["-", "-p", "-"]),
        ("fit", ["-", "-m", "dp", "-o", "-"]),
        ("fit", ["-", "-m", "dp", "-o", draw.output(".json")]), ("plot", ["-", "-o", draw.output("")]),
        ("merge", ["-", "-o", draw.output(".calcli")]),
    ))  # fmt: skip
    more = options(draw, command, place_of(columns, name), most=1)
    return Made(place_of(columns, name), [*given, *more], command, stdin=name, as_it_is=True)


def keys(draw: Draw, store: Store) -> Made:
    """Return two files whose rows are known by a column of any type, in any order, some of them lacking."""
    draw.calm = draw.chance(0.8)
    columns = rows.rows(draw)
    count = len(columns[0][1])
    if draw.chance(0.7):
        own = tables.other(draw, count, ["a", "b"])
        columns = [(name, own if name == "id" else values) for name, values in columns]
    names = [
        files.write(draw, columns, draw.choice(("csv", "parquet", "jsonl", "arrow")), "a"),
        files.write(draw, rows.another(draw, columns), draw.choice(("csv", "parquet", "arrow")), "b"),
    ]
    command = draw.choice(("compare", "compare", "check", "evaluate"))
    given = ["--key", draw.choice(("id", "id", "id", "label", "prob_0", "none", ""))]
    given += (
        [draw.choice(("--allow-unmatched", "--paired", "--unpaired"))]
        if command != "evaluate" and draw.chance(0.4)
        else []
    )
    if command == "evaluate":
        names, given = names[:1], [*given, "--save-state", draw.output(".calcli")]
    return Made(place_of(columns, *names), given, command)


def parts_of_runs(draw: Draw, store: Store) -> Made:
    """Return states of parts, numbered, known by keys or by neither, which need not fit to each other."""
    draw.calm = draw.chance(0.9)
    columns = rows.rows(draw)
    count, names = len(columns[0][1]), []
    for part in range(draw.choice((1, 2, 2, 3))):
        own = columns if draw.chance(0.8) else rows.another(draw, columns)
        low = draw.randrange(count)
        name = files.write(draw, [(key, values[low:]) for key, values in own], "parquet", f"p{part}")
        numbered = draw.choice(([], ["--key", "id"]))
        asked = ["--metrics", expressions.metrics(draw) if draw.chance(0.4) else "log_loss,ece,auroc"]
        by = ["--by", draw.choice(("country", "patient", "label"))] if draw.chance(0.4) else []
        more = options(draw, "evaluate", place_of(columns, name), most=1) if draw.chance(0.2) else []
        made = [text_of(text) for text in (name, *asked, *by, *numbered, *more)]
        by_calcli(draw.folder, ["evaluate", *made, "-q", "--save-state", f"s{part}.calcli"])
        names += [f"s{part}.calcli"] if (draw.folder / f"s{part}.calcli").exists() else [name]
    command = draw.choice(("merge", "merge", "evaluate", "compare", "check", "plot", "inspect"))
    given = ["-o", draw.output(".calcli")] if command == "merge" else []
    given += ["--by", "country"] if command in ("evaluate", "compare") and draw.chance(0.5) else []
    place = place_of(columns, *names)
    return Made(place, [*given, *options(draw, command, place, most=2)], command)


def several_systems(draw: Draw, store: Store) -> Made:
    """Return a file with the columns of several systems."""
    draw.calm = draw.chance(0.5)
    columns = rows.rows(draw, classes=draw.choice((2, 2, 3)))
    others = [
        (f"b_{name}", values) for name, values in rows.another(draw, columns) if name.startswith("prob_")
    ]
    kept = len(columns[0][1]) if not others else min(len(columns[0][1]), len(others[0][1]))
    whole = [(name, values[:kept]) for name, values in [*columns, *others]]
    name = files.write(draw, whole, draw.choice(("csv", "parquet", "jsonl")), "t")
    place = place_of(whole, name)
    asked = draw.sample(SYSTEMS, draw.choice((1, 2, 3)))
    asked = ["a=prob_*", "b=b_prob_*"] if draw.chance(0.6) else [*asked, f"{draw.name()}=b_*"]
    given = [text for one in asked for text in ("--system", one)]
    command = draw.choice(("compare", "compare", "evaluate", "check", "plot"))
    first = {"plot": ["-o", draw.output("")], "check": ["-p", models.policy(draw, store, 3, calm=True)]}
    arguments = [name, *given, *first.get(command, []), *options(draw, command, place, most=2)]
    return Made(place, arguments, command, as_it_is=True)


SYSTEMS = ("a=prob_*", "b=b_*", "c=prob_0", "b=", "=b_*", "b=none", "a=*", "b=b_prob_1,b_prob_0")


def calls(draw: Draw, store: Store) -> Made:
    """Return a sound call whose words somebody shuffled, cut, doubled or left out."""
    place = sound_place(draw)
    cal = models.calibrator(draw, store, len(place.classes), calm=True)
    words = draw.choice((
        "evaluate t.csv --metrics log_loss,ece -f json", "compare t.csv t.csv --metrics brier",
        "inspect t.csv",
        "fit t.csv -m dp -o out.json", f"apply {cal} t.csv -o out.csv", "check --init t.csv -p out.toml",
        "plot t.csv -o out --figure ks", "simulate cal --rows 40 -o out.csv", "explain ece", "guide files",
        "study mixture --metrics ece:lens=class-1 --rows 20 --series 3",
        "benchmark --pair t.csv t.csv --methods dp",
        "evaluate t.csv --fail-if log_loss>0.5", "--version", "--help", "", "merge t.csv -o out.calcli",
    )).split()  # fmt: skip
    draw.outputs += ["out", "out.json", "out.csv", "out.toml", "out.calcli", "calcli.toml", "foo"]
    for _ in range(draw.choice((0, 1, 1, 2, 3))):
        words = _torn(draw, words)
    words = ["out" if word == "/" else text_of(word) for word in words]  # the root is beyond the folder
    if "guide" in words or "--install-completion" in words or not words:
        words = ["explain", *words[1:]]  # what asks a pager or the shell of a person
    if "-o" in words and words[-1] == "-o":
        words = [*words, "out"]
    given = [name for text, name in pairwise(words) if text in ("-o", "-p")]
    draw.outputs += [name for name in given if name != "t.csv" or words.count("t.csv") == 1]
    return Made(place, words[1:], words[0], as_it_is=True)


def _torn(draw: Draw, words: list[str]) -> list[str]:
    at = draw.randrange(len(words) + 1)
    before, own, behind = words[:at], words[at : at + 1], words[at + 1 :]
    ways: tuple[Callable[[], list[str]], ...] = (
        lambda: before + behind,
        lambda: [*before, *own, *own, *behind],
        lambda: [*before, draw.choice(WORDS), *own, *behind],
        lambda: [*before, draw.name(), *own, *behind],
        lambda: [*before, *(word[: draw.randrange(len(word) + 1)] for word in own), *behind],
        lambda: draw.sample(words, len(words)),
    )
    return draw.choice(ways)()


WORDS = (
    "--", "-", "--o", "--metric", "--no-such", "-x", "-ofoo", "--metrics=", "--metrics", "=", "-q", "-qq",
    "--format=xml",
    "t.csv", "t.csv" * 40, "*", "?", "~", "$HOME", "evaluate", "eval", "--help", "-h", "--quiet",
    "--bins=-1",
    "x" * 100_000, "--draws=٣", "-1", "0", "\udcff",
)  # fmt: skip


def onto_themselves(draw: Draw, store: Store) -> Made:
    """Return outputs in the place of what is read, or of another output, however that is spelled."""
    place = sound_place(draw)
    cal = models.calibrator(draw, store, len(place.classes), calm=True)
    policy = models.policy(draw, store, len(place.classes), calm=True)
    state = models.state(draw, store, len(place.classes), "s.calcli")
    reads = {
        "evaluate": [draw.choice(("t.csv", state))],
        "fit": ["t.csv", "-m", "dp"],
        "apply": [cal, "t.csv"],
        "plot": ["t.csv"],
        "compare": ["t.csv", "t.csv"],
        "check": ["t.csv", "-p", policy],
        "benchmark": ["--cal", "t.csv", "--test", "t.csv", "--methods", "dp"],
        "simulate": ["cal", "--rows", "20"],
        "merge": [state],
    }
    command = draw.choice(list(reads))
    os.symlink("t.csv", draw.folder / "l.csv")
    (draw.folder / "made").mkdir()
    free = draw.choice(("new.json", "new.html", "new.csv", "new.calcli", "new"))
    read = [name for name in reads[command] if (draw.folder / name).is_file()]
    draw.outputs += [free, *{"apply": ["t.csv", "l.csv"], "merge": [state]}.get(command, [])]
    options = [one.name for one in declared(command) if one.name in OUTPUTS]
    options += ["--posteriors"] if command == "simulate" else []
    given = []
    for option in draw.sample(options, min(len(options), draw.choice((1, 2, 2, 3)))):
        name = draw.choice([free, *read, *(["l.csv"] if "t.csv" in read else [])])
        spelled = draw.choice(
            (name, name, f"./{name}", f"made/../{name}", str(draw.folder / name), f"{name}/")
        )
        given += [option, spelled]
    return Made(place, [*reads[command], *given], command, as_it_is=True)


def told_classes(draw: Draw, store: Store) -> Made:
    """Return tables whose metadata name the classes, as Hugging Face's datasets do, or something else."""
    columns = [
        (name, np.arange(len(values)) % 3 if name == "label" else values)
        for name, values in rows.rows(draw, classes=3)
    ]
    names = draw.choice((
        ["cat", "dog", "fox"], ["cat", "cat", "fox"], ["cat"], [], None, "cat", [1, None, {}],
        ["0", "2", "1"], ["", " ", "\ud800"], [draw.name() for _ in range(3)], {"cat": 0}, ["x"] * 5000,
        [draw.value()] * 3,
    ))  # fmt: skip
    label = {"names": names, "_type": draw.choice(("ClassLabel", "ClassLabel", "ClassLabel", "Value", 3))}
    features = {draw.choice(("label", "label", "prob_0", draw.name())): label, "other": draw.value()}
    said = draw.choice((features, features, features, [features], draw.value(), {"label": None}))
    text = json.dumps({"info": {"features": said}})
    if draw.chance(0.2):
        text = draw.choice(
            (text[:-3], "[" * 100_000, '{"info": ' * 3000, '{"info": 1}', "null", "\ufeff" + text)
        )
    schema_of = pa.table(dict(columns)).replace_schema_metadata({"huggingface": text})
    with io.BytesIO() as file:
        form = draw.choice(("parquet", "parquet", "arrow"))
        pq.write_table(schema_of, file) if form == "parquet" else feather.write_feather(schema_of, file)
        name = draw.put(f"t.{form}", damaged(draw, file.getvalue()) if draw.chance(0.1) else file.getvalue())
    return Made(place_of(columns, name))


def links(draw: Draw, store: Store) -> Made:
    """Return names that are links, folders or what the system shows as a file."""
    place = sound_place(draw)
    link = draw.folder / draw.choice(("l.csv", "l.parquet", "l.calcli", "l.json"))
    target = draw.choice(
        ("t.csv", "nowhere.csv", link.name, ".", "..", "/proc/self/status", "/dev/null", "made")
    )
    (draw.folder / "made").mkdir()
    if draw.chance(0.3):
        shutil.copy(draw.folder / "t.csv", draw.folder / "made/t.csv")
    os.symlink(target, link)
    named = draw.choice(
        (
            link.name,
            "made",
            ".",
            f"{link.name}/t.csv",
            "made/",
            "made/../t.csv",
            "t.csv/",
            "/proc/self/cmdline",
            "/proc",
        )
    )
    command = draw.choice(("evaluate", "inspect", "compare", "fit", "check", "plot", "merge"))
    usual = {"fit": ["-m", "dp", "-o", draw.output(".json")], "plot": ["-o", draw.output("")]}
    usual["merge"] = ["-o", draw.output(".calcli")]
    usual["check"] = ["-p", draw.choice((named, models.policy(draw, store, 3, calm=True)))]
    if command == "evaluate" and draw.chance(0.3):
        usual["evaluate"] = [draw.choice(("--labels", "--costs", "--priors")), named]
    taken = [named, "t.csv"] if command in ("compare", "merge") else [draw.choice((named, named, "t.csv"))]
    return Made(
        Place(taken, place.columns, place.classes), [*taken, *usual.get(command, [])], command, as_it_is=True
    )
