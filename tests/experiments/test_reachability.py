import random
from dataclasses import dataclass

import pytest

from capscope.errors import ProblemError
from capscope.logic import Intent
from capscope_experiments.suites.reachability import (
    LEAST_EXPECTED,
    LENGTH,
    Reachability,
    Route,
    RouteCounts,
    RouteGrower,
    consistent_share,
    reachability,
)
from support.intents import achieved_from
from support.toy_worlds import SWITCHES, WORDS, Board, BrokenSight, Scripted, board_problem

INTENTS = tuple(Intent.parse(f"{sign}lit({s})") for s in SWITCHES for sign in ("", "not "))
STATES = range(2 ** len(SWITCHES))
SNAPSHOTS = {state: [bytes([state])] for state in STATES}
SLIP = 0.3


@dataclass
class Written:
    """A model that is a table; it has no prediction for other pairs."""

    table: dict
    capabilities: tuple = INTENTS

    def predict(self, state, capability):
        return self.table.get((state, capability), {})


def board_model(slip=0.0):
    """Return what the presser does on a board that slips, if it presses once."""
    table = {}
    for state in STATES:
        for intent in INTENTS:
            after = achieved_from(intent, state, WORDS)
            slips = {state: slip} if slip and after != state else {}
            table[state, intent] = {after: 1 - sum(slips.values()), **slips}
    return Written(table)


def test_a_perfect_model_of_a_deterministic_world_is_consistent_with_all_that_happens():
    found = reachability(board_problem(), board_model(), SNAPSHOTS, RouteCounts(30, 5), seed=1)
    assert found.shares == (1.0,) * 30
    assert (found.mean, found.deviation) == (1.0, 0.0)


def test_a_perfect_model_of_a_stochastic_world_is_consistent_with_all_that_happens():
    # One press: it may slip, and then the agent stops short of its intent.
    problem = board_problem(Board(SLIP), horizon=1)
    found = reachability(problem, board_model(SLIP), SNAPSHOTS, RouteCounts(30, 20), seed=1)
    assert found.shares == (1.0,) * 30


class SlipsOnlyOff(Board):
    """A board that slips only when the first switch is switched off."""

    def step(self, action):
        slip, self.slip = self.slip, self.slip if action == "a" and self.lit & 1 else 0.0
        try:
            return super().step(action)
        finally:
            self.slip = slip


def test_a_model_without_an_outcome_of_probability_p_is_wrong_on_p_of_the_executions():
    problem = board_problem(SlipsOnlyOff(SLIP), horizon=1)
    route = Route(0b000, tuple(map(Intent.parse, ["lit(a)", "not lit(a)", "lit(b)", "lit(c)"])))
    model = board_model()
    share = consistent_share(problem, model, route, [b"\0"], range(2000))
    assert share == pytest.approx(1 - SLIP, abs=0.04)
    # With the slip in the model everything is predicted, also what follows it.
    model.table[0b001, route.intents[1]] = {0b000: 1 - SLIP, 0b001: SLIP}
    assert consistent_share(problem, model, route, [b"\0"], range(300)) == 1.0


def test_an_outcome_with_probability_zero_is_not_predicted():
    model = board_model()
    lit = Intent.parse("lit(a)")
    model.table[0, lit] = {0b001: 0.0, 0b000: 1.0}
    route = Route(0, (lit,))
    assert consistent_share(board_problem(), model, route, [b"\0"], range(3)) == 0.0


def test_an_execution_off_the_route_is_compared_with_the_predictions_where_it_is():
    # The route was grown along the successor in which a lights; the agent never gets there.
    lit, out = Intent.parse("lit(a)"), Intent.parse("not lit(a)")
    model = board_model()
    model.table[0, lit] = {0b001: 0.5, 0b000: 0.5}
    idle = board_problem(agent=Scripted())
    assert consistent_share(idle, model, Route(0, (lit, out)), [b"\0"], range(3)) == 1.0
    # Where it is, asking for b is said to light b: that is wrong.
    route = Route(0, (lit, Intent.parse("lit(b)")))
    assert consistent_share(idle, model, route, [b"\0"], range(3)) == 0.0


def routes_of(model, states=STATES, count=40, seed=3):
    return list(RouteGrower(model, WORDS).routes(list(states), count, seed))


def states_along(route):
    """Follow a route on a deterministic board."""
    state = route.start
    for intent in route.intents:
        yield state, intent
        state = achieved_from(intent, state, WORDS)


def test_an_intent_that_holds_already_is_never_on_a_route():
    routes = routes_of(board_model())
    assert len(routes) == 40
    assert {len(route.intents) for route in routes} == {LENGTH}
    for route in routes:
        assert not any(intent.holds(state, WORDS) for state, intent in states_along(route))


def test_as_printed_every_capability_that_the_model_can_achieve_may_be_on_a_route():
    # Also one whose intent holds, and one after which the model knows nothing of the states it
    # may be in: here b is unknown where asking for a lit c too.
    lit_a, lit_b = Intent.parse("lit(a)"), Intent.parse("lit(b)")
    model = board_model()
    model.table[0b000, lit_a] = {0b001: 0.5, 0b101: 0.5}
    del model.table[0b101, lit_b]
    printed = RouteGrower(model, WORDS, as_printed=True)
    assert printed.achievable(0b000) == list(INTENTS)
    assert {str(i) for i in RouteGrower(model, WORDS).achievable(0b000)} == {
        "lit(a)", "lit(b)", "lit(c)",
    }  # fmt: skip
    belief = printed.follow({0b000: 1.0}, lit_a)
    assert printed.follow(belief, lit_b) == pytest.approx({0b011: 0.5})
    routes = printed.routes(list(STATES), 40, 3)
    held = [i.holds(state, WORDS) for route in routes for state, i in states_along(route)]
    assert 0.3 < sum(held) / len(held) < 0.7


def test_what_the_model_says_cannot_be_achieved_is_never_on_a_route():
    model = board_model()
    never = {Intent.parse("lit(a)"), Intent.parse("not lit(b)")}
    for state, intent in model.table:
        if intent in never:
            model.table[state, intent] = {state: 1.0}
    asked = {intent for r in routes_of(model, [0b001, 0b110], 20) for intent in r.intents}
    assert not asked & never
    assert {str(intent) for intent in asked} == {"not lit(a)", "lit(b)", "lit(c)", "not lit(c)"}


class Doubted(dict):
    """A prediction with a doubt."""

    doubt = 0.0


def test_what_the_model_is_unsure_of_is_never_on_a_route():
    model = board_model()
    unsure = Intent.parse("lit(a)")
    for pair, ends in model.table.items():
        model.table[pair] = Doubted(ends)
        model.table[pair].doubt = 0.12 if pair[1] == unsure else 0.02
    routes = routes_of(model)
    asked = {intent for route in routes for intent in route.intents}
    assert unsure not in asked
    assert len(asked) == len(INTENTS) - 1
    for route in routes:
        assert route.expected == pytest.approx(0.98**LENGTH)


def test_a_route_is_not_offered_if_its_doubts_add_up_although_each_is_small():
    model = board_model()
    for doubt, offered in ((0.04, 40), (0.05, 0)):
        for pair, ends in model.table.items():
            model.table[pair] = Doubted(ends)
            model.table[pair].doubt = doubt
        assert ((1 - doubt) ** LENGTH >= LEAST_EXPECTED) == bool(offered)
        assert len(routes_of(model)) == offered


def test_a_capability_is_left_out_if_the_agent_may_be_where_the_model_is_unsure_of_it():
    # Asking for a sometimes lights c too, and nothing is known of what b does then.
    lit_a, lit_b = Intent.parse("lit(a)"), Intent.parse("lit(b)")
    model = board_model()
    model.table[0b000, lit_a] = {0b001: 0.8, 0b101: 0.2}
    grower = RouteGrower(model, WORDS)
    belief = grower.follow({0b000: 1.0}, lit_a)
    assert belief == pytest.approx({0b001: 0.8, 0b101: 0.2})
    assert grower.follow(belief, lit_b) == pytest.approx({0b011: 0.8, 0b111: 0.2})
    del model.table[0b101, lit_b]
    assert RouteGrower(model, WORDS).follow(belief, lit_b) is None


def test_the_achievable_intents_are_those_of_the_twin_that_asks_for_each_one():
    rng = random.Random(4)
    table = {
        (state, intent): {rng.randrange(8): 1.0}
        for state in STATES
        for intent in INTENTS
        if rng.random() < 0.7
    }
    atlas = RouteGrower(Written(table), WORDS)
    for state in (*STATES, *STATES):  # the second time from memory
        naive = []
        for intent in INTENTS:
            ends = table.get((state, intent), {})
            there = [end for end in ends if intent.holds(end, WORDS)]
            if there and not intent.holds(state, WORDS):
                naive.append(intent)
        assert atlas.achievable(state) == naive


def test_a_route_that_reaches_a_dead_end_is_dropped():
    # Switches can be lit but not put out: after three there is nothing to be done.
    model = board_model()
    for state, intent in model.table:
        if str(intent).startswith("not"):
            model.table[state, intent] = {state: 1.0}
    assert routes_of(model) == []
    # With a way back from the end only the routes that go there in time grow to full length.
    model.table[0b111, Intent.parse("not lit(a)")] = {0b000: 1.0}
    routes = routes_of(model)
    assert len(routes) == 40
    for route in routes:
        assert Intent.parse("not lit(a)") in route.intents


def test_fewer_routes_are_found_if_nearly_all_of_them_end_too_soon():
    # Only the first of many states leads on: 100 tries per route rarely find it.
    on = {(0, INTENTS[0]): {1: 1.0}, (1, INTENTS[1]): {0: 1.0}}
    states = [*range(2), *[7] * 300]
    routes = routes_of(Written(on), states, count=3)
    assert 0 < len(routes) <= 3
    assert {route.start for route in routes} <= {0, 1}


def test_one_seed_one_result_and_another_seed_other_routes():
    problem = board_problem(Board(SLIP), horizon=1)
    model = board_model()  # knows of no slip
    runs = [
        reachability(problem, model, SNAPSHOTS, RouteCounts(10, 10), seed) for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1] != runs[2]
    assert 0 < runs[0].mean < 1
    assert runs[0].deviation > 0
    assert routes_of(model, seed=1) == routes_of(model, seed=1) != routes_of(model, seed=2)


def test_more_routes_begin_with_those_of_fewer():
    assert routes_of(board_model(), count=12)[:5] == routes_of(board_model(), count=5)


def test_a_route_is_executed_from_all_positions_of_its_start_state():
    restored = []

    class Noting(Board):
        def restore(self, snapshot, seed):
            restored.append(snapshot)
            return super().restore(snapshot, seed)

    snapshots = {0: [b"\0first", b"\0second"]}
    reachability(board_problem(Noting()), board_model(), snapshots, RouteCounts(2, 30), seed=0)
    assert set(restored) == set(snapshots[0])
    assert len(restored) == 60


@pytest.mark.parametrize(
    ("model", "snapshots"),
    [(Written({}), SNAPSHOTS), (board_model(), {}), (Written({}, ()), SNAPSHOTS)],
    ids=["nothing was learned", "no position was kept", "no capability"],
)
def test_without_a_route_there_is_neither_mean_nor_deviation(model, snapshots):
    found = reachability(board_problem(), model, snapshots, RouteCounts(5, 5), seed=0)
    assert found == Reachability(())
    assert (found.mean, found.deviation) == (None, None)


def test_a_simulator_or_abstraction_that_raises_is_reported():
    problem = board_problem(abstraction=BrokenSight())
    with pytest.raises(ProblemError, match="dark glasses when a position was restored"):
        reachability(problem, board_model(), {1: [b"\1"]}, RouteCounts(1, 1), seed=0)
