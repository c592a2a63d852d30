"""Every export format."""

import inspect
import json

import pytest

from capscope import Budget, Settings, assess, load
from capscope.export import FORMATS
from support.toy_worlds import Board, board_problem

SMALL = Settings(draws=3, random_length=6, walks=2, walk_steps=10, patience=3)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("formats") / "run"
    problem = board_problem(Board(slip=0.3))
    assess(problem, strategy="random", settings=SMALL, budget=Budget(executions=60), run=path)
    return load(path)


@pytest.mark.parametrize("name", FORMATS.all)
def test_a_run_is_exported_to_every_format(name, run):
    if name == "parquet":
        pytest.importorskip("pyarrow")
    chosen = FORMATS.find(name)
    content = chosen.write(run)
    assert chosen.name == name
    assert isinstance(content, dict) is chosen.several_files
    texts = list(content.values()) if chosen.several_files else [content]
    assert all(texts)
    if chosen.is_json:
        assert json.loads(content)["problem"] == "board"


@pytest.mark.parametrize("name", FORMATS.all)
def test_the_declared_options_are_those_that_the_format_takes(name):
    _, *parameters = inspect.signature(FORMATS.find(name).write).parameters.values()
    assert {p.name: p.default for p in parameters} == {
        option.name: option.default for option in FORMATS.find(name).options
    }
