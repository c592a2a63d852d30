"""Every export format, including those that other packages add."""

import inspect
import json
from importlib import metadata

import pytest

from capscope import Budget, Settings, assess, load
from capscope.errors import CapscopeError
from capscope.export import formats
from capscope.export.formats import FORMATS, ExportFormat, export_formats
from support.toy_worlds import Board, board_problem

SMALL = Settings(draws=3, random_length=6, walks=2, walk_steps=10, patience=3)
PLUGIN = ExportFormat("names", "the capabilities", lambda run: f"{len(run.graph.capabilities)}\n")
NOT_A_FORMAT = 7


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("formats") / "run"
    problem = board_problem(Board(slip=0.3))
    assess(problem, strategy="random", settings=SMALL, budget=Budget(executions=60), run=path)
    return load(path)


@pytest.mark.parametrize("name", FORMATS)
def test_a_run_is_exported_to_every_format(name, run):
    if name == "parquet":
        pytest.importorskip("pyarrow")
    chosen = FORMATS[name]
    content = chosen.write(run)
    assert chosen.name == name
    assert isinstance(content, dict) is chosen.several_files
    texts = list(content.values()) if chosen.several_files else [content]
    assert all(texts)
    if chosen.is_json:
        assert json.loads(content)["problem"] == "board"


@pytest.mark.parametrize("name", FORMATS)
def test_the_declared_options_are_those_that_the_format_takes(name):
    _, *parameters = inspect.signature(FORMATS[name].write).parameters.values()
    assert {p.name: p.default for p in parameters} == {
        option.name: option.default for option in FORMATS[name].options
    }


@pytest.fixture
def entry_points(monkeypatch):
    """Declare formats of another package: two that load, and two that do not."""
    here = {"names": "PLUGIN", "json": "PLUGIN", "odd": "NOT_A_FORMAT", "gone": "MISSING"}
    declared = [
        metadata.EntryPoint(name, f"{__name__}:{value}", formats.ENTRY_POINTS)
        for name, value in here.items()
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda group: declared)
    export_formats.cache_clear()
    yield
    export_formats.cache_clear()


@pytest.mark.usefixtures("entry_points")
def test_another_package_can_add_formats_but_not_replace_ours(run):
    found = export_formats()
    assert list(found) == [*FORMATS, "names", "odd", "gone"]
    assert found["json"] is FORMATS["json"]
    assert found["names"].write(run) == "6\n"


@pytest.mark.usefixtures("entry_points")
@pytest.mark.parametrize(
    ("name", "reason"), [("odd", "is not an ExportFormat"), ("gone", "AttributeError: ")]
)
def test_a_format_that_does_not_load_says_why_when_it_is_used(name, reason, run):
    with pytest.raises(CapscopeError, match=f"export format {name} cannot be loaded: .*{reason}"):
        export_formats()[name].write(run)
