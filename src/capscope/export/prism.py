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
from functools import partial, reduce
from operator import or_

from capscope.export.rules import (
    ConditionedRules,
    condition_among,
    identifiers,
    model_states,
    with_observed_conditions,
)
from capscope.logic import Condition, Intent, State
from capscope.model import Rule, StateGraph

_identifiers = partial(
    identifiers,
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
    variables = _identifiers(str(atom) for atom in graph.vocabulary.atoms)
    # An action with the name of a variable would confuse readers.
    asked = _identifiers((f"ask {intent}" for intent in graph.capabilities), variables.values())
    actions = {intent: asked[f"ask {intent}"] for intent in graph.capabilities}
    states, first = model_states(graph), graph.first_state
    varying = reduce(or_, (state ^ (first or 0) for state in graph.nodes), 0)
    untried = _untried(graph, states)
    lines = [
        f"// What the agent of {json.dumps(problem)} does, as far as it was observed.",
        "// An action asks the agent for an intent. What was never tried is not available.",
        *(["// Nothing was tried: the initial state is unknown."] if first is None else []),
        "mdp",
        "",
        # Constants are declared so that properties can refer to them.
        *_declared(graph, variables, ~varying, "const bool {} = {}"),
        "",
        "module agent",
        *_declared(graph, variables, varying, "  {} : bool init {}"),
        *([] if varying else ["  unchanging : bool init true;"]),
    ]
    for intent, action in actions.items():
        rules = with_observed_conditions(graph, intent, states)
        lines += _commands(graph, intent, rules, action, variables)
    if untried:
        lines += ["", "  // Nothing was tried here; some tools need the loop."]
        lines.append(f"  [] {_guard(untried, variables)} -> true;")
    lines += ["endmodule", ""]
    names = [variables[str(atom)] for atom in graph.vocabulary.holding(varying)]
    lines += [f'label "{name}" = {name};' for name in names]
    lines += [f'label "untried" = {_guard(untried, variables) if untried else "false"};', ""]
    tried = [action for intent, action in actions.items() if graph.rules(intent)]
    rewards = [f"  [{action}] true : 1;" for action in tried] or ["  true : 0;"]
    lines += ['rewards "executions"', *rewards, "endrewards"]
    return "\n".join(lines) + "\n"


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
    if rules:
        yield ""
        yield f"  // {action} asks for {json.dumps(str(intent))}"
    for rule, when in rules:
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


def _untried(graph: StateGraph, known: Sequence[State]) -> Condition:
    """Return the condition of the states in which nothing was tried; no term if there is none."""
    if not graph.nodes:
        return Condition(((),))
    states = [s for s in known if (node := graph.nodes.get(s)) is None or not node.tried]
    return condition_among(states, known, graph.vocabulary)
