"""What the run was made with and what it took: names and values, for whoever wants to repeat it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from capscope.present.agent_failures import what_the_agent_did
from capscope.present.digest.record import Record
from capscope.present.text import counted
from capscope.record.run_directory import TEXTS
from capscope.record.settings import Settings
from capscope.record.usage import Usage
from capscope.sanitize import sanitize


def facts_of(record: Record) -> tuple[tuple[str, str], ...]:
    """List what the run was made with."""
    return tuple((sanitize(name), sanitize(value)) for name, value in _facts(record))


def _facts(record: Record) -> Iterator[tuple[str, str]]:
    identity, meta, graph = record.identity, record.reading.meta, record.graph
    yield "problem", str(record.reading.problem)
    if identity["problem"] != record.reading.problem:
        yield "source", str(identity["problem"])
    yield "strategy", str(identity["strategy"])
    yield "seed", str(identity["seed"])
    yield "stopped because", record.stopped_because or "it has not stopped"
    yield "vocabulary", counted(len(graph.vocabulary.atoms), "atom")
    yield "capabilities", f"{len(graph.capabilities):,}"
    yield from _usage(record.reading.usage, Usage.before_asking(meta).simulator_steps)
    for failure in record.reading.agent_failures:
        yield f"executions in which {what_the_agent_did(failure)}", f"{failure.executions:,}"
    for name, limit in meta["budget"].items():
        if limit is not None:
            yield f"budget of {name.replace('_', ' ')}", f"{limit:,}"
    length = identity.get("temporal length")
    yield "an attempt ends after", "any number of changes" if length is None else _changes(length)
    yield "or after", f"{identity.get('horizon', 'unknown')} simulator steps"
    if identity.get("reset every"):
        yield "the world is reset after", counted(identity["reset every"], "execution")
    for name, value in _changed_settings(identity["settings"]):
        yield f"setting {name.replace('_', ' ')}", value
    for name, version in meta["versions"].items():
        yield f"version of {name}", str(version)
    if identity.get("problem fingerprint"):
        yield "fingerprint of the problem", str(identity["problem fingerprint"])
    texts = meta.get(TEXTS, [])
    if texts:
        yield "text of the problem's file", texts[0]
    if len(texts) > 1:
        yield "it was changed during the run", f"then {', '.join(texts[1:])}"


def _changes(length: int) -> str:
    return f"{length} change{'' if length == 1 else 's'} of the symbolic state"


def _usage(usage: Usage, discovery: int) -> Iterator[tuple[str, str]]:
    yield "queries", f"{usage.queries:,}"
    yield "executions", f"{usage.executions:,}"
    yield "simulator steps", f"{usage.simulator_steps:,}"
    yield "of these for discovery", f"{discovery:,}"
    if usage.llm_tokens:
        yield "tokens of the language model", f"{usage.llm_tokens:,}"
    if usage.llm_cost:
        yield "cost of the language model", f"{usage.llm_cost:.6g}"
    yield "seconds", f"{usage.seconds:,.1f}"


def _changed_settings(recorded: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in Settings.from_dict(recorded).changed().items():
        yield name, "; ".join(map(str, value)) if isinstance(value, tuple) else f"{value:g}"
