"""`model.json`, version 1: the learned model in a stable form for other tools."""

from collections.abc import Sequence
from typing import Any

from capscope.export.conditions import with_readable_conditions
from capscope.model import Rule, StateGraph
from capscope.symbolic import Intent, Vocabulary
from capscope.symbolic.dnf import Term

FORMAT = "capscope-model"
VERSION = 1


def model_document(
    graph: StateGraph, problem: str, wanted: Sequence[Intent] | None = None
) -> dict[str, Any]:
    """Return the learned rules, or those of the wanted capabilities, as JSON-ready values."""
    capabilities = graph.capabilities if wanted is None else wanted
    return {
        "format": FORMAT,
        "version": VERSION,
        "problem": problem,
        "vocabulary": [str(atom) for atom in graph.vocabulary.atoms],
        "capabilities": [_capability(graph, intent) for intent in capabilities],
    }


def _capability(graph: StateGraph, intent: Intent) -> dict[str, Any]:
    rules = with_readable_conditions(graph, intent)
    return {
        "intent": intent.as_lists(),
        "executions": sum(rule.executions for rule, _ in rules),
        "rules": [_rule(rule, when, graph.vocabulary) for rule, when in rules],
    }


def _rule(rule: Rule, when: tuple[Term, ...], vocabulary: Vocabulary) -> dict[str, Any]:
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
