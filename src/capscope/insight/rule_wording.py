"""The rules of the learned model in words: one wording for the text, the page and notebooks.

These are the rules that are audited. A family that pursues its requests in every state says nothing
else, so all such families share a line; the others come first, those that act before those that do
nothing. A doubtful literal of a behavior is named only if it is about the behavior's own objects
and does not follow from the rest in every state seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from capscope.logic import Effect, Intent, Phrasing, State, Vocabulary
from capscope.logic.footprint import variable_names
from capscope.model.lifted_rules import (
    Consequence,
    FamilyRules,
    LiftedBehavior,
    LiftedEffect,
    LiftedLiteral,
    LiftedRule,
)
from capscope.sanitize import sanitize
from capscope.wording import NO_BREAK_SPACE, WIDTH, counted, first_few, joined, unbroken, wrapped

if TYPE_CHECKING:
    from capscope.model import LearnedModel, StateGraph

PURSUES = "takes the next step of a shortest path to the request"
IDLES = "changes nothing"
OTHERWISE = "otherwise"
NOT_HERE = "not tried here"
LEGEND = (
    "X, Y, Z stand for different objects, z for a further one, and “the one” is the only further "
    "one; nothing changes where a request holds already, or no path to it is known"
)
_MOST_BEHAVIORS = 10
_MOST_FAMILIES = 12
_MOST_DOUBTFUL = 3
_MOST_SEEN = 8
_MOST_ONLY = 4
_MOST_BESIDES = 2
_LEAST_SPREAD = 0.05


@dataclass(frozen=True)
class RuleWords:
    """A rule or a behavior in words."""

    when: str
    """Its condition; empty if there is none."""
    outcomes: tuple[str, ...]
    """What it says, with probabilities if there are several outcomes."""
    support: str
    notes: tuple[str, ...] = ()

    def lines(self, indent: str, width: int = WIDTH) -> Iterator[str]:
        """Write it as indented lines."""
        deeper = f"{indent}    "
        support = unbroken(f"  [{self.support}]")
        word = "" if self.when == OTHERWISE else "when "
        when = f"{word}{self.when}:" if self.when else ""
        if len(self.outcomes) == 1:
            text = f"{when} {self.outcomes[0]}".lstrip()
            yield from wrapped(f"{text}{support}", indent, deeper, width)
        else:
            yield from wrapped(f"{when or 'always:'}{support}", indent, deeper, width)
            for outcome in self.outcomes:
                yield from wrapped(outcome, f"{indent}  ", f"{deeper}  ", width)
        for note in self.notes:
            yield from wrapped(note, f"{indent}  ", deeper, width)


class RuleWriter:
    """Words rules over a vocabulary, with objects for some variables."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        binding: Mapping[str, str] | None = None,
        *,
        formal: bool = False,
    ) -> None:
        """Take the objects that stand for variables; `formal` texts have no phrases."""
        self._binding = binding or {}
        self._phrasing = Phrasing({}) if formal else Phrasing.of(vocabulary)
        letters = (name for name in variable_names(vocabulary) if name not in self._binding)
        names = [next(letters) for _ in range(6)]
        self._further = sorted(names, key=lambda name: name != "z")

    def literal(self, literal: LiftedLiteral) -> str:
        """Say a literal: `some z with on(z,X)` if it has a further object."""
        name, arguments = literal.atoms[0]
        if name == "=":
            return f"{arguments[0]} is {'' if literal.positive else 'not '}{arguments[1]}"
        named, further = literal.named(self._further)
        texts = [f"{p}({','.join(self._binding.get(a, a) for a in given)})" for p, given in named]
        if further:
            some = "some" if literal.positive else "no"
            atoms = " and ".join(map(self._phrasing.literal, texts))
            return f"{some} {joined(further)} with {atoms}"
        return self._phrasing.literal(("" if literal.positive else "not ") + texts[0])

    def conjunction(self, literals: Sequence[LiftedLiteral]) -> str:
        """Say literals that hold together."""
        return ", ".join(unbroken(self.literal(one)) for one in literals)

    def changes(self, effect: LiftedEffect) -> str:
        """Say what changes, then which its further objects are."""
        text = self.conjunction(effect.changes) or "nothing changes"
        for name, relation in effect.where:
            text += f"; {unbroken(f'{name}: the one with {self.literal(relation)}')}"
        return text

    def outcomes(self, effects: Sequence[LiftedEffect]) -> tuple[str, ...]:
        """Say alternative outcomes, with probabilities if there are several."""
        if len(effects) == 1:
            return (self.changes(effects[0]),)
        total = sum(effect.count for effect in effects)
        return tuple(f"{_share(effect, total)}  {self.changes(effect)}" for effect in effects)

    def rule(self, rule: LiftedRule) -> RuleWords:
        """Word a rule."""
        when = self.conjunction(self._open(rule.when))
        support = _of_pairs(rule.foreseen, rule.pairs)
        says: tuple[str, ...] = (PURSUES,)
        if rule.consequence is Consequence.IDLE:
            says = (IDLES,)
        elif rule.consequence is Consequence.ACT:
            says = self.outcomes(rule.meant)
        others = [effect for effect in rule.effects if not effect.meant]
        texts = [f"{self.changes(effect)} ({effect.count:,})" for effect in others]
        besides = first_few(texts, _MOST_BESIDES, "{:,} other outcomes")
        notes = (f"seen besides: {' | '.join(besides)}",) if besides else ()
        return RuleWords(when, says, support, notes)

    def _open(self, literals: Sequence[LiftedLiteral]) -> list[LiftedLiteral]:
        """Leave out what is known of the objects that stand for variables."""
        return [
            one
            for one in literals
            if one.atoms[0][0] != "=" or one.atoms[0][1][0] not in self._binding
        ]

    def behavior(self, behavior: LiftedBehavior) -> RuleWords:
        """Word a behavior: when it is possible, what it does, and what is doubtful."""
        added = {
            change.atoms
            for effect in behavior.effects
            for change in effect.changes
            if change.positive
        }
        when = [one for one in behavior.when if one.positive or one.atoms not in added]
        conditions = self.conjunction(when)
        if behavior.either:
            either = " or ".join(f"({self.conjunction(path)})" for path in behavior.either)
            conditions = ", ".join(filter(None, [conditions, f"and {either}"]))
        return RuleWords(
            conditions,
            self.outcomes(behavior.effects),
            counted(behavior.executions, "execution") if behavior.executions else NOT_HERE,
            tuple(self._doubts(behavior)),
        )

    def _doubts(self, behavior: LiftedBehavior) -> Iterator[str]:
        if behavior.only_seen:
            names = behavior.variables
            shown = [
                ", ".join(f"{v} = {o}" for v, o in zip(names, one, strict=True))
                for one in behavior.seen
            ]
            yield f"only with {' or '.join(first_few(shown, _MOST_ONLY, '{:,} other bindings'))}"
        known = set(behavior.variables)
        named = [
            one
            for one in behavior.telling
            if len(one.atoms) == 1 and known.issuperset(one.atoms[0][1])
        ][:_MOST_DOUBTFUL]
        rest = len(behavior.doubtful) - len(named)
        if named:
            more = f" (and {counted(rest, 'more literal')})" if rest else ""
            yield f"seen only when {self.conjunction(named)}{more}"


def _of_pairs(foreseen: int, pairs: int) -> str:
    return f"{foreseen:,} of {counted(pairs, 'pair')}" if pairs else NOT_HERE


def _share(effect: LiftedEffect, total: int) -> str:
    """Return how probable an outcome is; one that was seen only elsewhere has no probability."""
    if not total:
        return f"{effect.probability:.2f}"
    if not effect.count:
        return f"?    (0 of {total:,}, seen elsewhere)"
    counts = f"{effect.count:,} of {total:,}"
    if effect.spread is not None and effect.spread[1] - effect.spread[0] > _LEAST_SPREAD:
        counts += f"; {effect.spread[0]:.2f} to {effect.spread[1]:.2f} by state"
    return f"{effect.probability:.2f} ({counts})"


def model_lines(
    model: LearnedModel, path: object, limit: int | None = None, *, every: bool = False
) -> Iterator[str]:
    """Describe the behaviors and the families, the most interesting first; or every one."""
    writer = RuleWriter(model.graph.vocabulary)
    behaviors, families = used_behaviors(model), telling_families(model)
    most = len(behaviors) if every else limit or _MOST_BEHAVIORS
    if behaviors:
        yield "behaviors, whatever is asked for; what one adds did not hold before:"
    for number, behavior in enumerate(behaviors[:most], 1):
        yield from wrapped(f"{number}. {behavior.name}", "  ", "     ")
        yield from writer.behavior(behavior).lines("     ")
    if len(behaviors) > most:
        yield f"  {counted(len(behaviors) - most, 'more behavior')}: capscope show {path} '*'"
    if behaviors:
        yield ""
    yield "rules of the families of requests:"
    most = len(families) if every else limit or _MOST_FAMILIES
    for family in families[:most]:
        yield from family_lines(family, writer)
    if len(families) > most:
        yield f"  {counted(len(families) - most, 'more family')}: capscope show {path} '*'"
    for text in shared_lines(model):
        yield from wrapped(text, "  ", "    ")
    yield from wrapped(f"({LEGEND})", "  ", "   ")


def rules_digest(model: LearnedModel, fits: Callable[[object], bool]) -> dict[str, Any]:
    """Return what `model_lines` says of behaviors and families, as many as fit on the page."""
    writer = RuleWriter(model.graph.vocabulary)

    def words(text: RuleWords, capability: Intent | None = None) -> dict[str, Any]:
        said = asdict(text)
        said["capability"] = "" if capability is None else str(capability)
        return {key: _sanitized(value) for key, value in said.items()}

    behaviors = [
        {"name": sanitize(one.name), **words(writer.behavior(one))} for one in used_behaviors(model)
    ]
    families = [
        {
            "name": sanitize(one.name),
            "members": len(one.members),
            "executions": one.executions,
            "rules": [words(said, rule.capability) for _, rule, said in told_rules(one, writer)],
        }
        for one in telling_families(model)
    ]
    shown = [list(takewhile(fits, parts)) for parts in (behaviors, families)]
    return {
        "behaviors": shown[0],
        "families": shown[1],
        "shared": [sanitize(text.replace(NO_BREAK_SPACE, " ")) for text in shared_lines(model)],
        "legend": LEGEND,
        "omitted": len(behaviors) + len(families) - sum(map(len, shown)),
    }


def _sanitized(value: str | Sequence[str]) -> Any:
    if isinstance(value, str):
        return sanitize(value.replace(NO_BREAK_SPACE, " "))
    return [sanitize(one.replace(NO_BREAK_SPACE, " ")) for one in value]


def used_behaviors(model: LearnedModel) -> Sequence[LiftedBehavior]:
    """Return the behaviors by which some rule pursues."""
    pursues = any(u.consequence is Consequence.PURSUE for f in model.families for u in f.rules)
    return [one for one in model.behaviors if one.pursued] if pursues else ()


def telling_families(model: LearnedModel) -> list[FamilyRules]:
    """Return the families that say more than one word, those that act first."""

    def rank(family: FamilyRules) -> tuple[int, int]:
        acts = any(rule.consequence is Consequence.ACT for rule in family.rules)
        return -acts, -family.executions

    return sorted((f for f in model.families if f.rules and not says_one_thing(f)), key=rank)


def says_one_thing(family: FamilyRules) -> Consequence | None:
    """Return what a family does in every state, if it always pursues or does nothing."""
    found = {rule.consequence for rule in family.rules}
    only = next(iter(found)) if len(found) == 1 else None
    return None if only is Consequence.ACT else only


def shared_lines(model: LearnedModel) -> Iterator[str]:
    """Say in a line each which families always pursue, do nothing, or were never tried."""
    for consequence, text in ((Consequence.PURSUE, PURSUES), (Consequence.IDLE, IDLES)):
        own = [family for family in model.families if says_one_thing(family) is consequence]
        if own:
            pairs = sum(rule.pairs for family in own for rule in family.rules)
            foreseen = sum(rule.foreseen for family in own for rule in family.rules)
            names = ", ".join(unbroken(_name(family)) for family in own)
            support = unbroken(f"[{_of_pairs(foreseen, pairs)}]")
            yield f"{text}: {names}  {support}"
    if never := [family for family in model.families if not family.rules]:
        yield f"never tried: {', '.join(unbroken(family.name) for family in never)}"


def _name(family: FamilyRules) -> str:
    pairs = sum(rule.pairs for rule in family.rules)
    foreseen = sum(rule.foreseen for rule in family.rules)
    return family.name if foreseen == pairs else f"{family.name} ({foreseen:,} of {pairs:,})"


def family_lines(family: FamilyRules, writer: RuleWriter, width: int = WIDTH) -> Iterator[str]:
    """Describe the rules of a family."""
    number = counted(len(family.members), "capability")
    executions = counted(family.executions, "execution")
    yield from wrapped(
        f"{family.name}   {unbroken(f'({number}, {executions})')}", "  ", "      ", width
    )
    shown = None
    for _, rule, words in told_rules(family, writer):
        if rule.capability != shown:
            shown = rule.capability
            yield f"    {sanitize(str(shown))}"
        yield from words.lines("    " if shown is None else "      ", width)


def told_rules(
    family: FamilyRules, writer: RuleWriter
) -> Iterator[tuple[tuple[int, ...], LiftedRule, RuleWords]]:
    """Word the rules of a family, those that pursue as one; yield each after its numbers."""
    pursuing = [n for n, u in enumerate(family.rules) if u.consequence is Consequence.PURSUE]
    for number, rule in enumerate(family.rules):
        if number not in pursuing:
            yield (number,), rule, writer.rule(rule)
    if pursuing:
        counts: Counter[LiftedEffect] = Counter()
        for number in pursuing:
            for effect in family.rules[number].effects:
                counts[replace(effect, count=0, probability=0.0)] += effect.count
        effects = tuple(replace(effect, count=n) for effect, n in counts.most_common())
        pairs = sum(family.rules[number].pairs for number in pursuing)
        foreseen = sum(family.rules[number].foreseen for number in pursuing)
        rule = LiftedRule((), Consequence.PURSUE, effects, pairs, foreseen)
        words = writer.rule(rule)
        if len(pursuing) < len(family.rules):
            words = replace(words, when=OTHERWISE)
        yield tuple(pursuing), rule, words


def family_of(model: LearnedModel, intent: Intent) -> FamilyRules:
    """Return the family of a capability."""
    return next(family for family in model.families if intent in family.members)


def instance_lines(model: LearnedModel, intent: Intent, width: int = WIDTH) -> Iterator[str]:
    """Describe the rules of a capability's family with its objects, and what it showed."""
    yield from objects_lines(model, intent, width)
    for words, states in instances(model, intent):
        yield from words.lines("  ", width)
        yield from _seen_lines(model.graph, intent, states, width)


def objects_lines(model: LearnedModel, intent: Intent, width: int = WIDTH) -> Iterator[str]:
    """Say for which objects the roles of a family stand."""
    family = family_of(model, intent)
    if family.roles:
        objects = ", ".join(f"{role} = {name}" for role, name in family.binding(intent).items())
        yield from wrapped(f"as {family.name} with {objects}:", "  ", "      ", width)


def instances(model: LearnedModel, intent: Intent) -> Iterator[tuple[RuleWords, list[State]]]:
    """Word each rule of a capability; yield it with the states in which it was tried."""
    family = family_of(model, intent)
    binding = family.binding(intent)
    tried = states_tried(model, family, intent)
    for numbers, rule, words in told_rules(family, RuleWriter(model.graph.vocabulary, binding)):
        if rule.capability in (None, intent) and _possible(rule, binding):
            support = f"the family: {words.support}" if len(family.members) > 1 else words.support
            states = [state for number in numbers for state in tried.get(number, ())]
            yield replace(words, support=support, notes=()), states


def states_tried(
    model: LearnedModel, family: FamilyRules, intent: Intent
) -> dict[int, list[State]]:
    """Return the states in which a capability was tried, by the number of the rule that applies."""
    graph, found = model.graph, dict[int, list[State]]()
    for state in graph.nodes:
        if graph.pair(state, graph.index[intent]) is not None:
            for number in family.applying(intent, state, graph.vocabulary):
                found.setdefault(number, []).append(state)
    return found


def _possible(rule: LiftedRule, binding: Mapping[str, str]) -> bool:
    """Return whether the objects are those that a rule names."""
    return all(
        (binding[one.atoms[0][1][0]] == one.atoms[0][1][1]) is one.positive
        for one in rule.when
        if one.atoms[0][0] == "="
    )


def _seen_lines(
    graph: StateGraph, intent: Intent, states: Sequence[State], width: int
) -> Iterator[str]:
    """Count what a capability showed in some states, by its changes."""
    if not states:
        yield "    never asked for there"
        return
    holds = intent.test(graph.vocabulary)
    for held, where in ((False, ""), (True, " in which it held")):
        own = [state for state in states if holds(state) is held]
        if own:
            yield f"    asked for in {counted(len(own), 'state')}{where}:"
            yield from _outcome_lines(graph, intent, own, width)


def _outcome_lines(
    graph: StateGraph, intent: Intent, states: Sequence[State], width: int
) -> Iterator[str]:
    holds, phrasing = intent.test(graph.vocabulary), Phrasing.of(graph.vocabulary)
    outcomes: Counter[tuple[str, Effect]] = Counter()
    for state in states:
        pair = graph.pair(state, graph.index[intent])
        for effect, count in pair.counts.items() if pair is not None else ():
            after = effect.apply(state)
            outcomes["+" if holds(after) else "-" if after == state else "!", effect] += count
    texts = []
    for (mark, effect), count in sorted(outcomes.items(), key=lambda one: (-one[1], one[0])):
        literals = effect.literals(graph.vocabulary)
        changes = ", ".join(unbroken(phrasing.literal(str(one))) for one in literals)
        texts.append(f"{mark} {count:,} of {outcomes.total():,}  {changes or 'nothing changes'}")
    for text in first_few(texts, _MOST_SEEN, "{:,} other outcomes"):
        yield from wrapped(text, "    ", "        ", width)
