"""`model.json`, version 1: the learned model in a form that other tools may rely on."""

from __future__ import annotations

from typing import Any

from capscope.model import Rule, StateGraph
from capscope.symbolic import Intent, Vocabulary
from capscope.symbolic.dnf import Term, dnfs_apart

FORMAT = "capscope-model"
VERSION = 1


def model_document(graph: StateGraph, problem: str) -> dict[str, Any]:
    """Return the pessimistic model as JSON-ready values."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "problem": problem,
        "vocabulary": [str(atom) for atom in graph.vocabulary.atoms],
        "capabilities": [_capability(graph, intent) for intent in graph.capabilities],
    }


def readable_conditions(rules: tuple[Rule, ...], vocabulary: Vocabulary) -> list[tuple[Term, ...]]:
    """Return the shortest condition of each rule that sets it apart from the others."""
    return dnfs_apart([rule.states for rule in rules], vocabulary)


def _capability(graph: StateGraph, intent: Intent) -> dict[str, Any]:
    rules = graph.rules(intent)
    conditions = readable_conditions(rules, graph.vocabulary)
    return {
        "intent": [str(literal) for literal in intent.literals],
        "executions": sum(rule.executions for rule in rules),
        "rules": [
            _rule(rule, when, graph.vocabulary)
            for rule, when in zip(rules, conditions, strict=True)
        ],
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
                "adds": [str(atom) for atom in vocabulary.holding(outcome.effect.adds)],
                "deletes": [str(atom) for atom in vocabulary.holding(outcome.effect.deletes)],
            }
            for outcome in rule.outcomes
        ],
    }
