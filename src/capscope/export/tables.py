"""A run as four tables, for spreadsheets, data frames and databases.

The fields of a row are the columns; none has the name of a method of tuples or frames.

A state is given in hexadecimal, with the atoms of the vocabulary as bits, and as the atoms that
hold, joined as in an intent: `Intent.parse` reads them back, and no atom is an empty text. Atoms
that held in every state seen are omitted there, since they would be most of the file.

pandas and pyarrow are an extra and are imported when the first frame is made.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, get_type_hints

import numpy as np

from capscope.errors import CapscopeError, install_hint
from capscope.export.rules import with_readable_conditions
from capscope.journal.execution_table import ExecutionTable
from capscope.logic import Effect, Intent, State, Vocabulary
from capscope.model import Rule, StateGraph
from capscope.model.state_graph import PairStats
from capscope.sanitize import escape_surrogates
from capscope.stats.arrays import Integers

if TYPE_CHECKING:
    import pandas

    from capscope.run import Run

_DTYPES = {str: "str", int: "int64", float: "float64", bool: "bool"}
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "'")


class TransitionRow(NamedTuple):
    """A capability in a state, and one of the states it led to."""

    before: str
    capability: str
    after: str
    times: int
    """Executions of this pair that ended there."""
    executions: int
    """Executions of the pair."""
    share: float
    """times / executions: of this pair alone."""
    probability: float
    """The probability in the model: pooled over all states of the rule."""
    rule: int
    """The number of the rule in the table of rules, from 1."""
    held_before: bool
    """The intent held before."""
    holds_after: bool
    """The intent holds afterwards."""
    before_atoms: str
    after_atoms: str
    adds: str
    deletes: str


class RuleRow(NamedTuple):
    """A rule of a capability, and one of its outcomes."""

    capability: str
    rule: int
    """From 1, the best supported first."""
    outcome: int
    """From 1, the most frequent first."""
    states: int
    """Tried states of the rule."""
    executions: int
    """Executions in these states."""
    times: int
    """Those with this outcome."""
    probability: float
    low: float
    """The central 95 % interval of the probability in a state of the rule."""
    high: float
    achieving_states: int
    """States of the rule in which the intent holds after this outcome."""
    adds: str
    deletes: str
    when: str
    """The readable condition."""


class QueryRow(NamedTuple):
    """A query: what it cost and what it showed."""

    number: int
    """From 0."""
    start: str
    start_atoms: str
    draws: int
    executions: int
    simulator_steps: int
    llm_tokens: int
    llm_cost: float
    """In the currency of the prices."""
    seconds: float
    predicted: float
    """How informative it was predicted to be, in the measure of the strategy."""
    informative: bool
    """The prediction was above the run's threshold."""
    finished: bool
    new_pairs: int
    """Pairs of state and capability tried for the first time."""
    new_transitions: int
    """Transitions seen for the first time."""


class SuccessRow(NamedTuple):
    """A capability, and how often the agent achieves it if asked right after a reset."""

    capability: str
    rate: float
    """The mean over the resets tried; missing if none was."""
    low: float
    """The 95 % interval of the mean over all resets."""
    high: float
    draws: int
    """Executions that started right after a reset."""
    resets_tried: int
    """Resets that led to a position in which it was tried."""
    resets: int
    """Resets after which the intent does not hold already."""


Row = TransitionRow | RuleRow | QueryRow | SuccessRow


@dataclass(frozen=True)
class Table:
    """A name, the type of its rows, and the rows, which can be iterated once."""

    name: str
    kind: type[Row]
    rows: Iterable[Row]

    @property
    def columns(self) -> dict[str, type]:
        """The columns in order, each with its type: `str`, `int`, `float` or `bool`."""
        return get_type_hints(self.kind)


def model_tables(graph: StateGraph) -> tuple[Table, Table]:
    """Return the transitions and the rules of a graph."""
    transitions = Table("transitions", TransitionRow, _transitions(graph))
    return transitions, Table("rules", RuleRow, _rules(graph))


def run_tables(run: Run) -> tuple[Table, Table, Table, Table]:
    """Return the transitions, rules and queries of a run, and its success after resets."""
    queries = Table("queries", QueryRow, _queries(run))
    return (*model_tables(run.graph), queries, Table("success", SuccessRow, _success(run)))


class _StateTexts:
    """Texts of states and effects, cached."""

    def __init__(self, graph: StateGraph) -> None:
        self._vocabulary = graph.vocabulary
        self._always = graph.always
        self.atoms = lru_cache(maxsize=1 << 16)(self._atoms)

    def _atoms(self, state: State) -> str:
        held = self._vocabulary.holding(state & ~self._always)
        return escape_surrogates(" and ".join(map(str, held)))

    def changes(self, effect: Effect) -> tuple[str, str]:
        return self.atoms(effect.adds), self.atoms(effect.deletes)


def _transitions(graph: StateGraph) -> Iterator[TransitionRow]:
    texts = _StateTexts(graph)
    for index, intent in enumerate(graph.capabilities):
        rules = dict(enumerate(graph.rules(intent), 1))
        number = {state: k for k, rule in rules.items() for state in rule.states}
        for state, place in graph.nodes.items():
            pair = place.pairs[index]
            if pair is not None:
                rule = number[state], rules[number[state]]
                yield from _pair_rows(state, intent, pair, rule, texts, graph.vocabulary)


def _pair_rows(
    state: State,
    intent: Intent,
    pair: PairStats,
    rule: tuple[int, Rule],
    texts: _StateTexts,
    vocabulary: Vocabulary,
) -> Iterator[TransitionRow]:
    held = intent.holds(state, vocabulary)
    probabilities = {outcome.effect: outcome.probability for outcome in rule[1].outcomes}
    for effect, after in zip(pair.group.effects, pair.successors, strict=True):
        count = pair.counts[effect]
        yield TransitionRow(
            hex(state), escape_surrogates(str(intent)), hex(after.state), count, pair.total,
            count / pair.total, probabilities[effect], rule[0], held,
            intent.holds(after.state, vocabulary),
            texts.atoms(state), texts.atoms(after.state), *texts.changes(effect),
        )  # fmt: skip


def _rules(graph: StateGraph) -> Iterator[RuleRow]:
    vocabulary = graph.vocabulary
    texts = _StateTexts(graph)
    for intent in graph.capabilities:
        for number, (rule, when) in enumerate(with_readable_conditions(graph, intent), 1):
            condition = " or ".join(" and ".join(map(str, term)) or "always" for term in when)
            for place, outcome in enumerate(rule.outcomes, 1):
                after = (outcome.effect.apply(state) for state in rule.states)
                achieving = sum(intent.holds(state, vocabulary) for state in after)
                yield RuleRow(
                    escape_surrogates(str(intent)), number, place, len(rule.states),
                    rule.executions, outcome.count, outcome.probability, *outcome.interval,
                    achieving, *texts.changes(outcome.effect), escape_surrogates(condition),
                )  # fmt: skip


def _queries(run: Run) -> Iterator[QueryRow]:
    texts = _StateTexts(run.graph)
    table, states = run.executions.queries, run.executions.states
    columns = (
        table.start, table.draws, table.executions, table.simulator_steps, table.llm_tokens,
        table.llm_cost, table.seconds, table.predicted, table.informative, table.finished,
        *_news(run.executions),
    )  # fmt: skip
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for number, (start, *rest) in enumerate(rows):
        yield QueryRow(number, hex(states[start]), texts.atoms(states[start]), *rest)


def _success(run: Run) -> Iterator[SuccessRow]:
    for intent, found in run.success.items():
        rate = math.nan if found.estimate is None else found.estimate
        size = found.executions, found.tried, found.states
        yield SuccessRow(escape_surrogates(str(intent)), rate, *found.interval, *size)


def _news(executions: ExecutionTable) -> tuple[Integers, Integers]:
    """Count for each query the pairs and the transitions that no query before had shown."""
    distinct, size = executions.distinct, len(executions.queries)
    return (
        np.bincount(executions.query[distinct.first_of_pair], minlength=size),
        np.bincount(executions.query[distinct.first], minlength=size),
    )


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


def _csv_cell(value: str | float | bool) -> str | float:
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
