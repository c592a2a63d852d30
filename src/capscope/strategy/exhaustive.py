"""Exhaustive: ask where the evidence says that a draw is worth most, and stop when it suffices.

The paper repeats every query 25 times, so a deterministic answer is paid for 25 times. Here each
draw is chosen by its expected gain (`evidence`). Any state seen before can be the start, so no
execution is spent on getting there. A draw goes on while the state it reached offers something as
promising. The draws of a batch are chosen together: each begins with a different pair, and the
pairs that several may come across are divided among them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from capscope.errors import JournalError
from capscope.journal.draws import QueryRecord, Start
from capscope.journal.run_meta import StopKind, StopReason
from capscope.journal.settings import Settings
from capscope.logic import State
from capscope.model import StateGraph
from capscope.seeds import child_seed
from capscope.strategy.base import (
    RESTORED_ELSEWHERE,
    BegunQuery,
    QueryChoice,
    QueryResult,
    ReplayExtent,
    StrategyContext,
    Task,
)
from capscope.strategy.evidence import Evidence, Target

_BATCH = -5  # child of a query's seed, for the starts of a batch
_AS_PROMISING = 0.5  # a draw goes on to pairs with more than this share of its first gain


@dataclass(frozen=True)
class TargetPolicy:
    """Begin with a pair, then go on with what is promising in the state reached."""

    graph: StateGraph
    evidence: Evidence
    target: Target
    longest: int
    turn: int = 0
    """The number of this draw within the batch."""
    batch: int = 1
    """The number of draws in the batch."""
    taken: frozenset[tuple[State, int]] = frozenset()
    """The pairs that the draws of the batch begin with."""

    def walk(self) -> TargetWalk:
        """Begin before the first capability."""
        return TargetWalk(self)

    def choose(self, state: State, asked: set[tuple[State, int]]) -> int | None:
        """Return the most promising capability in a state; None if there is none."""
        for capability in self.evidence.untried(state):
            if (state, capability) not in asked and self._may_ask(state, capability):
                return capability
        node = self.graph.nodes.get(state)
        if node is None or not self.target.draws:
            return None
        best, best_gain = None, _AS_PROMISING * self.target.gain
        for capability, pair in enumerate(node.pairs):
            if pair is None or (state, capability) in asked:
                continue
            gain = self.evidence.gain_of(pair)
            if gain > best_gain and self._may_ask(state, capability):
                best, best_gain = capability, gain
        return best

    def _may_ask(self, state: State, capability: int) -> bool:
        if self.batch == 1:
            return True
        mine = child_seed(state, capability) % self.batch == self.turn
        return mine and (state, capability) not in self.taken

    def describe(self) -> Mapping[str, Any]:
        """Return the pair that the draw begins with and its expected gain."""
        return {"kind": "target", **self.target._asdict(), "state": hex(self.target.state)}


@dataclass(slots=True)
class TargetWalk:
    """One execution of a target policy."""

    policy: TargetPolicy
    asked: set[tuple[State, int]] = field(default_factory=set)

    def next(self, state: State) -> int | None:
        """Return the target first, then what is promising."""
        policy, asked = self.policy, self.asked
        if len(asked) >= policy.longest:
            return None
        capability = policy.choose(state, asked) if asked else policy.target.capability
        if capability is not None:
            asked.add((state, capability))
        return capability


def choose_batch(graph: StateGraph, evidence: Evidence, settings: Settings) -> list[TargetPolicy]:
    """Choose the draws of the next batch, each with a different pair."""
    targets = evidence.targets(settings.batch_size)
    taken = frozenset((target.state, target.capability) for target in targets)
    return [
        TargetPolicy(graph, evidence, target, settings.depth, turn, len(targets), taken)
        for turn, target in enumerate(targets)
    ]


class ExhaustiveStrategy:
    """A batch of draws, each where the expected gain is highest."""

    def __init__(self, context: StrategyContext) -> None:
        self.longest_draw = context.settings.depth
        self.audit = None
        self.audited = None
        self._context = context
        self.evidence = Evidence(context.graph, context.settings, child_seed(context.seed, _BATCH))
        self.evidence.observe(())

    def next(self, number: int, begun: BegunQuery | None = None) -> QueryChoice:
        """Choose different pairs to begin with, and a position for each."""
        context = self._context
        policies = choose_batch(context.graph, self.evidence, context.settings)
        if begun is None:
            rng = random.Random(child_seed(context.seed, number, _BATCH))
            choose = context.positions.choose
            starts: Sequence[Start] = [choose(p.target.state, rng) for p in policies]
            gain = policies[0].target.gain
            record = QueryRecord(starts[0], 0, 0.0, gain, gain > context.settings.threshold)
        else:
            record = begun.record
            starts = begun.starts or [record.start] * len(policies)
            if [start.state for start in starts] != [p.target.state for p in policies]:
                raise JournalError(
                    f"{context.journal}: query {number} was begun elsewhere than it would be now; "
                    f"{RESTORED_ELSEWHERE}. If that finds nothing, another version of capscope "
                    "began it: finish the run with that version. It was left untouched"
                )
        tasks = [Task(start, policy) for start, policy in zip(starts, policies, strict=True)]
        return QueryChoice(record, tasks)

    def expect(self, replay: ReplayExtent) -> None:
        """Note what is replayed, so that what is refreshed again need not be computed."""
        self.evidence.expect(replay.executions)

    def observe(self, result: QueryResult) -> None:
        """Update the evidence of the pairs that were executed."""
        self.evidence.observe(result.pairs)

    def finished(self) -> StopReason | None:
        """Stop when the evidence supports the requested statement."""
        return StopReason(StopKind.SETTLED) if self.evidence.settled() else None

    def describe(self, choice: QueryChoice) -> dict[str, Any]:
        """Describe what each draw begins with."""
        targets = [dict(task.policy.describe()) for task in choice.tasks]
        return {"kind": "targets", "targets": targets}

    def status(self, record: QueryRecord) -> Mapping[str, str]:
        """Return the expected gain of the last draw."""
        return {"expected gain": f"{record.predicted:.3g}"}
