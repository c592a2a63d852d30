"""The state graph: every state seen, every pair tried, what it showed and where it led.

A `StateNode` for each state has a `PairStats` for each capability tried there. For each capability,
the states that showed the same set of effects are an `OutcomeGroup`, one rule of the two extreme
models. An observation touches one pair: it raises a count in the pair's group or, if the effect is
new for the pair, moves the pair to another group. So an update costs the same at any size.

A `StateMatrix` has states as rows of bits, so that a question about all states is one NumPy
expression.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

import numpy as np

from capscope.errors import CapscopeError
from capscope.journal.execution_table import Transition
from capscope.logic import (
    Effect,
    ExactlyOne,
    ExpectedEffects,
    Intent,
    LiteralTest,
    State,
    Vocabulary,
)
from capscope.logic.condition import is_pattern, matching
from capscope.logic.vocabulary import nearest
from capscope.stats.arrays import Bits, Floats, Integers, Mask

EffectDistribution = tuple[tuple[Effect, float], ...]


class OutcomeGroup:
    """The states of one capability that showed the same effects, with their counts pooled."""

    __slots__ = ("counts", "effects", "states", "total")

    def __init__(self, effects: tuple[Effect, ...]) -> None:
        self.effects = effects
        """Sorted."""
        self.counts = [0] * len(effects)
        """How often each effect was seen."""
        self.total = 0
        """The number of executions."""
        self.states: dict[State, None] = {}
        """The states of the group, as keys."""

    def probabilities(self) -> list[float]:
        """Return the relative frequency of each effect."""
        return [count / self.total for count in self.counts]

    def distribution(self) -> EffectDistribution:
        """Return the distribution over effects."""
        return tuple(zip(self.effects, self.probabilities(), strict=True))


Probabilities = dict[OutcomeGroup, tuple[int, list[float] | None]]
"""Groups that an update touches, with their capability and probabilities before; None if new.

A group of one effect may be missing: its probability is always 1.
"""


class PairStats:
    """A capability tried in a state: what was seen, its group, and where it led."""

    __slots__ = ("counts", "group", "only", "successors", "total")

    def __init__(self) -> None:
        self.counts: dict[Effect, int] = {}
        """How often each effect was seen."""
        self.total = 0
        """The number of executions."""
        self.group: OutcomeGroup
        """The group of all states that showed the same effects."""
        self.successors: tuple[StateNode, ...] = ()
        """Parallel to the effects of the group."""
        self.only: StateNode | None = None
        """The successor, if there is just one."""


class StateNode:
    """A state that was seen, with what is known of each capability in it."""

    __slots__ = ("departures", "leaves", "open", "pairs", "state", "tried")

    def __init__(self, state: State, capabilities: int) -> None:
        self.state = state
        self.pairs: list[PairStats | None] = [None] * capabilities
        """By the index of the capability; None if it was not tried here."""
        self.open = list(range(capabilities))
        """The capabilities not known to be idle here: untried ones and those that do something."""
        self.tried = 0
        """How many capabilities were tried here."""
        self.departures = 0
        """How many executions began here."""
        self.leaves = False
        """Whether some execution from here ended elsewhere."""

    @property
    def sink(self) -> bool:
        """Whether every capability was tried here and none led away."""
        return not self.leaves and self.tried == len(self.pairs)


@dataclass(frozen=True, slots=True)
class Learned:
    """What an update added to the graph."""

    new_pairs: int = 0
    new_transitions: int = 0
    largest_shift: float = 0.0
    """The largest change of an effect's probability in a group that kept its effects."""


class StateGraph:
    """States seen, pairs tried, counts and successors; updated incrementally."""

    def __init__(self, vocabulary: Vocabulary, capabilities: Sequence[Intent] = ()) -> None:
        self.vocabulary = vocabulary
        self.capabilities: list[Intent] = []
        """In the order in which they were found."""
        self.index: dict[Intent, int] = {}
        """The position of each capability in the list."""
        self.nodes: dict[State, StateNode] = {}
        """In the order in which states were first seen."""
        self.pairs_tried = 0
        """How many pairs of a state and a capability were tried."""
        self.distinct_transitions = 0
        """How many different transitions were seen."""
        self.expected: ExpectedEffects | None = None
        """What the user said belongs to the intents."""
        self.most_departures = 0
        """The departures of the state from which most executions began."""
        self.revisions: list[int] = []
        """For each capability how often its groups have changed."""
        self._groups: list[dict[tuple[Effect, ...], OutcomeGroup]] = []
        self.extend(capabilities)

    def copy(self) -> StateGraph:
        """Return a graph of the same observations, which later updates of this one do not reach."""
        twin = StateGraph(self.vocabulary, self.capabilities)
        twin.expected = self.expected
        for state in self.nodes:
            twin.node(state)
        twin.update(
            {
                Transition(state, capability, effect.apply(state)): count
                for state, node in self.nodes.items()
                for capability, pair in enumerate(node.pairs)
                if pair is not None
                for effect, count in pair.counts.items()
            }
        )
        return twin

    def extend(self, capabilities: Sequence[Intent]) -> None:
        """Add capabilities; those known already are skipped."""
        for intent in capabilities:
            if intent in self.index:
                continue
            intent.test(self.vocabulary)  # raises for an unknown atom
            self.index[intent] = len(self.capabilities)
            self.capabilities.append(intent)
            self.revisions.append(0)
            self._groups.append({})
        for node in self.nodes.values():
            node.open += range(len(node.pairs), len(self.capabilities))
            node.pairs += [None] * (len(self.capabilities) - len(node.pairs))

    def resolve_capability(self, name: str | Intent) -> Intent:
        """Return the capability of that name, or raise with the nearest names."""
        intent = Intent.parse(name) if isinstance(name, str) else name
        if intent not in self.index:
            number = len(self.capabilities)
            raise CapscopeError(
                f"no capability {intent} among the {number} that were assessed; "
                f"{nearest(intent, self.capabilities)}"
            )
        return intent

    def match_capabilities(self, pattern: str) -> tuple[Intent, ...]:
        """Return the capabilities that a pattern matches, or raise with the nearest names.

        In a pattern, `*` stands for any characters and `?` for one: `on(a,*)`, `not on(*)`.
        """
        if not is_pattern(pattern):
            return (self.resolve_capability(pattern),)
        matched = matching(pattern, self.capabilities)
        if not matched:
            raise CapscopeError(
                f"none of the {len(self.capabilities)} capabilities that were assessed matches "
                f"{pattern}; {nearest(pattern, self.capabilities)}"
            )
        return matched

    def node(self, state: State) -> StateNode:
        """Return the node of a state, made if it is new."""
        node = self.nodes.get(state)
        if node is None:
            node = self.nodes[state] = StateNode(state, len(self.capabilities))
        return node

    @property
    def first_state(self) -> State | None:
        """The state that was seen first, where the run began; None before anything was seen."""
        return next(iter(self.nodes), None)

    def update(self, transitions: Mapping[Transition, int]) -> Learned:
        """Add transitions with their counts; return what was new."""
        new_pairs = new_transitions = 0
        before: Probabilities = {}
        for (state, capability, after), count in transitions.items():
            node = self.node(state)
            node.departures += count
            if node.departures > self.most_departures:
                self.most_departures = node.departures
            pair = node.pairs[capability]
            if pair is None:
                pair = node.pairs[capability] = PairStats()
                node.tried += 1
                self.pairs_tried += 1
                new_pairs += 1
            elif len(pair.counts) > 1 and pair.group not in before:
                before[pair.group] = capability, pair.group.probabilities()
            effect = Effect.between(state, after)
            known = effect in pair.counts
            if known:
                group = pair.group
                group.counts[group.effects.index(effect)] += count
                group.total += count
            pair.counts[effect] = pair.counts.get(effect, 0) + count
            pair.total += count
            if not known:
                new_transitions += 1
                self._assign(node, capability, pair, before)
            self.revisions[capability] += 1
        self.distinct_transitions += new_transitions
        return Learned(new_pairs, new_transitions, self._largest_shift(before))

    def _largest_shift(self, before: Probabilities) -> float:
        largest = 0.0
        for group, (capability, olds) in before.items():
            now = self._groups[capability].get(group.effects)
            if now is not None and olds is not None:
                news = now.probabilities()
                shifts = (abs(new - old) for old, new in zip(olds, news, strict=True))
                largest = max(largest, *shifts)
        return largest

    def _assign(
        self, node: StateNode, capability: int, pair: PairStats, before: Probabilities
    ) -> None:
        """Put a pair into the group of its present effects; note what a group was like before."""
        groups = self._groups[capability]
        if pair.successors:
            old = pair.group
            del old.states[node.state]
            # The newest effect is not in the old group; the others leave with their counts.
            for i, effect in enumerate(old.effects):
                old.counts[i] -= pair.counts[effect]
                old.total -= pair.counts[effect]
            if not old.states:
                del groups[old.effects]
        effects = tuple(sorted(pair.counts))
        group = groups.get(effects)
        if group is None:
            group = groups[effects] = OutcomeGroup(effects)
            before[group] = capability, None
        elif len(effects) > 1 and group not in before:
            before[group] = capability, group.probabilities()
        for i, effect in enumerate(effects):
            group.counts[i] += pair.counts[effect]
            group.total += pair.counts[effect]
        group.states[node.state] = None
        pair.group = group
        pair.successors = tuple(self.node(effect.apply(node.state)) for effect in effects)
        pair.only = pair.successors[0] if len(effects) == 1 else None
        node.leaves = node.leaves or any(s is not node for s in pair.successors)
        if pair.only is node:
            node.open.remove(capability)
        elif node in pair.successors and capability not in node.open:
            node.open.append(capability)

    def pair(self, state: State, capability: int) -> PairStats | None:
        """Return what is known of a capability in a state; None if it was never tried."""
        node = self.nodes.get(state)
        return None if node is None else node.pairs[capability]

    def group(self, capability: int, effects: tuple[Effect, ...]) -> OutcomeGroup:
        """Return the group of the pairs that showed exactly these effects."""
        return self._groups[capability][effects]

    def groups(self, capability: int) -> Sequence[OutcomeGroup]:
        """Return all groups of a capability."""
        return list(self._groups[capability].values())

    @property
    def always(self) -> State:
        """The atoms that held in every state seen; see `constant_atoms`."""
        return constant_atoms(self.nodes)

    @property
    def exactly_one(self) -> ExactlyOne:
        """Groups of atoms; exactly one atom of each held in every state seen."""
        return ExactlyOne.seen_in(self.nodes.keys(), self.vocabulary, self.expected)


def constant_atoms(states: Collection[State]) -> State:
    """Return the atoms that hold in all of these states, and so distinguish none of them.

    With fewer than two states there is nothing to distinguish.
    """
    return reduce(and_, states) if len(states) > 1 else 0


_HASHES = 12  # seeds the hashes of atoms


class Goals:
    """Disjunctions of conjunctions of literals, to be tested in many states at once."""

    def __init__(self, tests: Sequence[Sequence[LiteralTest]], width: int) -> None:
        """Take the conjunctions of each goal."""
        every = [
            [
                (atom, value)
                for mask, value in zip(test, (True, False), strict=True)
                for atom in range(width)
                if mask >> atom & 1
            ]
            for own in tests
            for test in own
        ]
        most = max(map(len, every), default=0)
        # Of an atom behind the last, which is false: conjunctions are of different lengths.
        padded = [one + [(width, False)] * (most - len(one)) for one in every]
        table = np.array(padded, dtype=np.int64).reshape(len(every), most, 2)
        self.atoms, self.values = table.transpose(2, 1, 0)
        """The atom of each conjunction (second axis) in each place (first axis), and its value."""
        self.begins = np.cumsum([0, *map(len, tests)])[:-1]
        """The first conjunction of each goal."""

    def __len__(self) -> int:
        return len(self.begins)


class StateMatrix:
    """States and their atoms; a state keeps the row that it was given first."""

    def __init__(self, width: int) -> None:
        self.row: dict[State, int] = {}
        """The row of each state."""
        self.states: list[State] = []
        """By row."""
        self._width = width
        self._bytes = max((width + 7) // 8, 1)
        self._rows: Bits = np.zeros((64, width), dtype=np.uint8)
        # The hash of a state is the exclusive or of those of its atoms (Zobrist); 0 stands last.
        random = np.random.default_rng(_HASHES).integers(1 << 64, size=width, dtype=np.uint64)
        self._atom_hashes = np.append(random, np.uint64(0))
        self._hashes = self._sorted = np.zeros(0, dtype=np.uint64)
        self._order: Integers = np.zeros(0, dtype=np.int64)
        self._changes: dict[Effect, tuple[list[int], list[int]]] = {}

    def __len__(self) -> int:
        return len(self.states)

    @property
    def bits(self) -> Bits:
        """One row for each state, one column for each atom."""
        return self._rows[: len(self.states)]

    def part(self, rows: Integers) -> Bits:
        """Return the bits of some rows, without a copy if they are consecutive."""
        if len(rows) and (np.diff(rows) == 1).all():
            return self.bits[int(rows[0]) : int(rows[-1]) + 1]
        part: Bits = self.bits[rows]
        return part

    def add(self, state: State) -> int:
        """Return the row of a state, which is appended if it is new."""
        row = self.row.get(state)
        if row is None:
            row = self.row[state] = len(self.states)
            self.states.append(state)
            if row == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
            self._rows[row] = self.unpack(state)
        return row

    def rows_after(self, rows: Integers, effects: Sequence[Effect], which: Integers) -> Integers:
        """Return the row of the state after an effect in each row; -1 if it has none.

        Args:
            rows: Where the effects happen.
            effects: Some effects.
            which: For each row the place of its effect among them.

        Returns:
            For each row the one of the state after; by hashes, so that no state is made.
        """
        if len(self._hashes) < len(self):
            new = np.where(self.bits[len(self._hashes) :], self._atom_hashes[:-1], np.uint64(0))
            hashes = np.bitwise_xor.reduce(new, axis=1, initial=np.uint64(0))
            self._hashes = np.concatenate([self._hashes, hashes])
            self._order = np.argsort(self._hashes)
            self._sorted = self._hashes[self._order]
        changes = [self._change(effect) for effect in effects]
        most = max((len(atoms) for atoms, _ in changes), default=0)
        table = np.full((2, len(effects), most), -1)
        for place, change in enumerate(changes):
            table[:, place, : len(change[0])] = change
        hashes = self._hashes[rows]
        for atoms, values in table.transpose(2, 0, 1):
            atom = atoms[which]
            differs = self.bits[rows, atom] != values[which]
            hashes ^= np.where(differs, self._atom_hashes[atom], np.uint64(0))
        nearest = np.minimum(np.searchsorted(self._sorted, hashes), len(self) - 1)
        return np.where(self._sorted[nearest] == hashes, self._order[nearest], -1)

    def ends(
        self, rows: Integers, numbers: Integers, odds: Callable[[int], Mapping[Effect, float]]
    ) -> tuple[Integers, Floats, Callable[[int, int], Effect]]:
        """Return the rows that the outcomes of a type lead to, and their probabilities.

        Args:
            rows: Where the outcomes happen.
            numbers: For each row the number of its type.
            odds: Returns the outcomes of a type.

        Returns:
            For each row (first axis) and outcome the row of the state after, -1 if it has none, and
            the probability, 0 if the type has fewer outcomes; and a function that returns the
            effect, given both places.
        """
        kinds, which = np.unique(numbers, return_inverse=True)
        known = [odds(number) for number in kinds.tolist()]
        effects = [list(own) for own in known]
        lengths = np.array([len(own) for own in effects], dtype=np.int64)
        first, every = np.cumsum(lengths) - lengths, [one for own in effects for one in own]
        table = np.zeros((len(known), lengths.max(initial=1)))
        ends = np.full((len(rows), table.shape[1]), -1)
        for kind, own in enumerate(known):
            table[kind, : len(own)] = list(own.values())
        for place in range(table.shape[1]):
            some = np.flatnonzero(lengths[which] > place)
            ends[some, place] = self.rows_after(rows[some], every, first[which[some]] + place)
        return ends, table[which], lambda row, place: effects[which[row]][place]

    def _change(self, effect: Effect) -> tuple[list[int], list[int]]:
        """Return the atoms that an effect sets, and their values."""
        if effect not in self._changes:
            added, deleted = map(self._columns, (effect.adds, effect.deletes & ~effect.adds))
            self._changes[effect] = added + deleted, [1] * len(added) + [0] * len(deleted)
        return self._changes[effect]

    def unpack(self, state: State) -> Bits:
        """Return the atoms of a state as 0 and 1."""
        packed = np.frombuffer(state.to_bytes(self._bytes, "little"), dtype=np.uint8)
        return np.unpackbits(packed, count=self._width, bitorder="little")

    def holding(self, required: int, forbidden: int = 0, rows: Integers | None = None) -> Mask:
        """Return, for each row, whether it has all the one bits and none of the others.

        For all rows, or for some.
        """
        number = len(self) if rows is None else len(rows)
        held: Mask = np.ones(number, dtype=bool)
        if required:
            held &= self._part(required, rows).all(axis=1)
        if forbidden:
            held &= ~self._part(forbidden, rows).any(axis=1)
        return held

    def holding_any(self, goals: Goals, rows: Integers | None = None) -> Mask:
        """Return, for each goal and row, whether one of the conjunctions holds."""
        # No product of matrices: its threads cost more than they save.
        own = self.bits if rows is None else self.bits[rows]
        bits = np.zeros((self._width + 1, len(own)), dtype=np.uint8)
        bits[:-1] = own.T
        held: Mask = np.ones((goals.atoms.shape[1], len(own)), dtype=bool)
        for atoms, values in zip(goals.atoms, goals.values, strict=True):
            held &= bits[atoms] == values[:, None]
        return np.logical_or.reduceat(held, goals.begins) if len(goals.begins) else held

    def _part(self, mask: int, rows: Integers | None) -> Bits:
        columns = self._columns(mask)
        return self.bits[:, columns] if rows is None else self.bits[rows[:, None], columns]

    def _columns(self, mask: int) -> list[int]:
        return [i for i in range(mask.bit_length()) if mask >> i & 1]

    def rows(self, states: Iterable[State]) -> list[int]:
        """Return the rows of some states, appended if they are new."""
        return [self.add(state) for state in states]
