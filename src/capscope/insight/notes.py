"""Warnings and notes that a reader must see before the model, wherever a run is shown.

Without them, a broken agent looks like one that settled on doing nothing, and probabilities that
mix different simulator positions look like randomness of the agent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from capscope.insight.agent_failures import agent_failure_warnings
from capscope.insight.aliasing import AliasedPair, Aliasing
from capscope.insight.drift import Drift
from capscope.journal.run_meta import InitialPositions, StopKind
from capscope.logic import Effect, State, Vocabulary
from capscope.sanitize import sanitize
from capscope.strategy.registry import Claim, claim_of
from capscope.wording import counted, first_few, joined

if TYPE_CHECKING:
    from capscope.insight.run_facts import RunFacts

_MOST_NAMED = 6
_MOST_TYPES = 3


def run_notes(run: RunFacts) -> Iterator[str]:
    """Yield all notes about a run; most runs have none."""
    yield from warnings_of(run, run.path if run.kept else "DIR")
    yield from initial_position_notes(run.initial_positions)
    yield from aliasing_notes(run.aliasing, run.graph.always)
    yield from precision_notes(run)


def claim_lines(run: RunFacts) -> Sequence[str]:
    """Return the verdict of a run in words, or why nothing is claimed."""
    withheld = run.claim_withheld
    if withheld is not None:
        return (f"nothing is settled: {withheld}",)
    carried = () if run.carry_over is None else tuple(run.carry_over.lines())
    if run.audit is not None:
        first, *others = run.audit.statements
        if not run.audit.passed:
            return *carried, f"audit not finished: {first}", *others
        return tuple(line[0].upper() + line[1:] for line in (*carried, *run.audit.statements))
    if claim_of(run.identity.strategy) is Claim.AUDITED:
        nothing = "no audit was made yet, so nothing is claimed about how often the model is wrong"
        return *carried, nothing
    return (str(run.verdict),)


def coverage_text(run: RunFacts) -> str:
    """Return how many pairs of the states seen were tried, and how many are inferred."""
    tried, inferred, unknown = run.coverage
    pairs = counted(tried + inferred + unknown, "pair")
    return (
        f"{pairs} of a state seen and a capability: {tried:,} tried, {inferred:,} inferred, "
        f"{unknown:,} unknown"
    )


def verdict_document(run: RunFacts) -> dict[str, Any]:
    """Return the verdict as JSON-ready values, with the reason if nothing is claimed."""
    withheld, verdict = run.claim_withheld, run.verdict
    reached = verdict.reached and withheld is None
    return {**verdict.as_dict(), "reached": reached, "withheld": withheld}


def stop_text(run: RunFacts) -> str:
    """Return why a run stopped; a criterion that was met without evidence is not called settled."""
    reason, withheld = run.stop_reason, run.claim_withheld
    met = reason is not None and reason.kind in (StopKind.SETTLED, StopKind.AUDITED)
    if withheld is not None and met:
        return f"its criterion was met, but {withheld}"
    return str(reason)


def warnings_of(run: RunFacts, directory: object = "DIR") -> Iterator[str]:
    """Warn about an agent that failed, never changed anything, or changed during the run."""
    yield from agent_failure_warnings(run.agent_failures, directory)
    if run.executions.idle and not run.agent_failures:
        yield "warning: no execution changed anything; does the agent act on this world?"
    if run.drift is not None:
        yield sanitize(_drift_text(run.drift, run.graph.always))


def _drift_text(drift: Drift, always: State) -> str:
    of = "" if drift.capability is None else f" in {drift.capability}"
    example = _contrast_text(drift, drift.before, drift.after, always, ("before", "after"))
    return (
        f"warning: the agent changed{of} while the run was under way, after about "
        f"{counted(drift.executions, 'execution')}: {example}; all rates are mixtures of what it "
        "did before and after"
    )


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
    for pair in aliasing.aliased_pairs[:1]:
        where = "from one position", "from another"
        example = _contrast_text(pair, *pair.contrast, always, where)
        yield sanitize(
            f"in {len(aliasing.aliased_pairs):,} of {counted(aliasing.pairs, 'pair')} drawn from "
            "several simulator positions, the outcome depends on simulator state that the "
            f"predicates do not capture: {example}; probabilities there are mixtures over "
            "positions, and a further predicate would separate them"
        )


def precision_notes(run: RunFacts) -> Iterator[str]:
    """Name the rules of the model whose probabilities are not known precisely enough."""
    if run.claim_withheld is not None or not run.infers:
        return
    types, families, several = run.imprecise
    words = run.graph.vocabulary
    named = dict.fromkeys([*families, *(_in_common(effects, words) for effects in types)])
    if named:
        yield sanitize(
            f"probabilities are known to within {run.identity.settings.precision:g} except for "
            f"{len(types) + len(families):,} of {counted(several, 'rule')} with several outcomes: "
            f"{joined(first_few([*named], _MOST_TYPES))}"
        )


def _in_common(effects: Sequence[Effect], vocabulary: Vocabulary) -> str:
    """Name what every outcome makes true; if there is nothing, the change of the first outcome."""
    first, *others = [effect for effect in effects if effect.adds or effect.deletes]
    adds = reduce(and_, (effect.adds for effect in others), first.adds)
    return joined(Effect(adds, 0).literals(vocabulary) or first.literals(vocabulary))


def _contrast_text(
    pair: AliasedPair | Drift,
    one: Counter[State],
    other: Counter[State],
    always: State,
    where: tuple[str, str],
) -> str:
    """Say how two groups of draws of a pair differ; most frequent outcomes come first."""
    state, vocabulary = pair.state, pair.vocabulary
    holding = vocabulary.holding(state & ~always) or vocabulary.holding(state)
    names = first_few([str(atom) for atom in holding], _MOST_NAMED)
    usual, usual_of_other = (next(iter(outcomes)) for outcomes in (one, other))
    example = (
        f"asked for {pair.intent} when {joined(names) or 'no atom holds'}, "
        f"{_share(one, usual, ' executions')} {where[0]} ended with "
        f"{_changed(state, usual, vocabulary)}, "
    )
    if usual == usual_of_other:
        return f"{example}compared with {_share(other, usual)} {where[1]}"
    changed = _changed(state, usual_of_other, vocabulary)
    return f"{example}and {_share(other, usual_of_other)} {where[1]} with {changed}"


def _share(outcomes: Counter[State], outcome: State, noun: str = "") -> str:
    count, draws = outcomes[outcome], outcomes.total()
    return f"all {draws:,}{noun}" if count == draws else f"{count:,} of {draws:,}{noun}"


def _changed(before: State, after: State, vocabulary: Vocabulary) -> str:
    return joined(Effect.between(before, after).literals(vocabulary)) or "no change"
