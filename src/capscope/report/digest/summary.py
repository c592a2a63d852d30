"""The summary of a run in sentences, and its facts.

The summary is for readers who do not know capscope: terms are explained when they first occur,
every claim has its numbers, and nothing that was not seen is called impossible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from capscope.insight.agent_failures import agent_failure_text
from capscope.insight.findings import Finding
from capscope.insight.hazards.wording import confidence_note, hazard_headline
from capscope.journal.run_meta import RunIdentity, StopKind
from capscope.logic import Intent, State
from capscope.report.digest.capabilities import ALMOST_CERTAIN, Standing, Standings, standing_of
from capscope.report.notes import (
    aliasing_notes,
    changes_sentence,
    claim_lines,
    initial_position_notes,
    stop_text,
    warnings_of,
)
from capscope.report.text import CapabilityView, RuleView, in_words
from capscope.sanitize import sanitize
from capscope.strategy.registry import Claim, claim_of
from capscope.wording import as_sentence, counted, first_few, joined, was

if TYPE_CHECKING:
    from capscope.run import Run

_MOST_FINDINGS = 3
_MOST_NAMED = 3
_LONGEST_CONDITION = 3
"""Literals of a condition that is readable within a sentence."""


NOTHING_KNOWN = "Nothing is known yet: no capability was executed where it did not hold already."


def summary_of(
    run: Run, standings: Standings, findings: Sequence[Finding]
) -> list[tuple[str, list[str]]]:
    """Summarize a run in five sections, after one about hazards if there are any.

    A section is a heading and complete sentences.
    """
    sections: list[tuple[str, Iterator[str]]] = [
        *([("What must not happen", _hazards(run))] if run.hazards else []),
        ("What was assessed", _assessed(run)),
        ("What it cost", _cost(run)),
        ("What it achieved", reliability_sentences(standings)),
        ("What else it changed", _changes(run, findings)),
        ("What is unknown", _unknown(run, standings)),
    ]
    said = in_words(run.graph.vocabulary)
    return [(heading, list(map(said, sentences))) for heading, sentences in sections]


def _hazards(run: Run) -> Iterator[str]:
    for result in run.hazards:
        yield f"Hazard {hazard_headline(result)}."
    yield as_sentence(confidence_note(run, len(run.hazards)))


def _assessed(run: Run) -> Iterator[str]:
    graph, problem = run.graph, run.problem
    intents = graph.capabilities
    if not intents:
        yield f"The agent of {problem}; the run has not found anything to ask it for yet."
        return
    asked = "was" if len(run.executions) else "is to be"
    things = f"one of {len(intents):,} intents, for example" if len(intents) > 2 else "this:"
    # If an intent itself contains "and" or "or", a comma separates the two.
    either = " or " if all(len(intent.mentioned) == 1 for intent in intents[:2]) else ", or "
    yield (
        f"The agent of {problem} {asked} asked to achieve {things} "
        f"{either.join(map(str, intents[:2]))}. Everything that it can be asked for is a "
        "capability; asking once, and observing what changes, is an execution."
    )
    if graph.nodes:
        atoms = counted(len(graph.vocabulary.atoms), "atom")
        yield (
            f"The run saw {counted(len(graph.nodes), 'state')}. A state is described by {atoms}, "
            "each of which holds or does not hold."
        )
    yield _execution_end(run.identity)


def _execution_end(identity: RunIdentity) -> str:
    length, steps = identity.temporal_length, counted(identity.horizon, "simulator step")
    if length is None:
        return f"An execution ends when the agent stops, or after {steps}."
    changed = "the state has changed" if length == 1 else f"the state has changed {length} times"
    return (
        f"An execution ends when {changed}, when the agent stops, or after {steps}. An intent that "
        "takes longer therefore shows as a step on the way, not as a success."
    )


def _cost(run: Run) -> Iterator[str]:
    usage, discovery = run.usage, run.meta.discovery_usage.simulator_steps
    if usage.executions:
        found = f", {discovery:,} of them to discover the capabilities," if discovery else ""
        steps = f"{counted(usage.simulator_steps, 'simulator step')}{found}"
        yield (
            f"{counted(usage.executions, 'execution')} in {counted(usage.queries, 'query')}, "
            f"chosen by the strategy {run.identity.strategy}, took {steps} and "
            f"{duration(usage.seconds)}."
        )
    elif discovery:
        steps = counted(discovery, "simulator step")
        yield f"{steps} were spent on discovering the capabilities; nothing was executed yet."
    else:
        yield "Nothing yet: nothing was executed."
    if usage.replay_steps:
        steps = counted(usage.replay_steps, "more simulator step")
        yield f"Finding out without the agent what requests needed took {steps}."
    if usage.llm_tokens:
        paid = f", at a cost of {usage.llm_cost:.4g}" if usage.llm_cost else ""
        yield f"The agent's language model used {counted(usage.llm_tokens, 'token')}{paid}."
    yield _stop_sentence(run)


def _stop_sentence(run: Run) -> str:
    reason = run.stop_reason
    if reason is None:
        return "The run has not finished: it is still running or was interrupted."
    if reason.kind is StopKind.NO_NEWS:
        patience = run.identity.settings.patience
        queries = f"{counted(patience, 'query')} in a row" if patience > 1 else "a query"
        return f"It stopped because {queries} showed nothing new."
    if reason.kind is StopKind.SETTLED and run.claim_withheld is None:
        return "It stopped because, by its own criterion, the evidence was settled."
    if reason.kind is StopKind.BUDGET:
        limit = getattr(run.budget, reason.detail)
        return f"It stopped because its budget was spent ({_amount(reason.detail, limit)})."
    return f"It stopped for this reason: {stop_text(run)}."


def _amount(currency: str, limit: float) -> str:
    if currency == "queries":
        return counted(int(limit), "query")
    if currency == "llm_cost":
        return f"a cost of {limit:g}"
    if currency == "seconds":
        return f"{limit:g} second{'' if limit == 1 else 's'}"
    return counted(int(limit), currency.removesuffix("s").removeprefix("llm_").replace("_", " "))


def _changes(run: Run, findings: Sequence[Finding]) -> Iterator[str]:
    # First of all: an agent that fails is not one that prefers to do nothing.
    yield from map(as_sentence, warnings_of(run))
    if not run.graph.pairs_tried:
        yield "Nothing yet: no execution was completed."
    elif not findings:
        yield changes_sentence(run)
    yield from (finding.sentence for finding in findings[:_MOST_FINDINGS])
    more = len(findings) - _MOST_FINDINGS
    if more > 0:
        yield f"{counted(more, 'more finding')} {'are' if more > 1 else 'is'} shown above."


def _unknown(run: Run, standings: Standings) -> Iterator[str]:
    graph = run.graph
    if not graph.pairs_tried:
        yield "Everything: no execution was completed yet."
        return
    pairs = len(graph.nodes) * len(graph.capabilities)
    untried = pairs - graph.pairs_tried
    seen = f"{counted(pairs, 'pair')} of a state seen and a capability"
    if untried:
        rest = "what happens there is unknown"
        if run.infers:
            _, inferred, unknown = run.coverage
            rest = (
                f"the model infers {inferred:,} of these from others, and {unknown:,} are unknown"
            )
        share = share_text(untried, pairs)
        yield f"Of the {seen}, {untried:,} ({share}) {was(untried)} never tried; {rest}."
    else:
        yield f"Each of the {seen} was tried at least once."
    never = standings.of(Standing.UNTRIED)
    if never:
        names = first_few([str(view.intent) for view in never], _MOST_NAMED)
        yield (
            f"{counted(len(never), 'capability')} {was(len(never))} never executed where "
            f"{'it' if len(never) == 1 else 'they'} did not hold already: {joined(names)}."
        )
    yield "Nothing is known about states that the run never reached."
    yield from map(as_sentence, initial_position_notes(run.initial_positions))
    yield from map(as_sentence, aliasing_notes(run.aliasing, graph.always))
    yield from _claim_sentences(run)
    cut = int(run.executions.cut.sum())
    if cut:
        yield f"{counted(cut, 'execution')} {was(cut)} cut short by a budget and not used."


def _claim_sentences(run: Run) -> Iterator[str]:
    verdict, withheld = run.verdict, run.claim_withheld
    if withheld is not None:
        yield f"Nothing is called settled, because {withheld}."
        return
    if claim_of(run.identity.strategy) is Claim.AUDITED:
        yield from map(as_sentence, claim_lines(run))
        if run.audit is not None:
            yield "This is about the sequences that it names; single probabilities may be wrong."
        return
    points = verdict.claim if verdict.reached else "; ".join(verdict.open_points())
    settled = "settled" if verdict.reached else "not settled yet"
    yield f"By the criterion of `--until settled` the evidence is {settled}: {points}."
    yield (
        "This criterion assumes that repeated attempts in a state are independent. The "
        "probabilities of a rule are averages; in single states they may differ."
    )


def share_text(part: int, whole: int) -> str:
    """Return a percentage that is neither 0 nor 100 for a proper part."""
    if part in (0, whole):
        return "100 %" if part else "0 %"
    percent = 100 * part / whole
    limit = "under 0.1" if percent < 0.1 else "over 99.9" if percent > 99.9 else f"{percent:.1f}"
    return f"{limit} %"


def duration(seconds: float) -> str:
    """Return a duration in readable units.

    >>> [duration(seconds) for seconds in (0.01, 0.31, 9.24, 75, 3725)]
    ['less than 0.1 seconds', '0.3 seconds', '9 seconds', '1 min 15 s', '1 h 2 min']
    """
    if seconds < 0.1:
        return "less than 0.1 seconds"
    if seconds < 60:
        return f"{seconds:.{int(seconds < 5)}f} seconds"
    minutes = seconds / 60
    if minutes < 60:
        return f"{int(minutes)} min {int(seconds % 60)} s"
    return f"{int(minutes // 60)} h {int(minutes % 60)} min"


def facts_of(run: Run) -> list[tuple[str, str]]:
    """List what the run was made with and what it spent."""
    return [(sanitize(name), sanitize(value)) for name, value in _facts(run)]


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    identity, graph, usage = run.identity, run.graph, run.usage
    yield "problem", run.problem
    if identity.source != run.problem:
        yield "source", identity.source
    yield "strategy", identity.strategy
    yield "seed", str(identity.seed)
    yield "stop reason", stop_text(run) if run.stop_reason else "not stopped"
    yield "vocabulary", counted(len(graph.vocabulary.atoms), "atom")
    yield "capabilities", f"{len(graph.capabilities):,}"
    yield "queries", f"{usage.queries:,}"
    yield "executions", f"{usage.executions:,}"
    yield "simulator steps", f"{usage.simulator_steps:,}"
    yield "of these for discovery", f"{run.meta.discovery_usage.simulator_steps:,}"
    if usage.replay_steps:
        yield "simulator steps of replays", f"{usage.replay_steps:,}"
    if usage.llm_tokens:
        yield "LLM tokens", f"{usage.llm_tokens:,}"
    if usage.llm_cost:
        yield "LLM cost", f"{usage.llm_cost:.6g}"
    yield "seconds", f"{usage.seconds:,.1f}"
    for failure in run.agent_failures:
        name = f"executions in which the agent {agent_failure_text(failure)}"
        yield name, f"{failure.executions:,}"
    for name, limit in run.budget.limits:
        yield f"budget: {name.replace('_', ' ')}", f"{limit:,}"
    length = identity.temporal_length
    changes = "any number of changes" if length is None else counted(length, "change")
    yield "an execution ends after", changes + (" of the symbolic state" if length else "")
    yield "or after", counted(identity.horizon, "simulator step")
    if identity.reset_every:
        yield "simulator reset every", counted(identity.reset_every, "execution")
    for name, value in identity.settings.changed().items():
        text = "; ".join(map(str, value)) if isinstance(value, tuple) else f"{value:g}"
        yield f"setting: {name.replace('_', ' ')}", text
    for name, version in run.meta.versions.items():
        yield f"version: {name}", str(version)
    if identity.fingerprint:
        yield "problem fingerprint", identity.fingerprint
    texts = run.meta.file_digests
    if texts:
        yield "digest of the problem's file", texts[0]
    if len(texts) > 1:
        yield "changed during the run to", ", ".join(texts[1:])


def reliability_sentences(assessed: Standings) -> Iterator[str]:
    """Say what was achieved always, sometimes, never, and by repeated requests."""
    standings: dict[Standing, list[CapabilityView]] = {standing: [] for standing in Standing}
    for view in assessed.views:
        standings[standing_of(view)].append(view)
    tried = len(assessed.views) - len(standings[Standing.UNTRIED])
    if not tried:
        yield NOTHING_KNOWN
        return
    number, they = counted(tried, "capability"), "it" if tried == 1 else "they"
    yield f"{number} {was(tried)} tried where {they} did not hold already."
    yield from _achieved(standings, tried)
    if assessed.eventual is not None and len(standings[Standing.RELIABLE]) < tried > 1:
        yield _repeated(assessed.eventual, tried, inferred=bool(assessed.inferred))


def _achieved(standings: Mapping[Standing, Sequence[CapabilityView]], tried: int) -> Iterator[str]:
    always, partly = standings[Standing.RELIABLE], standings[Standing.SOMETIMES]
    never = standings[Standing.NEVER]
    if always:
        yield f"{_number_was(len(always), tried)} achieved by every execution: {_named(always)}."
    elif tried not in (len(partly), len(never)):
        yield "None was achieved by every execution."
    if partly:
        number = _number_was(len(partly), tried)
        yield f"{number} achieved by some executions and not by others{_cases(partly)}."
    if never:
        yield f"{_number_was(len(never), tried)} never seen to be achieved: {_named(never)}."


def _number_was(number: int, of: int) -> str:
    if number < of:
        return f"{number:,} {was(number)}"
    return "It was" if of == 1 else f"{_all(of).capitalize()} were"


def _all(number: int) -> str:
    return "both" if number == 2 else f"all {number:,}"


def _cases(views: Sequence[CapabilityView]) -> str:
    """Name some capabilities, if possible with a condition under which they never failed."""
    best: dict[Intent, RuleView] = {}
    for view in views:
        certain = [rule for rule in view.rules if _never_failed(rule)]
        if certain:
            best[view.intent] = max(certain, key=lambda rule: rule.rule.executions)
    if not best:
        return f": {_named(views)}"
    ranked = sorted(best, key=lambda intent: -best[intent].rule.executions)
    cases = [
        f"{i} when {joined(best[i].when.terms[0])} ({_support([best[i]])})" for i in _varied(ranked)
    ]
    return f". For example, {joined(cases)} never failed"


def _never_failed(rule: RuleView) -> bool:
    brief = len(rule.when) == 1 and 0 < len(rule.when.terms[0]) <= _LONGEST_CONDITION
    return not rule.held and rule.achieving == 1 and brief


def _repeated(eventual: Sequence[Mapping[State, float]], tried: int, *, inferred: bool) -> str:
    probabilities = [list(own.values()) for own in eventual if own]
    everywhere = sum(min(own) >= ALMOST_CERTAIN for own in probabilities)
    somewhere = sum(max(own) >= ALMOST_CERTAIN for own in probabilities) - everywhere
    number = f"{everywhere or 'none'} of these {counted(tried, 'capability')}"
    if everywhere == tried:
        number = f"{_all(tried)} of these capabilities"
    some = f", and from some states for {somewhere:,} more" if somewhere else ""
    basis = "the observed frequencies"
    if inferred:
        basis += " and, where a step on the way was not tried, by what the model infers"
    return (
        "If the same intent is requested until it holds or three executions change nothing, the "
        "agent almost certainly achieves it "
        f"(with probability {ALMOST_CERTAIN:g} or more, by {basis}) from every "
        f"state tried for {number}{some}."
    )


def _named(views: Sequence[CapabilityView]) -> str:
    """Name some capabilities with their support, and count the others."""
    rules = {view.intent: [rule for rule in view.rules if not rule.held] for view in views}
    ranked = sorted(rules, key=lambda i: -sum(rule.rule.executions for rule in rules[i]))
    names = [f"{intent} ({_support(rules[intent])})" for intent in _varied(ranked)]
    more = len(views) - len(names)
    return joined([*names, f"{more:,} more"] if more else names)


def _varied(intents: Sequence[Intent]) -> list[Intent]:
    """Choose a few intents, preferring different predicates to different objects."""
    kinds = [tuple((x.positive, x.atom.predicate) for x in i.mentioned) for i in intents]
    again = {i: kind in kinds[:n] for n, (i, kind) in enumerate(zip(intents, kinds, strict=True))}
    return sorted(intents, key=lambda intent: again[intent])[:_MOST_NAMED]


def _support(rules: Sequence[RuleView]) -> str:
    executions = sum(rule.rule.executions for rule in rules)
    states = sum(len(rule.rule.states) for rule in rules)
    return f"{counted(executions, 'execution')} in {counted(states, 'state')}"
