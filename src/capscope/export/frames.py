"""Tables as pandas data frames and Parquet files.

pandas and pyarrow are an extra and are imported when the first frame is made.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from capscope.errors import CapscopeError, install_hint
from capscope.export.tables import Table, run_tables

if TYPE_CHECKING:
    import pandas

    from capscope.run import Run

_DTYPES = {str: "str", int: "int64", float: "float64", bool: "bool"}


@dataclass(frozen=True)
class Frames:
    """The tables of a run as data frames."""

    transitions: pandas.DataFrame
    rules: pandas.DataFrame
    queries: pandas.DataFrame
    success: pandas.DataFrame


def run_frames(run: Run) -> Frames:
    """Return the tables of a run."""
    return Frames(*map(frame, run_tables(run)))


def frame(table: Table) -> pandas.DataFrame:
    """Return a table as a data frame, with column types also if it is empty."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise CapscopeError(f"data frames need pandas: {install_hint('frames')}") from error
    types = {name: _DTYPES[kind] for name, kind in table.columns.items()}
    return pandas.DataFrame(table.rows, columns=list(types)).astype(types)


def parquet_bytes(table: Table) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    made = frame(table)
    data = io.BytesIO()
    try:
        made.to_parquet(data, engine="pyarrow", index=False)
    except ImportError as error:
        raise CapscopeError(f"Parquet files need pyarrow: {install_hint('frames')}") from error
    return data.getvalue()
