"""A plan for people: how reliable it is, the way it most probably takes, and what else may happen.

A policy over dozens of states is no reading matter. What a person wants first is the story as it
most probably goes, step by step, with what may go otherwise beside each step; then, in as few words
as will do, what to ask for in the states off that way. How often each step was seen stands with it:
a plan is worth what its weakest step is.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from capscope.analysis.planning import Branch, Plan, Step
from capscope.analysis.planning.optimism import Outlook
from capscope.present.text import counted
from capscope.sanitize import sanitize
from capscope.symbolic import Effect, Intent, State, Vocabulary
from capscope.symbolic.dnf import shortest_dnf

_WIDTH = 96
_MOST_DEAD_ENDS = 4
_MOST_LINES = 12


def plan_lines(plan: Plan, problem: str, began: str | None = None) -> Iterator[str]:
    """Write a plan down; `began` is how its start was described, None for where the run began."""
    for line in _lines(plan, problem, began):
        yield sanitize(line)


def _lines(plan: Plan, problem: str, began: str | None) -> Iterator[str]:
    yield from wrapped(f"{problem}: {plan.goal}, from {began or 'where the run began'}")
    yield from _start_lines(plan, began)
    if not plan.found:
        yield from wrapped("success 0.00: " + _no_way(plan))
        return
    low, high = plan.interval
    yield (
        f"success {plan.success:.2f} [{low:.2f}, {high:.2f}], "
        f"{plan.executions:.1f} executions on average"
    )
    yield "[95 % interval; an outcome never seen counts as failure]   [draws behind a step's rule]"
    if plan.success < 1:
        yield "chosen by these very frequencies, so the figure tends to be high; --try measures it"
    way = plan.most_likely_way()
    number = {step.state: i for i, step in enumerate(way, start=1)}
    if plan.is_sequence:
        yield "a plain sequence: each step only ever had this one outcome"
    else:
        yield f"most likely, with probability {_probability_of(plan, way):.2f}:"
    for step in way:
        yield from _step_lines(plan, step, number)
    yield from _other_lines(plan, [s for s in plan.visits if s not in number])
    yield from _dead_end_lines(plan)


def _start_lines(plan: Plan, began: str | None) -> Iterator[str]:
    """Say which of several starts was taken, and what is known of the others."""
    if len(plan.starts) == 1:
        return
    known = sorted(chance for chance in plan.starts.values() if chance)
    words = [f"{len(plan.starts)} of the states seen fit {began}"]
    taken = "least favourable"
    if known and known[0] < known[-1]:
        words.append(f"success {known[0]:.2f} to {known[-1]:.2f}")
    else:
        taken = "most visited"
    if len(known) < len(plan.starts):
        words.append(f"no way is known from {len(plan.starts) - len(known)} of them")
    yield from wrapped(f"{'; '.join(words)}; planned from the {taken}, {plan.start:#x}")


def _no_way(plan: Plan) -> str:
    if plan.goal_seen:
        words = "the goal was seen to hold elsewhere, but nothing that was tried leads there. "
    else:
        words = "the goal holds in none of the states seen. "
    words += "Whether the agent can is unknown. "
    return words + _outlook(plan, plan.outlook)


def _outlook(plan: Plan, outlook: Outlook | None) -> str:
    if outlook is None or (outlook.hope is None and not outlook.searched_all):
        return "The optimistic model is too large to say more; assess longer"
    if outlook.hope is None:
        return (
            "Not even the optimistic model sees a way: it would take an outcome that was never "
            "seen. Assess longer, or with other settings"
        )
    hope = outlook.hope
    where = difference(plan.start, hope.untried_in, plan.goal.vocabulary)
    return (
        f"The optimistic model sees a way: {', '.join(map(str, hope.capabilities))}; but "
        f"{hope.untried} was never tried in {hope.untried_in:#x} ({where}). Assess longer to find "
        "out"
    )


def _probability_of(plan: Plan, way: tuple[Step, ...]) -> float:
    probability = 1.0
    for step, after in zip(way, (*(s.state for s in way[1:]), None), strict=True):
        probability *= _branch_to(plan, step, after).probability
    return probability


def _branch_to(plan: Plan, step: Step, after: State | None) -> Branch:
    """Return the outcome that goes on with a state, or without one the likeliest to the goal."""
    return next(
        branch
        for branch in step.branches
        if (plan.goal.holds(branch.after) if after is None else branch.after == after)
    )


def _step_lines(plan: Plan, step: Step, number: Mapping[State, int]) -> Iterator[str]:
    words = plan.goal.vocabulary
    place = number[step.state]
    following = next((s for s, i in number.items() if i == place + 1), None)
    taken = _branch_to(plan, step, following)
    yield f" {place:>2}. ask for {step.capability}   [{counted(step.draws, 'draw')}]"
    for branch in (taken, *(b for b in step.branches if b is not taken)):
        share = "" if len(step.branches) == 1 else f"{branch.probability:.2f}  "
        then = "" if branch is taken else f": {_then(plan, branch, step, number)}"
        yield from wrapped(
            f"{'else ' if then else ''}{share}{_changes(branch.effect, words)}{then}", " " * 6
        )


def _then(plan: Plan, branch: Branch, step: Step, number: Mapping[State, int]) -> str:
    if plan.goal.holds(branch.after):
        return "the goal holds"
    if branch.after == step.state:
        return "ask again"
    if branch.after in number:
        return f"go on with {number[branch.after]}"
    if branch.after in plan.steps:
        return f"ask for {plan.steps[branch.after].capability}"
    return "no way on is known"


def _other_lines(plan: Plan, others: list[State]) -> Iterator[str]:
    """Say what to ask for off the most likely way, each capability once."""
    if not others:
        return
    asked: defaultdict[Intent, list[State]] = defaultdict(list)
    for state in others:
        asked[plan.steps[state].capability].append(state)
    yield "otherwise:"
    ordered = sorted(asked.items(), key=lambda item: -sum(plan.visits[s] for s in item[1]))
    for capability, states in ordered[:_MOST_LINES]:
        away = [s for s in plan.visits if s not in states]
        terms = shortest_dnf(states, away, plan.goal.vocabulary)
        when = " or ".join(" and ".join(map(str, term)) for term in terms)
        success = min(plan.steps[s].success for s in states)
        yield from wrapped(
            f"when {when}: ask for {capability}   (success from there {success:.2f})", "  "
        )
    if len(ordered) > _MOST_LINES:
        yield f"  and {len(ordered) - _MOST_LINES} more capabilities: --json has the whole policy"


def _dead_end_lines(plan: Plan) -> Iterator[str]:
    ends = sorted(plan.dead_ends.items(), key=lambda item: -item[1])
    if not ends:
        return
    yield f"it may end without the goal ({sum(plan.dead_ends.values()):.2f}), beside the start with"
    for state, probability in ends[:_MOST_DEAD_ENDS]:
        beside = difference(plan.start, state, plan.goal.vocabulary)
        yield from wrapped(f"{probability:.2f}  {beside}", "  ")
    if len(ends) > _MOST_DEAD_ENDS:
        yield f"  and {counted(len(ends) - _MOST_DEAD_ENDS, 'other state')}"


def plan_document(plan: Plan, problem: str, began: str | None = None) -> dict[str, Any]:
    """Return a plan as JSON-ready values, with what to ask for in every state with a way."""
    low, high = plan.interval
    words = plan.goal.vocabulary
    order = sorted(plan.steps, key=lambda state: (-plan.visits.get(state, 0.0), state))
    return {
        "problem": problem,
        "goal": [[str(literal) for literal in way.literals] for way in plan.goal.ways],
        "from": began,
        "start": _state(plan.start, words),
        "starts": {hex(state): chance for state, chance in plan.starts.items()},
        "found": plan.found,
        "success": plan.success,
        "interval": [low, high],
        "expected_executions": plan.executions if plan.found else None,
        "is_sequence": plan.is_sequence,
        "most_likely_way": [str(step.capability) for step in plan.most_likely_way()],
        "policy": [_step(plan, plan.steps[state]) for state in order],
        "dead_ends": [
            {**_state(state, words), "probability": probability}
            for state, probability in plan.dead_ends.items()
        ],
        "why_not": None if plan.found else _no_way(plan),
        "optimistic_way": _hope(plan),
    }


def _hope(plan: Plan) -> dict[str, Any] | None:
    """Return the way that only the optimist sees."""
    hope = None if plan.outlook is None else plan.outlook.hope
    if hope is None:
        return None
    return {
        "ask_for": [str(intent) for intent in hope.capabilities],
        "untried": {"ask_for": str(hope.untried), "state": hex(hope.untried_in)},
    }


def _step(plan: Plan, step: Step) -> dict[str, Any]:
    words = plan.goal.vocabulary
    return {
        **_state(step.state, words),
        "ask_for": [str(literal) for literal in step.capability.literals],
        "expected_visits": plan.visits.get(step.state, 0.0),
        "success": step.success,
        "expected_executions": step.executions,
        "draws": step.draws,
        "draws_here": step.draws_here,
        "outcomes": [
            {
                "probability": branch.probability,
                "adds": [str(atom) for atom in words.holding(branch.effect.adds)],
                "deletes": [str(atom) for atom in words.holding(branch.effect.deletes)],
                "state": hex(branch.after),
                "goal": plan.goal.holds(branch.after),
                "way_known": branch.after in plan.steps or plan.goal.holds(branch.after),
            }
            for branch in step.branches
        ],
    }


def _state(state: State, words: Vocabulary) -> dict[str, Any]:
    return {"state": hex(state), "holding": [str(atom) for atom in words.holding(state)]}


def difference(before: State, after: State, words: Vocabulary) -> str:
    """Say what sets a state apart from another."""
    return _changes(Effect.between(before, after), words)


def _changes(effect: Effect, words: Vocabulary) -> str:
    return ", ".join(map(str, effect.literals(words))) or "nothing changes"


def wrapped(text: str, indent: str = "") -> list[str]:
    """Wrap a line; what follows its first part is set in."""
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_on_hyphens=False,
        break_long_words=False,
    )
