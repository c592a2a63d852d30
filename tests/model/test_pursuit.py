"""Tiny worlds in which a person sees at once what an agent would do first."""

import random
from collections import deque

import numpy as np
import pytest

from capscope.logic import Effect, Predicate, Vocabulary
from capscope.model import pursuit
from capscope.model.outcome_types import NOTHING
from capscope.model.pursuit import strengths
from support.seen_agents import Seen

ROOMS = ("a", "b", "c", "d", "e", "f")
WORDS = Vocabulary(
    [
        Predicate("at", ("room",)),
        Predicate("tidy", ("room",)),
        Predicate("tired"),
        Predicate("road", ("room", "room")),
    ],
    dict.fromkeys(ROOMS, "room"),
)
ROADS = ("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")
"""A one-way street; no road leads to f."""


def state(*atoms, roads=ROADS):
    return WORDS.state([
        *(f"at({atom})" if atom in ROOMS else atom for atom in atoms),
        *(f"road({one},{other})" for one, other in roads),
    ])  # fmt: skip


def move(before, after):
    """Return the effect of going from one room to another."""
    return Effect.between(state(before), state(after))


def watched(intents, *done):
    return Seen(WORDS, intents, *done).plan()


CORRIDOR = (
    (state("a"), "at(b)", state("b")),
    (state("b"), "at(c)", state("c")),
    (state("c"), "at(d)", state("d")),
)
"""Each step of the street but the last was seen once, when its end was asked for."""


def corridor(*more, intents=("at(b)", "at(c)", "at(d)", "at(e)", "at(f)")):
    return watched(intents, *CORRIDOR, *more)


# Where a shortest path begins.


def test_the_path_to_a_far_intent_begins_with_the_first_step_of_a_chain():
    world = corridor()
    assert world.first(state("a"), "at(d)") == move("a", "b")
    assert world.first(state("b"), "at(d)") == move("b", "c")
    assert world.first(state("c"), "at(d)") == move("c", "d")
    assert world.first(state("a"), "at(b)") == move("a", "b")


def test_a_step_that_was_never_seen_is_expected_where_others_of_its_kind_were():
    world = corridor()
    assert world.first(state("d"), "at(e)") == move("d", "e")
    assert world.first(state("a"), "at(e)") == move("a", "b")


def test_an_intent_that_holds_needs_nothing():
    world = corridor()
    for room in "bcd":
        assert world.first(state(room), f"at({room})") is None


def test_an_intent_out_of_reach_is_not_pursued():
    world = corridor()
    for room in "abcd":
        assert world.first(state(room), "at(f)") is None
    assert world.first(state("d"), "at(b)") is None


def test_before_anything_was_seen_nothing_is_expected():
    world = watched(["at(b)"], (state("a"), "at(b)", state("a")))
    assert world.first(state("a"), "at(b)") is None


def test_a_path_may_lead_through_states_that_were_only_imagined():
    # The street was walked in parts, with different rooms tidy.
    world = watched(
        ["at(b)", "at(c)"],
        (state("a"), "at(b)", state("b")),
        (state("b", "tidy(a)"), "at(c)", state("c", "tidy(a)")),
    )
    assert world.first(state("a"), "at(c)") == move("a", "b")
    assert state("c") in world.matrix.row
    assert world.pursuit.step.shape == (2, len(world.matrix))


def test_states_that_break_what_always_held_are_not_imagined():
    world = corridor()
    rooms = [(s & WORDS.state([f"at({r})" for r in ROOMS])).bit_count() for s in world.matrix.row]
    assert set(rooms) == {1}


# Chance.


def test_the_risk_of_a_detour_counts():
    # A bus from a ends in f nine times of ten, else in d; no road leads on from f.
    bus = (state("a"), "tired", *[state("f", "tired")] * 9, state("d", "tired"))
    world = corridor(bus, intents=("at(b)", "at(c)", "at(d)", "tired"))
    ends = [Effect.between(state("a"), state(room, "tired")) for room in "df"]
    number = world.types.number(frozenset(ends))
    for lucky, expected in ((0.1, move("a", "b")), (0.999, ends[0])):
        world.types.odds[number] = dict(zip(ends, (lucky, 1.0 - lucky), strict=True))
        world.plan()
        assert world.first(state("a"), "at(d)") == expected


# Preferences.


def fork(*more, roads=(("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"))):
    """From a to d by b or by c; each step was seen when its end was asked for."""
    steps = [
        (state(here, roads=roads), f"at({there})", state(there, roads=roads))
        for here, there in roads
    ]
    left = [(state("a", roads=roads), "not at(a)", state(room, roads=roads)) for room in more]
    return watched(["at(b)", "at(c)", "at(d)", "not at(a)"], *steps, *left), state("a", roads=roads)


@pytest.mark.parametrize("preferred", ["b", "c"])
def test_of_equally_short_paths_it_takes_the_one_it_preferred(preferred):
    # Asked to leave a, either step would do; asked for d, either path is as long.
    world, start = fork(preferred)
    assert world.first(start, "at(d)") == move("a", preferred)
    (row, capability) = world.matrix.row[start], 2
    assert world.pursuit.preferred[capability, row] > 0.6
    shares = world.pursuit.options(capability, row)
    assert len(shares) == 2
    assert sum(shares.values()) == pytest.approx(1)
    assert max(shares.values()) == pytest.approx(world.pursuit.preferred[capability, row])


def test_a_preference_does_not_make_a_longer_path_better():
    world, start = fork("c")
    assert world.first(start, "at(b)") == move("a", "b")


def test_without_a_preference_the_shortest_paths_are_as_likely():
    world, start = fork()
    row = world.matrix.row[start]
    assert world.first(start, "at(d)") in (move("a", "b"), move("a", "c"))
    assert world.pursuit.preferred[2, row] == pytest.approx(0.5)
    assert list(world.pursuit.options(2, row).values()) == pytest.approx([0.5, 0.5])


def test_a_preference_for_an_object_carries_over_to_other_steps_with_it():
    # Asked to leave a or b it goes to d; so it is expected to prefer d from c as well.
    roads = [(here, there) for here in "abc" for there in "de"]
    steps = [(state(h, roads=roads), f"at({t})", state(t, roads=roads)) for h, t in roads]
    left = [(state(here, roads=roads), f"not at({here})", state("d", roads=roads)) for here in "ab"]
    world = watched(["at(d)", "at(e)", "not at(a)", "not at(b)", "not at(c)"], *steps, *left)
    assert world.first(state("c", roads=roads), "not at(c)") == move("c", "d")
    assert world.pursuit.preferred[4, world.matrix.row[state("c", roads=roads)]] > 0.6


# When a behavior is possible.


def test_a_behavior_that_was_refused_is_not_expected_in_states_like_that():
    # Asked for b it goes, unless it is tired: then it stays, in whatever room is tidy.
    rested = [(state("a", *tidy), "at(b)", state("b", *tidy)) for tidy in ([], ["tidy(c)"])]
    tired = [
        (state("a", "tired", *tidy), "at(b)", state("a", "tired", *tidy))
        for tidy in ([], ["tidy(c)"])
    ]
    world = watched(["at(b)", "not at(a)"], *rested, *tired)
    for other in ("tidy(d)", "tidy(e)"):
        world.matrix.rows([state("a", other), state("a", "tired", other)])
    world.pursuit.extend()
    assert world.first(state("a", "tidy(d)"), "not at(a)") == move("a", "b")
    assert world.first(state("a", "tired", "tidy(d)"), "not at(a)") is None
    # Where it was seen it is possible.
    assert world.first(state("a", "tidy(c)"), "not at(a)") == move("a", "b")


def test_a_behavior_needs_what_it_deletes_and_lacks_what_it_adds():
    world = corridor(intents=("at(b)", "at(c)", "at(d)", "not at(b)"))
    world.matrix.rows([state("b", "tired"), state("b", "c"), state("tired")])
    world.pursuit.extend()
    assert world.first(state("b", "tired"), "not at(b)") == move("b", "c")
    # Being in c already, it cannot go there; being nowhere, it goes nowhere.
    assert world.first(state("b", "c"), "not at(b)") is None
    assert world.first(state("tired"), "at(c)") is None


# States that are met after planning.


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("room", "abcd")
def test_for_states_met_later_the_first_step_is_what_a_new_plan_would_give(room, far):
    extended, planned = corridor(), corridor()
    late = state(room, "tired")
    for world in (extended, planned):
        # Where the path goes on from the late state is known in both.
        world.matrix.rows(state(other, "tired") for other in ROOMS)
    planned.plan()
    extended.pursuit.extend(far=far)
    for intent in map(str, extended.intents):
        near = ROOMS.index(intent[3]) <= ROOMS.index(room) + 1
        # Without planning far, at worst it does not know the path.
        allowed = {planned.first(late, intent), None if not (far or near) else ...}
        assert extended.first(late, intent) in allowed, intent


def test_extending_by_nothing_changes_nothing():
    world = corridor()
    before = world.pursuit.step.copy()
    world.pursuit.extend()
    assert (world.pursuit.step == before).all()


def test_the_first_step_from_a_late_state_does_not_depend_on_what_else_was_met():
    alone, together, reverse = corridor(), corridor(), corridor()
    late, next_one = state("a", "tired"), state("b", "tired")
    for world, met in ((alone, [late]), (together, [late, next_one]), (reverse, [next_one, late])):
        fresh = [one for one in met if one not in world.matrix.row]
        for one in fresh if world is reverse else [None]:
            world.matrix.rows(fresh if one is None else [one])
            world.pursuit.extend()
    steps = [world.first(late, "at(b)") for world in (alone, together, reverse)]
    assert steps == [move("a", "b")] * 3


# All of it, against a naive planner: breadth first, from each state anew.


def naive_options(world, row, goal):
    """Return the types with which a shortest path begins, without chance."""

    def holds(state):
        return any(test(state) for test in goal)

    def steps(state):
        here = np.array([world.matrix.row[state]])
        for number in world.behaviors.instances:
            (effect,) = world.types.effects[number]
            after = effect.apply(state)
            if world.behaviors.possible(number, here)[0] and after in world.matrix.row:
                yield number, after

    start = world.matrix.states[row]
    if holds(start):
        return set()
    distance, begins, waiting = {start: 0}, {start: set()}, deque([start])
    while waiting:
        state = waiting.popleft()
        if holds(state):
            nearest = [s for s, d in distance.items() if d == distance[state] and holds(s)]
            return set().union(*(begins[s] for s in nearest))
        for number, after in steps(state):
            known = distance.setdefault(after, distance[state] + 1)
            if after not in begins:
                begins[after] = set()
                waiting.append(after)
            if known == distance[state] + 1:
                begins[after] |= begins[state] or {number}
    return set()


def random_map(seed):
    """Draw roads and lamps, and watch an agent take some of the steps."""
    draw = random.Random(seed)
    pairs = [(one, other) for one in ROOMS for other in ROOMS if one != other]
    roads = draw.sample(pairs, 10)
    done = []
    for here, there in draw.sample(roads, 4):
        tidy = [f"tidy({room})" for room in draw.sample(ROOMS, 1)]
        before, after = state(here, *tidy, roads=roads), state(there, *tidy, roads=roads)
        done.append((before, f"at({there})", after))
    room = draw.choice(ROOMS)
    done.append(
        (state(room, roads=roads), f"tidy({room})", state(room, f"tidy({room})", roads=roads))
    )
    intents = [*(f"at({room})" for room in ROOMS), *(f"tidy({room})" for room in ROOMS), "tired"]
    return watched(intents, *done)


@pytest.mark.parametrize("seed", range(4))
def test_first_steps_are_those_of_a_naive_planner(seed):
    world = random_map(seed)
    rows = random.Random(seed).sample(range(len(world.matrix)), min(len(world.matrix), 25))
    assert steps_like_a_naive_planner(world, rows) > 30


@pytest.mark.parametrize("seed", range(4))
def test_what_the_plan_did_not_imagine_is_found_when_it_is_asked_about(seed, monkeypatch):
    monkeypatch.setattr(pursuit, "_MOST_PAIRS", 0)
    world = random_map(seed)
    before = world.pursuit.step.copy()
    assert before.shape[1] == len(world.seen)
    world.pursuit.extend(far=True)
    assert steps_like_a_naive_planner(world, world.seen[:4]) > 10
    assert (world.pursuit.step[:, : len(world.seen)] != before).any()


def steps_like_a_naive_planner(world, rows):
    """Compare first steps from some rows; return how many there are."""
    found = 0
    for row in rows:
        for capability, goal in enumerate(world.tests):
            expected = naive_options(world, row, goal)
            holds = any(test(world.matrix.states[row]) for test in goal)
            options = {} if holds else world.pursuit.options(capability, row)
            step = int(world.pursuit.step[capability, row])
            share = world.pursuit.preferred[capability, row]
            assert set(options) == expected
            assert step in expected or (step == NOTHING and not expected)
            assert share == pytest.approx(max(options.values(), default=1.0))
            found += bool(expected)
    return found


# Strengths.


def penalized(logs, wins, covariance):
    """Return the log likelihood of Bradley and Terry with a Gaussian prior."""
    chance = 1.0 / (1.0 + np.exp(logs[None, :] - logs[:, None]))
    return (wins * np.log(chance)).sum() - logs @ np.linalg.solve(covariance, logs) / 2


def random_games(seed, players=5):
    draw = np.random.default_rng(seed)
    wins = draw.integers(0, 4, (players, players)) * (1.0 - np.eye(players))
    factor = draw.normal(size=(players, players))
    return wins, factor @ factor.T + 0.3 * np.eye(players)


def found_strengths(wins, covariance):
    games = {(i, j): float(wins[i, j]) for i, j in np.argwhere(wins).tolist()}
    return strengths(len(wins), games, lambda some, others: covariance[np.ix_(some, others)])


def naive_strengths(wins, covariance):
    """Climb the penalized likelihood along its gradient."""
    logs = np.zeros(len(wins))
    rate = 0.02
    for _ in range(20_000):
        chance = 1.0 / (1.0 + np.exp(logs[None, :] - logs[:, None]))
        slope = (wins - (wins + wins.T) * chance).sum(axis=1) - np.linalg.solve(covariance, logs)
        logs = logs + rate * covariance @ slope / np.abs(covariance).sum()
    return np.exp(logs)


@pytest.mark.parametrize("seed", range(3))
def test_strengths_are_those_that_gradient_ascent_finds(seed):
    wins, covariance = random_games(seed)
    found = found_strengths(wins, covariance)
    assert found == pytest.approx(naive_strengths(wins, covariance), rel=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_no_strengths_near_by_are_more_probable(seed):
    wins, covariance = random_games(seed, players=7)
    found = np.log(found_strengths(wins, covariance))
    best, draw = penalized(found, wins, covariance), np.random.default_rng(seed)
    for _ in range(100):
        assert penalized(found + draw.normal(scale=0.03, size=7), wins, covariance) < best


def test_a_player_that_never_met_another_is_as_strong_as_those_like_it():
    wins = np.zeros((4, 4))
    wins[0, 1] = 5.0
    covariance = np.eye(4)
    covariance[0, 2] = covariance[2, 0] = 0.9
    found = found_strengths(wins, covariance)
    assert found[0] > found[2] > 1.0 > found[1]
    assert found[3] == pytest.approx(1.0)


def test_without_games_all_are_as_strong():
    assert strengths(3, {}, np.equal.outer).tolist() == [1.0, 1.0, 1.0]
