"""The rules of the house: which room may import what, and what a start loads."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "calcli").rglob("*.py"))
NAMES = [file.relative_to(ROOT).as_posix() for file in FILES]

ROOMS = {
    "core": {"core"},
    "io": {"core", "io"},
    "works": {"core", "io", "works"},
    "report": {"core", "figures", "io", "report", "works"},
    "figures": {"core", "figures", "works"},
    "guide": {"guide"},
    "work": {"core", "io", "report", "figures", "work", "works"},
    "cli": {
        "core.language",
        "io.options",
        "io.saved.settings",
        "io.dataset",
        "io.places",
        "works.settings",
        "work",
        "report",
        "guide",
        "cli",
    },
}
LAYERS = (  # of core: a sub-room imports itself and those before it
    "language",
    "data",
    "problems",
    "state",
    "calibrators",
    "estimators",
    "evaluating",
    "comparing",
    "recalibrating",
    "curves",
)
LAYERS_OF_IO = ("places", "tables", "formats", "reading", "apply")  # likewise, imports in functions included
OWNERS = {"pandas": "io", "pyarrow": "io", "rich": "report", "matplotlib": "figures", "typer": "cli"}
HEAVY = ("numpy", "pandas", "pyarrow", "matplotlib")


def imported(tree: ast.AST, types_too: bool = False) -> list[str]:
    """Return the modules that a file imports, leaving out what only type checkers see unless asked for."""
    found = []
    for node in ast.iter_child_nodes(tree):
        of_types = isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        if of_types and not types_too:
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            found += imported(node, types_too)
    return found


def room_of(file: Path) -> str:
    parts = file.relative_to(ROOT / "calcli").parts
    return parts[0] if len(parts) > 1 else ""


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_imports_keep_to_the_rooms(file):
    room = room_of(file)
    for module in imported(ast.parse(file.read_text(encoding="utf-8"))):
        package, _, rest = module.partition(".")
        if package == "calcli" and room:
            assert any(f"{rest}.".startswith(f"{other}.") for other in ROOMS[room]), (
                f"{room} imports {module}"
            )
        if package in OWNERS:
            assert room == OWNERS[package], f"{room or 'the top'} imports {module}"
        if room == "core":
            assert package in {"calcli", "numpy", *sys.stdlib_module_names}, f"core imports {module}"


def layer_of(module: str) -> str | None:
    """Return the sub-room of core that a module is in; None outside core."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["calcli", "core"] and len(parts) > 2 else None


CORE = [(file, name) for file, name in zip(FILES, NAMES, strict=True) if name.startswith("calcli/core/")]


@pytest.mark.parametrize("file", [file for file, _ in CORE], ids=[name for _, name in CORE])
def test_sub_rooms_of_core_import_only_what_is_below(file):
    layer = layer_of(".".join(file.relative_to(ROOT).with_suffix("").parts))
    for module in imported(ast.parse(file.read_text(encoding="utf-8")), types_too=True):
        if module.startswith("calcli."):
            below = layer_of(module)
            assert below in LAYERS, f"{layer} imports {module}"
            assert LAYERS.index(below) <= LAYERS.index(layer), f"{layer} imports {module}"


IN_IO = [
    (file, name.split("/")[2].removesuffix(".py"))
    for file, name in zip(FILES, NAMES, strict=True)
    if "/io/" in name
]
LAYERED = [(file, layer) for file, layer in IN_IO if layer in LAYERS_OF_IO]


@pytest.mark.parametrize(("file", "layer"), LAYERED, ids=[file.name for file, _ in LAYERED])
def test_layers_of_io_import_only_what_is_below(file, layer):
    above = LAYERS_OF_IO[LAYERS_OF_IO.index(layer) + 1 :]
    for module in imported(ast.parse(file.read_text(encoding="utf-8")), types_too=True):
        assert module.split(".")[:2] != ["calcli", "io"] or module.split(".")[2] not in above, (
            f"{layer} imports {module}"
        )


def test_every_sub_room_of_core_has_its_layer():
    assert {path.parent.name for path in (ROOT / "calcli/core").glob("*/__init__.py")} == set(LAYERS)


SHORT = 60  # lines of code below which an idea shares a file, unless a registry names the file
ALONE = {  # why a short file of core has no neighbour to join
    "calibrators/fit/quadratic": "least squares under constraints, of pools and splines",
    "estimators/scoring": "scores that are functions of means, below what sums them",
    "language/errors": "what every file may raise",
    "language/methods": "where calibrators are declared",
    "language/version": "read by the build",
}
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


def lines_of_code(text: str) -> int:
    """Return how many lines are neither blank nor comments nor docstrings."""
    documented = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            documented |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {n for one in tokens if one.type not in NO_CODE for n in range(one.start[0], one.end[0] + 1)}
    return len(code - documented)


def test_short_files_of_core_are_entries_of_a_registry_or_have_a_reason():
    from calcli.core.language.figures import FIGURES
    from calcli.core.language.methods import METHODS
    from calcli.core.language.metrics import METRICS

    named = [entry.where.partition(":")[0] for entry in (*METRICS.values(), *METHODS.values())]
    entries = {where.rpartition(".")[2] for where in (*named, *FIGURES)}
    short = {
        name.removeprefix("calcli/core/").removesuffix(".py")
        for file, name in CORE
        if file.name != "__init__.py" and lines_of_code(file.read_text(encoding="utf-8")) < SHORT
    }
    assert {name for name in short if name.rpartition("/")[2] not in entries} <= set(ALONE)
    assert set(ALONE) <= short
    assert len(ALONE) <= 20


def loaded_after(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["guide"],
        ["guide", "metrics"],
        *([name, "--help"] for name in ("evaluate", "fit", "apply", "plot")),
    ],
)
def test_help_loads_nothing_heavy(arguments):
    loaded = loaded_after(f"from calcli.cli.main import status_of\nassert status_of({arguments}) == 0")
    assert "typer" in loaded
    assert not loaded & set(HEAVY)


def test_errors_of_the_command_line_load_nothing_heavy():
    statement = "from calcli.cli.main import status_of\nassert status_of(['evaluate', '--nothing']) == 2"
    assert not loaded_after(statement) & set(HEAVY)


def test_the_language_loads_without_numpy():
    modules = [file.stem for file in (ROOT / "calcli/core/language").glob("[a-z]*.py")]
    statement = "\n".join(f"import calcli.core.language.{module}" for module in modules)
    assert not loaded_after(statement) & set(HEAVY)


def test_importing_the_package_loads_nothing_heavy():
    assert not loaded_after("import calcli\ncalcli.__version__") & set(HEAVY)


@pytest.mark.parametrize("what", [["evaluate", "--metrics", "accuracy"], ["fit", "-m", "temperature"]])
def test_arrays_need_nothing_of_what_tables_need(what):
    command = [*what, "sample_data/digits_network_test.npy", "--format", "json"]
    loaded = loaded_after(f"from calcli.cli.main import status_of\nassert status_of({command}) == 0")
    assert "numpy" in loaded
    assert not loaded & {"pandas", "pyarrow", "matplotlib", "rich", "pydantic"}


def test_users_are_sent_to_no_other_package():
    texts = [*ROOT.glob("*.md"), *ROOT.glob("*.toml"), *(ROOT / "sample_data").glob("*.md"), *FILES]
    assert not [file for file in texts if "install calcli" in file.read_text(encoding="utf-8")]
