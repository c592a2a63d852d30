"""A capability model in words, the most interesting capabilities first.

What a person looks for is where the agent differs from what its intent promises: it acts and fails,
it succeeds only sometimes, it changes more than it was asked to. Capabilities are ordered by that,
and so are the rules of each. What was never tried is unknown; it is never said that the agent
cannot.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from capscope.export.model_json import readable_conditions
from capscope.model import Models, Outcome, Rule
from capscope.symbolic import Intent, Vocabulary
from capscope.symbolic.dnf import Term

_MOST_TERMS = 4
_STICKY = "\u00a0"


@dataclass(frozen=True)
class RuleView:
    """A rule as it is shown."""

    rule: Rule
    when: tuple[Term, ...]
    achieving: float
    """The probability that the intent holds afterwards."""
    acts: bool
    """Whether anything ever changed."""
    side_effects: int
    """Literals that changed beyond the intent, in the outcome with the most of them."""

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


def capability_views(models: Models) -> list[CapabilityView]:
    """Return every capability, most interesting first."""
    views = [_view(models, intent) for intent in models.capabilities]
    return sorted(views, key=lambda view: (view.interest, str(view.intent)), reverse=True)


def _view(models: Models, intent: Intent) -> CapabilityView:
    rules = tuple(part for rule in models.rules(intent) for part in _parts(rule, intent, models))
    conditions = readable_conditions(rules, models.vocabulary)
    views = [
        _rule_view(rule, when, intent, models.vocabulary)
        for rule, when in zip(rules, conditions, strict=True)
    ]
    views.sort(key=lambda view: (view.interest, view.rule.executions), reverse=True)
    return CapabilityView(intent, tuple(views), len(models.places))


def _parts(rule: Rule, intent: Intent, models: Models) -> Iterator[Rule]:
    """Split a rule by which nothing changes: the intent held already, or the agent did nothing.

    To the model both are one rule; to a person the first is no news and the second a limit.
    """
    effect = rule.outcomes[0].effect
    if len(rule.outcomes) > 1 or effect.adds or effect.deletes:
        yield rule
        return
    index = models.index[intent]
    for held in (True, False):
        states = tuple(s for s in rule.states if intent.holds(s, models.vocabulary) is held)
        pairs = [models.pair(state, index) for state in states]
        draws = sum(pair.total for pair in pairs if pair is not None)
        if states:
            yield Rule(states, (Outcome(effect, draws, 1.0),))


def _rule_view(rule: Rule, when: tuple[Term, ...], intent: Intent, words: Vocabulary) -> RuleView:
    required, forbidden = words.literal_masks(intent.literals)
    some_state = rule.states[0]
    achieving = sum(
        o.probability for o in rule.outcomes if intent.holds(o.effect.apply(some_state), words)
    )
    side_effects = max(
        (o.effect.adds & ~required).bit_count() + (o.effect.deletes & ~forbidden).bit_count()
        for o in rule.outcomes
    )
    acts = any(o.effect.adds or o.effect.deletes for o in rule.outcomes)
    return RuleView(rule, when, achieving, acts, side_effects)


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
        yield from rule_lines(rule, view.intent, vocabulary, width)
    untried = view.states_seen - view.states_tried
    if untried > 0:
        yield f"  elsewhere: unknown, never tried in {counted(untried, 'other state')} seen"


def rule_lines(view: RuleView, intent: Intent, words: Vocabulary, width: int = 96) -> Iterator[str]:
    """Write one rule down: when it holds, and what happened how often."""
    behind = f"[{counted(len(view.rule.states), 'state')}, {counted(view.rule.executions, 'draw')}]"
    terms = [_conjunction(term) for term in view.when]
    hidden = len(terms) - _MOST_TERMS
    if hidden > 1:
        terms = [*terms[:_MOST_TERMS], f"one of {hidden} more conditions"]
    behind = behind.replace(" ", _STICKY)
    yield from _wrapped(f"when {' or '.join(terms)}  {behind}", width, "  ", "       ")
    for outcome in view.rule.outcomes:
        mark = _mark(view, outcome, intent, words)
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


def _mark(view: RuleView, outcome: Outcome, intent: Intent, words: Vocabulary) -> str:
    after = outcome.effect.apply(view.rule.states[0])
    if intent.holds(after, words):
        return "+"
    return "!" if outcome.effect.adds or outcome.effect.deletes else "-"


def _conjunction(term: Term) -> str:
    return " and ".join(map(str, term)) if term else "always"


def counted(number: int, noun: str) -> str:
    """Say how many there are of something.

    >>> counted(1200, "draw")
    '1,200 draws'
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
