"""All that a run knows, derived from the journal: absorb a query, or replay one, to the same end.

Live and resumed runs go through the same function, so there is no second way in which a resumed
run could come to know something.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from capscope.assessment.discovery import intents_of
from capscope.assessment.simulator_errors import report_simulator_errors
from capscope.assessment.stopping import is_news
from capscope.errors import JournalError
from capscope.model import Learned, StateGraph
from capscope.record.execution_table import refuse_unknown_capabilities
from capscope.record.initial_positions import InitialPositions
from capscope.record.journal import Draw, Journal, QueryRecord
from capscope.record.settings import Settings
from capscope.record.transitions import Dataset, Transition
from capscope.record.usage import Usage
from capscope.seeds import child_seed
from capscope.strategy.evidence import Evidence
from capscope.strategy.starts import (
    End,
    Reservoir,
    Start,
    end_to_go_on_from,
    state_to_start_from,
)
from capscope.symbolic import Effect, State
from capscope.world import Ending, Problem
from capscope.world.positions import name_of

LED_ELSEWHERE = (
    "most likely a reset or a restore of the simulator led elsewhere this time, with the same "
    "seed: run `capscope check` on the problem"
)
_RESERVOIR = -2  # the place that seeds the sampling of snapshots
_START = -3  # the place, below a query, that seeds the choice of its start


@dataclass
class RunState:
    """Dataset, models and counters of a run."""

    problem: Problem
    settings: Settings
    seed: int
    fixed_intents: bool
    """The user's list of intents is not extended by what is seen."""
    dataset: Dataset = field(default_factory=Dataset)
    usage: Usage = field(default_factory=Usage)
    quiet_queries: int = 0
    ends: list[End] = field(default_factory=list)
    last_informative: bool = False
    evidence: Evidence | None = None
    """Kept for strategies that go by it."""

    def __post_init__(self) -> None:
        self.graph = StateGraph(self.problem.vocabulary)
        self.reservoir = Reservoir(self.settings.snapshots, child_seed(self.seed, _RESERVOIR))
        self._effects: set[Effect] = set()

    def absorb(self, record: QueryRecord, draws: Sequence[Draw], seconds: float) -> Learned:
        """Take in the draws of a query, whether just executed or read from the journal."""
        transitions = tally(draws, len(self.graph.capabilities))
        self.dataset.record(transitions)
        learned = self.graph.update(transitions)
        if not self.fixed_intents:
            self._discover(transitions)
        if self.evidence is not None:
            self.evidence.observe((before, capability) for before, capability, _ in transitions)
        news = is_news(learned, self.settings)
        self.quiet_queries = 0 if news else self.quiet_queries + 1
        self.last_informative = record.informative
        self.ends = [
            End(
                _last_state(draw, record.start),
                draw.end_snapshot,
                record.distance + self._distance(draw, record.informative),
            )
            for draw in draws
            if draw.end_snapshot is not None
        ]
        self.usage += Usage.of(draws, seconds, queries=1)
        return learned

    def _discover(self, transitions: Counter[Transition]) -> None:
        # One by one: a query that was cut and is completed later then finds its intents in the
        # same order, so that those written down before keep their numbers.
        for before, _, after in transitions:
            effect = Effect.between(before, after)
            if effect not in self._effects:
                self._effects.add(effect)
                self.graph.extend(list(intents_of([effect], self.problem.vocabulary)))

    def _distance(self, draw: Draw, informative: bool) -> int:
        """Say how far a draw went: symbolic changes, or executions where the world is reset.

        A query that promised nothing counts as one of full length there, however short it was: the
        sooner a world is reset that has nothing more to tell, the better.
        """
        if not self.problem.limits.reset_every:
            return sum(len(attempt.trajectory) - 1 for _, attempt in draw.executions)
        return max(len(draw.executions), 0 if informative else self.settings.depth)

    def slots(self, draw: Draw) -> Iterator[tuple[int, State, int]]:
        """Count the visits of a draw; yield (execution, state, slot) of those to keep."""
        for i, (_, attempt) in enumerate(draw.executions):
            if attempt.simulator_steps:
                state = attempt.trajectory[-1]
                slot = self.reservoir.slot(state)
                if slot is not None:
                    yield i, state, slot

    def possible_starts(self, journal: Journal) -> Iterator[Start]:
        """Yield where the next query may start, the preferred one first; at least one of them.

        The first queries of a run start where the world does: one at each initial position.
        """
        done = self.usage.queries
        begins = done < len(self.initials)
        starts = iter([self.initials[done]]) if begins else self._starts(journal)
        return itertools.islice(starts, self.settings.starts)

    def _starts(self, journal: Journal) -> Iterator[Start]:
        rng = random.Random(child_seed(self.seed, self.usage.queries, _START))
        reset_every = self.problem.limits.reset_every
        most = reset_every or self.settings.reuse_changes
        if reset_every or self.last_informative:
            end = end_to_go_on_from(self.ends, self.dataset, most, rng)
            if end is not None:
                yield Start(end.state, end.snapshot, end.distance)
        while not reset_every:
            state = state_to_start_from(self.dataset, self.graph, rng)
            if state is None:
                break
            yield self.start_at(state, journal, rng)
        yield rng.choice(self.initials)

    def start_at(self, state: State, journal: Journal, rng: random.Random) -> Start:
        """Choose one of the positions kept for a state seen before."""
        return Start(state, rng.choice(self._snapshots(state, journal)))

    def _snapshots(self, state: State, journal: Journal) -> list[bytes]:
        snapshots = journal.snapshots(state)
        if not snapshots:
            holding = map(str, self.problem.vocabulary.holding(state))
            raise JournalError(
                f"{journal.path} holds no snapshot of state {state:#x} ({', '.join(holding)}), "
                f"from which the run is to go on; {LED_ELSEWHERE}. If that finds nothing, the "
                "journal was changed by something else"
            )
        return snapshots

    @cached_property
    def initials(self) -> Sequence[Start]:
        """The different positions that resets lead to: one, unless a reset draws where it leads."""
        found: dict[bytes, Start] = {}
        for reset in range(self.settings.resets):
            start = self._after_reset(reset)
            found.setdefault(name_of(start.snapshot), start)
        return list(found.values())

    def initial_positions(self) -> InitialPositions:
        """Count the initial positions, and look where one more reset leads."""
        known = {name_of(start.snapshot) for start in self.initials}
        another = self._after_reset(self.settings.resets)
        return InitialPositions(len(known), name_of(another.snapshot) not in known)

    def _after_reset(self, number: int) -> Start:
        simulator, place = self.problem.simulator, (_START, number) if number else (_START,)
        with report_simulator_errors(self.problem, "when it was reset"):
            state = self.problem.abstraction(simulator.reset(child_seed(self.seed, *place)))
            return Start(state, simulator.snapshot())


def tally(draws: Sequence[Draw], capabilities: int) -> Counter[Transition]:
    """Count ⟨s₀, c, s_j⟩ of every execution that was not cut short by a budget."""
    counts: Counter[Transition] = Counter()
    # Draws read from a journal share equal executions; those are gone through once.
    alike = Counter(id(draw.executions) for draw in draws)
    for draw in draws:
        times = alike.pop(id(draw.executions), 0)
        if times:
            for capability, attempt in draw.executions:
                if attempt.ending is not Ending.CUT:
                    ends = attempt.trajectory[0], attempt.trajectory[-1]
                    counts[Transition(ends[0], capability, ends[1])] += times
    refuse_unknown_capabilities((asked for _, asked, _ in counts), capabilities)
    return counts


def _last_state(draw: Draw, start: State) -> State:
    return draw.executions[-1].attempt.trajectory[-1] if draw.executions else start
