"""What one more draw of each pair promises, and what is still open.

Gains are in one currency, the expected fall of the model's error (total variation, summed over
pairs) by one execution. A pair never tried promises 1. A pair that answered alike so far may hide
an outcome (`belief`). A pair that showed several outcomes also belongs to a rule whose
probabilities are pooled: one more draw brings them closer to the truth, for all states of the rule
at once. And an outcome that may be hidden may lead to a state never seen, with as many untried
pairs as there are capabilities: where an effect was seen beside another, the pairs that showed only
the other are looked at for where the first would lead.

The pairs wait in buckets of equal gain, and the buckets in a heap. An answer moves a pair from one
bucket to another and changes what is believed of its likes at once; what is believed of larger
groups is taken anew whenever the executions have grown by 2 %.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, pi, sqrt
from statistics import NormalDist

from capscope.model import StateGraph
from capscope.model.state_graph import OutcomeGroup, PairStats, StateNode
from capscope.record.settings import Settings
from capscope.seeds import child_seed
from capscope.strategy.belief import ALL_HIDE, UNKNOWN, Belief, Group, Kind
from capscope.strategy.bucket import Bucket, Peers, Target, kind_of
from capscope.strategy.verdict import Verdict
from capscope.symbolic import Effect, State

_LEAST = 1e-12  # what a pair promises that is asked only because it was asked too seldom
_REFRESH = 1.02  # the beliefs are taken anew when the executions have grown by this factor


class _Waiting:
    """The pairs of one bucket, and what one more draw of each promises."""

    __slots__ = ("bucket", "gain", "pairs", "revision")

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self.pairs: dict[PairStats, State] = {}
        self.gain = 0.0
        self.revision = -1
        """The revision of the evidence for which the gain was computed."""


class Evidence:
    """The evidence behind every pair, kept up to date as answers come in."""

    def __init__(self, graph: StateGraph, settings: Settings, seed: int = 0) -> None:
        self._graph = graph
        self._settings = settings
        self._seed = seed
        self.frontier: dict[StateNode, None] = {}
        """The places in which some capability was never tried."""
        self._capabilities = 0
        self._standings: dict[PairStats, tuple[_Waiting, dict[Effect, int]]] = {}
        self._buckets: dict[Bucket, _Waiting] = {}
        self._revision = 0
        """Counts the changes of what is believed; gains are kept until the next one."""
        self._hidden: float | None = None
        self._groups: dict[Peers, Group] = {}
        self._executions = 0
        self._refresh_at = 0.0
        self._fresh = True
        self._kinds: dict[Peers, Belief] = {}
        """What is believed of each capability and kind, since the last refresh."""
        self._beliefs: dict[Peers, Belief] = {}
        self._gains: dict[Peers, dict[int, float]] = {}
        self._heap: list[tuple[float, int, Bucket]] = []
        self._promised: dict[Bucket, float] = {}
        """The most that the heap promises of each bucket."""
        self._serial = itertools.count()
        self._siblings: dict[Effect, set[Effect]] = {}
        """The effects that were seen beside an effect, of any capability in any state."""
        self._openers: dict[PairStats, State] = {}
        """Pairs where such an effect would lead to a state never seen."""
        self._nothing_hidden = False
        """Whether what may be hidden is too little to look for."""
        self._unproved: set[Kind] = set(Kind)
        """The kinds of pairs that were drawn too seldom, all together, to be judged by likes."""
        self._width = inf
        """Standard errors within which all rules lie with probability 1 − δ."""

    @classmethod
    def of(cls, graph: StateGraph, settings: Settings) -> Evidence:
        """Judge models by all they have seen."""
        evidence = cls(graph, settings)
        evidence.observe(
            (node.state, capability)
            for node in graph.nodes.values()
            for capability, pair in enumerate(node.pairs)
            if pair is not None
        )
        evidence.refresh()
        return evidence

    def observe(self, pairs: Iterable[tuple[State, int]]) -> None:
        """Take in what the models learned of some pairs."""
        graph = self._graph
        touched: dict[Bucket, None] = {}
        for state, capability in dict.fromkeys(pairs):
            node = graph.node(state)
            pair = node.pairs[capability]
            assert pair is not None, "only pairs that were tried are observed"
            self._forget(pair)
            touched.setdefault(self._place(pair, state, capability))
            self._relate(pair, state)
            for near in (node, *pair.successors):
                self._mark(near)
        if len(graph.capabilities) > self._capabilities:
            self._capabilities = len(graph.capabilities)
            for node in graph.nodes.values():
                self._mark(node)
        self._fresh = self._executions >= self._refresh_at
        if not self._fresh:
            for bucket in touched:
                self._offer(bucket)
            self._tidy()
            self._fresh = not (self._heap or self.frontier)
        if self._fresh:
            self.refresh()

    def _mark(self, node: StateNode) -> None:
        if node.tried < len(node.pairs):
            self.frontier.setdefault(node)
        else:
            self.frontier.pop(node, None)

    def _forget(self, pair: PairStats) -> None:
        """Take a pair out of where it stood."""
        if pair in self._standings:
            waiting, counts = self._standings.pop(pair)
            del waiting.pairs[pair]
            if not waiting.pairs:
                del self._buckets[waiting.bucket]
            self._count(waiting.bucket.capability, counts, -1)

    def _place(self, pair: PairStats, state: State, capability: int) -> Bucket:
        """Put a pair where it belongs now."""
        effects = pair.group.effects
        kind = kind_of(effects[0]) if len(effects) == 1 else Kind.VARIED
        bucket = Bucket(capability, kind, effects, pair.total - len(effects))
        self._count(capability, pair.counts, +1)
        waiting = self._buckets.get(bucket)
        if waiting is None:
            waiting = self._buckets[bucket] = _Waiting(bucket)
        waiting.pairs[pair] = state
        self._standings[pair] = waiting, dict(pair.counts)
        return bucket

    def _relate(self, pair: PairStats, state: State) -> None:
        """Learn which effects come together, and where one of them would open something new."""
        if len(pair.counts) == 1:
            if self._opens(pair, state):
                self._openers[pair] = state
            return
        # Beside doing nothing anything may have been seen; it says nothing of where to look.
        acting = {effect for effect in pair.counts if kind_of(effect) is Kind.ACTING}
        for effect in sorted(acting):
            known = self._siblings.setdefault(effect, set())
            if not known.issuperset(acting - {effect}):
                known.update(acting - {effect})
                for bucket, waiting in self._buckets.items():
                    if bucket.effects == (effect,):
                        self._openers.update(
                            (p, s) for p, s in waiting.pairs.items() if self._opens(p, s)
                        )

    def _opens(self, pair: PairStats, state: State) -> bool:
        """Say whether an effect seen beside the only one of a pair would lead somewhere new."""
        bucket = self._standings[pair][0].bucket
        if bucket.kind is not Kind.ACTING:
            return False
        siblings = self._siblings.get(bucket.effects[0], ())
        return any(effect.apply(state) not in self._graph.nodes for effect in siblings)

    def _openings(self) -> list[Target]:
        """Return the pairs whose hidden outcome may open a state, the most promising first."""
        found = []
        for pair, state in self._openers.items():
            if self._opens(pair, state):
                bucket = self._standings[pair][0].bucket
                promise = self._belief(bucket).showing(bucket.draws) * self._capabilities
                found.append(Target(state, bucket.capability, promise, pair.total))
        return sorted(found, key=lambda target: (-target.gain, target.state, target.capability))

    def _count(self, capability: int, counts: Mapping[Effect, int], sign: int) -> None:
        """Count a pair in, or out of, all the groups that it tells something about."""
        total = sum(counts.values())
        self._executions += sign * total
        if len(counts) == 1:
            for effect in counts:
                self._group((capability, kind_of(effect))).answer_alike(total - 1, sign)
                self._group((capability, effect)).answer_alike(total - 1, sign)
            return
        (main, most), *others = Counter(counts).most_common()
        first = self._group((capability, kind_of(main)))
        first.give_away(1 - most / total, sign)
        # Whichever outcome had been seen alone, the others would have been hidden.
        for effect, count in counts.items():
            self._group((capability, effect)).give_away(1 - count / total, sign)
        varied = self._group((capability, Kind.VARIED))
        if len(others) == 1:
            varied.answer_alike(total - 2, sign)
        else:
            varied.give_away(1 - (most + others[0][1]) / total, sign)

    def _group(self, peers: Peers) -> Group:
        """Return a group that is about to change: what was believed of it no longer holds."""
        self._revision += 1
        self._hidden = None
        self._beliefs.pop(peers, None)
        self._gains.pop(peers, None)
        if peers not in self._groups:
            self._groups[peers] = Group()
        return self._groups[peers]

    def refresh(self) -> None:
        """Take all beliefs anew and order the buckets by them."""
        self._refresh_at = self._executions * _REFRESH + 1
        agent = {kind: Group() for kind in Kind}
        kinds = {(c, k): group for (c, k), group in self._groups.items() if isinstance(k, Kind)}
        for (_, kind), group in kinds.items():
            agent[kind].include(group)
        self._unproved = {kind for kind in Kind if self._proves_nothing(agent[kind])}
        at_large = {kind: agent[kind].believe(UNKNOWN) for kind in Kind}
        self._kinds = {(c, k): group.believe_in(at_large[k]) for (c, k), group in kinds.items()}
        self._beliefs = {}
        self._gains = {}
        self._revision += 1
        self._hidden = None
        self._nothing_hidden = self.hidden() <= self._settings.delta
        missed = self._settings.delta / max(len(self._rules()), 1)
        self._width = NormalDist().inv_cdf(1 - missed / 2)
        self._openers = {p: state for p, state in self._openers.items() if self._opens(p, state)}
        self._heap = []
        self._promised = {}
        for bucket in self._buckets:
            self._offer(bucket)

    def _proves_nothing(self, group: Group) -> bool:
        """Say whether an outcome above ε may well have been missed even if all pairs were one."""
        missed = (1.0 - self._settings.epsilon) ** group.draws_alike
        return self._settings.epsilon > 0.0 and missed > self._settings.delta

    def _belief(self, bucket: Bucket) -> Belief:
        peers = bucket.peers
        belief = self._beliefs.get(peers)
        if belief is None:
            belief = self._kinds.get((bucket.capability, bucket.kind), UNKNOWN)
            if bucket.kind is not Kind.VARIED:
                belief = self._groups[peers].believe_in(belief)
            self._beliefs[peers] = belief
        return belief

    def _gain_in(self, bucket: Bucket) -> float:
        """Return what one more draw of a pair in the bucket promises; 0 if it is empty."""
        waiting = self._buckets.get(bucket)
        return 0.0 if waiting is None else self._gain_of(waiting)

    def _gain_of(self, waiting: _Waiting) -> float:
        # A draw asks for the same gains again and again, and nothing is learned meanwhile.
        if waiting.revision != self._revision:
            waiting.gain, waiting.revision = self._gain(waiting.bucket), self._revision
        return waiting.gain

    def _gain(self, bucket: Bucket) -> float:
        hidden = 0.0
        if not self._nothing_hidden:
            gains = self._gains.setdefault(bucket.peers, {})
            known = gains.get(bucket.draws)
            if known is None:
                known = gains[bucket.draws] = self._belief(bucket).gain(bucket.draws)
            hidden = known
        if bucket.total < self._settings.min_draws:
            hidden = max(hidden, _LEAST)
        return hidden + self._sharper(bucket) if bucket.kind is Kind.VARIED else hidden

    def _sharper(self, bucket: Bucket) -> float:
        """Return the error that one more draw is expected to take from the rule of a pair."""
        group = self._graph.group(bucket.capability, bucket.effects)
        off = half_width(group, self._width)
        if off <= self._settings.precision:
            return 0.0
        # E|error| of a normal is √(2/π)·σ, and σ falls by σ/2n with one more draw.
        return len(group.states) * sqrt(2 / pi) * off / self._width / (2 * group.total)

    def _offer(self, bucket: Bucket) -> None:
        """Put a bucket into the heap if it promises more than it is there for."""
        gain = self._gain_in(bucket)
        if gain > self._promised.get(bucket, 0.0):
            self._promised[bucket] = gain
            heapq.heappush(self._heap, (-gain, next(self._serial), bucket))

    def _tidy(self) -> None:
        """Bring a bucket to the top that keeps what it promises.

        This is done as answers come in, not when targets are asked for: a run that is resumed
        replays the answers alone, and must find the same targets.
        """
        heap = self._heap
        while heap:
            promised, serial, bucket = heap[0]
            gain = self._gain_in(bucket)
            if gain >= -promised:
                return
            if gain > 0.0:
                self._promised[bucket] = gain
                heapq.heapreplace(heap, (-gain, serial, bucket))
            else:
                self._promised.pop(bucket, None)
                heapq.heappop(heap)

    def targets(self, most: int) -> list[Target]:
        """Return different pairs worth asking, the most promising first.

        Those never tried come first, then those whose hidden outcome may open a state and with it
        as many untried pairs as there are capabilities, then the rest.
        """
        found = list(itertools.islice(self._untried(), most))
        heap = self._heap.copy() if len(found) < most else []
        least = -heap[0][0] if heap else 0.0
        if len(found) < most:
            openings = [target for target in self._openings() if target.gain > least]
            found += openings[: most - len(found)]
        taken = {(target.state, target.capability) for target in found}
        passed = set()
        while heap and len(found) < most:
            promised, serial, bucket = heapq.heappop(heap)
            gain = self._gain_in(bucket)
            if gain <= 0.0 or bucket in passed:
                continue
            if gain < -promised:
                heapq.heappush(heap, (-gain, serial, bucket))
                continue
            passed.add(bucket)
            waiting = (
                Target(state, bucket.capability, gain, pair.total)
                for pair, state in self._buckets[bucket].pairs.items()
                if (state, bucket.capability) not in taken
            )
            found += itertools.islice(waiting, most - len(found))
        return found

    def _untried(self) -> Iterator[Target]:
        for node in reversed(self.frontier):
            for capability in self.untried(node.state):
                yield Target(node.state, capability, 1.0, 0)

    def untried(self, state: State) -> Sequence[int]:
        """List the capabilities never tried in a state, beginning with any of them."""
        node = self._graph.nodes.get(state)
        if node is None:
            new: Sequence[int] = range(len(self._graph.capabilities))
        else:
            new = [capability for capability, pair in enumerate(node.pairs) if pair is None]
        turn = child_seed(self._seed, state) % len(new) if new else 0
        return [*new[turn:], *new[:turn]]

    def gain_of(self, pair: PairStats) -> float:
        """Return what one more draw of a pair that was tried promises."""
        return self._gain_of(self._standings[pair][0])

    def hidden(self) -> float:
        """Return the expected number of outcomes above ε that were not seen.

        Of a kind with hardly any draws at all, each pair is taken to hide something.
        """
        if self._hidden is None:
            epsilon, risk = self._settings.epsilon, 0.0
            for bucket, waiting in self._buckets.items():
                belief = ALL_HIDE if bucket.kind in self._unproved else self._belief(bucket)
                risk += len(waiting.pairs) * belief.risk(bucket.draws, epsilon)
            self._hidden = risk
        return self._hidden

    def _rules(self) -> set[tuple[int, tuple[Effect, ...]]]:
        """Return the rules with more than one outcome: capability and effects."""
        return {(b.capability, b.effects) for b in self._buckets if b.kind is Kind.VARIED}

    def settled(self) -> bool:
        """Say whether the evidence supports the statement that was asked for.

        Looked at whenever the beliefs are taken anew, as they are when nothing is left to ask.
        """
        return self._fresh and not self.frontier and self.verdict().reached

    def verdict(self) -> Verdict:
        """Say what is settled and what is open."""
        settings = self._settings
        return Verdict(
            tried=len(self._standings),
            untried=sum(len(node.pairs) - node.tried for node in self.frontier),
            hidden=self.hidden(),
            imprecise=sum(
                half_width(self._graph.group(*rule), self._width) > settings.precision
                for rule in self._rules()
            ),
            thin=sum(
                len(waiting.pairs)
                for bucket, waiting in self._buckets.items()
                if bucket.total < settings.min_draws
            ),
            epsilon=settings.epsilon,
            delta=settings.delta,
            precision=settings.precision,
        )


def half_width(group: OutcomeGroup, width: float) -> float:
    """Return how far the largest probability of a rule may be off, at so many standard errors.

    The probability is taken at the end of its interval that is nearer to one half. Otherwise a rule
    would pass as soon as chance had made it look more certain than it is.
    """
    share = (max(group.counts) + 0.5) / (group.total + 1.0)
    share = max(share - width * sqrt(share * (1.0 - share) / group.total), 0.5)
    return width * sqrt(share * (1.0 - share) / group.total)
