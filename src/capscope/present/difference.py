"""What two runs differ in, in words: first what changed, then what did not, then what is unknown.

Everything that is shown comes from run directories, and so, in the end, from whoever named the
objects of a problem: lines are made harmless before they are handed out.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from capscope.analysis.diff import Comparison, Difference, Estimate, Unknown
from capscope.analysis.diff.comparison import TEST, Alike
from capscope.analysis.diff.difference import change_between
from capscope.analysis.findings.finding import joined
from capscope.present.agent_failures import agent_failure_warnings
from capscope.present.text import counted
from capscope.sanitize import sanitize

_MOST_TERMS = 3
_VISIBLE = 0.005  # in a probability that is written with two digits
_MOST_NAMED = 6


def comparison_lines(comparison: Comparison, width: int = 96) -> Iterator[str]:
    """Write a comparison down, line by line."""
    for line in _lines(comparison):
        indent = line[: len(line) - len(line.lstrip())]
        wrapped = textwrap.wrap(
            sanitize(line.strip()),
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
        yield from wrapped or [""]


def _lines(comparison: Comparison) -> Iterator[str]:
    yield f"A: {run_words(comparison.a)}"
    yield f"B: {run_words(comparison.b)}"
    yield from scope_sentences(comparison)
    yield ""
    yield verdict(comparison)
    for change, differences in groupby(comparison.differences, key=lambda d: d.change):
        yield ""
        yield f"{change}"
        for difference in differences:
            yield from (f"  {line}" for line in difference_lines(difference))
    yield ""
    if comparison.alike:
        yield alike_sentence(comparison.alike)
    if comparison.unknown:
        yield "unknown, and therefore no difference:"
        yield from (f"  {sentence}" for sentence in unknown_sentences(comparison.unknown))
    yield ""
    yield f"error rate {comparison.error_rate:g}. {TEST}"


def run_words(run: Mapping[str, Any]) -> str:
    """Say which run it is (`Side.as_dict`)."""
    return (
        f"{run['run']} ({run['problem']}, {run['strategy']}, seed {run['seed']}): "
        f"{counted(run['executions'], 'execution')} in {counted(run['states'], 'state')}, "
        f"{counted(run['capabilities'], 'capability')}"
    )


def scope_sentences(comparison: Comparison) -> Iterator[str]:
    """Say what there was to compare, and what keeps part of it from being compared."""
    scope = comparison.scope
    yield (
        f"compared in {counted(scope.states_shared, 'state')} in which both asked for the same; "
        f"A asked in {scope.states_only_a:,} more, B in {scope.states_only_b:,} more"
    )
    if scope.states_in_several_positions:
        yield from _position_sentences(comparison)
    for name, atoms in (("A", scope.atoms_only_a), ("B", scope.atoms_only_b)):
        if atoms:
            yield f"only {name} knows {_named(atoms)}; the states are compared without"
    sides = (
        ("A", comparison.a, scope.agent_failures_a),
        ("B", comparison.b, scope.agent_failures_b),
    )
    for name, run, agent_failures in sides:
        for warning in agent_failure_warnings(agent_failures, run["run"]):
            yield f"{name}: {warning}"


def _position_sentences(comparison: Comparison) -> Iterator[str]:
    scope = comparison.scope
    states = counted(scope.states_in_several_positions, "state")
    draws, alike = scope.draws_there, scope.draws_in_shared_positions
    yield (
        f"known in several positions of the simulator: {states} of these; {alike:,} of "
        f"{counted(draws, 'draw')} there are from positions that both runs know, and each of those "
        "counts"
    )
    if alike < draws:
        yield (
            "success may depend on the position, so of the others, draws that started from one "
            "position count once; --any-position counts each, if the words say all that matters"
        )
        if comparison.a["strategy"] != comparison.b["strategy"]:
            yield (
                "the runs were made by different strategies, which may meet a state in different "
                "positions: a difference in such a state may be one of positions"
            )


def verdict(comparison: Comparison) -> str:
    """Say in one sentence what came out."""
    found = comparison.differences
    if not found:
        return "no difference that the evidence supports"
    capabilities = len({d.capability for d in found})
    return f"{counted(len(found), 'difference')} in {counted(capabilities, 'capability')}"


def difference_lines(difference: Difference) -> Iterator[str]:
    """Write one difference down: what, where, the numbers of both sides, and how sure it is."""
    yield heading(difference)
    yield f"  A {estimate(difference.a)}; B {estimate(difference.b)}"
    yield f"  {size(difference)}"
    yield f"  {certainty(difference)}"
    if difference.where.elsewhere is not None:
        a, b = difference.where.elsewhere
        yield f"  elsewhere: A {a.probability:.2f}, B {b.probability:.2f}"


def heading(difference: Difference) -> str:
    """Say which capability, which side effect, and where."""
    effect = f": {joined(difference.literals)}" if difference.literals else ""
    where = difference.where
    seen = f"{where.states:,} of {counted(where.of, 'state')} compared"
    return f"{difference.capability}{effect}, {when(difference)} [{seen}]"


def when(difference: Difference) -> str:
    """Put the place of a difference into words."""
    terms = difference.where.when
    if terms == ((),):
        return "wherever compared"
    told = [joined(term) for term in terms[:_MOST_TERMS]]
    hidden = len(terms) - len(told)
    more = [f"{hidden} more conditions"] if hidden else []
    return f"when {' or '.join([*told, *more])}"


def estimate(side: Estimate) -> str:
    """Write a probability with its interval and what stands behind it.

    >>> estimate(Estimate(0.05, 0.04, 0.07, 30, 300))
    '0.05 [0.04, 0.07] (30 of 300 draws, weighed by state)'
    """
    behind = f"{side.hits:,} of {counted(side.draws, 'draw')}"
    # States weigh alike on both sides, however often each side drew them.
    weighed = abs(side.probability - side.hits / side.draws) >= _VISIBLE
    return (
        f"{side.probability:.2f} [{side.low:.2f}, {side.high:.2f}] "
        f"({behind}{', weighed by state' if weighed else ''})"
    )


def size(difference: Difference) -> str:
    """Say by how much it changed."""
    change, low, high = difference.difference
    return f"change {change:+.2f} [{low:+.2f}, {high:+.2f}]"


def certainty(difference: Difference) -> str:
    """Say what the comparison draw by draw came to."""
    what = "it came about" if difference.literals else "it was achieved"
    return (
        f"draw against draw, {what} {difference.wins_a:,} times on A's side only and "
        f"{difference.wins_b:,} times on B's only; p = {difference.adjusted_p:.2g}, adjusted for "
        "all that was compared"
    )


def alike_sentence(alike: Sequence[Alike]) -> str:
    """Say how many capabilities showed no difference, and how large one may have gone unseen."""

    def room(capability: Alike) -> float:
        _, low, high = change_between(capability.a, capability.b)
        return max(-low, high)

    widest = max(alike, key=room)
    return (
        f"no difference in whether they are achieved was seen in "
        f"{counted(len(alike), 'capability')}; over all "
        f"states of one, a change of up to {room(widest):.2f} may have gone unseen "
        f"({widest.capability})"
    )


def unknown_sentences(unknown: Sequence[Unknown]) -> Iterator[str]:
    """Say of which capabilities nothing can be said, and why."""
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for capability in unknown:
        reasons[str(capability.reason)].append(str(capability.capability))
    for reason, names in reasons.items():
        yield f"{reason}: {_named(names)}"


def _named(names: Sequence[str]) -> str:
    hidden = len(names) - _MOST_NAMED
    told = [*names[:_MOST_NAMED], f"{hidden:,} more"] if hidden > 1 else names
    return joined(told)
