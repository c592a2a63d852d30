"""LAO* compared with plain value iteration over all states."""

import functools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import support
from capscope.adapters.pddl import GroundOperator, PddlTruth, lao_star, load_task, shipped_files
from capscope.adapters.pddl.lao_star import PENALTY, LaoStarAgent, LaoStarPolicy
from capscope.adapters.pddl.task import AtomChange, OperatorOutcome
from capscope.errors import VocabularyError
from capscope.logic import Intent, Literal, LiteralTest, Vocabulary
from capscope.problem import Limits
from support.pddl_tasks import dynamic_mask

CLOSE = 1e-6


def value_iteration(operators, states, goal, penalty=PENALTY):
    """Return the cost and the first best operator of every state."""
    choices = {s: [(o, o.outcomes(s)) for o in operators if o.applicable(s)] for s in states}
    cost = dict.fromkeys(states, 0.0)

    def expected(state):
        return [1 + sum(p * cost[after] for p, after in outs) for _, outs in choices[state]]

    change = 1.0
    while change > 1e-11:
        change = 0.0
        for state in states:
            if not goal(state):
                before, cost[state] = cost[state], min([penalty, *expected(state)])
                change = max(change, abs(cost[state] - before))

    def best(state):
        if goal(state) or cost[state] > penalty - CLOSE:
            return None
        costs = expected(state)
        return choices[state][next(i for i, c in enumerate(costs) if c < min(costs) + CLOSE)][0]

    return cost, {state: best(state) for state in states}


def cost_of(policy, state):
    """Return the expected number of steps from a state, plus the penalty for giving up."""
    policy.act(state)
    return policy._cost[state]


@functools.cache
def shipped(name):
    task = load_task(*shipped_files(name))
    agent = LaoStarAgent(task.operators, task.vocabulary)
    return task, agent, PddlTruth(task, agent.choose, Limits())


@pytest.mark.parametrize("name", ["blocksworld", "tireworld", "first-responders"])
def test_costs_and_choices_match_value_iteration_in_every_state(name):
    task, agent, truth = shipped(name)
    states = truth.reachable_states()
    for intent in truth.intents():
        cost, choice = value_iteration(
            task.operators, states, lambda s, i=intent: i.holds(s, task.vocabulary)
        )
        policy = agent.begin(intent, 0)
        assert {s: cost_of(policy, s) for s in states} == pytest.approx(cost, abs=CLOSE)
        assert {s: agent.choose(intent, s) for s in states} == choice


NEAR_TIES = Path(support.__file__).parent / "near_ties"


@functools.cache
def with_near_ties(name):
    """Return a task whose choices alternate around near-ties, its states and its intents."""
    task = load_task(NEAR_TIES / f"{name}-domain.pddl", NEAR_TIES / f"{name}-problem.pddl")
    states, found = [task.initial_state], {task.initial_state}
    for state in states:
        for operator in task.operators:
            if operator.applicable(state):
                new = {after for _, after in operator.outcomes(state)} - found
                found |= new
                states += sorted(new)
    atoms = task.vocabulary.holding(dynamic_mask(task))
    intents = [Intent.of([Literal(atom, holds)]) for atom in atoms for holds in (True, False)]
    return task, states, intents


@pytest.mark.parametrize(("name", "number"), [("servers", 16), ("charges", 289)])
def test_planning_ends_around_near_ties_with_the_costs_of_value_iteration(name, number):
    task, states, intents = with_near_ties(name)
    assert len(states) == number
    agent = LaoStarAgent(task.operators, task.vocabulary)
    costs, choices = all_costs(task, states, intents)
    positions = {operator: j for j, operator in enumerate(task.operators)} | {None: -1}
    for k, intent in enumerate(intents):
        policy = agent.begin(intent, 0)
        assert [cost_of(policy, s) for s in states] == pytest.approx(costs[:, k], abs=CLOSE)
        assert [positions[policy.act(s)] for s in states] == choices[:, k].tolist()


@pytest.mark.parametrize(
    ("name", "intent"), [("servers", "not running(s2)"), ("charges", "not floor-whole()")]
)
def test_the_rounds_of_lao_star_alone_would_not_end_around_near_ties(name, intent, monkeypatch):
    class NotSolved(Exception):
        pass

    def give_up(policy, start):
        raise NotSolved

    monkeypatch.setattr(lao_star, "MOST_ROUNDS", 1_000)
    monkeypatch.setattr(LaoStarPolicy, "_iterate_values", give_up)
    task, states, _ = with_near_ties(name)
    policy = LaoStarAgent(task.operators, task.vocabulary).begin(Intent.parse(intent), 0)
    with pytest.raises(NotSolved):
        for state in sorted(states):
            policy.act(state)


@pytest.mark.parametrize("name", ["blocksworld", "first-responders", "depot"])
def test_value_iteration_chooses_what_the_rounds_of_lao_star_choose(name, monkeypatch):
    task, _, truth = shipped(name)
    states, intents = truth.reachable_states(), truth.intents()[::4]

    def choices(rounds):
        monkeypatch.setattr(lao_star, "MOST_ROUNDS", rounds)
        agent = LaoStarAgent(task.operators, task.vocabulary)
        return [agent.choose(intent, state) for intent in intents for state in states]

    assert choices(1) == choices(20_000)


def test_of_several_alternatives_the_nearest_is_pursued():
    task, agent, truth = shipped("tireworld")
    states = truth.reachable_states()
    either = Intent.parse("vehicle-at(l-1-3) or vehicle-at(l-2-2) and not-flattire()")
    cost, choice = value_iteration(
        task.operators, states, lambda s: either.holds(s, task.vocabulary)
    )
    policy = agent.begin(either, 0)
    assert {s: cost_of(policy, s) for s in states} == pytest.approx(cost, abs=CLOSE)
    assert {s: agent.choose(either, s) for s in states} == choice


def all_costs(task, states, intents):
    """Run the same value iteration for all intents at once, with arrays.

    Returns costs and the index of the first best operator (-1 to decline), both [state, intent].
    """
    index = {state: i for i, state in enumerate(states)}
    pairs = [(s, j) for s in states for j, o in enumerate(task.operators) if o.applicable(s)]
    outs = [task.operators[j].outcomes(s) for s, j in pairs]
    width = max(map(len, outs))
    share = np.array([[*(p for p, _ in o), *[0.0] * (width - len(o))] for o in outs])
    after = np.array([[*(index[s] for _, s in o), *[0] * (width - len(o))] for o in outs])
    first = np.flatnonzero([i == 0 or pairs[i - 1][0] != s for i, (s, _) in enumerate(pairs)])
    owner = np.array([index[s] for s, _ in pairs])
    acting = owner[first]
    done = np.array([[i.holds(s, task.vocabulary) for i in intents] for s in states])
    cost = np.zeros(done.shape)
    while True:
        expected = 1 + sum(share[:, k, None] * cost[after[:, k]] for k in range(width))
        new = np.full_like(cost, PENALTY)
        new[acting] = np.minimum(PENALTY, np.minimum.reduceat(expected, first))
        new[done] = 0.0
        if np.abs(new - cost).max() < 1e-11:
            break
        cost = new
    position = np.where(expected < cost[owner] + CLOSE, np.arange(len(pairs))[:, None], len(pairs))
    choice = np.full(cost.shape, -1)
    operator = np.array([*(j for _, j in pairs), -1])
    choice[acting] = operator[np.minimum.reduceat(position, first)]
    choice[done | (cost > PENALTY - CLOSE)] = -1
    return cost, choice


@pytest.mark.parametrize("name", ["first-responders", "probabilistic-elevators"])
def test_costs_and_choices_match_value_iteration_with_arrays(name):
    task, agent, truth = shipped(name)
    states, intents = truth.reachable_states(), truth.intents()
    cost, choice = all_costs(task, states, intents)
    number = {operator: j for j, operator in enumerate(task.operators)} | {None: -1}
    for k, intent in enumerate(intents):
        policy = agent.begin(intent, 0)
        assert np.abs(np.array([cost_of(policy, s) for s in states]) - cost[:, k]).max() < CLOSE
        assert [number[policy.act(s)] for s in states] == choice[:, k].tolist()


@pytest.mark.parametrize(
    ("name", "acts", "stochastic"),
    [
        ("blocksworld", 374, 0),
        ("tireworld", 49, 35),
        ("first-responders", 7_824, 176),
        ("probabilistic-elevators", 25_920, 2_888),
    ],
)
def test_the_agent_acts_in_the_known_number_of_pairs(name, acts, stochastic):
    _, agent, truth = shipped(name)
    pairs = [(s, i) for s in truth.reachable_states() for i in truth.intents()]
    assert sum(agent.choose(i, s) is not None for s, i in pairs) == acts
    assert sum(len(truth.outcomes(s, i)) > 1 for s, i in pairs) == stochastic


def test_the_expected_cost_of_the_tireworld_goal_counts_each_step_once():
    # Three drives, and a tire change after each of the first two with probability 0.8.
    task, agent, _ = shipped("tireworld")
    policy = agent.begin(Intent.parse("vehicle-at(l-1-3)"), 0)
    assert cost_of(policy, task.initial_state) == pytest.approx(3 + 2 * 0.8)


def test_the_agent_declines_if_the_intent_holds_or_is_out_of_reach():
    task, agent, _ = shipped("tireworld")
    assert agent.choose(Intent.parse("vehicle-at(l-2-1)"), task.initial_state) is None
    assert agent.choose(Intent.parse("vehicle-at(l-1-1)"), task.initial_state) is None


def test_giving_up_is_preferred_when_it_costs_no_more():
    task, _, _ = shipped("blocksworld")
    one_step = Intent.parse("holding(a)")
    low_penalty = LaoStarAgent(task.operators, task.vocabulary, 1.0)
    assert low_penalty.choose(one_step, task.initial_state) is None
    high_penalty = LaoStarAgent(task.operators, task.vocabulary, 1.5)
    assert str(high_penalty.choose(one_step, task.initial_state)) == "pick-up(a,robot)"


def test_ties_go_to_the_first_operator():
    task, _, _ = shipped("blocksworld")
    intent = Intent.parse("not clear(a)")  # one step: pick up a
    full_hand = Intent.parse("handfull(robot)")
    for operators in (task.operators, task.operators[::-1]):
        agent = LaoStarAgent(operators, task.vocabulary)
        assert str(agent.choose(intent, task.initial_state)) == "pick-up(a,robot)"
        applicable = [o for o in operators if o.applicable(task.initial_state)]
        assert agent.choose(full_hand, task.initial_state) is applicable[0]


def test_choices_do_not_depend_on_the_order_of_states():
    task, _, truth = shipped("first-responders")
    states, intents = truth.reachable_states(), truth.intents()[::5]
    forward = LaoStarAgent(task.operators, task.vocabulary)
    backward = LaoStarAgent(task.operators, task.vocabulary)
    last_first = {(s, i): backward.choose(i, s) for s in reversed(states) for i in intents}
    assert all(forward.choose(i, s) is last_first[s, i] for s in states for i in intents)


def test_an_intent_outside_the_vocabulary_is_rejected():
    _, agent, _ = shipped("blocksworld")
    with pytest.raises(VocabularyError, match=r"flying\(a\)"):
        agent.begin(Intent.parse("flying(a)"), 0)


# Random small worlds of four atoms, with dead ends, loops and conjunctive intents.

ATOMS = 4
VOCABULARY = Vocabulary.of_atoms([f"p{i}" for i in range(ATOMS)])
MASKS = st.integers(0, 2**ATOMS - 1)
CHANGES = st.builds(lambda adds, deletes: AtomChange(adds, deletes & ~adds), MASKS, MASKS)
CONJUNCTIONS = st.builds(
    lambda required, other: LiteralTest(required, other & ~required), MASKS, MASKS
)
SHARES = st.sampled_from([(1.0,), (0.5, 0.5), (0.9, 0.1), (0.25, 0.5, 0.25)])
OUTCOMES = SHARES.flatmap(
    lambda shares: st.tuples(
        *(st.builds(lambda c, p=p: OperatorOutcome(p, (c,)), CHANGES) for p in shares)
    )
)
CONDITIONS = st.lists(CONJUNCTIONS, min_size=1, max_size=2).map(tuple)
WORLDS = st.lists(st.tuples(CONDITIONS, OUTCOMES), min_size=1, max_size=6).map(
    lambda parts: [GroundOperator(f"o{i}()", *part) for i, part in enumerate(parts)]
)
INTENTS = CONJUNCTIONS.filter(any).map(
    lambda cube: Intent.of(
        Literal(atom, positive)
        for mask, positive in ((cube.required, True), (cube.forbidden, False))
        for atom in VOCABULARY.holding(mask)
    )
)


@settings(max_examples=200, deadline=None)
@given(WORLDS, INTENTS, st.sampled_from([2.5, 10.0, 40.0]))
def test_costs_and_choices_match_value_iteration_in_random_worlds(world, intent, penalty):
    states = range(2**ATOMS)
    cost, choice = value_iteration(world, states, lambda s: intent.holds(s, VOCABULARY), penalty)
    policy = LaoStarAgent(world, VOCABULARY, penalty).begin(intent, 0)
    for state in states:
        assert policy.act(state) is choice[state]
        assert cost_of(policy, state) == pytest.approx(cost[state], abs=CLOSE)
