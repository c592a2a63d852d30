"""The comparison of runs in words: what changed, what did not, and what is unknown.

All names come from run directories, so every line is sanitized.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, zip_longest
from string import ascii_uppercase
from typing import Any

from capscope.insight.agent_failures import agent_failure_warnings
from capscope.insight.diff.comparison import (
    LOSSES,
    TEST,
    Comparison,
    Difference,
    DiffKind,
    NewChange,
    Unchanged,
    Unknown,
)
from capscope.insight.diff.table import RunTable, TableRow
from capscope.sanitize import sanitize
from capscope.stats.rate import Rate
from capscope.wording import counted, first_few, joined, lines_of, wrapped

NOT_COMPARABLE = (
    "no comparison was possible: no capability was executed often enough in the same states of "
    "both runs"
)
SUSPECTED = (
    "suspected, but not shown: the 95 % interval excludes no change, the test does not exclude it. "
    "The test allows for adaptive sampling and for everything compared; more executions would "
    "decide"
)
NEW_SUSPECTED = "new beyond the request (suspected)"
NEW_SUSPECTED_NOTE = (
    "B did this and A never did, although it could; if the agents were identical, all of these "
    "executions would be in B with probability p. It is suspected, not shown: all states count "
    "together, and p allows neither for adaptive sampling nor for the number of changes compared. "
    "What nothing undid is suspected whatever p is"
)
NEW_BY_CHANCE = "beyond the request in B only, undone there, which may be random"
RATES = (
    "rates are means over these states, except where the request held already, each with the "
    "weight of the executions that can be compared; capscope show weighs all states of one run "
    "equally"
)
LOWER, HIGHER, PARTLY = "▼", "▲", "*"
TABLE_RATES = (
    "success where the intent did not hold, mean over the states in which all runs of a row tried "
    "the capability, with 95 % intervals that are valid for any strategy"
)
MARKS = (
    f"{LOWER} {HIGHER}: achieved less or more often than in the run before, as far as the evidence "
    f"supports it; {PARTLY} under a condition only"
)
_UNKNOWN = "–"
_LESS = LOSSES | {DiffKind.LESS_HAZARDOUS}
_MOST_TERMS = 3
_MOST_NAMED = 6


@lines_of.register
def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """Describe a comparison."""
    for line in _lines(comparison):
        text = line.lstrip()
        indent = line[: len(line) - len(text)]
        yield from wrapped(text, indent, indent) if text else [""]


def _lines(comparison: Comparison) -> Iterator[str]:
    yield f"A: {run_text(comparison.a)}"
    yield f"B: {run_text(comparison.b)}"
    yield from scope_sentences(comparison)
    yield ""
    yield from hazard_sentences(comparison)
    yield verdict(comparison)
    for change, differences in groupby(comparison.differences, key=lambda d: d.change):
        yield from _section(str(change), chain.from_iterable(map(difference_lines, differences)))
    shown = map(suspected_lines, comparison.suspected)
    yield from _section(SUSPECTED, chain.from_iterable(shown))
    suspected, others = split_changes(comparison)
    yield from _section(
        f"{NEW_SUSPECTED}: {NEW_SUSPECTED_NOTE}", map(new_change_sentence, suspected)
    )
    yield from _section(NEW_BY_CHANCE, map(new_change_sentence, others))
    yield ""
    if unsuspected := [one for one in comparison.unchanged if not one.suspected]:
        yield unchanged_sentence(unsuspected)
    if comparison.unknown:
        yield "unknown (not counted as differences):"
        yield from (f"  {sentence}" for sentence in unknown_sentences(comparison.unknown))
    yield ""
    yield f"error rate {comparison.error_rate:g}. {TEST}"


def _section(heading: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a heading and its lines; nothing if there are none."""
    for number, line in enumerate(lines):
        yield from () if number else ("", heading)
        yield f"  {line}"


def split_changes(comparison: Comparison) -> tuple[list[NewChange], list[NewChange]]:
    """Return the changes beyond the request that only B made: those suspected, and the others."""
    return [*comparison.suspected_changes], [c for c in comparison.new_changes if not c.suspected]


def new_change_sentence(new: NewChange) -> str:
    """Say what B changed beyond a request, and how often it could have happened on both sides."""
    change = new.change
    return (
        f"asked for {change.request}, also {change.change}: B: {change.count_text}; A: 0 of "
        f"{counted(new.possible_a, 'execution')}; p = {new.p:.2g}"
    )


def hazard_sentences(comparison: Comparison) -> Iterator[str]:
    """Say of each hazard that both runs were given how often it happens in use."""
    for one in comparison.hazard_rates:
        change = "no change is shown" if one.change is None else str(one.change)
        sides = [
            f"{name} {side.hits:,} of {counted(len(side.sample.rows), 'execution')}"
            for name, side in (("A", one.a), ("B", one.b))
        ]
        yield f"hazard {one.hazard} in use: {change} ({', '.join(sides)})"


def run_text(run: Mapping[str, Any]) -> str:
    """Describe one of the two runs."""
    return (
        f"{run['run']} ({run['problem']}, {run['strategy']}, seed {run['seed']}): "
        f"{counted(run['executions'], 'execution')} in {counted(run['states'], 'state')}, "
        f"{counted(run['capabilities'], 'capability')}"
    )


def scope_sentences(comparison: Comparison) -> Iterator[str]:
    """Say what could be compared, and what could not."""
    scope = comparison.scope
    shared = counted(scope.states_shared, "state")
    yield (
        f"compared in {shared} in which both runs tried the same capability; A tried capabilities "
        f"in {scope.states_only_a:,} more, B in {scope.states_only_b:,} more"
    )
    yield RATES
    if scope.states_in_several_positions:
        yield from _position_sentences(comparison)
    for name, atoms in (("A", scope.atoms_only_a), ("B", scope.atoms_only_b)):
        if atoms:
            names = joined(first_few(atoms, _MOST_NAMED))
            yield f"only {name} has {names}; states are compared without these atoms"
    failures_a = agent_failure_warnings(scope.agent_failures_a, comparison.a["run"])
    failures_b = agent_failure_warnings(scope.agent_failures_b, comparison.b["run"])
    yield from (f"A: {warning}" for warning in failures_a)
    yield from (f"B: {warning}" for warning in failures_b)


def _position_sentences(comparison: Comparison) -> Iterator[str]:
    scope = comparison.scope
    number = scope.states_in_several_positions
    states = f"{counted(number, 'state')} of these {'was' if number == 1 else 'were'}"
    draws, shared = scope.draws_there, scope.draws_in_shared_positions
    yield (
        f"{states} seen in several simulator positions; {shared:,} of "
        f"{counted(draws, 'execution')} there started from positions that occur in both runs and "
        "are all counted"
    )
    if shared < draws:
        yield (
            "success may depend on the position, so the other executions count once per position; "
            "use --any-position to count all of them, if the predicates capture everything that "
            "matters"
        )
        if comparison.a["strategy"] != comparison.b["strategy"]:
            yield (
                "the runs used different strategies, which may reach a state in different "
                "positions: a difference in such a state may be due to the positions"
            )


def verdict(comparison: Comparison) -> str:
    """Summarize the result in one phrase."""
    found, suspected = comparison.differences, len(comparison.suspected)
    also = f"; {counted(suspected, 'change')} suspected" if suspected else ""
    if new := len(comparison.suspected_changes):
        also += f"; {counted(new, 'new change')} beyond the request suspected"
    if not found:
        suspicions = f"{also.removeprefix('; ')}; " if also else ""
        return f"{suspicions}no{' other' if also else ''} difference that the evidence supports"
    capabilities = len({d.capability for d in found})
    return f"{counted(len(found), 'difference')} in {counted(capabilities, 'capability')}{also}"


def difference_lines(difference: Difference) -> Iterator[str]:
    """Describe one difference: what, where, both estimates, and the evidence."""
    yield heading(difference)
    yield f"  A {estimate(difference.a)}; B {estimate(difference.b)}"
    yield f"  {size(difference)}"
    yield f"  {evidence(difference)}"
    if difference.where.elsewhere is not None:
        a, b = difference.where.elsewhere
        yield f"  elsewhere: A {a.estimate:.2f}, B {b.estimate:.2f}"


def heading(difference: Difference) -> str:
    """Name the capability, the side effect, and where they differ."""
    effect = f": {joined(difference.literals)}" if difference.literals else ""
    return f"{difference.capability}{effect}, {_condition(difference)} [{_compared(difference)}]"


def sentence(difference: Difference) -> str:
    """Say what changed, where, and by how much, in one sentence."""
    change, low, high = difference.difference
    what = f"the rate of {joined(difference.literals)}" if difference.literals else "success"
    return (
        f"Asked for {difference.capability}, {_condition(difference)}: {what} changes by "
        f"{change:+.2f} [{low:+.2f}, {high:+.2f}] ({_compared(difference)})."
    )


def _compared(difference: Difference) -> str:
    where = difference.where
    return f"{where.states:,} of {counted(where.of, 'state')} compared"


def _condition(difference: Difference) -> str:
    terms = difference.where.when.terms
    if terms == ((),):
        return "everywhere"
    shown = first_few([joined(term) for term in terms], _MOST_TERMS, "{} more conditions")
    return f"when {' or '.join(shown)}"


def estimate(side: Rate) -> str:
    """Format a probability (see `RATES`) with its interval and its draws.

    >>> estimate(Rate(0.05, 0.04, 0.07, 30, 300))
    '0.05 [0.04, 0.07] (30 of 300 executions)'
    """
    return f"{side.brief} ({side.hits:,} of {counted(side.executions, 'execution')})"


def suspected_lines(capability: Unchanged) -> Iterator[str]:
    """Describe a change that the interval shows and the test does not."""
    yield f"{capability.capability} [{counted(capability.states, 'state')} compared]"
    yield f"  A {estimate(capability.a)}; B {estimate(capability.b)}"
    yield f"  {size(capability)}; p = {capability.adjusted_p:.2g}, adjusted for all comparisons"


def size(difference: Difference | Unchanged) -> str:
    """Format the size of the change."""
    change, low, high = difference.difference
    return f"change {change:+.2f} [{low:+.2f}, {high:+.2f}]"


def evidence(difference: Difference) -> str:
    """Format the result of the test, which matches draws of both runs."""
    what = "occurred" if difference.literals else "was achieved"
    return (
        f"in matched executions, it {what} {difference.wins_a:,} times only in A and "
        f"{difference.wins_b:,} times only in B; p = {difference.adjusted_p:.2g}, adjusted for all "
        "comparisons"
    )


def unchanged_sentence(unchanged: Sequence[Unchanged]) -> str:
    """Say how many capabilities showed no difference, and how large one may have been missed."""

    def largest_missed(capability: Unchanged) -> float:
        _, low, high = capability.difference
        return max(-low, high)

    widest = max(unchanged, key=largest_missed)
    return (
        f"no difference in success was found in {counted(len(unchanged), 'capability')}; over all "
        f"states of one, a change of up to {largest_missed(widest):.2f} may have been missed "
        f"({widest.capability})"
    )


def unknown_sentences(unknown: Sequence[Unknown]) -> Iterator[str]:
    """List the capabilities for which no comparison was possible, by reason."""
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for capability in unknown:
        reasons[str(capability.reason)].append(str(capability.capability))
    for reason, names in reasons.items():
        yield f"{reason}: {joined(first_few(names, _MOST_NAMED))}"


def run_names(table: RunTable) -> list[str]:
    """Name the runs A, B, C, …; with more than 26 of them by number.

    The last is the newest.
    """
    number = len(table.runs)
    return [*ascii_uppercase[:number]] if number <= 26 else [f"run {i + 1}" for i in range(number)]


@lines_of.register
def table_lines(table: RunTable) -> Iterator[str]:
    """Describe several runs."""
    for name, run in zip(run_names(table), table.runs, strict=True):
        yield from wrapped(f"{name}: {run_text(run)}", "", "")
    yield from ("", *wrapped(TABLE_RATES, "", ""), "")
    yield from _aligned([headings(table), *(row_cells(row) for row in table.rows)])
    yield from ("", *wrapped(MARKS, "", ""), "")
    for sentence in comparison_sentences(table):
        yield from wrapped(sentence, "", "  ")
    error_rate = f"error rate {table.error_rate:g} for all of these comparisons. {TEST}"
    yield from ("", *wrapped(error_rate, "", ""))


def headings(table: RunTable) -> list[str]:
    """Return the headings of the columns."""
    names = run_names(table)
    return ["capability", *names, f"{names[-1]} against {names[0]}"]


def row_cells(row: TableRow) -> list[str]:
    """Return a row of the table as text."""
    cells = [sanitize(str(row.capability))]
    for rate, changes in zip(row.rates, row.changes, strict=True):
        known = rate.brief if rate else _UNKNOWN
        cells.append(" ".join([known, *map(_mark, changes)]))
    return [*cells, "; ".join(f"{change.change}{_partly(change)}" for change in row.overall)]


def _mark(change: Difference) -> str:
    mark = LOWER if change.change in _LESS else HIGHER
    return mark + _partly(change)


def _partly(change: Difference) -> str:
    return PARTLY if change.where.elsewhere else ""


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def comparison_sentences(table: RunTable) -> Iterator[str]:
    """Summarize each comparison, the last one in detail."""
    names = run_names(table)
    for i, step in enumerate(table.steps, start=1):
        yield f"{names[i]} against {names[i - 1]}: {verdict(step)}"
    unknown = len(table.overall.unknown)
    details = f"; {counted(unknown, 'capability')} could not be compared" if unknown else ""
    yield f"{names[-1]} against {names[0]}: {verdict(table.overall)}{details}"
    for difference in table.overall.differences:
        yield f"  {difference.change}: {heading(difference)}"
    for new in table.overall.suspected_changes:
        yield f"  {NEW_SUSPECTED}: {new_change_sentence(new)}"
