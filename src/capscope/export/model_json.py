"""`model.json`, version 2: the learned model in a stable form for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from capscope.insight.findings import Finding
from capscope.logic import Intent, Vocabulary, to_json
from capscope.logic.footprint import variable_names
from capscope.model import LearnedModel
from capscope.model.lifted_rules import (
    FamilyRules,
    LiftedBehavior,
    LiftedEffect,
    LiftedLiteral,
    LiftedRule,
)

if TYPE_CHECKING:
    from capscope.run import Run

FORMAT = "capscope-model"
VERSION = 2


def model_document(
    model: LearnedModel,
    problem: str,
    wanted: Sequence[Intent] | None = None,
    findings: Sequence[Finding] = (),
) -> dict[str, Any]:
    """Return the learned model, or the families of the wanted capabilities, as JSON-ready values.

    Of the findings, those about wanted capabilities are written.
    """
    graph = model.graph
    asked = set(graph.capabilities if wanted is None else wanted)
    families = [one for one in model.families if not asked.isdisjoint(one.members)]
    return {
        "format": FORMAT,
        "version": VERSION,
        "problem": problem,
        "signature": graph.vocabulary.as_dict(),
        "vocabulary": [str(atom) for atom in graph.vocabulary.atoms],
        "states": [hex(state) for state in graph.nodes],
        "findings": [
            to_json(finding)
            for finding in findings
            if wanted is None or not set(wanted).isdisjoint(finding.intents)
        ],
        "behaviors": [_behavior(one, graph.vocabulary) for one in model.behaviors],
        "families": [_family(one, graph.vocabulary) for one in families],
        "capabilities": [
            _capability(model, intent, place)
            for place, family in enumerate(families)
            for intent in family.members
            if intent in asked
        ],
    }


def model_of_run(run: Run, wanted: Sequence[Intent] | None = None) -> dict[str, Any]:
    """Return the document of a run."""
    document = model_document(run.model, run.problem, wanted, run.findings())
    return document | ({} if run.carry_over is None else {"carry_over": to_json(run.carry_over)})


def _capability(model: LearnedModel, intent: Intent, family: int) -> dict[str, Any]:
    place = model.graph.index[intent]
    pairs = [pair for node in model.graph.nodes.values() if (pair := node.pairs[place])]
    return {
        "intent": intent.as_lists(),
        "family": family,
        "executions": sum(pair.total for pair in pairs),
        "states_tried": len(pairs),
    }


def _behavior(behavior: LiftedBehavior, vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "name": behavior.name,
        "variables": list(behavior.variables),
        "when": _conjunction(behavior.when, vocabulary),
        "either": [_conjunction(one, vocabulary) for one in behavior.either],
        "doubtful": _conjunction(behavior.doubtful, vocabulary),
        "effects": [_effect(one, vocabulary) for one in behavior.effects],
        "executions": behavior.executions,
        "only_seen": behavior.only_seen,
        "seen": [list(one) for one in behavior.seen],
    }


def _family(family: FamilyRules, vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "name": family.name,
        "roles": list(family.roles),
        "members": [member.as_lists() for member in family.members],
        "executions": family.executions,
        "rules": [_rule(rule, vocabulary) for rule in family.rules],
    }


def _rule(rule: LiftedRule, vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "capability": None if rule.capability is None else rule.capability.as_lists(),
        "when": _conjunction(rule.when, vocabulary),
        "consequence": str(rule.consequence),
        "effects": [_effect(one, vocabulary) for one in rule.effects],
        "pairs": rule.pairs,
        "foreseen": rule.foreseen,
    }


def _effect(effect: LiftedEffect, vocabulary: Vocabulary) -> dict[str, Any]:
    def atoms(positive: bool) -> list[list[str]]:
        changed = (one.atoms[0] for one in effect.changes if one.positive is positive)
        return [[name, *arguments] for name, arguments in changed]

    return {
        "adds": atoms(True),
        "deletes": atoms(False),
        "where": {name: _literal(relation, vocabulary) for name, relation in effect.where},
        "count": effect.count,
        "probability": effect.probability,
        "meant": effect.meant,
        "spread": effect.spread and list(effect.spread),
    }


def _conjunction(literals: Sequence[LiftedLiteral], vocabulary: Vocabulary) -> list[Any]:
    return [_literal(one, vocabulary) for one in literals]


def _literal(literal: LiftedLiteral, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return a literal; the objects of `exists` are further ones."""
    atoms, further = literal.named(list(islice(variable_names(vocabulary), 6)))
    return {
        "positive": literal.positive,
        "exists": further,
        "atoms": [[name, *arguments] for name, arguments in atoms],
    }
