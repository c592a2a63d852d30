"""Capabilities and findings as text, the most interesting first.

A reader looks for differences between what an intent asks for and what the agent does: it acts and
fails, succeeds only sometimes, or changes more than it was asked to. What was never tried is
unknown; the text never says that the agent cannot do it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from capscope.insight.findings import Example, Finding
from capscope.insight.first_screen.watch_out import sentence_in_words
from capscope.insight.rates import CapabilityRates
from capscope.insight.rule_wording import instance_lines
from capscope.insight.tried_rules import TriedRule, tried_rules
from capscope.logic import (
    Condition,
    Effect,
    ExactlyOne,
    Intent,
    Phrasing,
    Vocabulary,
    changes_text,
)
from capscope.logic.shortest_condition import conditions_apart
from capscope.model import LearnedModel, StateGraph
from capscope.model.transitions import KnownPath, KnownStep
from capscope.report.draws import actions_text, execution_id
from capscope.sanitize import sanitize
from capscope.stats.rate import Rate
from capscope.wording import WIDTH, counted, wrapped

if TYPE_CHECKING:
    from capscope.run import Run

_MOST_TERMS = 4


@dataclass(frozen=True)
class RuleView:
    """What the model says of some states in which a capability was tried, as it is shown."""

    rule: TriedRule
    when: Condition
    side_effects: tuple[Effect, ...]
    """For each outcome, the changes that the intent neither asks for nor implies."""

    @property
    def held(self) -> bool:
        """Whether the intent held before, in every state of the rule."""
        return self.rule.held

    @property
    def achieving(self) -> float:
        """The probability that the intent holds afterwards."""
        if all(outcome.achieved for outcome in self.rule.outcomes):
            return 1.0  # exactly
        return sum(outcome.probability for outcome in self.rule.outcomes if outcome.achieved)

    @property
    def successes(self) -> int:
        """The executions after which the intent held."""
        return sum(outcome.count for outcome in self.rule.outcomes if outcome.achieved)

    @property
    def most_side_effects(self) -> int:
        """The number of side effects of the outcome that has the most."""
        return max(e.adds.bit_count() + e.deletes.bit_count() for e in self.side_effects)

    @property
    def acts(self) -> bool:
        """Whether anything ever changed."""
        return any(o.effect.adds or o.effect.deletes for o in self.rule.outcomes)

    @property
    def interest(self) -> tuple[int, int]:
        """Rank: acting without success, several outcomes, side effects, as expected."""
        if self.acts and self.achieving == 0:
            return 3, self.most_side_effects
        if self.acts and len(self.rule.outcomes) > 1:
            return 2, self.most_side_effects
        # Doing nothing is a limitation unless the intent held already.
        return (1, self.most_side_effects) if self.acts else (0, int(self.achieving == 0))


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
        """The number of states in which it was tried."""
        return sum(len(view.rule.states) for view in self.rules)

    @property
    def interest(self) -> tuple[tuple[int, int], int]:
        """Rank by the most interesting rule, then by the number of executions."""
        return max((v.interest for v in self.rules), default=(-1, 0)), self.executions


def capability_views(model: LearnedModel) -> list[CapabilityView]:
    """Return every capability, most interesting first."""
    groups = model.graph.exactly_one
    views = [capability_view(model, intent, groups) for intent in model.graph.capabilities]
    return sorted(views, key=lambda view: (view.interest, str(view.intent)), reverse=True)


def capability_view(model: LearnedModel, intent: Intent, groups: ExactlyOne) -> CapabilityView:
    """Return one capability with its rules, most interesting first."""
    rules, vocabulary = tried_rules(model, intent), model.graph.vocabulary
    conditions = conditions_apart([rule.states for rule in rules], vocabulary)
    views = [
        RuleView(
            rule, when, tuple(groups.beyond(o.effect, intent, vocabulary) for o in rule.outcomes)
        )
        for rule, when in zip(rules, conditions, strict=True)
    ]
    views.sort(key=lambda view: (view.interest, view.rule.executions), reverse=True)
    return CapabilityView(intent, tuple(views), len(model.graph.nodes))


def capability_lines(run: Run, intent: Intent, width: int = WIDTH) -> Iterator[str]:
    """Describe one capability of a run: its rates, its rules, and what was seen under each."""
    tried = [
        pair for node in run.graph.nodes.values() if (pair := node.pairs[run.graph.index[intent]])
    ]
    states = len(run.graph.nodes)
    if not tried:
        yield sanitize(str(intent))
        yield f"  never tried in any of the {counted(states, 'state')} seen"
    else:
        executions = counted(sum(pair.total for pair in tried), "execution")
        yield f"{sanitize(str(intent))}   ({executions} in {counted(len(tried), 'state')})"
        if (rates := run.rates.get(intent)) is not None:
            headline = rates_text(rates, run.identity.temporal_length)
            yield from wrapped(headline, "  ", "       ", width)
        if (success := run.success.get(intent)) is not None:
            text = f"asked after a reset: {success_text(success)}"
            yield from wrapped(text, "  ", "       ", width)
    yield from instance_lines(run.model, intent, width)
    if tried and len(tried) < states:
        yield f"  never tried in {counted(states - len(tried), 'other state')} seen"


def rates_text(rates: CapabilityRates, temporal_length: int | None) -> str:
    """Return the rate that people mean first: that in the end, if executions end with changes.

    >>> step, end = Rate(0.11, 0.06, 0.2, 1, 90, 8), Rate(1.0, 0.8, 1.0, None, 90, 8)
    >>> rates_text(CapabilityRates(step, end, None), temporal_length=1)
    'gets there: 1.00 [0.80, 1.00] if asked until it holds; at once 0.11 [0.06, 0.20]  [8 states]'
    >>> rates_text(CapabilityRates(step, end, None), temporal_length=None)
    'achieved: 0.11 [0.06, 0.20]  [8 states]'
    """
    at_once, where = rates.at_once.brief, f"[{counted(rates.at_once.states, 'state')}]"
    if temporal_length is None:
        return f"achieved: {at_once}  {where}"
    end = f"gets there: {rates.gets_there.brief} if asked until it holds"
    resets = rates.from_resets
    if resets is not None:
        end += f", {resets.brief} over {counted(resets.states, 'reset')}"
    return f"{end}; at once {at_once}  {where}"


def success_text(success: Rate) -> str:
    """Return the success after a reset, its interval and the evidence for it.

    >>> success_text(Rate(0.425, 0.3, 0.62, 34, executions=80, states=50, tried=40))
    '0.42 [0.30, 0.62]  [80 executions, 40 of 50 resets tried]'
    """
    if success.estimate is None:
        return f"unknown, never tried after any of {counted(success.states, 'reset')}"
    of = f"{success.tried:,} of {counted(success.states, 'reset')} tried"
    return f"{success.brief}  [{counted(success.executions, 'execution')}, {of}]"


def finding_lines(run: Run, finding: Finding) -> Iterator[str]:
    """Describe a finding with its example, its actions, and the path there."""
    yield str(finding.kind)
    yield from wrapped(sentence_in_words(finding, run.graph.vocabulary), "  ", "  ")
    for detail in finding_details(run, finding):
        yield from wrapped(detail, "    ", "    ")


def finding_details(run: Run, finding: Finding) -> Iterator[str]:
    """Yield the example of a finding, its actions, and the path there."""
    if finding.example is not None:
        yield f"for {example_text(run.graph, finding.example)}"
        row = finding.example.execution
        made = f"{actions_text(run.actions(row))} ({execution_id(run.executions, row)})"
        yield f"to replay it: {made}"
    if finding.path is not None:
        yield way_text(finding.path)


def way_text(way: KnownPath) -> str:
    """Say how to get to a state."""
    if not way:
        return "to get there: this is where the run begins"
    asked = " then ".join(str(step.intent) for step in way)
    return f"to get there: from the beginning ask for {asked}"


def example_text(graph: StateGraph, example: Example, name: str | None = None) -> str:
    """Describe an example; its state is called `name`, or by its number as in `model.json`."""
    holding = graph.vocabulary.holding(example.before & ~graph.always)
    step = example_step(graph, example)
    return (
        f"example {step.count:,} of {step.draws:,}: asked for {example.intent} in "
        f"{name or hex(example.before)} ({', '.join(map(str, holding)) or 'no atom holds'}): "
        f"{changes_text(example.before, example.after, graph.vocabulary)}"
    )


def example_step(graph: StateGraph, example: Example) -> KnownStep:
    """Return an example as a step, with how often it was seen among the draws of its pair."""
    pair = graph.pair(example.before, graph.index[example.intent])
    effect = Effect.between(example.before, example.after)
    count, draws = (0, 0) if pair is None else (pair.counts.get(effect, 0), pair.total)
    return KnownStep(example.before, example.intent, example.after, count, draws)


def in_words(vocabulary: Vocabulary) -> Callable[[str], str]:
    """Return a function that makes a sentence safe and says its literals in words."""
    phrasing = Phrasing.of(vocabulary)
    return lambda sentence: phrasing.sentence(sanitize(sentence))
