"""The facts of a run: what it was made with and what it spent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from capscope.insight.agent_failures import agent_failure_text
from capscope.insight.notes import stop_text
from capscope.sanitize import sanitize
from capscope.wording import counted

if TYPE_CHECKING:
    from capscope.run import Run


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
