"""`model.json`, version 1: the learned model in a stable form for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from capscope.export.rules import with_readable_conditions
from capscope.insight.changes import UnrequestedChange
from capscope.logic import Condition, Intent, Vocabulary
from capscope.model import Rule, StateGraph

if TYPE_CHECKING:
    from capscope.run import Run

FORMAT = "capscope-model"
VERSION = 1


def model_document(
    graph: StateGraph,
    problem: str,
    wanted: Sequence[Intent] | None = None,
    changes: Sequence[UnrequestedChange] = (),
) -> dict[str, Any]:
    """Return the learned rules, or those of the wanted capabilities, as JSON-ready values.

    `changes` are those beyond the requests; of them, those that wanted capabilities showed.
    """
    capabilities = graph.capabilities if wanted is None else wanted
    return {
        "format": FORMAT,
        "version": VERSION,
        "problem": problem,
        "vocabulary": [str(atom) for atom in graph.vocabulary.atoms],
        "unrequested_changes": [
            change.as_dict()
            for change in changes
            if wanted is None or not set(wanted).isdisjoint(change.intents)
        ],
        "capabilities": [_capability(graph, intent) for intent in capabilities],
    }


def model_of_run(run: Run, wanted: Sequence[Intent] | None = None) -> dict[str, Any]:
    """Return the document of a run."""
    return model_document(run.graph, run.problem, wanted, run.unrequested_changes)


def _capability(graph: StateGraph, intent: Intent) -> dict[str, Any]:
    rules = with_readable_conditions(graph, intent)
    return {
        "intent": intent.as_lists(),
        "executions": sum(rule.executions for rule, _ in rules),
        "rules": [_rule(rule, when, graph.vocabulary) for rule, when in rules],
    }


def _rule(rule: Rule, when: Condition, vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "states": [hex(state) for state in rule.states],
        "when": [[str(literal) for literal in term] for term in when],
        "outcomes": [
            {
                "probability": outcome.probability,
                "count": outcome.count,
                "interval": list(outcome.interval),
                "spread": outcome.spread and list(outcome.spread),
                "adds": [str(atom) for atom in vocabulary.holding(outcome.effect.adds)],
                "deletes": [str(atom) for atom in vocabulary.holding(outcome.effect.deletes)],
            }
            for outcome in rule.outcomes
        ],
    }
