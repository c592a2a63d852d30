"""Questions about one form of request, and the evidence of executions about each.

Requests that differ only in objects are one *form*. What may happen in an execution is an *event*:
the request is not achieved; the outcome is one that the baseline's model held impossible; or a form
of change beyond the request. Executions of the new agent are evidence in two ways:

- Those as *in use* are drawn exactly as the audit of the baseline drew its own. For each event of
  each form, both are compared as they are. Weights divide an error rate among all events that could
  be asked about, whether or not anything of the kind was ever seen.
- A *trial* asks about an event under a condition of up to two literals over the variables of the
  form, chosen by what was seen before. It counts only executions made for it: pairs of a state and
  a request drawn evenly from those that the baseline executed under the condition. Trial j may
  spend 6 / (π j)² of an error rate of its own.

To find candidates in states that are rare in use, pairs that the baseline executed are *screened*,
with equal weights; such executions are no evidence.

Either way both sides meet the same mixture of states (`betting.evidence_of_change`): an error of
the baseline's model happens to both, and cannot count against the new agent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from capscope.journal.execution_table import Transition
from capscope.logic import Atom, Effect, State, Vocabulary
from capscope.logic.footprint import RequestForm
from capscope.logic.vocabulary import Literal
from capscope.stats.arrays import Floats, Integers, Mask
from capscope.stats.betting import Counts, evidence_of_change

ERROR_IN_USE, ERROR_TRIALS = 0.005, 0.0125
"""How often executions as in use, or trials, show a difference although there is none."""
_FAILURE, _IMPOSSIBLE, _KNOWN, _NEW = 0.25, 0.35, 0.15, 0.25
"""The weight of a request that is not achieved, of what was held impossible, of changes that the
baseline made, and of others."""
_MOST_LITERALS = 60
_REFINED = 3  # literals to which a second one is looked for
_AHEAD = 30
"""Executions for which the evidence is predicted, to choose the condition of a trial."""
_LITERAL = 0.5
"""The log score that a literal must be predicted to add to be part of it."""
_SUSPICION = 1.5
"""The log score that a literal costs in a suspicion."""
_EXPLAINED = 0.8

When = tuple[int, ...]
"""The numbers of the literals of a condition; empty: anywhere."""


class Happening(NamedTuple):
    """What may happen in an execution."""

    name: str
    change: Literal | None = None
    """A form of change beyond the request."""


FAILURE, IMPOSSIBLE = Happening("failure"), Happening("impossible")
"""The request does not hold at the end; the baseline's model held the outcome impossible."""


_SHARES = {FAILURE: _FAILURE, IMPOSSIBLE: _IMPOSSIBLE}


@dataclass(frozen=True, slots=True)
class Aim:
    """The trial that an execution was made for."""

    form: str
    event: Happening
    when: When
    number: int
    """Of all trials, from 1."""


SCREENED = Aim("", FAILURE, (), 0)
"""What an execution was made for that is no evidence."""


class Row(NamedTuple):
    """An execution of the new agent."""

    transition: Transition
    aim: Aim | None
    """None: as in use."""
    held: tuple[bool, ...]
    """Which literals held before it."""


class Counted(NamedTuple):
    """Executions that began and ended alike."""

    transition: Transition
    did: bool
    """Whether the event happened."""
    times: int
    new: bool
    """Whether the new agent made them."""


@dataclass(frozen=True)
class EventEvidence:
    """A question, its evidence, and the counts behind it."""

    form: str
    event: Happening
    when: When
    score: float
    """The logarithm of the weighted e-value, beyond the threshold."""
    before: tuple[int, int]
    """Hits and executions of the baseline."""
    after: tuple[int, int]
    """Those of the new agent."""

    @property
    def more(self) -> bool:
        """Whether the event became more frequent."""
        (hits, draws), (others, all_others) = self.before, self.after
        return others * draws > hits * all_others


class FormEvidence:
    """All questions about one form of request."""

    def __init__(
        self,
        requests: Mapping[int, RequestForm],
        baseline: Mapping[Transition, tuple[int, int]],
        vocabulary: Vocabulary,
        weight: float,
        foresees: Callable[[Transition], bool],
    ) -> None:
        """Begin with the executions of the baseline.

        Args:
            requests: The requests of the form, by number of the capability.
            baseline: How often each transition was made before the audit, and in it.
            vocabulary: The vocabulary of the states.
            weight: The part of the error rate that is for this form.
            foresees: Whether the baseline's model held an outcome possible.
        """
        self.requests, self._weight, self._foresees = requests, weight, foresees
        self.text = next(iter(requests.values())).text
        self._rows = list(baseline)
        counts = np.array(list(baseline.values()), dtype=np.int64).reshape(-1, 2)
        self._times, self._audited = counts.sum(axis=1), counts[:, 1]
        self._masks = {c: _masks(one, vocabulary) for c, one in requests.items()}
        self.literals: list[tuple[Atom, bool]] = []
        self._held = self._choose_literals()
        """For each execution of the baseline, which literals held before it."""
        self._made: dict[Happening, tuple[Mask, Mask]] = {}
        self._beyond: dict[Transition, frozenset[Happening]] = {}
        self.seen: list[Row] = []
        self._repeatable: set[State] | None = None
        shapes = set().union(*(one.shapes for one in requests.values()))
        self._possible = max(2 * len(shapes), 1)
        self._known = self._events_of(self._rows)

    def _choose_literals(self) -> Mask:
        """Take the literals that vary over the baseline's executions; of equals, the first."""
        variables = set(next(iter(self.requests.values())).objects)
        every = set().union(*self._masks.values())
        scope = {atom: _scope(atom, variables) for atom in every}
        known: set[bytes] = set()
        held: list[Mask] = []
        for name in sorted(every, key=lambda a: (scope[a], len(a.arguments), str(a))):
            masks = {c: own.get(name, 0) for c, own in self._masks.items()}
            column = np.array([bool(t.before & masks[t.capability]) for t in self._rows])
            key = min(column.tobytes(), (~column).tobytes())
            if not column.any() or column.all() or key in known:
                continue
            known.add(key)
            self.literals += [(name, True), (name, False)]
            held += [column, ~column]
            if len(held) >= _MOST_LITERALS:
                break
        return np.array(held, dtype=bool).reshape(-1, len(self._rows)).T

    def _events_of(self, rows: Iterable[Transition]) -> list[Happening]:
        changes = sorted({one for row in rows for one in self._changes(row)})
        return [FAILURE, IMPOSSIBLE, *changes]

    def _changes(self, row: Transition) -> frozenset[Happening]:
        """Return the forms of changes beyond the request that an execution made."""
        if row not in self._beyond:
            made = self.requests[row.capability].beyond(Effect.between(row.before, row.after))
            self._beyond[row] = frozenset(Happening(str(one), one) for one in made)
        return self._beyond[row]

    def add(self, transition: Transition, aim: Aim | None) -> None:
        """Take in an execution of the new agent."""
        masks = self._masks[transition.capability]
        held = (
            bool(transition.before & masks.get(name, 0)) == sign for name, sign in self.literals
        )
        self.seen.append(Row(transition, aim, tuple(held)))

    @property
    def events(self) -> list[Happening]:
        """The events that either side showed."""
        new = self._events_of(row.transition for row in self.seen)
        return list(dict.fromkeys([*self._known, *new]))

    def outcome(self, event: Happening, transition: Transition) -> tuple[bool, bool]:
        """Return whether an event could happen in an execution, and whether it did."""
        before, capability, after = transition
        request = self.requests[capability]
        if event.change is not None:
            possible = request.may_change(event.change, before)
            return possible, possible and event in self._changes(transition)
        if event == FAILURE:
            return not request.holds(before), not request.holds(after)
        return True, not self._foresees(transition)

    def _baseline(self, event: Happening) -> tuple[Mask, Mask]:
        if event not in self._made:
            told = [self.outcome(event, row) for row in self._rows]
            flags = np.array(told, dtype=bool).reshape(-1, 2)
            self._made[event] = flags[:, 0], flags[:, 0] & flags[:, 1]
        return self._made[event]

    def _tried(self, event: Happening, rows: Sequence[Row]) -> tuple[Mask, Mask]:
        """Return in which executions of the new agent an event could happen, and did."""
        told = [self.outcome(event, row.transition) for row in rows]
        flags = np.array(told, dtype=bool).reshape(-1, 2)
        return flags[:, 0], flags[:, 0] & flags[:, 1]

    def in_use(self, event: Happening) -> EventEvidence | None:
        """Return what executions as in use tell of an event; None if there is nothing to tell."""
        could, did = self._baseline(event)
        before = int(did @ self._audited), int(could @ self._audited)
        possible, made = self._tried(event, [row for row in self.seen if row.aim is None])
        after = int(made.sum()), int(possible.sum())
        if not before[1] or not after[1]:
            return None
        score = _score(before, after) + math.log(self._weight * self._weight_of(event))
        return EventEvidence(self.text, event, (), score + math.log(ERROR_IN_USE), before, after)

    def trial(self, aim: Aim) -> EventEvidence:
        """Return what the executions of a trial tell."""
        could, did = self._baseline(aim.event)
        times = self._times_of(aim.event) * could * _all(self._held, aim.when)
        before = int(did @ times), int(times.sum())
        own = [row for row in self.seen if row.aim == aim]
        possible, made = self._tried(aim.event, own)
        after = int(made.sum()), int(possible.sum())
        spent = ERROR_TRIALS * 6 / (math.pi * aim.number) ** 2
        score = _score(before, after) + math.log(spent)
        return EventEvidence(self.text, aim.event, aim.when, score, before, after)

    def promise(self, aim: Aim) -> float:
        """Predict the log score of a trial after some more executions."""
        found = self.trial(aim)
        *_, own, all_own = self._all_counts(aim.event, aim.when)
        *_, usual, all_usual = self._all_counts(aim.event)
        rate = (own[-1] + 2 * (usual[-1] + 0.5) / (all_usual[-1] + 1)) / (all_own[-1] + 2)
        hits, draws = found.after
        ahead = _score(found.before, (hits + round(_AHEAD * rate), draws + _AHEAD))
        return found.score - _score(found.before, found.after) + ahead

    def overall(self, event: Happening) -> EventEvidence:
        """Return how often an event happened in all executions."""
        hits, draws, own, all_own = (int(one[-1]) for one in self._all_counts(event))
        return EventEvidence(self.text, event, (), 0.0, (hits, draws), (own, all_own))

    def _times_of(self, event: Happening) -> Integers:
        """Return how often the baseline made each transition, as far as it tells of an event.

        What its model was fitted to it foresees; there only the audit counts.
        """
        every: Integers = self._times
        if event != IMPOSSIBLE:
            return every
        usable: Integers = np.minimum(self._audited, every)
        return usable

    def of_baseline(self, event: Happening) -> tuple[int, int]:
        """Return how often the baseline showed an event, and could have."""
        could, did = self._baseline(event)
        return int(did @ self._times), int(could @ self._times)

    def _weight_of(self, event: Happening) -> float:
        if event in _SHARES:
            return _SHARES[event]
        known = sum(one not in _SHARES for one in self._known)
        return _KNOWN / known if event in self._known else _NEW / self._possible

    def _all_counts(self, event: Happening, within: When = ()) -> Counts:
        """Count all executions under each literal, beside some others; the last one: no literal."""
        could, did = self._baseline(event)
        times = self._times_of(event)
        inside = np.column_stack([self._held, np.ones(len(self._rows), dtype=bool)])
        inside &= _all(self._held, within)[:, None]
        rows = np.array([(*row.held, True) for row in self.seen], dtype=bool)
        rows = rows.reshape(len(self.seen), inside.shape[1])
        rows &= _all(rows, within)[:, None]
        possible, made = self._tried(event, self.seen)
        counted = rows.astype(np.int64)
        after = made @ counted, possible @ counted
        return (did * times) @ inside, (could * times) @ inside, *after

    def suspicion(self, event: Happening) -> float:
        """Return a score of all executions together, to choose what to ask."""
        counts = self._all_counts(event)
        hits, draws, own, all_own = (int(one[-1]) for one in counts)
        if (hits == own == 0) or (hits, own) == (draws, all_own):
            return -math.inf
        evidence = evidence_of_change(counts)
        return float(max(evidence[-1], evidence.max() - _SUSPICION))

    def condition(self, event: Happening) -> When:
        """Return the condition under which more executions are expected to tell most."""
        best, rest = self._plan(event, ())
        firsts = np.argsort(-best)[:_REFINED].tolist()
        found: tuple[float, When] = (rest, ())
        for first in firsts:
            found = max(found, (float(best[first]) - _LITERAL, (first,)))
            pairs, _ = self._plan(event, (first,))
            second = int(np.argmax(pairs))
            if second // 2 != first // 2:
                both = min(first, second), max(first, second)
                found = max(found, (float(pairs[second]) - 2 * _LITERAL, both))
        return found[1]

    def _plan(self, event: Happening, within: When) -> tuple[Floats, float]:
        """Predict the evidence of a trial under each literal beside some others, and without."""
        hits, draws, own, all_own = self._all_counts(event, within)
        usual = (own[-1] + 0.5) / (all_own[-1] + 1)
        rate = (own + 2 * usual) / (all_own + 2)
        more = np.rint(_AHEAD * rate).astype(np.int64)
        told = evidence_of_change((hits, draws, more, np.full_like(more, _AHEAD)))
        told[draws == 0] = -np.inf
        return told[:-1], float(told[-1])

    def pairs(self) -> list[tuple[State, int]]:
        """Return the pairs of a state and a request that the baseline executed."""
        usable = zip(self._rows, self._times.tolist(), strict=True)
        return list(dict.fromkeys((row.before, row.capability) for row, n in usable if n))

    def places(self, aim: Aim) -> tuple[list[Transition], Floats]:
        """Return the baseline's executions that a trial may repeat, and how often each was made."""
        could, _ = self._baseline(aim.event)
        times = self._times_of(aim.event) * could * _all(self._held, aim.when)
        kept = np.flatnonzero(times)
        return [self._rows[i] for i in kept], times[kept].astype(float)

    def may_repeat(self, known: Set[State]) -> None:
        """Fix which executions of the baseline trials may repeat: those in states that are known.

        Trials compare both sides in these states only.
        """
        if self._repeatable is None:
            self._repeatable = {row.before for row in self._rows} & known
            kept = [row.before in known for row in self._rows]
            self._times = self._times * np.array(kept, dtype=np.int64)

    def distinct(self, changes: Iterable[EventEvidence]) -> list[EventEvidence]:
        """Leave out changes in executions that nearly all differ by a more specific one, too.

        A new change beyond the request says more than that it was not achieved, and this says more
        than that a change is gone.
        """
        found: list[EventEvidence] = []
        told: set[int] = set()
        for change in sorted(changes, key=_specific):
            own = self.differing(change)
            if len(own & told) < _EXPLAINED * len(own):
                found.append(change)
                told |= own
        return found

    def executions(self, event: Happening) -> list[Counted]:
        """Return the executions of either side in which an event could happen."""
        could, did = self._baseline(event)
        sides = zip(self._rows, could, did, self._times.tolist(), strict=True)
        found = [Counted(row, bool(hit), n, new=False) for row, own, hit, n in sides if own and n]
        for row, n in Counter(row.transition for row in self.seen).items():
            possible, hit = self.outcome(event, row)
            found += [Counted(row, bool(hit), n, new=True)] * possible
        return found

    def change_of(self, change: Literal, row: Transition) -> Effect:
        """Return what an execution changed in a form."""
        effect = Effect.between(row.before, row.after)
        return self.requests[row.capability].beyond(effect).get(change, Effect(0, 0))

    def differing(self, change: EventEvidence) -> set[int]:
        """Return which executions of the new agent did what became more frequent, or did not."""
        told = [self.outcome(change.event, row.transition) for row in self.seen]
        return {i for i, (could, did) in enumerate(told) if could and did is change.more}


def _all(held: Mask, when: When) -> Mask:
    """Return in which executions a condition held."""
    flags: Mask = np.all(held[:, list(when)], axis=1)
    return flags


def _score(before: tuple[int, int], after: tuple[int, int]) -> float:
    counts = tuple(np.array([n], dtype=np.int64) for n in (*before, *after))
    return float(evidence_of_change(counts)[0])  # type: ignore[arg-type]


def _specific(change: EventEvidence) -> tuple[int, float]:
    """Rank changes: what is new, what fails, then what is gone; of each the clearest first."""
    kinds = {FAILURE: 1, IMPOSSIBLE: 2}
    kind = kinds.get(change.event, 0 if change.more else 3)
    return kind, -change.score


def _masks(request: RequestForm, vocabulary: Vocabulary) -> dict[Atom, State]:
    """Return what may hold, seen from a request: atoms over its variables, others or constants."""
    found: dict[Atom, State] = {}
    for atom, bit in vocabulary.bit.items():
        for seen in {request.lifted(atom), request.with_variables(atom)}:
            found[seen] = found.get(seen, 0) | bit
    for variable, name in request.objects.items():
        found[Atom("=", (variable, name))] = -1
    return found


def _scope(atom: Atom, variables: set[str]) -> int:
    """Return 0 for a literal about a request's objects or none, 1 for others too, 2 for others."""
    if atom.predicate == "=" or variables.issuperset(atom.arguments):
        return 0
    return 2 if variables.isdisjoint(atom.arguments) else 1
