"""Warnings and notes that a reader must see before the model, wherever a run is shown.

Without them, a broken agent looks like one that settled on doing nothing, and probabilities that
mix different simulator positions look like randomness of the agent.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from capscope.analysis.aliasing import AliasedPair, Aliasing, OutcomesOfPosition
from capscope.analysis.findings.finding import joined
from capscope.present.text import counted, first_few
from capscope.record.agent_failures import AgentFailure
from capscope.record.identity import InitialPositions
from capscope.sanitize import sanitize
from capscope.symbolic import Effect, State
from capscope.world import Ending

if TYPE_CHECKING:
    from capscope.run import Run

_LONGEST_DETAIL = 200
_MOST_NAMED = 6
_AGENT_FAILURES = {
    Ending.AGENT_RAISED: "raised an exception",
    Ending.INVALID_ACTION: "chose an action that is not available",
}


def run_notes(run: Run) -> Iterator[str]:
    """Yield all notes about a run; most runs have none."""
    yield from agent_failure_warnings(run.agent_failures, run.path if run.kept else "DIR")
    yield from initial_position_notes(run.initial_positions)
    yield from aliasing_notes(run.aliasing, run.graph.always)


def agent_failure_warnings(
    agent_failures: Sequence[AgentFailure], run: object = "DIR"
) -> Iterator[str]:
    """Warn about each kind of agent failure, with the command that lists its draws."""
    for failure in agent_failures:
        command = f"capscope show {shlex.quote(str(run))} {shlex.quote(str(failure.capability))}"
        number, of = failure.executions, failure.acting
        share = f"all {of:,}" if number == of > 1 else f"{number:,} of {of:,}"
        detail, rest = failure.detail[:_LONGEST_DETAIL], failure.detail[_LONGEST_DETAIL:]
        first = f"first: {detail}{'…' if rest else ''}; " if detail else ""
        yield sanitize(
            f"warning: {share} {'execution' if of == 1 else 'executions'} in which the agent had "
            f"to act ended because it {agent_failure_text(failure)} ({first}list the draws with "
            f"{command} --draws)"
        )


def agent_failure_text(failure: AgentFailure) -> str:
    """Return what the agent did."""
    return _AGENT_FAILURES[failure.ending]


def initial_position_notes(initial_positions: InitialPositions) -> Iterator[str]:
    """Note that resets lead to positions from which the run did not start.

    >>> list(initial_position_notes(InitialPositions(1, others=True)))[0]
    'resets lead to further positions: the run started from 1 position (--resets sets how many)'
    """
    if initial_positions.others:
        number = counted(initial_positions.positions, "position")
        yield (
            f"resets lead to further positions: the run started from {number} (--resets sets how "
            "many)"
        )


def aliasing_notes(aliasing: Aliasing, always: State = 0) -> Iterator[str]:
    """Note in how many pairs outcomes depend on the position, with the clearest example.

    Atoms of `always` are not named.
    """
    for clearest in aliasing.aliased_pairs[:1]:
        yield sanitize(
            f"in {len(aliasing.aliased_pairs):,} of {counted(aliasing.pairs, 'pair')} drawn from "
            "several simulator positions, the outcome depends on simulator state that the "
            f"predicates do not capture: {_aliasing_example(clearest, always)}; probabilities "
            "there are mixtures over positions, and a further predicate would separate them"
        )


def _aliasing_example(pair: AliasedPair, always: State) -> str:
    state, vocabulary = pair.state, pair.vocabulary
    holding = vocabulary.holding(state & ~always) or vocabulary.holding(state)
    names = first_few([str(atom) for atom in holding], _MOST_NAMED)
    one, other = pair.contrast
    usual, usual_of_other = (next(iter(position)) for position in (one, other))
    example = (
        f"asked for {pair.intent} when {joined(names) or 'no atom holds'}, "
        f"{_share(one, usual, ' draws')} from one position ended with {_changed(pair, usual)}, "
    )
    if usual == usual_of_other:
        return f"{example}compared with {_share(other, usual)} from another"
    changed = _changed(pair, usual_of_other)
    return f"{example}and {_share(other, usual_of_other)} from another with {changed}"


def _share(position: OutcomesOfPosition, outcome: State, noun: str = "") -> str:
    count, draws = position[outcome], position.total()
    return f"all {draws:,}{noun}" if count == draws else f"{count:,} of {draws:,}{noun}"


def _changed(pair: AliasedPair, after: State) -> str:
    literals = Effect.between(pair.state, after).literals(pair.vocabulary)
    return joined(literals) or "no change"
