"""Plans and their trials as text and as JSON.

A policy over dozens of states is hard to read. So the text gives the most likely course, step by
step, with what else may happen at each step; then, briefly, what to ask for in other states.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from capscope.insight.planning import Plan, PlanStep
from capscope.insight.planning.mdp import MOST_DOUBT
from capscope.insight.planning.trial import PlanAttemptEnd, PlanExecution, Trial, TrialVerdict
from capscope.logic import Effect, Intent, State, changes_text, to_json
from capscope.logic.shortest_condition import shortest_condition
from capscope.model import Provenance
from capscope.sanitize import sanitize
from capscope.wording import counted, lines_of, wrapped

_VISIBLE = 0.005  # the least difference between probabilities that is mentioned
_MOST_DEAD_ENDS = 4
_MOST_OTHER_STATES = 12
_MOST_FAILURES = 6


@lines_of.register
def plan_lines(plan: Plan, problem: str = "plan", began: str | None = None) -> Iterator[str]:
    """Describe a plan; `began` is the description of its start, None for that of the run."""
    return map(sanitize, _plan_lines(plan, problem, began))


def _plan_lines(plan: Plan, problem: str, began: str | None) -> Iterator[str]:
    yield from wrapped(f"{problem}: {plan.goal}, from {began or 'the start of the run'}")
    yield from _start_lines(plan, began)
    if not plan.found:
        yield from wrapped("success 0.00: " + _why_not(plan))
        return
    low, high = plan.interval
    inferred = bool(plan.inferred_steps)
    yield (
        f"success {plan.success:.2f} [{low:.2f}, {high:.2f}], "
        f"{plan.executions:.1f} executions on average"
    )
    failure = "an unseen outcome counts as failure"
    if inferred:
        failure = "an unseen outcome and a wrong inference count as failure"
    yield f"[95 % interval; {failure}]   [executions of a step's outcome type]"
    yield from wrapped(_basis(plan))
    if plan.success_by_frequencies < 1 or plan.success < 1:
        yield from wrapped(_judgement(plan))
    way = plan.most_likely_way()
    number = {step.state: i for i, step in enumerate(way, start=1)}
    following = (*(step.state for step in way[1:]), None)
    expected = [_branch_to(plan, *pair) for pair in zip(way, following, strict=True)]
    if plan.is_sequence:
        always = "has one outcome" if inferred else "always had this outcome"
        yield f"a plain sequence: each step {always}"
    else:
        right = prod(1.0 - step.doubt for step in way)
        probability = right * prod(probability for probability, _ in expected)
        yield f"most likely, with probability {probability:.2f}:"
    for step, branch in zip(way, expected, strict=True):
        yield from _step_lines(plan, step, branch, number)
    yield from _other_lines(plan, [s for s in plan.visits if s not in number])
    yield from _dead_end_lines(plan)


def _judgement(plan: Plan) -> str:
    """Say which executions the success rests on."""
    if not plan.chosen_alike:
        luck = plan.success_by_frequencies - plan.success
        return (
            "success as each half of the executions judges what the other half chooses; by the "
            f"frequencies that chose these steps it would be {plan.success_by_frequencies:.2f}"
            f"{', probably by luck' if luck >= _VISIBLE else ''}. --try measures it"
        )
    if plan.judged:
        return "each half of the executions chooses these steps; --try measures the success"
    return "there was nothing to choose; --try measures the success"


def _basis(plan: Plan) -> str:
    """Say which steps were tried, and whether the states of the goal were seen."""
    inferred = len(plan.inferred_steps)
    basis = "every step was tried"
    if inferred:
        basis = (
            f"{inferred} of {counted(len(plan.visits), 'step')}: never tried in this state, "
            f"inferred from others. That an inference is wrong has probability {plan.doubt:.2f}, "
            "and counts as failure"
        )
    if plan.success_unseen < _VISIBLE:
        return basis
    return (
        f"{basis}; with probability {plan.success_unseen:.2f} the goal is reached in a state that "
        "was never seen"
    )


def _start_lines(plan: Plan, began: str | None) -> Iterator[str]:
    if len(plan.starts) == 1:
        return
    known = sorted(success for success in plan.starts.values() if success)
    parts = [f"{len(plan.starts)} of the states seen match {began}"]
    varies = bool(known) and known[0] < known[-1]
    if varies:
        parts.append(f"success {known[0]:.2f} to {known[-1]:.2f}")
    if len(known) < len(plan.starts):
        parts.append(f"no path is known from {len(plan.starts) - len(known)} of them")
    chosen = "least favorable" if varies else "most visited"
    yield from wrapped(f"{'; '.join(parts)}; planned from the {chosen}, {plan.start:#x}")


def _why_not(plan: Plan) -> str:
    reason = "the goal holds in none of the states seen. "
    if plan.goal_seen:
        known = "tried or inferred" if plan.inference_allowed else "tried"
        reason = f"the goal was seen to hold elsewhere, but nothing that was {known} leads there. "
    return (
        f"{reason}Whether the agent can achieve it is unknown. {_declined_text(plan)}"
        f"{_optimistic_path_text(plan)}"
    )


def _declined_text(plan: Plan) -> str:
    """Describe the inferred path that has too much doubt."""
    if not plan.declined:
        return ""
    worst = max(plan.declined, key=lambda step: step.doubt)
    return (
        f"The model infers a path: {', '.join(str(step.capability) for step in plan.declined)}. It "
        f"is not offered, because the doubt about {worst.capability} in {worst.state:#x} "
        f"({_from_start(plan, worst.state)}) is {worst.doubt:.2f}, and at most {MOST_DOUBT:g} is "
        "planned with. "
    )


def _optimistic_path_text(plan: Plan) -> str:
    path = plan.optimistic_path
    if path is not None:
        return (
            f"The optimistic model has a path: {', '.join(map(str, path.capabilities))}; but "
            f"{path.untried} was never tried in {path.untried_in:#x} "
            f"({_from_start(plan, path.untried_in)}). Assess longer to find out"
        )
    if plan.searched_all:
        return (
            "Not even the optimistic model has a path: it would take an outcome that was never "
            "seen. Assess longer, or with other settings"
        )
    return "The optimistic model is too large to search; assess longer"


def _branch_to(plan: Plan, step: PlanStep, after: State | None) -> tuple[float, State]:
    """Return the outcome that leads to a state, or, without one, the likeliest to the goal."""
    wanted = plan.reached if after is None else after.__eq__
    return next(branch for branch in step.branches if wanted(branch[1]))


def _step_lines(
    plan: Plan, step: PlanStep, expected: tuple[float, State], number: Mapping[State, int]
) -> Iterator[str]:
    yield f" {number[step.state]:>2}. ask for {step.capability}   [{_support(plan, step)}]"
    for branch in (expected, *(b for b in step.branches if b is not expected)):
        probability, after = branch
        share = "" if len(step.branches) == 1 else f"{probability:.2f}  "
        then = "" if branch is expected else f": {_then(plan, after, step, number)}"
        changes = changes_text(step.state, after, plan.vocabulary)
        yield from wrapped(f"{'else ' if then else ''}{share}{changes}{then}", " " * 6)


def _support(plan: Plan, step: PlanStep) -> str:
    """Return the evidence for a step; "tried" is written only in plans with inferred steps."""
    draws = counted(step.draws, "execution")
    if step.provenance is Provenance.INFERRED:
        return f"inferred, doubt {step.doubt:.2g}; {draws} elsewhere"
    return f"tried, {draws}" if plan.inferred_steps else draws


def _then(plan: Plan, after: State, step: PlanStep, number: Mapping[State, int]) -> str:
    if plan.reached(after):
        return "the goal holds"
    if after == step.state:
        return "ask again"
    if after in number:
        return f"continue with {number[after]}"
    if after in plan.steps:
        return f"ask for {plan.steps[after].capability}"
    if after in plan.unseen:
        return "never seen, so no path to the goal is known"
    return "no path to the goal is known"


def _other_lines(plan: Plan, others: list[State]) -> Iterator[str]:
    """Say what to ask for off the most likely course, each capability once."""
    asked: defaultdict[Intent, list[State]] = defaultdict(list)
    for state in others:
        asked[plan.steps[state].capability].append(state)
    if asked:
        yield "otherwise:"
    ordered = sorted(asked.items(), key=lambda item: -sum(plan.visits[s] for s in item[1]))
    for capability, states in ordered[:_MOST_OTHER_STATES]:
        away = [s for s in plan.visits if s not in states]
        when = shortest_condition(states, away, plan.vocabulary)
        success = min(plan.steps[s].success for s in states)
        basis = ", inferred" if any(plan.steps[s].doubt for s in states) else ""
        yield from wrapped(
            f"when {when}: ask for {capability}   (success from there {success:.2f}{basis})", "  "
        )
    hidden = len(ordered) - _MOST_OTHER_STATES
    if hidden > 0:
        yield f"  and {hidden} more capabilities: --json has the whole policy"


def _dead_end_lines(plan: Plan) -> Iterator[str]:
    ends = sorted(plan.dead_ends.items(), key=lambda item: -item[1])
    if plan.inferred_steps:
        yield f"it may end because an inference is wrong ({plan.doubt:.2f})"
    if ends:
        total = sum(plan.dead_ends.values())
        yield f"it may end without the goal ({total:.2f}), differing from the start by"
        lines = [
            f"{probability:.2f}  {_from_start(plan, state)}"
            f"{' (never seen)' if state in plan.unseen else ''}"
            for state, probability in ends
        ]
        yield from _listed(lines, _MOST_DEAD_ENDS, "other state")


def _listed(texts: Sequence[str], most: int, noun: str) -> Iterator[str]:
    for text in texts[:most]:
        yield from wrapped(text, "  ")
    if len(texts) > most:
        yield f"  and {counted(len(texts) - most, noun)}"


def _from_start(plan: Plan, state: State) -> str:
    return changes_text(plan.start, state, plan.vocabulary)


def plan_document(plan: Plan, problem: str, began: str | None = None) -> dict[str, Any]:
    """Return a plan as JSON-ready values, with the capability for every state with a path."""
    order = sorted(plan.steps, key=lambda state: (-plan.visits.get(state, 0.0), state))
    provenance = Provenance.INFERRED if plan.inferred_steps else Provenance.TRIED
    path = plan.optimistic_path
    document = {
        "problem": problem,
        "goal": plan.goal,
        "from": began,
        "start": _state(plan, plan.start),
        "starts": {hex(state): success for state, success in plan.starts.items()},
        "found": plan.found,
        "provenance": provenance if plan.found else None,
        "inference_allowed": plan.inference_allowed,
        "success": plan.success,
        "success_by_frequencies": plan.success_by_frequencies,
        "interval": plan.interval,
        "success_unseen": plan.success_unseen,
        "doubt": plan.doubt,
        "expected_executions": plan.executions if plan.found else None,
        "is_sequence": plan.is_sequence,
        "most_likely_way": [step.capability for step in plan.most_likely_way()],
        "policy": [_step(plan, plan.steps[state]) for state in order],
        "dead_ends": [
            {**_state(plan, state), "seen": state not in plan.unseen, "probability": probability}
            for state, probability in plan.dead_ends.items()
        ],
        "why_not": None if plan.found else _why_not(plan),
        "declined": [
            {"ask_for": step.capability, "state": hex(step.state), "doubt": step.doubt}
            for step in plan.declined
        ],
        "optimistic_way": path
        and {
            "ask_for": path.capabilities,
            "untried": {"ask_for": path.untried, "state": hex(path.untried_in)},
        },
    }
    written: dict[str, Any] = to_json(document)
    return written


def _step(plan: Plan, step: PlanStep) -> dict[str, Any]:
    outcomes = []
    for probability, after in step.branches:
        effect = Effect.between(step.state, after)
        outcomes.append(
            {
                "probability": probability,
                "adds": plan.vocabulary.holding(effect.adds),
                "deletes": plan.vocabulary.holding(effect.deletes),
                "state": hex(after),
                "seen": after not in plan.unseen,
                "goal": plan.reached(after),
                "way_known": after in plan.steps or plan.reached(after),
            }
        )
    return {
        **_state(plan, step.state),
        "ask_for": step.capability.as_lists(),
        "expected_visits": plan.visits.get(step.state, 0.0),
        "success": step.success,
        "expected_executions": step.executions,
        "provenance": step.provenance,
        "doubt": step.doubt,
        "draws": step.draws,
        "draws_here": step.draws_here,
        "outcomes": outcomes,
    }


def _state(plan: Plan, state: State) -> dict[str, Any]:
    return {"state": hex(state), "holding": plan.vocabulary.holding(state)}


def trial_lines(trial: Trial) -> Iterator[str]:
    """Describe how often a plan worked, what was predicted, and why it failed."""
    return map(sanitize, _trial_lines(trial))


def _trial_lines(trial: Trial) -> Iterator[str]:
    number = len(trial.tries)
    yield f"tried {counted(number, 'time')}; nothing is recorded in the run"
    if not number:
        return
    low, high = trial.interval
    yield (
        f"reached the goal {counted(trial.successes, 'time')}: "
        f"{trial.successes / number:.2f} [{low:.2f}, {high:.2f}]; {_prediction(trial)}"
    )
    yield f"{trial.executions / number:.1f} executions on average"
    too_long = sum(one.end is PlanAttemptEnd.TOO_LONG for one in trial.tries)
    if too_long:
        limit = counted(trial.longest, "execution")
        yield f"not finished after {limit}: {counted(too_long, 'time')}"
    if trial.inferred_executions:
        asked = counted(trial.inferred_executions, "time")
        yield f"asked for inferred steps {asked}, as inferred {trial.as_inferred}"
    if trial.lost_in:
        yield "reached a state without a known path to the goal, differing from the start by"
        lost = trial.lost_in.most_common()
        lines = [f"{count}×  {_from_start(trial.plan, state)}" for state, count in lost]
        yield from _listed(lines, _MOST_FAILURES, "other state")
    if trial.unforeseen:
        yield "what the model had not seen:"
        moves = trial.unforeseen.most_common()
        lines = [f"{count}×  {_unforeseen(trial, move)}" for move, count in moves]
        yield from _listed(lines, _MOST_FAILURES, "other outcome")


def _unforeseen(trial: Trial, move: PlanExecution) -> str:
    changes = changes_text(move.before, move.after, trial.plan.vocabulary)
    step = trial.plan.steps[move.before]
    basis = ", inferred otherwise" if step.provenance is Provenance.INFERRED else ""
    return f"asked for {move.capability} in {move.before:#x}: {changes} ({move.ending}{basis})"


def _prediction(trial: Trial) -> str:
    predicted = f"{trial.predicted:.2f} was predicted"
    if abs(trial.predicted - trial.plan.success) >= _VISIBLE:
        predicted += f" for {counted(trial.longest, 'execution')}"
    few = "few" if trial.successes < trial.predicted * len(trial.tries) else "many"
    tail = f"(probability of so {few}: {trial.tail:.2g})"
    if trial.verdict in (TrialVerdict.AS_PREDICTED, TrialVerdict.POSSIBLE) and trial.refuted:
        return f"{predicted}, but an inference was wrong {tail}"
    if trial.verdict is TrialVerdict.AS_PREDICTED:
        return f"{predicted}, which agrees"
    return f"{predicted}: {trial.verdict} {tail}"


def trial_document(trial: Trial) -> dict[str, Any]:
    """Return the results of a trial as JSON-ready values."""
    plan, number = trial.plan, len(trial.tries)
    document = {
        "tries": number,
        "successes": trial.successes,
        "share": trial.successes / number if number else None,
        "interval": trial.interval if number else None,
        "predicted": trial.predicted,
        "verdict": trial.verdict if number else None,
        "p": trial.tail if number else None,
        "executions": trial.executions,
        "longest": trial.longest,
        "ends": {end: sum(one.end is end for one in trial.tries) for end in PlanAttemptEnd},
        "lost_in": {hex(state): count for state, count in trial.lost_in.items()},
        "inferred": {
            "executions": trial.inferred_executions,
            "as_inferred": trial.as_inferred,
        },
        "unforeseen": [
            {
                "state": hex(move.before),
                "provenance": plan.steps[move.before].provenance,
                "ask_for": move.capability.as_lists(),
                "after": hex(move.after),
                "changes": changes_text(move.before, move.after, plan.vocabulary),
                "ending": move.ending,
                "count": count,
            }
            for move, count in trial.unforeseen.most_common()
        ],
    }
    written: dict[str, Any] = to_json(document)
    return written
