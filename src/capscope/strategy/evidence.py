"""The expected gain of one more draw of each pair, and what is still open.

A gain is the expected decrease of the model's error (total variation, summed over pairs) by one
execution. An untried pair has gain 1. A tried pair may hide an outcome: `belief` says how likely
that is, and `missed_outcomes` how many draws rule it out. A pair with several outcomes also makes
the probabilities of its rule more precise, for all states of the rule. And a hidden outcome may
lead to a new state, with as many untried pairs as there are capabilities: if two effects were seen
together, pairs that showed only one are checked for where the other leads.

Pairs of equal gain share a bucket, and the buckets are in a heap (`gain_heap`). An answer moves a
pair to another bucket and updates the belief about its peers at once; beliefs about larger groups
are refreshed whenever the number of executions has grown by 2 %.

A resumed run replays all answers, and nobody asks for targets meanwhile. What is computed between
two refreshes is replaced by the second one, so it is skipped, unless it decides when that comes: a
refresh comes early if there is nothing left to ask.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, pi, sqrt
from statistics import NormalDist
from typing import NamedTuple

from capscope.journal.settings import Settings
from capscope.logic import Effect, State
from capscope.model import PairStats, StateGraph, StateNode
from capscope.seeds import child_seed
from capscope.strategy.belief import UNKNOWN, Belief, Bucket, Group, Kind, Peers, kind_of
from capscope.strategy.gain_heap import GainHeap
from capscope.strategy.missed_outcomes import MISSED_SHARE, MissBound
from capscope.strategy.verdict import Verdict, half_width

_LEAST = 1e-12  # the gain of a pair that is asked only to reach the number of draws required
_REFRESH = 1.02  # beliefs are refreshed when the executions have grown by this factor


class Target(NamedTuple):
    """A pair worth asking, with its expected gain."""

    state: State
    capability: int
    gain: float
    draws: int
    """How often it was asked before."""


@dataclass(slots=True, eq=False)
class _BucketPairs:
    """The pairs of one bucket, and the gain of one more draw of each."""

    bucket: Bucket
    pairs: dict[PairStats, State] = field(default_factory=dict)
    gain: float = 0.0
    revision: int = -1  # of the evidence, for which the gain was computed


class Evidence:
    """The evidence about every pair, updated as answers come in."""

    def __init__(self, graph: StateGraph, settings: Settings, seed: int = 0) -> None:
        self._graph = graph
        self._settings = settings
        self._seed = seed
        self.frontier: dict[StateNode, None] = {}
        """The states in which some capability was never tried."""
        self._capabilities = 0
        # The bucket of each pair, and its counts when it was put there.
        self._placed: dict[PairStats, tuple[_BucketPairs, dict[Effect, int]]] = {}
        self._buckets: dict[Bucket, _BucketPairs] = {}
        self._revision = 0  # of the beliefs; what is computed from them is kept until the next one
        self._bound = MissBound(settings.epsilon, settings.delta * MISSED_SHARE)
        # For each capability, the outcomes that are not the most frequent one of their pair.
        self._found: defaultdict[int, Counter[tuple[int, int]]] = defaultdict(Counter)
        self._needed: dict[int, float] = {}  # draws of each pair of a capability
        self._groups: defaultdict[Peers, Group] = defaultdict(Group)
        self._executions = 0
        self._refresh_at = 0.0
        self._fresh = True
        self._ahead: deque[int] = deque()  # executions of the answers that are still replayed
        self._skipping = False  # whether the next refresh is replayed too, and comes as scheduled
        self._kinds: dict[Peers, Belief] = {}  # about each capability and kind, at the last refresh
        self._beliefs: dict[Peers, Belief] = {}
        self._gains: dict[Peers, dict[int, float]] = {}
        self._heap = GainHeap(self._gain_in)
        self._siblings: dict[Effect, set[Effect]] = {}  # effects seen together, in any state
        self._openers: dict[PairStats, State] = {}  # where a sibling would lead to a new state
        self._width = inf  # standard errors within which all rules lie with probability 1 − δ/3

    @classmethod
    def of(cls, graph: StateGraph, settings: Settings) -> Evidence:
        """Return the evidence in a whole graph."""
        evidence = cls(graph, settings)
        evidence.observe(
            (node.state, capability)
            for node in graph.nodes.values()
            for capability, pair in enumerate(node.pairs)
            if pair is not None
        )
        evidence.refresh()
        return evidence

    def expect(self, executions: Iterable[int]) -> None:
        """Note how many executions each of the next calls of `observe` brings, in a replay."""
        self._ahead = deque(executions)

    def observe(self, pairs: Iterable[tuple[State, int]]) -> None:
        """Take in what the graph learned about some pairs."""
        if self._ahead:
            self._ahead.popleft()
        graph = self._graph
        touched: dict[Bucket, None] = {}
        discovered = len(graph.capabilities) > self._capabilities
        for state, capability in dict.fromkeys(pairs):
            node = graph.node(state)
            pair = node.pairs[capability]
            assert pair is not None, "only pairs that were tried are observed"
            if len(pair.counts) == 1 and pair in self._placed:
                touched.setdefault(self._move(pair, state))
                if not discovered:
                    continue  # it leads where it led before
            else:
                self._remove(pair)
                touched.setdefault(self._place(pair, state, capability))
                self._relate(pair, state)
            for near in (node, *pair.successors):
                self._mark(near)
        if discovered:
            self._capabilities = len(graph.capabilities)
            for node in graph.nodes.values():
                self._mark(node)
        self._fresh = self._executions >= self._refresh_at
        if not self._fresh and not self._skipping:
            for bucket in touched:
                self._heap.offer(bucket)
            self._heap.settle_top()
            self._fresh = not (self._heap or self.frontier)
        if self._fresh:
            self.refresh()

    def _mark(self, node: StateNode) -> None:
        if node.tried < len(node.pairs):
            self.frontier.setdefault(node)
        else:
            self.frontier.pop(node, None)

    def _move(self, pair: PairStats, state: State) -> Bucket:
        """Place a pair again that showed the same outcome once more, as most answers do.

        The same as removing and placing it, in half the time.
        """
        contents, _ = self._placed[pair]
        old = contents.bucket
        del contents.pairs[pair]
        if not contents.pairs:
            del self._buckets[old]
        bucket = old._replace(draws=pair.total - 1)
        self._executions += bucket.draws - old.draws
        for peers in ((old.capability, old.kind), (old.capability, old.effects[0])):
            self._group(peers).move_identical(old.draws, bucket.draws)
        contents = self._buckets.get(bucket) or self._new_bucket(bucket)
        contents.pairs[pair] = state
        self._placed[pair] = contents, dict(pair.counts)
        return bucket

    def _new_bucket(self, bucket: Bucket) -> _BucketPairs:
        contents = self._buckets[bucket] = _BucketPairs(bucket)
        return contents

    def _remove(self, pair: PairStats) -> None:
        if pair in self._placed:
            contents, counts = self._placed.pop(pair)
            del contents.pairs[pair]
            if not contents.pairs:
                del self._buckets[contents.bucket]
            self._count(contents.bucket.capability, counts, -1)

    def _place(self, pair: PairStats, state: State, capability: int) -> Bucket:
        effects = pair.group.effects
        kind = kind_of(effects[0]) if len(effects) == 1 else Kind.VARIED
        bucket = Bucket(capability, kind, effects, pair.total - len(effects))
        self._count(capability, pair.counts, +1)
        contents = self._buckets.get(bucket) or self._new_bucket(bucket)
        contents.pairs[pair] = state
        self._placed[pair] = contents, dict(pair.counts)
        return bucket

    def _relate(self, pair: PairStats, state: State) -> None:
        """Learn which effects occur together, and where one of them would lead to a new state."""
        if len(pair.counts) == 1:
            if self._opens(pair, state):
                self._openers[pair] = state
            return
        # Doing nothing occurs together with any effect, so it says nothing about where to look.
        acting = {effect for effect in pair.counts if kind_of(effect) is Kind.ACTING}
        for effect in sorted(acting):
            known = self._siblings.setdefault(effect, set())
            if not known.issuperset(acting - {effect}):
                known.update(acting - {effect})
                for bucket, contents in self._buckets.items():
                    if bucket.effects == (effect,):
                        self._openers.update(
                            (p, s) for p, s in contents.pairs.items() if self._opens(p, s)
                        )

    def _opens(self, pair: PairStats, state: State) -> bool:
        """Return whether a sibling of the only effect of a pair would lead to a new state."""
        bucket = self._placed[pair][0].bucket
        if bucket.kind is not Kind.ACTING:
            return False
        siblings = self._siblings.get(bucket.effects[0], ())
        return any(effect.apply(state) not in self._graph.nodes for effect in siblings)

    def _openings(self) -> list[Target]:
        """Return the pairs whose hidden outcome may lead to a new state, best first.

        A pair that was drawn often enough for the statement is left alone: new states are a reason
        to ask it early, not for ever.
        """
        found = []
        for pair, state in self._openers.items():
            bucket = self._placed[pair][0].bucket
            enough = bucket.total >= self._needed.get(bucket.capability, inf)
            if not enough and self._opens(pair, state):
                gain = self._belief(bucket).showing(bucket.draws) * self._capabilities
                found.append(Target(state, bucket.capability, gain, pair.total))
        return sorted(found, key=lambda target: (-target.gain, target.state, target.capability))

    def _count(self, capability: int, counts: Mapping[Effect, int], sign: int) -> None:
        """Add a pair to all groups that it is informative about, or remove it."""
        total = sum(counts.values())
        self._executions += sign * total
        if len(counts) == 1:
            for effect in counts:
                self._group((capability, kind_of(effect))).count_identical(total - 1, sign)
                self._group((capability, effect)).count_identical(total - 1, sign)
            return
        (main, most), *others = Counter(counts).most_common()
        found = self._found[capability]
        for _, count in others:
            found[count, total] += sign
        first = self._group((capability, kind_of(main)))
        first.count_revealed(1 - most / total, sign)
        # Whichever outcome had been seen alone, the others would have been hidden.
        for effect, count in counts.items():
            self._group((capability, effect)).count_revealed(1 - count / total, sign)
        varied = self._group((capability, Kind.VARIED))
        if len(others) == 1:
            varied.count_identical(total - 2, sign)
        else:
            varied.count_revealed(1 - (most + others[0][1]) / total, sign)

    def _group(self, peers: Peers) -> Group:
        """Return a group that is about to change, and drop the belief about it."""
        self._revision += 1
        self._beliefs.pop(peers, None)
        self._gains.pop(peers, None)
        return self._groups[peers]

    def refresh(self) -> None:
        """Update all beliefs and rebuild the heap."""
        self._refresh_at = self._executions * _REFRESH + 1
        self._forget_unfound()
        self._skipping = self._next_refresh_is_replayed()
        if self._skipping:
            return
        agent = {kind: Group() for kind in Kind}
        kinds = {(c, k): group for (c, k), group in self._groups.items() if isinstance(k, Kind)}
        for (_, kind), group in kinds.items():
            agent[kind].include(group)
        overall = {kind: agent[kind].believe(UNKNOWN) for kind in Kind}
        self._kinds = {(c, k): group.believe_within(overall[k]) for (c, k), group in kinds.items()}
        self._beliefs = {}
        self._gains = {}
        self._revision += 1
        self._needed = self._draws_needed()
        probabilities = sum(len(effects) - 1 for _, effects in self._rules())
        error = self._settings.delta * (1 - MISSED_SHARE) / max(probabilities, 1)
        self._width = NormalDist().inv_cdf(1 - error / 2)
        self._openers = {p: state for p, state in self._openers.items() if self._opens(p, state)}
        self._heap.clear()
        for bucket in self._buckets:
            self._heap.offer(bucket)

    def _next_refresh_is_replayed(self) -> bool:
        """Return whether a replay is sure to come to the next refresh, and not before its time.

        Before its time there is nothing left to ask; an execution changes that for one pair only.
        """
        coming = 0
        for made in self._ahead:
            coming += made
            if self._executions + coming >= self._refresh_at:
                break
        else:
            return False
        if sum(len(node.pairs) - node.tried for node in self.frontier) > coming:
            return True
        needed, least = self._draws_needed(), self._settings.min_draws
        wanting = sum(
            len(contents.pairs)
            for bucket, contents in self._buckets.items()
            if bucket.total < max(needed[bucket.capability], least)
        )
        return wanting > coming

    def _forget_unfound(self) -> None:
        """Drop what was counted and removed again."""
        for capability in list(self._found):
            self._found[capability] += Counter()
            if not self._found[capability]:
                del self._found[capability]

    def _draws_needed(self) -> dict[int, float]:
        """Return how often each pair must be drawn, for each capability that was tried."""
        pairs: Counter[int] = Counter()
        for bucket, contents in self._buckets.items():
            pairs[bucket.capability] += len(contents.pairs)
        share = sum(pairs[c] for c in self._found) / max(pairs.total(), 1)
        like = self._bound.like_missed(self._found.values())
        uniform = self._bound.needed(like.capabilities, 1.0 - share)
        other = self._bound.needed(like.outcomes, share)
        return {c: other if c in self._found else uniform for c in pairs}

    def _hidden(self) -> float:
        """Bound the probability that an outcome above ε was missed."""
        found = {c: known for c, counted in self._found.items() if (known := +counted)}
        least: dict[bool, int] = {}
        for bucket in self._buckets:
            varied = bucket.capability in found
            if bucket.total < least.get(varied, inf):
                least[varied] = bucket.total
        like = self._bound.like_missed(found.values())
        factors = {False: like.capabilities, True: like.outcomes}
        return min(sum(self._bound.error(factors[v], draws) for v, draws in least.items()), 1.0)

    def _belief(self, bucket: Bucket) -> Belief:
        peers = bucket.peers
        belief = self._beliefs.get(peers)
        if belief is None:
            belief = self._kinds.get((bucket.capability, bucket.kind), UNKNOWN)
            if bucket.kind is not Kind.VARIED:
                belief = self._groups[peers].believe_within(belief)
            self._beliefs[peers] = belief
        return belief

    def gain_of(self, pair: PairStats) -> float:
        """Return the expected gain of one more draw of a pair that was tried."""
        return self._current_gain(self._placed[pair][0])

    def _gain_in(self, bucket: Bucket) -> float:
        contents = self._buckets.get(bucket)
        return 0.0 if contents is None else self._current_gain(contents)

    def _current_gain(self, contents: _BucketPairs) -> float:
        # A draw asks for the same gains again and again, and nothing is learned meanwhile.
        if contents.revision != self._revision:
            contents.gain, contents.revision = self._gain(contents.bucket), self._revision
        return contents.gain

    def _gain(self, bucket: Bucket) -> float:
        hidden, total = 0.0, bucket.total
        if total < self._needed.get(bucket.capability, inf):
            gains = self._gains.setdefault(bucket.peers, {})
            if bucket.draws not in gains:
                gains[bucket.draws] = max(self._belief(bucket).gain(bucket.draws), _LEAST)
            hidden = gains[bucket.draws]
        elif total < self._settings.min_draws:
            hidden = _LEAST
        return hidden + self._rule_gain(bucket) if bucket.kind is Kind.VARIED else hidden

    def _rule_gain(self, bucket: Bucket) -> float:
        """Return the error that one more draw is expected to remove from the rule of a pair."""
        group = self._graph.group(bucket.capability, bucket.effects)
        off = half_width(group, self._width)
        if off <= self._settings.precision:
            return 0.0
        # E|error| of a normal is √(2/π)·σ, and σ falls by σ/2n with one more draw.
        return len(group.states) * sqrt(2 / pi) * off / self._width / (2 * group.total)

    def targets(self, most: int) -> list[Target]:
        """Return different pairs worth asking: untried ones, then openings, then by gain."""
        found = list(itertools.islice(self._untried(), most))
        if len(found) == most:
            return found
        least = self._heap.highest
        found += [target for target in self._openings() if target.gain > least][: most - len(found)]
        taken = {(target.state, target.capability) for target in found}
        by_gain = self._heap.by_gain()
        while len(found) < most and (best := next(by_gain, None)) is not None:
            bucket, gain = best
            targets = (
                Target(state, bucket.capability, gain, pair.total)
                for pair, state in self._buckets[bucket].pairs.items()
                if (state, bucket.capability) not in taken
            )
            found += itertools.islice(targets, most - len(found))
        return found

    def _untried(self) -> Iterator[Target]:
        for node in reversed(self.frontier):
            for capability in self.untried(node.state):
                yield Target(node.state, capability, 1.0, 0)

    def untried(self, state: State) -> list[int]:
        """List the capabilities never tried in a state, rotated by a number from the seed."""
        node = self._graph.nodes.get(state)
        pairs = [None] * len(self._graph.capabilities) if node is None else node.pairs
        new = [capability for capability, pair in enumerate(pairs) if pair is None]
        turn = child_seed(self._seed, state) % len(new) if new else 0
        return [*new[turn:], *new[:turn]]

    def _rules(self) -> set[tuple[int, tuple[Effect, ...]]]:
        """Return the rules with more than one outcome: capability and effects."""
        return {(b.capability, b.effects) for b in self._buckets if b.kind is Kind.VARIED}

    def settled(self) -> bool:
        """Return whether the evidence supports the requested statement; decided at a refresh."""
        return self._fresh and not self.frontier and self.verdict().reached

    def verdict(self) -> Verdict:
        """Return what is settled and what is open."""
        settings = self._settings
        least = min((bucket.total for bucket in self._buckets), default=0)
        return Verdict(
            tried=len(self._placed),
            untried=sum(len(node.pairs) - node.tried for node in self.frontier),
            hidden=self._hidden(),
            imprecise=sum(
                half_width(self._graph.group(*rule), self._width) > settings.precision
                for rule in self._rules()
            ),
            thin=sum(
                len(contents.pairs)
                for bucket, contents in self._buckets.items()
                if bucket.total < settings.min_draws
            ),
            least_draws=least,
            epsilon=settings.epsilon,
            delta=settings.delta,
            precision=settings.precision,
        )
