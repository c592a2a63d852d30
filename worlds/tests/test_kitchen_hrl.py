import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from capscope.errors import ProblemError
from capscope.logic import Intent, Literal
from capscope.problem import Ending, Position
from capscope.problem.attempt import pursue
from capscope.problems import load_problem
from capscope_worlds.kitchen_hrl import KITCHEN_VALUES, MOST_STEPS, KitchenValues
from capscope_worlds.overcooked import (
    FLOOR,
    KitchenAbstraction,
    KitchenObservation,
    kitchen_simulator,
)
from support.processes import SECONDS

SCRIPT = Path(__file__).parents[2] / "scripts" / "train_kitchen_hrl.py"
_script = runpy.run_path(str(SCRIPT))
Training, OptionLearner = _script["Training"], _script["OptionLearner"]
GoalLearner, all_starts = _script["GoalLearner"], _script["all_starts"]
FIRST_EPISODES = _script["FIRST_EPISODES"]
ABSTRACTION = KitchenAbstraction()
VOCABULARY = ABSTRACTION.vocabulary
PROBLEM = load_problem("overcooked-hrl")
VALUES = KitchenValues.load(KITCHEN_VALUES)
ONLY_PILE_2 = (0, 1)


def attempt(text, seed, start=None):
    """Let the agent attempt an intent from the initial position, or from one that is set up."""
    simulator = PROBLEM.simulator
    seen = simulator.reset(seed) if start is None else simulator.place(start, seed)
    return pursue(PROBLEM, Intent.parse(text), Position(seen, ABSTRACTION(seen)), seed)


def achieved(text, seeds, start=None):
    """Return the share of attempts after which the intent holds."""
    ends = [attempt(text, seed, start)[1].state for seed in range(seeds)]
    return sum(Intent.parse(text).holds(end, VOCABULARY) for end in ends) / seeds


def kitchen(cell, piles, pot="empty"):
    return KitchenObservation(cell, "north", None, pot, piles, 1, False)


def test_it_delivers_soup_from_the_initial_position():
    assert achieved("delivered(soup)", 200) >= 0.95


def test_with_an_onion_at_pile_1_it_gets_one_from_anywhere():
    assert all(achieved("holding(chef1,onion)", 10, kitchen(cell, (1, 1))) == 1 for cell in FLOOR)


def test_with_onions_at_pile_2_only_it_mostly_fails_to_get_one():
    rates = [achieved("holding(chef1,onion)", 20, kitchen(cell, ONLY_PILE_2)) for cell in FLOOR]
    assert sum(rates) / len(rates) < 0.5


def test_it_could_take_an_onion_from_pile_2_and_does_if_asked_to_empty_it():
    start = kitchen((2, 2), ONLY_PILE_2)
    assert achieved("not at-pile(onion,onion-pile-2)", 20, start) == 1


def test_if_asked_for_a_dish_it_first_cooks():
    for seed in range(20):
        made, end = attempt("holding(chef1,dish)", seed)
        assert end.observation.held != "dish" or end.observation.pot not in ("empty", "filled")
        assert made.simulator_steps > 6
    at_rack, before_soup = (1, 2), kitchen((1, 2), (1, 1))
    cooking = kitchen(at_rack, (0, 1), "stage-1")
    quick = [attempt("holding(chef1,dish)", seed, cooking)[0].simulator_steps for seed in range(10)]
    slow = [
        attempt("holding(chef1,dish)", seed, before_soup)[0].simulator_steps for seed in range(10)
    ]
    assert max(quick) < min(slow)


def test_it_stops_at_once_if_the_intent_holds():
    made, _ = attempt("not holding(chef1,dish)", 0)
    assert (made.simulator_steps, made.ending) == (0, Ending.STOPPED)


def test_it_does_not_try_what_never_became_true_in_training():
    for text in ("clean(dish,dish-rack)", "not delivered(soup)", "at-pile(onion,onion-pile-1)"):
        assert text not in VALUES.index.goals
    gone = kitchen((2, 2), (0, 0))
    made, _ = attempt("at-pile(onion,onion-pile-1)", 0, gone)
    assert (made.simulator_steps, made.ending) == (0, Ending.STOPPED)


def test_it_gives_up_after_an_option_that_was_not_done_in_time():
    start = kitchen((1, 1), ONLY_PILE_2)
    made, end = attempt("holding(chef1,onion)", 0, start)
    assert (made.simulator_steps, made.ending) == (MOST_STEPS, Ending.STOPPED)
    assert end.observation.held is None


def test_it_never_enters_a_symbolic_state_more_than_three_times():
    for text in VALUES.index.goals:
        for seed in range(3):
            trajectory = attempt(text, seed)[0].trajectory
            assert max(map(trajectory.count, trajectory)) <= 3


def test_it_attempts_every_literal_in_every_variant_without_an_error():
    for options in ("", ":dishes=2,pile-onions=2,soup-onions=3,advance=0.9"):
        problem = load_problem(f"overcooked-hrl{options}")
        for atom in VOCABULARY.atoms:
            for positive in (True, False):
                seen = problem.simulator.reset(1)
                start = Position(seen, ABSTRACTION(seen))
                made, _ = pursue(problem, Intent.parse(str(Literal(atom, positive))), start, 1)
                assert made.ending in (Ending.STOPPED, Ending.HORIZON), made.detail


def test_it_pursues_several_literals_one_after_the_other():
    text = "at(chef1,pot) and holding(chef1,onion)"
    _, end = attempt(text, 0)
    assert Intent.parse(text).holds(end.state, VOCABULARY)


def test_the_seed_determines_what_it_does():
    texts = ("delivered(soup)", "pot-state(stage-3)", "not at(chef1,pot)")
    assert [attempt(t, 5)[0] for t in texts] == [attempt(t, 5)[0] for t in texts]


def test_the_values_that_come_with_it_are_what_the_script_learns():
    training = Training(**VALUES.origin["training"])
    assert training == Training()
    first = VALUES.origin["first_episodes"]
    simulator, starts = kitchen_simulator(), all_starts()
    below = OptionLearner(simulator, ABSTRACTION, starts, training)
    below.learn(FIRST_EPISODES)
    assert below.learner.digest == first["options"]
    options = VALUES.index, VALUES.in_options
    above = GoalLearner(simulator, ABSTRACTION, starts, options, training)
    above.learn(FIRST_EPISODES)
    assert above.learner.digest == first["goals"]


def test_the_values_are_small():
    assert KITCHEN_VALUES.stat().st_size <= 50_000


def test_every_training_episode_starts_with_an_onion_at_pile_1_and_dishes_only_while_cooking():
    starts = all_starts()
    assert {seen.piles for seen in starts} == {(1, 0), (1, 1)}
    assert {s.pot for s in starts if s.held == "dish"} == {
        *("stage-1", "stage-2", "stage-3", "stage-4", "stage-5", "ready"),
    }


def test_the_script_writes_values_that_can_be_loaded(tmp_path):
    path = tmp_path / "values.npz"
    command = [sys.executable, SCRIPT, path, "--option-episodes", "600", "--goal-episodes", "600"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)
    assert "12 options" in done.stdout
    values = KitchenValues.load(path)
    assert values.in_options.shape[0] == len(values.index.options) == 12
    assert np.isfinite(values.for_goals).all()
    assert values.fingerprint != VALUES.fingerprint
    assert "scripts" not in values.origin


def test_a_file_without_values_is_refused_with_the_command_that_makes_one(tmp_path):
    path = tmp_path / "values.npz"
    path.write_text("no values")
    with pytest.raises(ProblemError, match="train_kitchen_hrl"):
        KitchenValues.load(path)
