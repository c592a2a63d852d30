"""The layer rule of the design, read off the imports of every module."""

import ast
import itertools
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import capscope

ROOT = Path(capscope.__file__).parent
EVERYONE_MAY_IMPORT = {"errors", "phases", "registry", "sanitize", "seeds"}
# A layer imports only from those before it. "capscope" is the `__init__` of the package.
ORDER = [
    "symbolic",
    "world",
    "statistics",
    "record",
    "model",
    "strategy",
    "assessment",
    "analysis",
    "export",
    "present",
    "environments",
    "agents",
    "tools",
    "built_in_problems",
    "problems",
    "run",
    "testing",
    "view",
    "capscope",
    "cli",
    "__main__",
]
ALLOWED = {layer: set(ORDER[:i]) for i, layer in enumerate(ORDER)} | {
    "errors": set(),
    "phases": set(),
    "registry": set(),
    "sanitize": set(),
    "seeds": set(),
    "environments": {"symbolic", "world"},
    "agents": {"symbolic", "world"},
    # A strategy decides what to ask without a simulator.
    "strategy": {"symbolic", "statistics", "record", "model"},
}


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def for_annotations(statement):
    return isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"


def imported_names(path):
    """List the absolute dotted name behind every import, also those inside functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [statement for statement in tree.body if not for_annotations(statement)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: write imports with their full name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def owner(name):
    """Return the module that a dotted name is, or is taken from."""
    while name not in MODULES:
        name = name.rpartition(".")[0]
    return name


IMPORTS = {
    module: {owner(n) for n in imported_names(path) if n.partition(".")[0] == "capscope"}
    for module, path in MODULES.items()
}


def layer_of(module):
    return (*module.split("."), "capscope")[1]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_from_layers_above_its_own(module):
    layer = layer_of(module)
    assert layer in ALLOWED, f"{module} is in no layer; give it one in docs/design.md and here"
    allowed = ALLOWED[layer] | EVERYONE_MAY_IMPORT | {layer}
    wrong = sorted(other for other in IMPORTS[module] if layer_of(other) not in allowed)
    assert not wrong, f"{module} ({layer}) must not import {', '.join(wrong)}"


def test_no_modules_import_each_other_in_a_circle():
    try:
        TopologicalSorter({m: others - {m} for m, others in IMPORTS.items()}).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.parametrize(
    ("package", "home"),
    [
        ("plado", "capscope.environments.pddl"),
        ("minigrid", "capscope.environments.minigrid"),
        ("openai", "capscope.agents.llm.transport"),
        ("xllamacpp", "capscope.agents.llm.local"),
        ("typer", "capscope.cli"),
        ("rich", "capscope.cli"),
        ("jinja2", "capscope.present.page"),
        ("gymnasium", "capscope.environments.gymnasium"),
        ("agentdojo", "capscope.environments.agentdojo"),
        ("mcp", "capscope.environments.mcp.server"),
        ("pydantic", "capscope.environments.tools.tool"),
        ("pydantic_core", "capscope.environments.tools.tool"),
        ("pandas", "capscope.export.frames"),
        ("pyarrow", "capscope.export.frames"),
        ("stormpy", "capscope.analysis.planning.policy"),
        ("starlette", "capscope.view.pages"),
        ("uvicorn", "capscope.view.server"),
        ("sqlite3", ("capscope.record", "capscope.agents.llm.cache")),
    ],
)
def test_a_library_is_imported_in_its_own_place_only(package, home):
    users = {
        module
        for module, path in MODULES.items()
        for name in imported_names(path)
        if name.partition(".")[0] == package
    }
    homes = [home] if isinstance(home, str) else home
    strangers = [u for u in users if not any(f"{u}.".startswith(f"{h}.") for h in homes)]
    assert not strangers, sorted(strangers)


def test_nothing_but_the_bench_command_knows_of_the_experiments():
    users = {
        module
        for module, path in MODULES.items()
        if "capscope_experiments" in path.read_text(encoding="utf-8")
    }
    assert users == {"capscope.cli.bench"}


PACKAGE = ROOT.parents[1] / "experiments" / "capscope_experiments"
EXPERIMENTS = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): set(
        imported_names(path)
    )
    for path in sorted(PACKAGE.rglob("*.py"))
}


@pytest.mark.parametrize(
    ("package", "home"),
    [
        ("aalpy", "baselines.aalpy.learners"),
        ("matplotlib", "figure"),
        ("typer", "command"),
        ("rich", "command"),
    ],
)
def test_a_library_is_imported_in_its_own_place_of_the_experiments_only(package, home):
    users = {
        module
        for module, names in EXPERIMENTS.items()
        if any(name.partition(".")[0] == package for name in names)
    }
    assert users == {f"capscope_experiments.{home}"}


def test_run_directories_are_read_in_one_module_of_the_experiments():
    reader = "capscope.record.run_directory.RunDirectory"
    users = {module for module, names in EXPERIMENTS.items() if reader in names}
    assert users == {"capscope_experiments.saved_runs"}


def test_the_check_sees_imports_inside_functions_but_not_those_for_annotations():
    assert "capscope.agents.lao_star" in IMPORTS["capscope.built_in_problems"]
    assert "capscope.run" not in IMPORTS["capscope.analysis.diff.compare"]
    assert "from capscope.run import Run" in MODULES["capscope.analysis.diff.compare"].read_text()


def test_every_layer_of_the_picture_is_in_the_order():
    assert set(ALLOWED) == set(ORDER) | EVERYONE_MAY_IMPORT
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert folders <= set(ORDER)
    assert all(a != b for a, b in itertools.pairwise(ORDER))
