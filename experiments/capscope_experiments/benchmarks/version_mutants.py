"""Compare new versions of three agents with the old one: 30 that differ, and the same again.

A mutant does something else than its baseline for one kind of request, at a rate from 0.1 to 1,
with or without a condition. It is found if the comparison says "changed" within 200 executions,
named if a difference has the right request, and its condition is right if the difference has it.

    python -m capscope_experiments.benchmarks.version_mutants [SEEDS] [UNCHANGED]
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from capscope import Budget, Intent, Limits, Predicate, Problem, Run, Vocabulary, assess
from capscope.insight.compare import ComparisonVerdict, VersionComparison
from capscope.logic import Literal
from capscope.problem import FunctionAbstraction, FunctionAgent, FunctionWorld

Facts = tuple[str, ...]
Action = tuple[Facts, Facts]
"""What a tool makes true and false."""
Choose = Callable[[Facts, str, bool], Action | None]
"""Chooses for an atom and a sign."""


@dataclass(frozen=True)
class Domain:
    """A world whose tools change facts, and an agent that calls them."""

    name: str
    vocabulary: Vocabulary
    first: Facts
    choose: Choose
    actions: tuple[Action, ...]


@dataclass(frozen=True)
class Mutant:
    """A version that differs from its baseline."""

    domain: str
    name: str
    request: str
    """Begins the form of the requests that differ: `in(`, `not paid(`."""
    when: str
    """The literal that is the condition; empty: none."""
    rate: float
    spoil: Callable[[Action, str], Action | None]
    """Returns what the new version does instead."""


def call(facts: Facts, action: Action) -> Facts:
    """Step the world."""
    adds, deletes = action
    return tuple(sorted({*facts, *adds} - set(deletes)))


def version(domain: Domain, mutant: Mutant | None = None) -> Problem:
    """Make the problem of a version.

    Args:
        domain: The world, and the agent of the baseline.
        mutant: How the version differs; not at all unless given.
    """

    def act(facts: Facts, intent: Intent, rng: random.Random) -> Action | None:
        literal = intent.literals[0]
        atom, positive = str(literal.atom).removesuffix("()"), literal.positive
        if (atom in facts) == positive:
            return None
        action = domain.choose(facts, atom, positive)
        if action is None or mutant is None or not _applies(mutant, facts, literal):
            return action
        return mutant.spoil(action, atom) if rng.random() < mutant.rate else action

    return Problem(
        domain.name,
        FunctionWorld(domain.first, call, actions=_tools(domain)),
        FunctionAgent(act),
        FunctionAbstraction(domain.vocabulary, list),
        Limits(horizon=3),
    )


def _tools(domain: Domain) -> list[Action]:
    """List what can be called in the world: also what any mutant would call."""
    tools = dict.fromkeys(domain.actions)
    for mutant in MUTANTS:
        if mutant.domain == domain.name:
            for adds, deletes in domain.actions:
                atom = (adds or deletes)[0]
                if f"{'' if adds else 'not '}{atom}".startswith(mutant.request):
                    tools.setdefault(mutant.spoil((adds, deletes), atom) or (adds, deletes))
    return list(tools)


def _applies(mutant: Mutant, facts: Facts, literal: Literal) -> bool:
    """Return whether a version may differ for a request: `x` is its first object."""
    if not str(literal).startswith(mutant.request):
        return False
    arguments = literal.atom.arguments
    x, y = (*arguments, "", "")[:2]
    wanted = mutant.when.removeprefix("not ")
    if wanted.startswith(("x = ", "y = ")):
        return (x if wanted[0] == "x" else y) == wanted[4:]
    ground = wanted.replace("(x)", f"({x})").removesuffix("()")
    return not wanted or (ground in facts) != mutant.when.startswith("not ")


def _flip(facts: Facts, atom: str, positive: bool) -> Action:
    """Make one atom true or false."""
    return ((atom,), ()) if positive else ((), (atom,))


def _move(predicate: str, places: Facts, facts: Facts, atom: str, positive: bool) -> Action:
    """Move something to a place, or to the next place if it is to be elsewhere."""
    if not atom.startswith(predicate):
        return _flip(facts, atom, positive)
    thing, place = atom[len(predicate) + 1 : -1].split(",")
    if not positive:
        place = places[(places.index(place) + 1) % len(places)]
    return (f"{predicate}({thing},{place})",), tuple(
        f"{predicate}({thing},{other})" for other in places if other != place
    )


def _domain(
    name: str, moved: str, things: Facts, places: Facts, marks: Facts, modes: Facts
) -> Domain:
    kinds = {**dict.fromkeys(things, "thing"), **dict.fromkeys(places, "place")}
    predicates = [
        Predicate(moved, ("thing", "place")),
        *(Predicate(mark, ("thing",)) for mark in marks),
        *(Predicate(mode, ()) for mode in modes),
    ]
    atoms = [*(f"{mark}({thing})" for mark in marks for thing in things), *modes]
    moves = [_move(moved, places, (), f"{moved}({t},{p})", True) for t in things for p in places]
    flips = [_flip((), atom, sign) for atom in atoms for sign in (True, False)]
    first = tuple(f"{moved}({thing},{places[0]})" for thing in things)
    choose = partial(_move, moved, places)
    return Domain(name, Vocabulary(predicates, kinds), first, choose, (*moves, *flips))


DOMAINS = {
    one.name: one
    for one in (
        _domain(
            "mail", "in", ("lunch", "offer"), ("inbox", "archive"), ("read", "starred"), ("night",)
        ),
        _domain("depot", "at", ("box", "crate"), ("dock", "shelf", "van"), ("broken",), ("rain",)),
        _domain(
            "desk", "booked", ("ann", "bob"), ("one", "two"), ("paid", "vip"), ("busy", "late")
        ),
    )
}


def _ignore(action: Action, atom: str) -> Action | None:
    return None


_OTHERS = {"lunch": "offer", "box": "crate", "ann": "bob"}
_OTHERS |= {other: one for one, other in _OTHERS.items()}


def _also(*changes: str) -> Callable[[Action, str], Action]:
    """EventEvidence more: `x` is the first object of the request, `o` the other thing."""

    def spoil(action: Action, atom: str) -> Action:
        adds, deletes = list(action[0]), list(action[1])
        x = atom.partition("(")[2].rstrip(")").partition(",")[0]
        for change in changes:
            ground = change.removeprefix("not ").replace("(x)", f"({x})")
            ground = ground.replace("(o)", f"({_OTHERS.get(x, '')})")
            (deletes if change.startswith("not ") else adds).append(ground)
        return tuple(adds), tuple(deletes)

    return spoil


def _other(action: Action, atom: str) -> Action:
    """Do it to the other thing."""

    def swap(facts: Facts) -> Facts:
        return tuple(re.sub(r"\w+", lambda word: _OTHERS.get(word[0], word[0]), f) for f in facts)

    return swap(action[0]), swap(action[1])


MUTANTS = (
    Mutant("mail", "stars what it moves", "in(", "", 0.2, _also("starred(x)")),
    Mutant("mail", "stars what it moves at night", "in(", "night()", 1.0, _also("starred(x)")),
    Mutant("mail", "ignores moves at night", "in(", "night()", 1.0, _ignore),
    Mutant("mail", "ignores moves of read mail", "in(", "read(x)", 0.5, _ignore),
    Mutant("mail", "moves the other mail", "in(", "", 0.3, _other),
    Mutant("mail", "ignores reading", "read(", "", 0.3, _ignore),
    Mutant("mail", "reads the other mail", "read(", "x = lunch", 0.6, _other),
    Mutant("mail", "marks the other mail as read", "starred(", "", 0.1, _also("read(o)")),
    Mutant("mail", "no longer stars the offer", "starred(", "x = offer", 1.0, _ignore),
    Mutant("mail", "does not mark as unread", "not read(", "", 0.4, _ignore),
    Mutant("depot", "breaks what it moves", "at(", "", 0.1, _also("broken(x)")),
    Mutant("depot", "breaks what it moves in rain", "at(", "rain()", 0.5, _also("broken(x)")),
    Mutant("depot", "breaks the other thing", "at(", "", 0.2, _also("broken(o)")),
    Mutant("depot", "moves the other thing", "at(", "rain()", 0.6, _other),
    Mutant("depot", "does not move in rain", "at(", "rain()", 1.0, _ignore),
    Mutant("depot", "does not move what is broken", "at(", "broken(x)", 1.0, _ignore),
    Mutant("depot", "does not load the van", "at(", "y = van", 1.0, _ignore),
    Mutant("depot", "makes rain", "broken(", "", 0.3, _also("rain")),
    Mutant("depot", "ignores repairs", "not broken(", "", 0.5, _ignore),
    Mutant("depot", "repairs only if it is dry", "not broken(", "rain()", 1.0, _ignore),
    Mutant("desk", "charges who is booked", "booked(", "", 0.2, _also("paid(x)")),
    Mutant("desk", "charges the other guest", "booked(", "busy()", 0.6, _also("paid(o)")),
    Mutant("desk", "ignores bookings when busy", "booked(", "busy()", 0.7, _ignore),
    Mutant("desk", "books the other guest", "booked(", "", 0.2, _other),
    Mutant("desk", "upgrades who pays", "paid(", "late()", 0.5, _also("vip(x)")),
    Mutant("desk", "does not take payments late", "paid(", "late()", 1.0, _ignore),
    Mutant("desk", "forgets payments", "paid(", "", 0.15, _ignore),
    Mutant("desk", "refunds the other guest", "not paid(", "", 0.5, _other),
    Mutant(
        "desk", "does not refund guests that are not vip", "not paid(", "not vip(x)", 1.0, _ignore
    ),
    Mutant("desk", "gets busy by upgrades", "vip(", "", 0.25, _also("busy")),
)


@dataclass(frozen=True)
class Row:
    """What a comparison said of a mutant."""

    found: bool
    named: bool
    condition: bool
    executions: int
    told: str


def baselines() -> dict[str, Run]:
    """Assess the agent of each domain."""
    return {name: assess(version(domain)) for name, domain in DOMAINS.items()}


def judge(mutant: Mutant, found: VersionComparison) -> Row:
    """Return what a comparison got right."""
    right = [one for one in found.changes if one.request.startswith(mutant.request)]
    wanted = {mutant.when} - {""}
    condition = any(wanted == set(one.when) for one in right)
    told = "; ".join(f"{one.request} when {one.when}: {one.change}" for one in found.changes)
    changed = found.verdict is ComparisonVerdict.CHANGED
    return Row(changed, bool(right), condition, found.usage.executions, told)


def compare(base: Run, problem: Problem, seed: int, most: int) -> VersionComparison:
    """Compare a version with its baseline."""
    return base.compare(problem, seed=seed, budget=Budget(executions=most))


def rows(seeds: int, most: int = 200) -> Iterator[tuple[Mutant, int, Row]]:
    """Yield what comparisons said of each mutant."""
    bases = baselines()
    for mutant in MUTANTS:
        for seed in range(seeds):
            problem = version(DOMAINS[mutant.domain], mutant)
            found = compare(bases[mutant.domain], problem, seed, most)
            yield mutant, seed, judge(mutant, found)


def unchanged(number: int, most: int = 1000) -> Iterator[VersionComparison]:
    """Yield comparisons of agents with themselves, in turn of each domain."""
    bases = list(baselines().values())
    domains = list(DOMAINS.values())
    for seed in range(number):
        which = seed % len(domains)
        yield compare(bases[which], version(domains[which]), seed + 100, most)


def main() -> None:
    """Print what was found."""
    seeds, same = (int(text) for text in [*sys.argv[1:], "1", "200"][:2])
    judged = []
    for mutant, seed, row in rows(seeds):
        judged.append(row)
        marks = "".join("x" if one else "-" for one in (row.found, row.named, row.condition))
        what = f"{mutant.domain}: {mutant.name} [{mutant.when}] {seed}"
        print(f"{marks} {row.executions:4} {what}: {row.told}", flush=True)
    parts = [sum(getattr(row, part) for row in judged) for part in ("found", "named", "condition")]
    print(f"of {len(judged)}: {parts[0]} found, {parts[1]} named, {parts[2]} with the condition")
    told = list(unchanged(same))
    for verdict in ComparisonVerdict:
        costs = sorted(one.usage.executions for one in told if one.verdict is verdict)
        if costs:
            spread = f"{costs[0]} to {costs[-1]} executions, median {costs[len(costs) // 2]}"
            print(f"the same agent: {verdict} in {len(costs)} of {same}, {spread}")


if __name__ == "__main__":
    main()
