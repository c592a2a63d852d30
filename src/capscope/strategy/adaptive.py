"""Adaptive: ask what the model is unsure of and what matters, then have the model audited.

Trying every pair is hopeless in rich worlds and wasteful in small ones. Here a model that
generalizes (`capscope.model.LearnedModel`) says which pairs are in doubt. A draw is one execution,
from any state seen before. These kinds of draws alternate:

- a pair whose first outcome was not foreseen is asked again at once: is it a condition or chance?
- a share of the executions confirms what would be a finding (`confirmation`);
- pairs in doubt or unlike those tried, weighed by relevance (`candidates`);
- pairs whose odds are least known, while odds are expected to be the larger error;
- untried pairs of the states nearest to the beginning;
- with hazards, pairs that may lead into one (`hazard_search`).

When hardly any surprise is expected in use, the model is audited (`audit`); the run ends when it
passes. A run that starts from what was learned about another instance audits that first.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from capscope.journal.draws import QueryRecord, Start
from capscope.journal.run_meta import StopKind, StopReason
from capscope.logic import State
from capscope.model import LearnedModel
from capscope.model.transitions import DistancesFromStart
from capscope.seeds import child_seed
from capscope.stats.audit import AuditResult, step_weights
from capscope.strategy.base import (
    BegunQuery,
    QueryChoice,
    QueryResult,
    SequencePolicy,
    StrategyContext,
    Task,
    batch_query,
)
from capscope.strategy.candidates import Candidate, Candidates, Expected
from capscope.strategy.confirmation import Confirmation

if TYPE_CHECKING:
    from capscope.strategy.hazard_search import HazardSearch

_CANDIDATES, _QUERY, _SEQUENCE, _RESET = -6, -7, -8, -9  # children of the run's seed
_NEAR = 2  # the capabilities that lead to what is asked without any doubt
_NEAR_TURNS = {0: 8, 1_000: 3, 2_000: 2}  # {minimum executions: query interval}
_HAZARD_TURN = 2  # with hazards: query interval
_MOST_NEAR = 2_000  # pairs that an audit waits for
_EXPECTED = 0.5  # an audit begins when this share of the allowed surprises is expected
_EVERYWHERE = 2.0  # the mean doubt of all pairs that it waits for, as a multiple of these
_WAIT = 2.0  # but at most until the executions have grown by this factor
_WAIT_AT_LEAST = 300
_JUDGED_AGAIN = 1.5  # the model that would be audited is judged when executions grow by this factor
_JUDGED_FIRST = 500  # and at first from these on: fewer do not tell how far it is to be doubted
_BETWEEN_AUDITS = 50  # executions to learn from after an audit was lost
_REFRESH = 1.05
_CARRIED_AT_LEAST = 200  # executions of the audit of rules that were carried over, if not passed


class AdaptiveStrategy:
    """Learn what generalizes, and stop when an audit shows that it does."""

    def __init__(self, context: StrategyContext) -> None:
        self._context = context
        settings = context.settings
        self._length = settings.use_length
        self.longest_draw = max(self._length, 1)
        graph = context.graph
        self.model = LearnedModel(graph, context.seed, lessons=context.lessons)
        initial = [start.state for start in context.positions.initial]
        self._distances = DistancesFromStart(graph, initial)
        seed = child_seed(context.seed, _CANDIDATES)
        self._hazards: HazardSearch | None = None
        if context.hazards:
            from capscope.strategy.hazard_search import HazardSearch

            self._hazards = HazardSearch(self.model, context.hazards, context.seed)
        self._candidates = Candidates(
            self.model, self._distances, settings.scope, seed, self._hazards
        )
        self._repeats: deque[Candidate] = deque()
        self._confirmation = Confirmation(self.model, settings.confirm)
        self._queries = 0
        self._executions = 0
        self._near_asked = 0
        self._completing = False  # whether only the pairs near the beginning are missing
        self._refresh_at = 0.0
        self._audit_after = 0
        self._judged = Expected(1.0, 1.0)  # of the model that would be audited
        self._judged_at = _JUDGED_FIRST / _JUDGED_AGAIN  # executions
        self._ready_at: int | None = None  # since when few surprises are expected in use
        self._rounds = 0
        self._audited_capabilities = 0
        self._audited_states: list[State] = []
        self._added_to: set[tuple[State, int]] = set()  # by outcomes that were held impossible
        self.audit: AuditResult | None = None
        """The audit under way, or the one that ended the run."""
        self.audited: LearnedModel | None = None
        """The model that it is about."""
        if context.lessons is not None and settings.audit and self._length:
            self._begin_audit()

    def next(self, number: int, begun: BegunQuery | None = None) -> QueryChoice:
        """Choose the draws of the next query."""
        if self.audit is not None:
            return self._audit_query(number, begun)
        chosen = self._chosen(number)
        wanted = [(one.state, SequencePolicy((one.capability,))) for one in chosen]
        rng = random.Random(child_seed(self._context.seed, number, _QUERY))
        return batch_query(self._context, number, wanted, chosen[0].score, begun, rng)

    def _chosen(self, number: int) -> Sequence[Candidate]:
        """Fill the batch with different pairs, from the first source that has any on."""
        most = self._context.settings.batch_size
        chosen = {(one.state, one.capability): one for one in islice(self._repeats, most)}
        draw = np.random.default_rng(child_seed(self._context.seed, number))
        for source in self._sources(number, draw):
            if len(chosen) == most:
                break
            # As many as if the batch were empty: some may be in it already.
            for one in source(most):
                if len(chosen) < most:
                    chosen.setdefault((one.state, one.capability), one)
        return list(chosen.values())

    def _sources(
        self, number: int, draw: np.random.Generator
    ) -> Iterator[Callable[[int], Sequence[Candidate]]]:
        """Yield where to take pairs from, in the order of preference for this query."""
        candidates, confirmation = self._candidates, self._confirmation

        def near(most: int) -> Sequence[Candidate]:
            return candidates.near(most, _NEAR)

        def odds(most: int) -> Sequence[Candidate]:
            return candidates.uncertain_odds(most, draw)

        if confirmation.is_due(number):
            yield lambda most: confirmation.questions(number, most, candidates.states, draw)
        turns = [turn for since, turn in _NEAR_TURNS.items() if since <= self._executions]
        if self._completing or number % turns[-1] == 0:
            yield near
        if not number % _HAZARD_TURN:
            yield lambda most: candidates.hazardous(most, draw)
        untried_error, odds_error = candidates.expected_errors()
        if number % 2 and odds_error > untried_error:
            yield odds
        yield lambda most: candidates.explore(most, draw)
        yield near
        yield odds

    def _audit_policies(self, number: int) -> list[SequencePolicy]:
        rng = random.Random(child_seed(self._context.seed, number, _SEQUENCE))
        # Capabilities that are discovered on the way end the round.
        capabilities = self._audited_capabilities
        most, number = self.longest_draw, self._context.settings.batch_size
        lengths = rng.choices(range(1, most + 1), step_weights(most), k=number)
        return [
            SequencePolicy(tuple(rng.randrange(capabilities) for _ in range(length)))
            for length in lengths
        ]

    def _audit_query(self, number: int, begun: BegunQuery | None) -> QueryChoice:
        policies = self._audit_policies(number)
        if begun is not None:
            starts, record = begun.starts_of(len(policies)), begun.record
        else:
            starts = list(self._audit_starts(number, len(policies)))
            record = QueryRecord(starts[0], 0, 0.0, 0.0, informative=False)
        return QueryChoice(record, [Task(*one) for one in zip(starts, policies, strict=True)])

    def _audit_starts(self, number: int, draws: int) -> Iterator[Start]:
        seed, positions = self._context.seed, self._context.positions
        rng = random.Random(child_seed(seed, number, _QUERY))
        for draw in range(draws):
            if self._length:
                yield positions.reset(child_seed(seed, number, _RESET, draw))
            else:
                yield positions.choose(rng.choice(self._audited_states), rng)

    def observe(self, result: QueryResult) -> None:
        """Learn from the answers to a query, or score them."""
        number, self._queries = self._queries, self._queries + 1
        self._executions += result.executions
        begun = [state for state in result.resets if self._distances.of.get(state) != 0]
        self._distances.of |= dict.fromkeys(begun, 0)
        if result.learned.new_transitions or begun:
            self._distances.observe(result.pairs)
        if self._hazards is not None:
            self._hazards.observe(result.pairs)
        if self.audit is not None:
            self._score(number, result)
            return
        for _ in range(min(len(self._repeats), self._context.settings.batch_size)):
            self._repeats.popleft()
        first = [
            (state, capability)
            for state, capability in dict.fromkeys(result.pairs if result.learned.new_pairs else ())
            if self._draws_of(state, capability) == 1
        ]
        self._near_asked += self._completing
        observed = self.model.observe(result.pairs)
        if self._candidates.outdated:
            self._candidates.recount()
        else:
            self._candidates.observe(result.pairs, first, observed.changed)
        self._repeats.extend(Candidate(*pair, 1.0) for pair in observed.contradicted)
        self._confirmation.observe(result.pairs)
        if self._executions >= self._refresh_at or self._candidates.outdated:
            self._refresh()

    def _draws_of(self, state: int, capability: int) -> int:
        pair = self._context.graph.pair(state, capability)
        return 0 if pair is None else pair.total

    def _refresh(self) -> None:
        self._refresh_at = self._executions * _REFRESH + 5
        self._candidates.refresh()
        self._confirmation.refresh()
        self._begin_audit_if_due()

    def _begin_audit_if_due(self) -> None:
        settings = self._context.settings
        self._completing = False
        if not settings.audit or self._executions < self._audit_after:
            return
        expected = self._expected()
        if expected.surprises > _EXPECTED * settings.audit:
            self._ready_at = None
            return
        if self._ready_at is None:
            self._ready_at = self._executions
        enough = max(_WAIT * self._ready_at, self._ready_at + _WAIT_AT_LEAST)
        if self._executions < enough and (
            expected.doubt > _EVERYWHERE * settings.audit
            or self._candidates.largest_odds_error() > settings.precision
            or self._candidates.hazards_unexplored
        ):
            return
        self._completing = bool(self._near_asked < _MOST_NEAR and self._candidates.near(1, _NEAR))
        if not self._completing:
            self._begin_audit()

    def _expected(self) -> Expected:
        """Return what is expected of the model that asks, or of the one that would be audited.

        The latter plans farther, and is fitted now and then, since that takes long.
        """
        asking = self._candidates.expected()
        if asking.surprises <= _EXPECTED * self._context.settings.audit:
            return asking
        if self._executions >= _JUDGED_AGAIN * self._judged_at:
            self._judged_at = self._executions
            fitted = LearnedModel.fitted(
                self._context.graph.copy(), self._context.seed, self._context.lessons
            )
            self._judged = self._candidates.expected(fitted)
        return min(asking, self._judged)

    def _begin_audit(self) -> None:
        settings = self._context.settings
        self._rounds += 1
        graph = self._context.graph
        # What its predictions are looked up in must not have the answers that they are scored on.
        self.audited = LearnedModel.fitted(graph.copy(), self._context.seed, self._context.lessons)
        self._audited_states = [s for s in graph.nodes if self._candidates.in_scope(s)]
        self._audited_capabilities = len(graph.capabilities)
        self.audit = AuditResult(
            settings.audit, settings.confidence, self._length, self._rounds, self._queries, 0, 0, 0
        )
        self._added_to = set()

    def _score(self, number: int, result: QueryResult) -> None:
        assert self.audit is not None and self.audited is not None, "an audit is under way"
        model, intents = self.audited, self._context.graph.capabilities
        if self._context.lessons is not None:
            # In an order that does not depend on the draws: `foreseen_before_learning` repeats it.
            model.anticipate(sorted({state for state, _ in result.pairs}))
        samples = surprises = 0
        probability = 0.0
        for policy, last in zip(self._audit_policies(number), result.lasts, strict=False):
            if last is not None and last.executions == len(policy.sequence):
                state, capability, after = last.transition
                samples += 1
                surprises += not model.foresees(state, capability, after)
                probability += model.predict(state, intents[capability]).get(after, 0.0)
        self._added_to.update(pair for pair in result.pairs if not self._foreseen(*pair))
        self.audit = replace(
            self.audit,
            samples=self.audit.samples + samples,
            surprises=self.audit.surprises + surprises,
            executions=self.audit.executions + result.executions,
            probability=self.audit.probability + probability,
            added_to=len(self._added_to),
        )
        # The first draws of a run that starts from other rules tell which of them hold here.
        carried = self._context.lessons is not None and self.audit.since_query == 0
        enough = not carried or self.audit.executions >= _CARRIED_AT_LEAST
        if (self.audit.abandoned and enough) or self._candidates.outdated:
            self._learn_from_audit()

    def _foreseen(self, state: State, capability: int) -> bool:
        """Return whether the audited model held possible all that a pair has shown by now."""
        assert self.audited is not None, "an audit is under way"
        pair = self._context.graph.pair(state, capability)
        assert pair is not None, "the pair was executed"
        ends = (effect.apply(state) for effect in pair.counts)
        return all(self.audited.foresees(state, capability, end) for end in ends)

    def _learn_from_audit(self) -> None:
        """Give a round up, and learn from what it drew."""
        self.audit = self.audited = None
        self._audit_after = self._executions + _BETWEEN_AUDITS
        self._judged = Expected(1.0, 1.0)
        self.model.refresh()
        self._candidates.recount()
        self._refresh()

    def finished(self) -> StopReason | None:
        """Stop when the audit is passed."""
        passed = self.audit is not None and self.audit.passed
        return StopReason(StopKind.AUDITED) if passed else None

    def describe(self, choice: QueryChoice) -> dict[str, Any]:
        """Describe what each draw asks for."""
        draws = [
            {"state": hex(task.start.state), **task.policy.describe()} for task in choice.tasks
        ]
        return {"kind": "draws", "draws": draws}

    def status(self, record: QueryRecord) -> Mapping[str, str]:
        """Return how far the audit is, or what is expected of it."""
        if self.audit is not None:
            return {
                "audit": f"round {self.audit.round}, {self.audit.samples} scored, "
                f"{self.audit.surprises} surprises"
            }
        return {"expected surprises": f"{100 * self._candidates.expected().surprises:.2g} %"}
