"""Data frames and Parquet files have the content of the tables."""

import io
import re
import sys

import pytest
from hypothesis import given, settings

from capscope import Budget, assess
from capscope.errors import CapscopeError, install_hint
from capscope.export.tables import Table, frame, model_tables, parquet_bytes, run_tables
from capscope.model import LearnedModel
from support.odd_names import odd_models, tossed_models
from support.toy_worlds import Board, board_problem

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def check_same(made, table):
    assert list(made.columns) == list(table.columns)
    assert [tuple(row) for row in made.itertuples(index=False, name=None)] == [*table.rows]


@given(odd_models())
@settings(max_examples=20)
def test_frames_hold_the_rows_of_the_tables(graph):
    model = LearnedModel.fitted(graph)
    for table, again in zip(model_tables(model), model_tables(model), strict=True):
        check_same(frame(table), again)


@given(odd_models())
@settings(max_examples=20)
def test_parquet_files_hold_them_too(graph):
    model = LearnedModel.fitted(graph)
    for before, again in zip(model_tables(model), model_tables(model), strict=True):
        check_same(pandas.read_parquet(io.BytesIO(parquet_bytes(before))), again)


@pytest.mark.parametrize("rows", [[], None], ids=["empty", "tossed"])
def test_types_do_not_depend_on_the_rows(rows):
    table = model_tables(LearnedModel.fitted(tossed_models()))[0]
    made = frame(table if rows is None else Table("transitions", rows))
    kinds = {name: made[name].dtype.kind for name in ("times", "share", "held_before")}
    assert kinds == {"times": "i", "share": "f", "held_before": "b"}
    assert pandas.api.types.is_string_dtype(made["before"])


@pytest.mark.parametrize("kept", [True, False])
def test_a_run_has_its_tables_in_frames(kept, tmp_path):
    problem = board_problem(Board(slip=0.3))
    directory = tmp_path / "run" if kept else None
    run = assess(problem, budget=Budget(executions=60), run=directory)
    made = run.frames()
    assert made.queries["executions"].sum() == 60
    *tables, success = run_tables(run)
    for one, table in zip((made.transitions, made.rules, made.queries), tables, strict=True):
        check_same(one, table)
    # Not compared row by row: a rate that is not known is not equal to itself.
    assert list(made.success.columns) == list(success.columns)
    assert made.success["capability"].tolist() == [str(intent) for intent in run.success]


@pytest.mark.parametrize(
    ("package", "made"), [("pandas", frame), ("pandas", parquet_bytes), ("pyarrow", parquet_bytes)]
)
def test_a_missing_package_names_the_extra(package, made, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(CapscopeError, match=re.escape(install_hint("frames"))):
        made(model_tables(LearnedModel.fitted(tossed_models()))[0])
