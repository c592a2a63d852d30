"""What the first screen says of a family of requests: what was achieved, and what was declined.

Only executions count that began where their request did not hold. A request that was achieved at
least once has its place in a row of its family. One that never was is declined, in whatever way,
unless executions of it ended with a change that may be a step on the way: it may hold later.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from capscope.insight.agent_failures import FAILURES
from capscope.journal.draws import ENDINGS
from capscope.logic import Atom, Intent, Phrasing, Vocabulary
from capscope.logic.footprint import Footprint
from capscope.model.families import family_key
from capscope.problem.attempt import Ending
from capscope.stats.rate import Rate
from capscope.wording import counted, share

if TYPE_CHECKING:
    from capscope.insight.run_facts import RunFacts

_MOST_NAMED = 3
_LONGEST_NAMES = 24
_LONGEST_ALL = 12
"""Longer names of all objects of a type are replaced by its name."""
_MOST_WAYS = 2
_STEP = "took another step"
_TWO_ARTICLES = re.compile(r"\bthe (?=(?:the|any|another|some) |itself\b)")


@dataclass(frozen=True)
class Span:
    """The rates of several requests: the lowest, the highest, and the lowest bound of them all."""

    lowest: float
    highest: float
    bound: float
    executions: int

    @classmethod
    def of(cls, rates: Iterable[Rate | None]) -> Span | None:
        """Return the span of the rates that are known; None if there are none."""
        known = [(rate, rate.estimate) for rate in rates if rate and rate.estimate is not None]
        if not known:
            return None
        estimates = [estimate for _, estimate in known]
        bound = min(rate.low for rate, _ in known)
        executions = sum(rate.executions for rate, _ in known)
        return cls(min(estimates), max(estimates), bound, executions)

    @property
    def text(self) -> str:
        """The span in percent, with its bound, which is rounded down.

        >>> Span(0.5, 1.0, 0.25, 9).text, Span(1.0, 1.0, 0.749, 9).text
        ('50 to 100 (≥ 25)', '100 (≥ 74)')
        """
        ends = [share(end).removesuffix(" %") for end in (self.lowest, self.highest)]
        return f"{' to '.join(dict.fromkeys(ends))} (≥ {math.floor(100 * self.bound)})"


@dataclass(frozen=True)
class Asked:
    """How the executions of one request ended that began where it did not hold."""

    executions: int
    hits: int
    misses: Counter[str]
    """What the agent did instead, by how often."""


@dataclass(frozen=True)
class FamilyRow:
    """A family of which something was achieved."""

    words: str
    """The requests that were asked for, in one expression."""
    achieved: tuple[Intent, ...]
    """Those that were achieved at least once."""
    asked: int
    """The number of all that were asked for."""
    from_start: Span | None
    """Right after a reset; None if they were never asked for there."""
    anywhere: Span | None
    """The mean over the states in which they were asked for."""
    in_the_end: Span | None
    """The same if they are asked for until they hold; None if executions last long enough."""
    otherwise: str
    """What the agent does if it does not achieve them; empty if it always does."""
    executions: int
    also: str = ""
    """What else they change, and instead, the most harmful first."""

    @property
    def besides(self) -> str:
        """What else the agent does."""
        otherwise = f"or {self.otherwise}" if self.otherwise else ""
        return "; ".join(filter(None, (self.also, otherwise)))

    @property
    def title(self) -> str:
        """The requests, and how many of them were achieved unless all were."""
        achieved = len(self.achieved)
        return self.words + (f"  ({achieved:,} of {self.asked:,})" if achieved < self.asked else "")


@dataclass(frozen=True)
class Declined:
    """Requests that were asked for and never held afterwards."""

    words: str
    intents: tuple[Intent, ...]
    executions: int
    how: str
    """What the agent did instead."""


def asked_for(run: RunFacts) -> dict[Intent, Asked]:
    """Return for each capability how its executions ended, where it did not hold before."""
    table, words = run.executions.complete, run.graph.vocabulary
    seen, states = table.distinct, table.states
    tests = [intent.test(words) for intent in run.capabilities]
    ends = zip(seen.before.tolist(), seen.capability.tolist(), seen.after.tolist(), strict=True)
    held = np.array([(tests[c](states[s]), tests[c](states[t])) for s, c, t in ends], dtype=bool)
    before, after = (held.reshape(-1, 2)[table.transition, side] for side in (0, 1))
    asked = {}
    for capability, intent in enumerate(run.capabilities):
        own = np.flatnonzero((table.capability == capability) & ~before)
        hits = int(after[own].sum())
        missed = own[~after[own]]
        kinds = zip(
            table.ending[missed].tolist(),
            (table.before[missed] != table.after[missed]).tolist(),
            (table.changes[missed] > 0).tolist(),
            strict=True,
        )
        ways = Counter(
            ending_text(ENDINGS[ending], differs, moved, run.identity.horizon)
            for ending, differs, moved in kinds
        )
        asked[intent] = Asked(len(own), hits, ways)
    return asked


def ending_text(ending: Ending, differs: bool, moved: bool, horizon: int) -> str:
    """Say what the agent did in an execution that did not achieve its request.

    Args:
        ending: Why it ended.
        differs: Whether the state at the end is another one.
        moved: Whether the state changed at any time.
        horizon: The largest number of simulator steps.
    """
    if ending in FAILURES:
        return FAILURES[ending]
    if ending is Ending.HORIZON:
        return f"ran out of time ({counted(horizon, 'step')})"
    if ending is Ending.WORLD_ENDED:
        return "ended the world"
    if ending is Ending.CHANGED:
        return _STEP
    return "did something else" if differs else "gave up" if moved else "did nothing"


def family_rows(
    run: RunFacts, asked: Mapping[Intent, Asked]
) -> tuple[list[FamilyRow], list[Declined], list[Intent]]:
    """Return what was achieved, the best known first, what was declined, and what was neither."""
    rows: list[FamilyRow] = []
    declined: list[Declined] = []
    begun: list[Intent] = []
    for members in families_of(run.capabilities, run.graph.vocabulary):
        tried = [intent for intent in members if asked[intent].executions]
        achieved = [intent for intent in tried if asked[intent].hits]
        if achieved:
            rows.append(_row(run, tried, achieved, asked))
        never = [intent for intent in tried if not asked[intent].hits]
        begun += [intent for intent in never if _STEP in asked[intent].misses]
        declined += _declined(run, [intent for intent in never if intent not in begun], asked)
    rows.sort(key=lambda row: (-_bound(row.from_start), -_bound(row.anywhere), -row.executions))
    return rows, sorted(declined, key=lambda one: -one.executions), begun


def families_of(intents: Iterable[Intent], vocabulary: Vocabulary) -> list[list[Intent]]:
    """Group requests that differ in their objects only, and not in the types of these."""
    families: defaultdict[object, list[Intent]] = defaultdict(list)
    for intent in intents:
        types = tuple(vocabulary.objects[name] for name in intent.objects)
        families[family_key(intent), types].append(intent)
    return list(families.values())


def _bound(span: Span | None) -> float:
    return -1.0 if span is None else round(span.bound, 2)


def _row(
    run: RunFacts,
    tried: Sequence[Intent],
    achieved: Sequence[Intent],
    asked: Mapping[Intent, Asked],
) -> FamilyRow:
    rates = [run.rates[intent] for intent in achieved]
    misses = sum((asked[intent].misses for intent in achieved), Counter[str]())
    repeated = run.identity.temporal_length is not None
    if repeated:
        misses.pop(_STEP, None)  # it may be one on the way
    return FamilyRow(
        expression(tried, run.graph.vocabulary),
        tuple(achieved),
        len(tried),
        Span.of(run.success.get(intent) for intent in achieved),
        Span.of(rate.at_once for rate in rates),
        Span.of(rate.gets_there for rate in rates) if repeated else None,
        ways_text(misses),
        sum(asked[intent].executions for intent in tried),
    )


def ways_text(misses: Counter[str]) -> str:
    """Say what the agent did instead, the most frequent first.

    >>> ways_text(Counter({"gave up": 1, "did nothing": 30}))
    'did nothing (30), gave up (1)'
    """
    most = misses.most_common(_MOST_WAYS)
    return ", ".join(f"{way} ({number:,})" for way, number in most)


def _declined(
    run: RunFacts, never: Sequence[Intent], asked: Mapping[Intent, Asked]
) -> Iterator[Declined]:
    """Name declined requests of a family in one expression; a few only if it means no others."""
    many = len(never) > _MOST_NAMED or combinations(never) == len(never)
    for intents in [never] if many else [[intent] for intent in never]:
        if intents:
            misses = sum((asked[intent].misses for intent in intents), Counter[str]())
            words = families_text(intents, run.graph.vocabulary)
            yield Declined(words, tuple(intents), misses.total(), ways_text(misses))


def combinations(intents: Sequence[Intent]) -> int:
    """Return how many requests of a family have objects that these have in the same roles."""
    columns = [set(names) for names in zip(*(i.objects for i in intents), strict=True)]
    number = 1
    for place, names in enumerate(columns):
        before = sum(names == other for other in columns[:place])
        number *= max(len(names) - before, 1)
    return number


def families_text(intents: Iterable[Intent], vocabulary: Vocabulary) -> str:
    """Name requests by their families, each with their number if it has others as well."""
    named = []
    for own in families_of(intents, vocabulary):
        every = combinations(own)
        some = f" ({len(own):,} of {every:,})" if len(own) < every else ""
        named.append(f"{expression(own, vocabulary)}{some}")
    return "; ".join(named)


def expression(intents: Sequence[Intent], vocabulary: Vocabulary) -> str:
    """Name requests of a family in one expression, in words as far as there are any."""
    first = intents[0]
    columns = zip(*(intent.objects for intent in intents), strict=True)
    told: list[frozenset[str]] = []
    roles: dict[str, str] = {}
    for name, names in zip(first.objects, columns, strict=True):
        roles[name] = _role(frozenset(names), told, vocabulary)
        told.append(frozenset(names))
    named = str(first.renamed(lambda atom: _named(atom, roles)))
    return phrased(named, vocabulary)


def by_type(intent: Intent, vocabulary: Vocabulary) -> dict[str, str]:
    """Return for each variable of a request what it is called: by its type, if that is one."""
    variables = Footprint(intent, vocabulary).variables
    kinds = [vocabulary.objects[name] for name in variables]
    return {
        variable: f"the {kind}" if kinds.count(kind) == 1 else f"the {kind} {variable}"
        for variable, kind in zip(variables.values(), kinds, strict=True)
    }


def phrased(named: str, vocabulary: Vocabulary, names: Mapping[str, str] | None = None) -> str:
    """Say literals in words; a phrase may have an article before an object that has one too.

    >>> from capscope.logic import Predicate
    >>> words = Vocabulary([Predicate("on", ("block",), "it is on the {0}")], {"a": "block"})
    >>> phrased("on(another block)", words)
    'it is on another block'
    """
    return without_two_articles(Phrasing.of(vocabulary).literal(named, names))


def without_two_articles(said: str) -> str:
    """Leave out the first of two articles.

    >>> without_two_articles("it is in the another folder")
    'it is in another folder'
    """
    return _TWO_ARTICLES.sub("", said)


def _named(atom: Atom, roles: Mapping[str, str]) -> Atom:
    """Replace objects by what they are called; an object that comes again is "itself"."""
    names = [
        "itself" if name in atom.arguments[:number] else roles.get(name, name)
        for number, name in enumerate(atom.arguments)
    ]
    return Atom(atom.predicate, tuple(names))


def _role(names: frozenset[str], told: Sequence[frozenset[str]], vocabulary: Vocabulary) -> str:
    """Name the objects of a role: each of a few, or their type."""
    kinds = {vocabulary.objects[name] for name in names}
    kind = kinds.pop() if len(kinds) == 1 else "object"
    if names in told and len(names) > 1:
        return f"another {kind}"
    ordered = [name for name in vocabulary.objects if name in names]
    listed = "/".join(ordered)
    exact = sum(own == kind for own in vocabulary.objects.values())
    every = len(vocabulary.objects_of(kind)) or exact  # a combined type has no name of its own
    longest = _LONGEST_ALL if every == len(names) else _LONGEST_NAMES
    if len(ordered) == 1 or (len(ordered) <= _MOST_NAMED and len(listed) <= longest):
        return listed
    return f"any {kind}" if every == len(names) else f"{len(names)} of {counted(every, kind)}"
