"""Tables as pandas data frames, and as Parquet files.

pandas and pyarrow are an extra: they are imported when the first frame is made.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from capscope.errors import CapscopeError
from capscope.export.tables import Table, model_tables, run_tables
from capscope.model import StateGraph

if TYPE_CHECKING:
    import pandas

_DTYPES = {str: "str", int: "int64", float: "float64", bool: "bool"}
_MISSING = "need pandas and pyarrow; install them with: pip install 'capscope[frames]'"


@dataclass(frozen=True)
class Frames:
    """The tables of a run as data frames."""

    transitions: pandas.DataFrame
    rules: pandas.DataFrame
    queries: pandas.DataFrame | None = None
    """None if the run was not kept: then it is not known any more what was asked."""


def model_frames(graph: StateGraph) -> Frames:
    """Return the transitions and the rules of the pessimistic model."""
    transitions, rules = model_tables(graph)
    return Frames(frame(transitions), frame(rules))


def run_frames(path: Path) -> Frames:
    """Return all three tables of a run directory."""
    with run_tables(path) as tables:
        return Frames(*map(frame, tables))


def frame(table: Table) -> pandas.DataFrame:
    """Return a table as a data frame; an empty one has its columns and their types, too."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise CapscopeError(f"data frames {_MISSING}") from error
    types = {name: _DTYPES[kind] for name, kind in table.columns.items()}
    return pandas.DataFrame(table.rows, columns=list(types)).astype(types)


def parquet_bytes(table: Table) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    made = frame(table)
    data = io.BytesIO()
    try:
        made.to_parquet(data, engine="pyarrow", index=False)
    except ImportError as error:
        raise CapscopeError(f"Parquet files {_MISSING}") from error
    return data.getvalue()
