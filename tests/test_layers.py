"""The layer rule of the design, read off the imports of every module."""

import ast
import itertools
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import capscope
from capscope.strategy import STRATEGIES

ROOT = Path(capscope.__file__).parent
EVERYONE_MAY_IMPORT = {"errors", "phases", "registry", "sanitize", "seeds", "version", "wording"}
# A layer imports only from those before it. "capscope" is the `__init__` of the package.
ORDER = [
    "logic",
    "problem",
    "stats",
    "journal",
    "model",
    "strategy",
    "assessment",
    "insight",
    "export",
    "report",
    "adapters",
    "problems",
    "run",
    "testing",
    "repro",
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
    "version": set(),
    "wording": set(),
    # An evaluation of another framework is judged by the bets of runs.
    "adapters": {"logic", "problem", "stats"},
    # A strategy decides what to ask without a simulator.
    "strategy": {"logic", "stats", "journal", "model"},
}


def modules_of(package):
    """Return the file of every module below the folder of a package."""

    def name(path):
        parts = path.relative_to(package.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    return {name(path): path for path in sorted(package.rglob("*.py"))}


MODULES = modules_of(ROOT)


def for_annotations(statement):
    return isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"


def imported_names(path, *, annotations=False):
    """List the absolute dotted name behind every import, also those inside functions.

    Args:
        path: The file of a module.
        annotations: Whether to list the imports that only annotations need, too.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not annotations:
        tree.body = [statement for statement in tree.body if not for_annotations(statement)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: write imports with their full name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            ("import_module", "__import__")
        ):
            yield from (a.value for a in node.args[:1] if isinstance(a, ast.Constant))


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


# The libraries that are not part of Python, and the modules that may import them.
HOMES = {
    "anyio": ["capscope.adapters.mcp.server"],
    "gymnasium": ["capscope.adapters.gymnasium"],
    "inspect_ai": ["capscope.adapters.inspect"],
    "jinja2": ["capscope.report.page"],
    "markupsafe": ["capscope.report.page"],
    "mcp": ["capscope.adapters.mcp.server"],
    "numpy": ["capscope"],
    "openai": ["capscope.adapters.llm.transport"],
    "pandas": ["capscope.export.tables"],
    "plado": ["capscope.adapters.pddl"],
    "pydantic": ["capscope.adapters.tools.tool"],
    "pydantic_core": ["capscope.adapters.tools.tool"],
    "pytest": ["capscope.testing.plugin"],
    "ray": ["capscope.assessment.worker_links"],
    "rich": ["capscope.cli"],
    "stormpy": ["capscope.insight.planning.mdp"],
    "typer": ["capscope.cli"],
    # Part of Python, but a journal is read and written in one place.
    "sqlite3": ["capscope.journal", "capscope.adapters.llm.answers"],
}
WORLDS = modules_of(ROOT.parents[1] / "worlds" / "src" / "capscope_worlds")
WORLD_HOMES = {
    library: [f"capscope_worlds{home}" for home in homes]
    for library, homes in {
        "agentdojo": [".agentdojo"],
        "crafter": [".crafter.simulator"],
        "minigrid": [".minigrid"],
        "mujoco": [".tabletop"],
        "numpy": [""],
        "typer": [".llm_command"],
        "xllamacpp": [".local_llm"],
    }.items()
}
VIEWER = modules_of(ROOT.parents[1] / "viewer" / "src" / "capscope_view")
VIEWER_HOMES = {
    "starlette": ["capscope_view.pages"],
    "typer": ["capscope_view.command"],
    "uvicorn": ["capscope_view.server"],
}
DISTRIBUTIONS = pytest.mark.parametrize(
    ("modules", "homes"),
    [(MODULES, HOMES), (WORLDS, WORLD_HOMES), (VIEWER, VIEWER_HOMES)],
    ids=["core", "worlds", "viewer"],
)
OWN = {"capscope", "capscope_experiments", "capscope_view", "capscope_worlds"}


def imported_libraries(path):
    """Return the top-level packages that a module imports for any purpose, its own ones apart."""
    names = {name.partition(".")[0] for name in imported_names(path, annotations=True)}
    return names - OWN


def strangers(modules, homes):
    """List the imports of libraries by modules that are none of their homes."""
    return [
        f"{module} imports {library}"
        for module, path in modules.items()
        for library in sorted(imported_libraries(path))
        if library in homes or library not in sys.stdlib_module_names
        if not any(f"{module}.".startswith(f"{home}.") for home in homes.get(library, ()))
    ]


@DISTRIBUTIONS
def test_a_library_is_imported_in_its_own_place_only(modules, homes):
    assert strangers(modules, homes) == []


def test_sql_is_known_where_sqlite_is_imported_only():
    homes = tuple(f"{home}." for home in HOMES["sqlite3"])
    knowing = {m for m, path in MODULES.items() if "SELECT " in path.read_text(encoding="utf-8")}
    assert [module for module in knowing if not f"{module}.".startswith(homes)] == []


@pytest.mark.parametrize("package", ["capscope_worlds", "capscope_view"])
def test_the_core_knows_nothing_of_the_other_distributions(package):
    assert [m for m, path in MODULES.items() if package in path.read_text()] == []


@pytest.mark.parametrize(
    "planted",
    [
        "import mujoco",
        "import mujoco.viewer as viewer",
        "from mujoco import MjModel",
        "def load():\n    import mujoco",
        "class Scene:\n    from mujoco import MjModel",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from mujoco import MjModel",
        "import typing\nif typing.TYPE_CHECKING:\n    import mujoco",
        "try:\n    import mujoco\nexcept ImportError:\n    mujoco = None",
        "from importlib import import_module\nmujoco = import_module('mujoco')",
    ],
)
def test_a_library_in_the_wrong_place_would_be_noticed(tmp_path, planted):
    for place in ("logic", "adapters/robots"):
        folder = tmp_path / "capscope" / place
        folder.mkdir(parents=True)
        (folder / "scene.py").write_text(f"import ast\nimport numpy\n{planted}\n")
    homes = {**HOMES, "mujoco": ["capscope.adapters.robots"]}
    found = strangers(modules_of(tmp_path / "capscope"), homes)
    assert found == ["capscope.logic.scene imports mujoco"]


def test_a_library_without_a_home_would_be_noticed(tmp_path):
    (tmp_path / "capscope").mkdir()
    (tmp_path / "capscope" / "run.py").write_text("import somebodys_library")
    found = strangers(modules_of(tmp_path / "capscope"), HOMES)
    assert found == ["capscope.run imports somebodys_library"]


@DISTRIBUTIONS
def test_no_home_is_kept_for_a_library_that_is_not_imported(modules, homes):
    imported = set().union(*map(imported_libraries, modules.values()))
    assert homes.keys() - imported == set()


def test_nothing_but_the_bench_command_knows_of_the_experiments():
    users = {
        module
        for module, path in MODULES.items()
        if "capscope_experiments" in path.read_text(encoding="utf-8")
    }
    assert users == {"capscope.cli.commands"}


EXPERIMENTS = modules_of(ROOT.parents[1] / "experiments" / "capscope_experiments")
EXPERIMENT_HOMES = {
    library: [f"capscope_experiments{home}" for home in homes]
    for library, homes in {
        "aalpy": [".baselines.aalpy.learners"],
        "matplotlib": [".figure"],
        "minigrid": [".benchmarks.minigrid_steps"],
        "numpy": [""],
        "plado": [".benchmarks.pddl_steps"],
        "ray": [".benchmarks.killed_runs"],
        "rich": [".command"],
        "support": [  # of the tests
            ".benchmarks.killed_runs",
            ".benchmarks.what_is_said",
            ".worlds.honest",
        ],
        "typer": [".command"],
    }.items()
}


def test_a_library_is_imported_in_its_own_place_of_the_experiments_only():
    assert strangers(EXPERIMENTS, EXPERIMENT_HOMES) == []


def test_run_directories_are_read_in_one_module_of_the_experiments():
    reader = "capscope.journal.run_directory.RunDirectory"
    users = {module for module, path in EXPERIMENTS.items() if reader in imported_names(path)}
    assert users == {"capscope_experiments.saved_runs"}


def test_the_check_sees_imports_inside_functions_but_not_those_for_annotations():
    assert "capscope.adapters.pddl.lao_star" in IMPORTS["capscope.adapters.pddl"]
    assert "capscope.run" not in IMPORTS["capscope.insight.diff.compare"]
    assert "from capscope.run import Run" in MODULES["capscope.insight.diff.compare"].read_text()


def test_every_layer_of_the_picture_is_in_the_order():
    assert set(ALLOWED) == set(ORDER) | EVERYONE_MAY_IMPORT
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert folders <= set(ORDER)
    assert all(a != b for a, b in itertools.pairwise(ORDER))


def test_no_code_outside_the_strategies_asks_for_one_by_name():
    names = set(STRATEGIES.built_in)
    found = [
        f"{module}: {node.value}"
        for module, path in MODULES.items()
        if layer_of(module) != "strategy"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert not found, "ask the registry what a strategy claims or infers"
