"""A run as four tables, for spreadsheets, data frames and databases.

A state is given in hexadecimal, with the atoms of the vocabulary as bits, and as the atoms that
hold, joined as in an intent: `Intent.parse` reads them back, and no atom is an empty text. Atoms
that held in every state seen are omitted there, since they would be most of the file.

pandas and pyarrow are an extra and are imported when the first frame is made.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from capscope.errors import CapscopeError, install_hint
from capscope.insight.rule_wording import RuleWriter
from capscope.logic import State
from capscope.model import LearnedModel, StateGraph
from capscope.model.lifted_rules import LiftedLiteral
from capscope.sanitize import escape_surrogates

if TYPE_CHECKING:
    import pandas

    from capscope.run import Run

_DTYPES = {str: "str", int: "int64", float: "float64", bool: "bool"}
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "'")


Cell = str | float | bool
COLUMNS: dict[str, dict[str, type]] = {
    "transitions": {
        "before": str, "capability": str, "after": str, "times": int, "executions": int,
        "share": float, "probability": float, "family": str, "rule": int, "held_before": bool,
        "holds_after": bool, "before_atoms": str, "after_atoms": str, "adds": str, "deletes": str,
    },
    "rules": {
        "family": str, "rule": int, "capability": str, "consequence": str, "pairs": int,
        "foreseen": int, "outcome": int, "times": int, "probability": float, "meant": bool,
        "adds": str, "deletes": str, "where": str, "when": str,
    },
    "queries": {
        "number": int, "start": str, "start_atoms": str, "draws": int, "executions": int,
        "simulator_steps": int, "llm_tokens": int, "llm_cost": float, "seconds": float,
        "predicted": float, "informative": bool, "finished": bool, "new_pairs": int,
        "new_transitions": int,
    },
    "success": {
        "capability": str, "rate": float, "low": float, "high": float, "draws": int,
        "resets_tried": int, "resets": int,
    },
}  # fmt: skip
"""The columns of each table in order; `docs/formats.md` says what they mean."""


@dataclass(frozen=True)
class Table:
    """A name, and rows of the columns of that name, which can be iterated once."""

    name: str
    rows: Iterable[tuple[Cell, ...]]

    @property
    def columns(self) -> dict[str, type]:
        """The columns in order, each with its type: `str`, `int`, `float` or `bool`."""
        return COLUMNS[self.name]


def model_tables(model: LearnedModel) -> tuple[Table, Table]:
    """Return the transitions that a model was learned from, and its rules."""
    return Table("transitions", _transitions(model)), Table("rules", _rules(model))


def run_tables(run: Run) -> tuple[Table, ...]:
    """Return the transitions, rules and queries of a run, and its success after resets."""
    own = Table("queries", _queries(run)), Table("success", _success(run))
    return *model_tables(run.model), *own


def _atom_texts(graph: StateGraph) -> Callable[[State], str]:
    """Return a function that names the atoms of a state, without those that always hold."""
    shown = ~graph.always

    @lru_cache(maxsize=1 << 16)
    def text(state: State) -> str:
        held = map(str, graph.vocabulary.holding(state & shown))
        return escape_surrogates(" and ".join(held))

    return text


def _transitions(model: LearnedModel) -> Iterator[tuple[Cell, ...]]:
    graph = model.graph
    text = _atom_texts(graph)
    families = {member: family for family in model.families for member in family.members}
    for index, intent in enumerate(graph.capabilities):
        name, holds = escape_surrogates(str(intent)), intent.test(graph.vocabulary)
        family = families[intent]
        for state, node in graph.nodes.items():
            pair = node.pairs[index]
            if pair is None:
                continue
            number = family.applying(intent, state, graph.vocabulary)[0] + 1
            predicted = model.predict(state, intent)
            for effect, after in zip(pair.group.effects, pair.successors, strict=True):
                count = pair.counts[effect]
                yield (
                    hex(state), name, hex(after.state), count, pair.total, count / pair.total,
                    predicted.get(after.state, 0.0), escape_surrogates(family.name), number,
                    holds(state), holds(after.state), text(state), text(after.state),
                    text(effect.adds), text(effect.deletes),
                )  # fmt: skip


def _rules(model: LearnedModel) -> Iterator[tuple[Cell, ...]]:
    writer = RuleWriter(model.graph.vocabulary, formal=True)

    def joined(literals: Iterable[LiftedLiteral]) -> str:
        return escape_surrogates(" and ".join(map(writer.literal, literals)))

    for family in model.families:
        for number, rule in enumerate(family.rules, 1):
            capability = "" if rule.capability is None else escape_surrogates(str(rule.capability))
            for place, effect in enumerate(rule.effects, 1):
                where = " and ".join(f"{n}: {writer.literal(of)}" for n, of in effect.where)
                yield (
                    escape_surrogates(family.name), number, capability, str(rule.consequence),
                    rule.pairs, rule.foreseen, place, effect.count, effect.probability,
                    effect.meant, joined(one for one in effect.changes if one.positive),
                    joined(replace(x, positive=True) for x in effect.changes if not x.positive),
                    escape_surrogates(where), joined(rule.when),
                )  # fmt: skip


def _queries(run: Run) -> Iterator[tuple[Cell, ...]]:
    text, states = _atom_texts(run.graph), run.executions.states
    table, distinct = run.executions.queries, run.executions.distinct
    # The pairs and the transitions that no query before had shown.
    news = (
        np.bincount(run.executions.query[first], minlength=len(table))
        for first in (distinct.first_of_pair, distinct.first)
    )
    columns = (
        table.start, table.draws, table.executions, table.simulator_steps, table.llm_tokens,
        table.llm_cost, table.seconds, table.predicted, table.informative, table.finished, *news,
    )  # fmt: skip
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for number, (start, *rest) in enumerate(rows):
        yield number, hex(states[start]), text(states[start]), *rest


def _success(run: Run) -> Iterator[tuple[Cell, ...]]:
    for intent, found in run.success.items():
        rate = math.nan if found.estimate is None else found.estimate
        size = found.executions, found.tried, found.states
        yield escape_surrogates(str(intent)), rate, *found.interval, *size


def csv_text(table: Table) -> str:
    """Return a table as RFC 4180 text: a line of column names, then one line per row.

    A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@` as a formula, and names come
    from the assessed world. Such a text gets an apostrophe in front, which marks plain text; a text
    that begins with an apostrophe gets another, so that removing one always restores the name.
    """
    text = io.StringIO()
    # The standard's line ending: with another one, a lone "\r" would not be quoted.
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(table.columns)
    writer.writerows([_csv_cell(value) for value in row] for row in table.rows)
    return text.getvalue()


def _csv_cell(value: Cell) -> Cell:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isnan(value):
        return ""
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    return value


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
