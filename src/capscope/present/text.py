"""A capability model in words, the most interesting capabilities first.

What a person looks for is where the agent differs from what its intent promises: it acts and fails,
it succeeds only sometimes, it changes more than it was asked to. Capabilities are ordered by that,
and so are the rules of each. What was never tried is unknown; it is never said that the agent
cannot.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from capscope.export.model_json import readable_conditions
from capscope.model import Outcome, Rule, StateGraph
from capscope.symbolic import Effect, ExactlyOne, Intent, State, Vocabulary
from capscope.symbolic.dnf import Term

_MOST_TERMS = 4
_STICKY = "\u00a0"


@dataclass(frozen=True)
class RuleView:
    """A rule as it is shown."""

    rule: Rule
    when: tuple[Term, ...]
    held: bool
    """Whether the intent held before, the same in every state of the rule."""
    achieved: tuple[bool, ...]
    """Of each outcome: whether the intent holds after it, the same from every state."""
    beyond: tuple[Effect, ...]
    """Of each outcome: what changed beyond the intent, without what the words imply."""
    sinks: int = 0
    """States of the rule from which no capability led away, though every one was tried."""

    @property
    def achieving(self) -> float:
        """The probability that the intent holds afterwards."""
        counts = zip(self.achieved, self.rule.outcomes, strict=True)
        # Counts and not probabilities: what always succeeds is exactly 1.
        return sum(o.count for achieved, o in counts if achieved) / self.rule.executions

    @property
    def side_effects(self) -> int:
        """The literals that changed beyond the intent, in the outcome with the most of them."""
        return max(effect.adds.bit_count() + effect.deletes.bit_count() for effect in self.beyond)

    @property
    def acts(self) -> bool:
        """Whether anything ever changed."""
        return any(o.effect.adds or o.effect.deletes for o in self.rule.outcomes)

    @property
    def interest(self) -> tuple[int, int]:
        """Rank: acting in vain, then chance, then side effects, then all that is as expected."""
        if self.acts and self.achieving == 0:
            return 3, self.side_effects
        if self.acts and len(self.rule.outcomes) > 1:
            return 2, self.side_effects
        # Doing nothing is a limit, unless the intent held already.
        return (1, self.side_effects) if self.acts else (0, int(self.achieving == 0))


@dataclass(frozen=True)
class CapabilityView:
    """A capability as it is shown."""

    intent: Intent
    rules: tuple[RuleView, ...]
    states_seen: int

    @property
    def executions(self) -> int:
        """The executions of the capability."""
        return sum(view.rule.executions for view in self.rules)

    @property
    def states_tried(self) -> int:
        """The states in which it was tried."""
        return sum(len(view.rule.states) for view in self.rules)

    @property
    def interest(self) -> tuple[tuple[int, int], int]:
        """Rank by the most interesting rule, then by how much was seen."""
        return max((v.interest for v in self.rules), default=(-1, 0)), self.executions


def capability_views(graph: StateGraph) -> list[CapabilityView]:
    """Return every capability, most interesting first."""
    groups = graph.exactly_one
    views = [_view(graph, intent, groups) for intent in graph.capabilities]
    return sorted(views, key=lambda view: (view.interest, str(view.intent)), reverse=True)


def capability_view(graph: StateGraph, intent: Intent) -> CapabilityView:
    """Return one capability with its rules, most interesting first."""
    return _view(graph, intent, graph.exactly_one)


def _view(graph: StateGraph, intent: Intent, groups: ExactlyOne) -> CapabilityView:
    rules = graph.rules(intent)
    parts = [part for rule in rules for part in _parts(rule, intent, graph, groups)]
    conditions = readable_conditions(tuple(part.rule for part in parts), graph.vocabulary)
    views = [replace(part, when=when) for part, when in zip(parts, conditions, strict=True)]
    views.sort(key=lambda view: (view.interest, view.rule.executions), reverse=True)
    return CapabilityView(intent, tuple(views), len(graph.nodes))


def _parts(rule: Rule, intent: Intent, graph: StateGraph, groups: ExactlyOne) -> Iterator[RuleView]:
    """Split a rule by what it means for the intent, before it and after each of its outcomes.

    To the model an effect is the same wherever it shows. To a person it is not: where nothing
    changes the intent held already, which is no news, or it did not, which is a limit; and an
    effect that leaves a literal of the intent as it is achieves the intent where that is true.
    """
    required, forbidden = graph.vocabulary.literal_masks(intent.literals)

    def holds(state: State) -> bool:
        return state & required == required and not state & forbidden

    meanings: dict[tuple[bool, ...], list[State]] = {}
    for state in rule.states:
        after = (holds(outcome.effect.apply(state)) for outcome in rule.outcomes)
        meanings.setdefault((holds(state), *after), []).append(state)
    beyond = tuple(groups.beyond(o.effect, intent, graph.vocabulary) for o in rule.outcomes)
    for meaning in sorted(meanings, reverse=True):
        states = meanings[meaning]
        part = rule if len(meanings) == 1 else _part(rule, states, graph, graph.index[intent])
        sinks = sum(graph.nodes[state].sink for state in states)
        yield RuleView(part, (), meaning[0], meaning[1:], beyond, sinks)


def _part(rule: Rule, states: Sequence[State], graph: StateGraph, capability: int) -> Rule:
    """Restrict a rule to some of its states; its outcomes keep their order."""
    pairs = [pair for state in states if (pair := graph.pair(state, capability)) is not None]
    total = sum(pair.total for pair in pairs)
    counts = [sum(pair.counts[o.effect] for pair in pairs) for o in rule.outcomes]
    outcomes = (
        Outcome(outcome.effect, count, count / total)
        for outcome, count in zip(rule.outcomes, counts, strict=True)
    )
    return Rule(tuple(states), tuple(outcomes))


def capability_lines(
    view: CapabilityView, vocabulary: Vocabulary, width: int = 96
) -> Iterator[str]:
    """Write one capability down, line by line."""
    if not view.rules:
        yield f"{view.intent}"
        yield f"  unknown: never tried in any of the {counted(view.states_seen, 'state')} seen"
        return
    tried = counted(view.states_tried, "state")
    yield f"{view.intent}   ({counted(view.executions, 'draw')} in {tried})"
    for rule in view.rules:
        yield from rule_lines(rule, vocabulary, width)
    untried = view.states_seen - view.states_tried
    if untried > 0:
        yield f"  elsewhere: unknown, never tried in {counted(untried, 'other state')} seen"


def rule_lines(view: RuleView, words: Vocabulary, width: int = 96) -> Iterator[str]:
    """Write one rule down: when it holds, and what happened how often."""
    behind = f"[{counted(len(view.rule.states), 'state')}, {counted(view.rule.executions, 'draw')}]"
    terms = [_conjunction(term) for term in view.when]
    hidden = len(terms) - _MOST_TERMS
    if hidden > 1:
        terms = [*terms[:_MOST_TERMS], f"one of {hidden} more conditions"]
    behind = behind.replace(" ", _STICKY)
    yield from _wrapped(f"when {' or '.join(terms)}  {behind}", width, "  ", "       ")
    for outcome, achieved in zip(view.rule.outcomes, view.achieved, strict=True):
        idle = not outcome.effect.adds and not outcome.effect.deletes
        mark = "+" if achieved else "-" if idle else "!"
        low, high = outcome.interval
        share = f"{outcome.probability:.2f} [{low:.2f}, {high:.2f}]"
        literals = (
            str(literal).replace(" ", _STICKY) for literal in outcome.effect.literals(words)
        )
        changes = ", ".join(literals) or "nothing changes"
        yield from _wrapped(f"{mark} {share}  {changes}", width, "    ", " " * 26)


def _wrapped(text: str, width: int, first: str, rest: str) -> Iterator[str]:
    """Wrap a text; what is joined by sticky spaces stays on one line."""
    wrapper = textwrap.TextWrapper(
        width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
    for line in wrapper.wrap(text):
        yield line.replace(_STICKY, " ")


def _conjunction(term: Term) -> str:
    return " and ".join(map(str, term)) if term else "always"


def counted(number: int, noun: str) -> str:
    """Say how many there are of something.

    >>> counted(1200, "draw"), counted(1, "new pair"), counted(2, "query"), counted(0, "day")
    ('1,200 draws', '1 new pair', '2 queries', '0 days')
    """
    if number == 1:
        return f"1 {noun}"
    many = f"{noun[:-1]}ies" if noun[-1] == "y" and noun[-2] not in "aeou" else f"{noun}s"
    return f"{number:,} {many}"
