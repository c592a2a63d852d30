"""Planning by trying every policy: only for a handful of states, but obviously correct.

Probabilities are fractions, so that comparisons are exact.
"""

import itertools
from fractions import Fraction

from capscope.insight.planning.mdp import Mdp, MdpChoice


def choice(capability, *ways, rule=None, draws_here=1, fulfilled=0, doubt=0.0):
    """Make a choice; `ways` are (count, successor)."""
    counts, successors = zip(*ways, strict=True)
    number = capability if rule is None else rule
    return MdpChoice(capability, number, counts, successors, draws_here, 0, fulfilled, doubt)


def mdp(*choices):
    """Make a process from the choices in each state."""
    return Mdp(tuple(range(len(choices))), tuple(map(tuple, choices)))


def tried_process(model):
    """Return the process of a model: for each tried pair, ask what it predicts."""
    graph, found = model.graph, {}
    for state in graph.nodes:
        for capability, intent in enumerate(graph.capabilities):
            pair = graph.pair(state, capability)
            if pair is None or all(effect.apply(state) == state for effect in pair.counts):
                continue
            ends = {s: Fraction(p) for s, p in model.predict(state, intent).items() if p > 0}
            ends[max(ends, key=ends.get)] += 1 - sum(ends.values())  # apart from rounding
            found.setdefault(state, {})[capability] = ends
    states = sorted(
        {*graph.nodes, *(s for here in found.values() for e in here.values() for s in e)}
    )
    choices = (
        [choice(c, *((n, states.index(s)) for s, n in ends.items())) for c, ends in here.items()]
        for here in (found.get(state, {}) for state in states)
    )
    return Mdp(tuple(states), tuple(map(tuple, choices)))


def policies(process, ends):
    """Yield every memoryless policy: a choice for each state that has one and is not an end."""
    open_states = [i for i, here in enumerate(process.choices) if here and i not in ends]
    for chosen in itertools.product(*(process.choices[i] for i in open_states)):
        yield dict(zip(open_states, chosen, strict=True))


def shares(one):
    return [
        (Fraction(n, one.draws), after) for n, after in zip(one.counts, one.successors, strict=True)
    ]


def solved(rows, right):
    """Solve linear equations by elimination; None if there is no unique solution."""
    size = len(rows)
    table = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for i in range(size):
        pivot = next((j for j in range(i, size) if table[j][i]), None)
        if pivot is None:
            return None
        table[i], table[pivot] = table[pivot], table[i]
        table[i] = [value / table[i][i] for value in table[i]]
        for j in range(size):
            if j != i and table[j][i]:
                factor = table[j][i]
                table[j] = [a - factor * b for a, b in zip(table[j], table[i], strict=True)]
    return [row[-1] for row in table]


def states_reaching(policy, size, targets):
    """Return the states from which a policy may reach a target."""
    found = set(targets)
    while True:
        more = {
            i
            for i in range(size)
            if i in policy and i not in found and any(a in found for _, a in shares(policy[i]))
        }
        if not more:
            return found
        found |= more


def success(policy, size, goals):
    """Return the probability that a policy reaches a goal, from each state."""
    maybe = sorted(states_reaching(policy, size, goals) - set(goals))
    column = {state: k for k, state in enumerate(maybe)}
    rows, right = [], []
    for i in maybe:
        row, value = [Fraction(0)] * len(maybe), Fraction(0)
        row[column[i]] += 1
        for share, after in shares(policy[i]):
            if after in column:
                row[column[after]] -= share
            elif after in goals:
                value += share
        rows.append(row)
        right.append(value)
    found = dict(zip(maybe, solved(rows, right), strict=True))
    return [Fraction(1) if i in goals else found.get(i, Fraction(0)) for i in range(size)]


def executions(policy, size, ends):
    """Return the expected executions to an end; infinite if it may not be reached."""
    certain = [probability == 1 for probability in success(policy, size, ends)]
    inside = [i for i in range(size) if certain[i] and i not in ends]
    column = {state: k for k, state in enumerate(inside)}
    rows = []
    for i in inside:
        row = [Fraction(0)] * len(inside)
        row[column[i]] += 1
        for share, after in shares(policy[i]):
            if after in column:
                row[column[after]] -= share
        rows.append(row)
    found = dict(zip(inside, solved(rows, [Fraction(1)] * len(inside)), strict=True))
    return [
        Fraction(0) if i in ends else found[i] if certain[i] else float("inf") for i in range(size)
    ]


def best(process, goals):
    """Return for each state the highest success, and the fewest executions that attain it."""
    size = len(process.states)
    every = list(policies(process, goals))
    reached = [success(policy, size, goals) for policy in every]
    highest = [max(values[i] for values in reached) for i in range(size)]
    ends = set(goals) | {i for i in range(size) if not highest[i]}
    lengths = [executions(policy, size, ends) for policy in every]
    fewest = [
        min(
            length[i]
            for values, length in zip(reached, lengths, strict=True)
            if values[i] == highest[i]
        )
        for i in range(size)
    ]
    return highest, fewest
