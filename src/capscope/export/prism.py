"""The learned model in the PRISM language: an MDP for PRISM and Storm.

Each atom that was seen both true and false is a Boolean variable, so that a property reads like
`Pmax=? [F on_a_b & !clear_c]`, and a rule is one command. The MDP starts in the initial state of
the run and covers the observed states, and those to which a rule leads from a state that has not
shown this outcome yet. A capability that was never tried in a state is not available there.

Probabilities are fractions of counts such as `7/25`, exact in an exact engine. A state in which
nothing was tried has an unnamed loop without cost (a model checker would add one, or refuse) and
the label `untried`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import or_

from capscope.export.rules import (
    ConditionedRules,
    IdentifierSyntax,
    condition_among,
    model_states,
    with_observed_conditions,
)
from capscope.logic import Condition, Intent, State
from capscope.model import Rule, StateGraph

SYNTAX = IdentifierSyntax(
    "_",
    "agent bool ceil clock const csg ctmc ctmdp deadlock double dtmc endinit endinvariant "
    "endmodule endobservables endplayer endrewards endsystem false filter floor formula func "
    "global init int invariant label log lta ma max mdp min mod module multi nondeterministic "
    "observable observables of partial path player pomdp popta pow prob probabilistic pta "
    "rate rewards round smg stochastic system true unchanging untried",
)

Names = Mapping[str, str]


def prism_program(graph: StateGraph, problem: str) -> str:
    """Return the learned rules as a program of one module."""
    variables = SYNTAX.identifiers(str(atom) for atom in graph.vocabulary.atoms)
    # An action with the name of a variable would confuse readers.
    asked = SYNTAX.identifiers(
        (f"ask {intent}" for intent in graph.capabilities), variables.values()
    )
    actions = {intent: asked[f"ask {intent}"] for intent in graph.capabilities}
    states = model_states(graph)
    untried = _untried(graph, states)
    rules = {intent: with_observed_conditions(graph, intent, states) for intent in actions}
    commands = [
        line
        for i, name in actions.items()
        for line in _commands(graph, i, rules[i], name, variables)
    ]
    lines = [
        *_heading(graph, problem),
        "mdp",
        "",
        *_constants(graph, variables),
        "module agent",
        *_variables(graph, variables),
        *commands,
        *_loops(untried, variables),
        "endmodule",
        "",
        *_labels(graph, untried, variables),
        *_rewards(graph, actions),
    ]
    return "\n".join(lines) + "\n"


def _heading(graph: StateGraph, problem: str) -> Iterator[str]:
    yield f"// What the agent of {json.dumps(problem)} does, as far as it was observed."
    yield "// An action asks the agent for an intent. What was never tried is not available."
    if graph.first_state is None:
        yield "// Nothing was tried: the initial state is unknown."


def _varying(graph: StateGraph) -> int:
    """Return the bits that were seen both set and clear."""
    first = graph.first_state or 0
    return reduce(or_, (state ^ first for state in graph.nodes), 0)


def _constants(graph: StateGraph, variables: Names) -> Iterator[str]:
    """Declare the atoms that never changed, so that properties can refer to them."""
    yield from _declared(graph, variables, ~_varying(graph), "const bool {} = {}")
    yield ""


def _variables(graph: StateGraph, variables: Names) -> Iterator[str]:
    varying = _varying(graph)
    yield from _declared(graph, variables, varying, "  {} : bool init {}")
    if not varying:
        yield "  unchanging : bool init true;"


def _declared(graph: StateGraph, variables: Names, bits: int, form: str) -> Iterator[str]:
    """Declare the atoms of some bits with their values in the initial state."""
    first = graph.first_state or 0
    for i, atom in enumerate(graph.vocabulary.atoms):
        if bits >> i & 1:
            declaration = form.format(variables[str(atom)], "true" if first >> i & 1 else "false")
            yield f"{declaration};  // {json.dumps(str(atom))}"


def _commands(
    graph: StateGraph, intent: Intent, rules: ConditionedRules, action: str, variables: Names
) -> Iterator[str]:
    for number, (rule, when) in enumerate(rules, 1):
        if number == 1:
            yield ""
            yield f"  // {action} asks for {json.dumps(str(intent))}"
        yield f"  [{action}] {_guard(when, variables)} -> {_updates(rule, graph, variables)};"


def _guard(terms: Condition, variables: Names) -> str:
    written = [
        " & ".join(f"{'' if lit.positive else '!'}{variables[str(lit.atom)]}" for lit in term)
        for term in terms
    ]
    if len(written) == 1:
        return written[0] or "true"
    return " | ".join(f"({term})" for term in written)


def _updates(rule: Rule, graph: StateGraph, variables: Names) -> str:
    updates = [
        " & ".join(
            f"({variables[str(literal.atom)]}'={'true' if literal.positive else 'false'})"
            for literal in outcome.effect.literals(graph.vocabulary)
        )
        or "true"
        for outcome in rule.outcomes
    ]
    if len(updates) == 1:
        return updates[0]
    counts = (outcome.count for outcome in rule.outcomes)
    shares = (f"{count}/{rule.executions} : " for count in counts)
    return " + ".join(map("".join, zip(shares, updates, strict=True)))


def _loops(untried: Condition, variables: Names) -> Iterator[str]:
    if untried:
        yield ""
        yield "  // Nothing was tried here; some tools need the loop."
        yield f"  [] {_guard(untried, variables)} -> true;"


def _untried(graph: StateGraph, known: Sequence[State]) -> Condition:
    """Return the condition of the states in which nothing was tried; no term if there is none."""
    if not graph.nodes:
        return Condition(((),))
    states = [s for s in known if (node := graph.nodes.get(s)) is None or not node.tried]
    return condition_among(states, known, graph.vocabulary)


def _labels(graph: StateGraph, untried: Condition, variables: Names) -> Iterator[str]:
    for atom in graph.vocabulary.holding(_varying(graph)):
        yield f'label "{variables[str(atom)]}" = {variables[str(atom)]};'
    yield f'label "untried" = {_guard(untried, variables) if untried else "false"};'
    yield ""


def _rewards(graph: StateGraph, actions: Mapping[Intent, str]) -> Iterator[str]:
    tried = [action for intent, action in actions.items() if graph.rules(intent)]
    yield 'rewards "executions"'
    yield from (f"  [{action}] true : 1;" for action in tried)
    if not tried:
        yield "  true : 0;"
    yield "endrewards"
