"""The learned model in the PRISM language: an MDP for PRISM and Storm.

Each atom that was seen both true and false is a Boolean variable, so that a property reads like
`Pmax=? [F on_a_b & !clear_c]`. A command is for all states in which a request has the same
probabilities. The MDP starts in the initial state of
the run and covers the observed states, and those to which a request may lead from a state that has
not shown this outcome yet. A capability that was never tried in a state is not available there.

Probabilities are those that the model predicts, as decimals that sum to one. A state in which
nothing was tried has an unnamed loop without cost (a model checker would add one, or refuse) and
the label `untried`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import or_

from capscope.export.rules import GroundModel, GroundRule, condition_among, identifiers
from capscope.logic import Condition, Intent, State
from capscope.model import LearnedModel, StateGraph

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


def prism_program(model: LearnedModel, problem: str) -> str:
    """Return the tried pairs of a model as a program of one module."""
    ground, graph = GroundModel.of(model), model.graph
    variables = _identifiers(str(atom) for atom in graph.vocabulary.atoms)
    # An action with the name of a variable would confuse readers.
    asked = _identifiers((f"ask {intent}" for intent in graph.capabilities), variables.values())
    actions = {intent: asked[f"ask {intent}"] for intent in graph.capabilities}
    states, first = ground.states, graph.first_state
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
        lines += _commands(graph, intent, ground.rules[intent], action, variables)
    if untried:
        lines += ["", "  // Nothing was tried here; some tools need the loop."]
        lines.append(f"  [] {_guard(untried, variables)} -> true;")
    lines += ["endmodule", ""]
    names = [variables[str(atom)] for atom in graph.vocabulary.holding(varying)]
    lines += [f'label "{name}" = {name};' for name in names]
    lines += [f'label "untried" = {_guard(untried, variables) if untried else "false"};', ""]
    tried = [action for intent, action in actions.items() if ground.rules[intent]]
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
    graph: StateGraph, intent: Intent, rules: Sequence[GroundRule], action: str, variables: Names
) -> Iterator[str]:
    if rules:
        yield ""
        yield f"  // {action} asks for {json.dumps(str(intent))}"
    for rule in rules:
        yield f"  [{action}] {_guard(rule.when, variables)} -> {_updates(rule, graph, variables)};"


def _guard(terms: Condition, variables: Names) -> str:
    written = [
        " & ".join(f"{'' if lit.positive else '!'}{variables[str(lit.atom)]}" for lit in term)
        for term in terms
    ]
    if len(written) == 1:
        return written[0] or "true"
    return " | ".join(f"({term})" for term in written)


def _updates(rule: GroundRule, graph: StateGraph, variables: Names) -> str:
    updates = [
        " & ".join(
            f"({variables[str(literal.atom)]}'={'true' if literal.positive else 'false'})"
            for literal in effect.literals(graph.vocabulary)
        )
        or "true"
        for effect, _ in rule.outcomes
    ]
    if len(updates) == 1:
        return updates[0]
    shares = (f"{share} : " for _, share in rule.outcomes)
    return " + ".join(map("".join, zip(shares, updates, strict=True)))


def _untried(graph: StateGraph, known: Sequence[State]) -> Condition:
    """Return the condition of the states in which nothing was tried; no term if there is none."""
    if not graph.nodes:
        return Condition(((),))
    states = [s for s in known if (node := graph.nodes.get(s)) is None or not node.tried]
    return condition_among(states, known, graph.vocabulary)
