"""The top of a report: what was assessed, at what cost, and what came of it, in sentences.

Written for somebody who evaluates agents and has never heard of capscope. So a noun is explained
where it first comes up, every claim has its numbers, and what was not seen is never said to be
impossible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from capscope.analysis.findings import Finding
from capscope.present.agent_failures import agent_failure_warnings
from capscope.present.digest.record import Record
from capscope.present.digest.reliability import reliability_sentences
from capscope.present.digest.shape import Passage
from capscope.present.digest.unknown import unknown_sentences
from capscope.present.text import CapabilityView, counted
from capscope.record.settings import Settings
from capscope.record.usage import Usage
from capscope.sanitize import sanitize

_MOST_FINDINGS = 3


def summary_of(
    record: Record, views: Sequence[CapabilityView], findings: Sequence[Finding]
) -> tuple[Passage, ...]:
    """Sum a run up in five passages."""
    passages: list[tuple[str, Iterator[str]]] = [
        ("What was assessed", _assessed(record)),
        ("What it cost", _cost(record)),
        ("What it can do reliably", reliability_sentences(record, views)),
        ("What surprised", _surprises(record, findings)),
        ("What remains unknown", unknown_sentences(record, views)),
    ]
    return tuple(Passage(head, tuple(map(sanitize, said))) for head, said in passages)


def _assessed(record: Record) -> Iterator[str]:
    graph, problem = record.graph, record.reading.problem
    intents = graph.capabilities
    if not intents:
        yield f"The agent of {problem}; the run has not yet found anything to ask it for."
        return
    asked = "is to be" if not len(record.table) else "was"
    things = f"one of {len(intents):,} things, for example" if len(intents) > 2 else "this:"
    # Where a thing is itself an "and", a comma keeps the two apart.
    either = " or " if all(len(intent.literals) == 1 for intent in intents[:2]) else ", or "
    yield (
        f"The agent of {problem} {asked} asked to bring about {things} "
        f"{either.join(map(str, intents[:2]))}. Each thing that it can be asked for is a "
        "capability; asking for it once, and seeing what changes, is an execution (a draw)."
    )
    if graph.nodes:
        facts = counted(len(graph.vocabulary.atoms), "fact")
        yield (
            f"The run saw {counted(len(graph.nodes), 'state')}: situations that are told apart "
            f"by {facts} (atoms), each of which holds or does not hold."
        )
    yield _ending(record.identity)


def _ending(identity: dict[str, Any]) -> str:
    length, horizon = identity.get("temporal length", 1), identity.get("horizon", 100)
    steps = counted(horizon, "simulator step")
    if length is None:
        return f"An execution ends when the agent stops, or after {steps}."
    changed = "the state has changed" if length == 1 else f"the state has changed {length} times"
    return (
        f"An execution ends when {changed}, when the agent stops, or after {steps}. So what takes "
        "longer shows as a step on the way and not as a success."
    )


def _cost(record: Record) -> Iterator[str]:
    usage = record.reading.usage
    discovery = Usage.before_asking(record.reading.meta).simulator_steps
    if usage.executions:
        queries = counted(usage.queries, "query")
        found = f", {discovery:,} of them to find out what can be asked for," if discovery else ""
        yield (
            f"{counted(usage.executions, 'execution')} in {queries}, chosen by the "
            f"strategy {record.identity['strategy']}, took "
            f"{counted(usage.simulator_steps, 'simulator step')}{found} and "
            f"{duration(usage.seconds)}."
        )
    elif discovery:
        steps = counted(discovery, "simulator step")
        yield f"{steps} went into finding out what can be asked for; nothing was executed yet."
    else:
        yield "Nothing yet: nothing was executed."
    if usage.llm_tokens:
        paid = f", at a cost of {usage.llm_cost:.4g}" if usage.llm_cost else ""
        yield f"The agent's language model used {counted(usage.llm_tokens, 'token')}{paid}."
    yield _end(record)


def _end(record: Record) -> str:
    reason = record.stopped_because
    if reason is None:
        return "The run has not ended: it is under way or was interrupted."
    if reason == "no news":
        patience = Settings.from_dict(record.identity["settings"]).patience
        quiet = (
            f"{counted(patience, 'query')} in a row showed" if patience > 1 else "a query showed"
        )
        return f"It ended by itself when {quiet} nothing new."
    if reason == "nothing left to settle":
        return "It ended by itself when, by its own measure, nothing was left to settle."
    name = reason.removeprefix("budget of ").removesuffix(" spent")
    limit = record.reading.meta["budget"].get(name)
    if limit is None:
        return f"It ended for this reason: {reason}."
    return f"It was ended by its budget ({_amount(name, limit)}), not by itself."


def _amount(currency: str, limit: float) -> str:
    """Say how much of a currency was allowed."""
    if currency == "queries":
        return counted(int(limit), "query")
    if currency == "llm_cost":
        return f"a cost of {limit:g}"
    if currency == "seconds":
        return f"{limit:g} second{'' if limit == 1 else 's'}"
    return counted(int(limit), currency.removesuffix("s").removeprefix("llm_").replace("_", " "))


def _surprises(record: Record, findings: Sequence[Finding]) -> Iterator[str]:
    # First of all: an agent that breaks down is not one that prefers to do nothing.
    warnings = list(agent_failure_warnings(record.reading.agent_failures))
    yield from (f"{warning[0].upper()}{warning[1:]}." for warning in warnings)
    if not record.graph.pairs_tried:
        yield "Nothing yet: nothing was executed to its end."
    elif not findings:
        nothing = "Nothing else" if warnings else "Nothing"
        yield (
            f"{nothing} that was seen stands out: no side effect that was not needed, no condition "
            "under which the agent fails, no preference, no unusual means, no like objects that "
            "are treated differently."
        )
    # Of each kind the most striking before the second of any: they are often alike.
    first = {finding.kind: finding for finding in reversed(findings)}.values()
    ranked = sorted(findings, key=lambda finding: finding not in first)
    yield from (finding.sentence for finding in ranked[:_MOST_FINDINGS])
    more = len(findings) - _MOST_FINDINGS
    if more > 0:
        yield f"{counted(more, 'more finding')} {'are' if more > 1 else 'is'} listed below."


def duration(seconds: float) -> str:
    """Say how long something took.

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
