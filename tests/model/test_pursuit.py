"""Tiny worlds in which a person sees at once what an agent would do first."""

import math

import numpy as np
import pytest

from capscope.logic import Effect, Intent, Predicate, Vocabulary
from capscope.model import PairStats
from capscope.model.outcome_types import NOTHING, OutcomeTypes
from capscope.model.pursuit import Pursuit, bradley_terry
from capscope.model.state_graph import StateMatrix

ROOMS = ("a", "b", "c", "d", "e")
WORDS = Vocabulary(
    [Predicate("at", ("room",)), Predicate("tidy", ("room",)), Predicate("tired")],
    dict.fromkeys(ROOMS, "room"),
)


def state(*atoms):
    return WORDS.state([f"at({atom})" if atom in ROOMS else atom for atom in atoms])


def move(before, after):
    """Return the effect of going from one room to another."""
    return Effect.between(state(before), state(after))


class Seen:
    """What an agent was seen to do: (state, intent, states after) for each pair."""

    def __init__(self, intents, *done):
        self.intents = [Intent.parse(intent) for intent in intents]
        self.matrix = StateMatrix(len(WORDS.atoms))
        self.types = OutcomeTypes(WORDS)
        self.pairs = []
        for before, intent, *after in done:
            stats = PairStats()
            for end in after:
                effect = Effect.between(before, end)
                stats.counts[effect] = stats.counts.get(effect, 0) + 1
            self.types.learn(stats.counts)
            self.pairs.append((before, intents.index(intent), stats, after))
        seen = {s for before, _, _, after in self.pairs for s in (before, *after)}
        self.seen = self.matrix.rows(sorted(seen))
        self.labels = [{} for _ in intents]
        for before, intent, stats, _ in self.pairs:
            self.labels[intent][self.matrix.row[before]] = self.types.of(stats)
        self.pursuit = Pursuit(WORDS, self.matrix, self.types)

    def plan(self):
        tests = [intent.tests(WORDS) for intent in self.intents]
        self.pursuit.plan(tests, self.labels, self.seen)
        return self

    def first(self, before, intent):
        """Return the main effect of the first step; None if nothing is to be done."""
        number = self.pursuit.step[
            self.intents.index(Intent.parse(intent)), self.matrix.row[before]
        ]
        return None if number == NOTHING else self.types.main_effect(int(number))


def corridor(*more, intents=("at(b)", "at(c)", "at(d)", "at(e)")):
    """Each step of a corridor was seen once, when its end was asked for."""
    steps = [
        (state("a"), "at(b)", state("b")),
        (state("b"), "at(c)", state("c")),
        (state("c"), "at(d)", state("d")),
    ]
    return Seen(intents, *steps, *more).plan()


# Where a shortest way begins.


def test_the_way_to_a_far_intent_begins_with_the_first_step_of_a_chain():
    world = corridor()
    assert world.first(state("a"), "at(d)") == move("a", "b")
    assert world.first(state("b"), "at(d)") == move("b", "c")
    assert world.first(state("c"), "at(d)") == move("c", "d")
    assert world.first(state("a"), "at(b)") == move("a", "b")


def test_a_shorter_way_is_preferred_to_a_longer_one():
    world = corridor((state("a"), "at(e)", state("d")))
    assert world.first(state("a"), "at(d)") == move("a", "d")
    assert world.first(state("a"), "at(c)") == move("a", "b")


def test_an_intent_that_holds_needs_nothing():
    world = corridor()
    for room in "bcd":
        assert world.first(state(room), f"at({room})") is None


def test_an_intent_out_of_reach_is_not_pursued():
    world = corridor()
    # Nobody was seen to go to e, nor back.
    for room in "abcd":
        assert world.first(state(room), "at(e)") is None
    assert world.first(state("d"), "at(b)") is None


def test_before_anything_was_seen_nothing_is_expected():
    world = Seen(["at(b)"], (state("a"), "at(b)", state("a"))).plan()
    assert world.first(state("a"), "at(b)") is None


def test_a_way_may_lead_through_states_that_were_only_imagined():
    # The corridor was tidy, or not; it was walked in parts.
    tidy = ("tidy(a)",)
    world = Seen(
        ["at(b)", "at(c)"],
        (state("a"), "at(b)", state("b")),
        (state("b", *tidy), "at(c)", state("c", *tidy)),
    ).plan()
    assert world.first(state("a"), "at(c)") == move("a", "b")
    assert state("c") in world.matrix.row
    assert world.pursuit.step.shape == (2, len(world.matrix))


def test_states_that_break_what_always_held_are_not_imagined():
    world = corridor((state("e"), "at(b)", state("b")), (state("e"), "at(c)", state("c")))
    rooms = [(s & WORDS.state([f"at({r})" for r in ROOMS])).bit_count() for s in world.matrix.row]
    assert set(rooms) == {1}


# Chance.


def test_the_risk_of_a_detour_counts():
    # From a, the shortcut to d ends in e nine times of ten, and from e there is no way on.
    shortcut = (state("a"), "at(e)", *[state("e")] * 9, state("d"))
    world = corridor(shortcut)
    number = world.types.number(frozenset([move("a", "d"), move("a", "e")]))
    world.types.odds[number] = {move("a", "d"): 0.1, move("a", "e"): 0.9}
    world.plan()
    assert world.first(state("a"), "at(d)") == move("a", "b")
    world.types.odds[number] = {move("a", "d"): 0.999, move("a", "e"): 0.001}
    world.plan()
    assert world.first(state("a"), "at(d)") == move("a", "d")


# Preferences.


def fork(*more):
    """From a to d by b or by c; each step was seen when its end was asked for."""
    steps = [
        *((state("a"), f"at({room})", state(room)) for room in "bc"),
        *((state(room), "at(d)", state("d")) for room in "bc"),
    ]
    return Seen(["at(b)", "at(c)", "at(d)", "tired", "not at(a)"], *steps, *more).plan()


@pytest.mark.parametrize("preferred", ["b", "c"])
def test_of_equally_short_ways_it_takes_the_one_it_preferred(preferred):
    # Asked to leave a, either step would do; asked for d, either way is as long.
    world = fork((state("a"), "not at(a)", state(preferred)))
    assert world.first(state("a"), "at(d)") == move("a", preferred)


def test_a_preference_does_not_make_a_longer_way_better():
    world = fork((state("a"), "not at(a)", state("c")))
    assert world.first(state("a"), "at(b)") == move("a", "b")


def test_without_a_preference_one_of_the_shortest_ways_is_taken():
    assert fork().first(state("a"), "at(d)") in (move("a", "b"), move("a", "c"))


# When a behaviour is possible.


def test_a_behaviour_that_was_refused_is_not_expected_in_states_like_that():
    # Asked for b it goes, unless it is tired: then it stays, in whatever room is tidy.
    rested = [(state("a", *tidy), "at(b)", state("b", *tidy)) for tidy in ([], ["tidy(c)"])]
    tired = [
        (state("a", "tired", *tidy), "at(b)", state("a", "tired", *tidy))
        for tidy in ([], ["tidy(c)"])
    ]
    world = Seen(["at(b)", "not at(a)"], *rested, *tired).plan()
    for other in ("tidy(d)", "tidy(e)"):
        world.matrix.rows([state("a", other), state("a", "tired", other)])
    world.pursuit.extend()
    assert world.first(state("a", "tidy(d)"), "not at(a)") == move("a", "b")
    assert world.first(state("a", "tired", "tidy(d)"), "not at(a)") is None
    # Where it was seen it is possible.
    assert world.first(state("a", "tidy(c)"), "not at(a)") == move("a", "b")


def test_a_behaviour_needs_what_it_deletes_and_lacks_what_it_adds():
    world = corridor(intents=("at(b)", "at(c)", "at(d)", "not at(b)"))
    world.matrix.rows([state("b", "tired"), state("b", "c"), state("tired")])
    world.pursuit.extend()
    assert world.first(state("b", "tired"), "not at(b)") == move("b", "c")
    # Being in c already, it cannot go there; being nowhere, it goes nowhere.
    assert world.first(state("b", "c"), "not at(b)") is None
    assert world.first(state("tired"), "at(c)") is None


def test_an_atom_of_the_same_objects_that_always_held_is_a_precondition():
    # It only went from tidy rooms, though untidy ones were as frequent.
    tidy = [(state("a", "tidy(a)", *more), "at(b)", state("b", "tidy(a)", *more))
            for more in ([], ["tired"], ["tidy(c)"])]  # fmt: skip
    untidy = [(state("a", *more), "tired", state("a", *more))
              for more in ([], ["tired"], ["tidy(c)"])]  # fmt: skip
    world = Seen(["at(b)", "tired"], *tidy, *untidy).plan()
    assert world.first(state("a", "tidy(a)"), "at(b)") == move("a", "b")
    assert world.first(state("a"), "at(b)") is None


# States that are met after planning.


@pytest.mark.parametrize("room", "abcd")
def test_for_states_met_later_the_first_step_is_what_a_new_plan_would_give(room):
    extended, planned = corridor(), corridor()
    late = state(room, "tired")
    for world in (extended, planned):
        # Where the way goes on from the late state is known in both.
        world.matrix.rows(state(other, "tired") for other in ROOMS)
    planned.plan()
    extended.pursuit.extend()
    near = [intent for intent in planned.intents if _one_step(room, str(intent))]
    for intent in near:
        assert extended.first(late, str(intent)) == planned.first(late, str(intent)), intent
    for intent in extended.intents:
        # At worst it does not know the way.
        assert extended.first(late, str(intent)) in (None, planned.first(late, str(intent)))


def _one_step(room, intent):
    here, there = ROOMS.index(room), ROOMS.index(intent[3])
    return there <= here + 1 or there == 4


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


# Ranks.


def naive_strengths(wins, prior, comparisons=0.3):
    """Find the strengths by gradient ascent on the log likelihood of Bradley and Terry."""
    number = len(wins)
    logs = [math.log(p) for p in prior]
    for _ in range(20_000):
        slopes = []
        for i in range(number):
            games = [(wins[i][j], wins[j][i], math.exp(logs[j])) for j in range(number) if j != i]
            games.append((comparisons, comparisons, prior[i]))
            mine = math.exp(logs[i])
            slopes.append(
                sum(won - (won + lost) * mine / (mine + other) for won, lost, other in games)
            )
        logs = [log + 0.05 * slope for log, slope in zip(logs, slopes, strict=True)]
        if max(map(abs, slopes)) < 1e-10:
            break
    return [math.exp(log) for log in logs]


@pytest.mark.parametrize("seed", range(3))
def test_strengths_are_those_that_make_the_comparisons_likeliest(seed):
    rng = np.random.default_rng(seed)
    wins = rng.integers(0, 4, (4, 4)) * (1 - np.eye(4))
    prior = rng.uniform(0.5, 2.0, 4)
    found, expected = bradley_terry(wins, prior), naive_strengths(wins.tolist(), prior.tolist())
    # Who is stronger than whom; how strong they are on the whole is approached slowly.
    assert found / found[0] == pytest.approx(np.array(expected) / expected[0], rel=0.02)
    assert found == pytest.approx(expected, rel=0.2)


def test_who_was_never_compared_is_as_strong_as_assumed():
    wins = np.zeros((3, 3))
    wins[0, 1] = 5.0
    prior = np.array([1.0, 1.0, 3.0])
    found = bradley_terry(wins, prior)
    assert found[2] == pytest.approx(3.0)
    assert found[0] > 1 > found[1]
