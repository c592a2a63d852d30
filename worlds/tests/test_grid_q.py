import math
import random
import runpy
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from capscope.errors import ProblemError
from capscope.logic import Intent, Literal
from capscope.problem import Ending, Position
from capscope.problem.attempt import pursue
from capscope.problems import load_problem
from capscope_worlds.grid_q import FOUR_QUADRANTS_VALUES, ActionValues, GridQAgent
from capscope_worlds.grid_q.values import position_of
from capscope_worlds.minigrid import (
    FOUR_QUADRANTS,
    GridAbstraction,
    grid_simulator,
    read_layout,
)
from support.processes import SECONDS

SCRIPT = Path(__file__).parents[2] / "examples" / "train_grid_q.py"
_script = runpy.run_path(str(SCRIPT))
Learner, Training, train = _script["Learner"], _script["Training"], _script["train"]
LAYOUT = read_layout(FOUR_QUADRANTS)
ABSTRACTION = GridAbstraction(LAYOUT)
PROBLEM = load_problem("minigrid-q")
VALUES = ActionValues.load(FOUR_QUADRANTS_VALUES)
SHORT = Training(episodes=60, most_steps=40)


def test_of_several_alternatives_one_that_was_learned_is_pursued():
    attempted, end = attempt("blue-key-at(south-east) or carrying-blue-key()", 0)
    assert attempted.ending == Ending.STOPPED
    assert Intent.parse("carrying-blue-key()").holds(end.state, PROBLEM.vocabulary)
    again, _ = attempt("not carrying-blue-key() or is-dead()", 0)
    assert again.simulator_steps == 0


def attempt(text, seed, problem=PROBLEM, start=None):
    """Let the agent attempt an intent from the initial position or from a snapshot."""
    simulator = problem.simulator
    seen = simulator.reset(0) if start is None else simulator.restore(start, 0)
    return pursue(problem, Intent.parse(text), Position(seen, ABSTRACTION(seen)), seed)


def achieved(text, seeds=60, start=None):
    """Return the share of attempts after which the intent holds."""
    ends = [attempt(text, seed, start=start)[1].state for seed in range(seeds)]
    return sum(Intent.parse(text).holds(end, ABSTRACTION.vocabulary) for end in ends) / seeds


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("carrying-blue-key()", 0.95),
        ("blue-door-open()", 0.8),
        ("blue-door-closed()", 0.7),
        ("not blue-door-locked()", 0.8),
        ("not blue-key-at(south-west)", 0.95),
        ("not agent-at(north-west)", 0.95),
        ("agent-at(south-west)", 0.9),
        ("is-dead()", 0.9),
    ],
)
def test_it_reaches_what_it_learned_from_the_initial_position(text, least):
    assert achieved(text) >= least


def test_it_has_not_learned_everything_equally_well():
    near, far = achieved("agent-at(south-west)"), achieved("agent-at(south-east)")
    assert 0.05 < far < near


def test_if_asked_to_be_in_a_room_it_goes_to_one_of_its_cells():
    cells = set()
    for seed in range(40):
        made, position = attempt("agent-at(north-west)", seed)
        assert made.trajectory == (ABSTRACTION(PROBLEM.simulator.reset(0)),)
        if made.ending is Ending.STOPPED:
            cells.add(position.observation.position)
    assert len(cells) > 5
    assert cells <= set(LAYOUT.floor_of["north-west"])


def test_it_stops_at_once_if_the_intent_holds():
    made, _ = attempt("not is-dead()", 0)
    assert (made.simulator_steps, made.ending) == (0, Ending.STOPPED)
    made, _ = attempt("blue-door-locked()", 0)
    assert (made.simulator_steps, made.ending) == (0, Ending.STOPPED)


@pytest.mark.parametrize(
    "text",
    [
        "green-door-open()",
        "green-door-closed()",
        "not green-door-locked()",
        "blue-key-at(north-west)",
    ],
)
def test_it_does_not_try_what_it_never_learned(text):
    assert text not in VALUES.goals
    made, _ = attempt(text, 0)
    assert (made.simulator_steps, made.ending) == (0, Ending.STOPPED)


def test_it_attempts_every_literal_of_the_vocabulary_without_an_error():
    for atom in ABSTRACTION.vocabulary.atoms:
        for positive in (True, False):
            made, _ = attempt(str(Literal(atom, positive)), 1)
            assert made.ending is not Ending.AGENT_RAISED, made.detail
            assert made.simulator_steps <= 100


def test_it_pursues_several_literals_one_after_the_other():
    _, position = attempt("blue-door-open() and agent-at(south-west) and green-door-open()", 1)
    names = {str(atom) for atom in ABSTRACTION.vocabulary.holding(position.state)}
    assert {"blue-door-open()", "agent-at(south-west)"} <= names


def test_the_seed_determines_what_it_does():
    for text in ("agent-at(south-west)", "carrying-blue-key()"):
        made = [attempt(text, seed) for seed in range(12)]
        assert made == [attempt(text, seed) for seed in range(12)]
        assert len({result.simulator_steps for result, _ in made}) > 1


def test_actions_are_sampled_from_the_softmax_of_their_values():
    agent = PROBLEM.agent
    seen = PROBLEM.simulator.reset(0)
    goal, position = "carrying-blue-key()", position_of(seen)
    values = VALUES.table[VALUES.positions[position], VALUES.goals[goal]].astype(float)
    weights = [math.exp(value / agent.temperature) for value in values]
    expected = [weight / sum(weights) for weight in weights]
    assert agent.probabilities(position, goal) == pytest.approx(expected)
    drawn = Counter(agent.begin(Intent.parse(goal), seed).act(seen) for seed in range(4000))
    for action, probability in zip(VALUES.actions, expected, strict=True):
        assert drawn[action] / 4000 == pytest.approx(probability, abs=0.03)


def test_a_lower_temperature_makes_it_more_decisive():
    position = position_of(PROBLEM.simulator.reset(0))
    cold, warm = (
        GridQAgent(VALUES, ABSTRACTION, t).probabilities(position, "is-dead()")
        for t in (0.001, 1.0)
    )
    assert max(cold) > 0.95
    assert max(warm) < 0.3
    for wrong in (0, -1, math.nan):
        with pytest.raises(ValueError, match="temperature must be above 0"):
            GridQAgent(VALUES, ABSTRACTION, wrong)


def test_it_acts_uniformly_in_a_position_without_values():
    empty = replace(VALUES, positions={})
    agent = GridQAgent(empty, ABSTRACTION)
    seen = PROBLEM.simulator.reset(0)
    probabilities = agent.probabilities(position_of(seen), "is-dead()")
    assert probabilities == pytest.approx([1 / 7] * 7)
    drawn = {agent.begin(Intent.parse("is-dead()"), seed).act(seen) for seed in range(200)}
    assert drawn == set(VALUES.actions)


def test_the_shipped_values_come_from_training_in_the_shipped_grid():
    assert VALUES.origin["grid"] == LAYOUT.fingerprint
    assert VALUES.origin["training"] == asdict(Training())
    learner = Learner(grid_simulator(LAYOUT), ABSTRACTION, Training())
    learner.learn(_script["FIRST_EPISODES"])
    assert learner.digest == VALUES.origin["first_episodes"]


def test_training_depends_only_on_its_hyperparameters_and_seed():
    made = train(grid_simulator(LAYOUT), ABSTRACTION, SHORT)
    assert train(grid_simulator(LAYOUT), ABSTRACTION, SHORT).fingerprint == made.fingerprint
    other = train(grid_simulator(LAYOUT), ABSTRACTION, replace(SHORT, seed=1))
    assert other.fingerprint != made.fingerprint


def test_the_script_writes_the_trained_values(tmp_path):
    written = tmp_path / "values.npz"
    options = ["--episodes", "60", "--most-steps", "40"]
    command = [sys.executable, SCRIPT, FOUR_QUADRANTS, written, *options]
    subprocess.run(command, check=True, timeout=SECONDS)
    values = ActionValues.load(written)
    assert values.fingerprint == train(grid_simulator(LAYOUT), ABSTRACTION, SHORT).fingerprint
    assert values.origin["training"] == asdict(SHORT)
    assert values.origin["grid"] == LAYOUT.fingerprint


def test_learning_does_not_depend_on_how_the_episodes_are_split():
    whole, parts = (Learner(grid_simulator(LAYOUT), ABSTRACTION, SHORT) for _ in range(2))
    whole.learn()
    for _ in range(4):
        parts.learn(20)
    assert parts.episodes == whole.episodes == SHORT.episodes
    assert parts.digest == whole.digest


def test_learned_values_never_exceed_the_value_of_the_shortest_path():
    """The naive twin: steps to the goal by breadth-first search on minigrid itself."""
    goal = "carrying-blue-key()"
    steps = shortest_paths(Intent.parse(goal))
    column = VALUES.goals[goal]
    checked = 0
    for position, row in VALUES.positions.items():
        if position in steps:
            best = float(VALUES.table[row, column].max())
            assert best <= Training().discount ** (steps[position] - 1) + 1e-3
            checked += 1
    assert checked > 50


def shortest_paths(intent):
    """Return the minimal steps to an intent from each position in which it does not hold."""
    simulator = grid_simulator(LAYOUT)
    seen = simulator.reset(0)
    found = {position_of(seen): simulator.snapshot()}
    leads = {}
    frontier = list(found.items())
    for position, snapshot in frontier:
        leads[position] = set()
        simulator.restore(snapshot, 0)
        for action in simulator.actions():
            after = simulator.restore(snapshot, 0)
            after = simulator.step(action)
            reached = intent.holds(ABSTRACTION(after), ABSTRACTION.vocabulary)
            leads[position].add(None if reached else position_of(after))
            if not reached and position_of(after) not in found:
                found[position_of(after)] = simulator.snapshot()
                frontier.append((position_of(after), simulator.snapshot()))
    steps = {None: 0}
    while True:
        new = {p for p, ahead in leads.items() if p not in steps and ahead & steps.keys()}
        if not new:
            return steps
        steps.update(dict.fromkeys(new, max(steps.values()) + 1))


def test_values_survive_a_round_trip(tmp_path):
    made = train(grid_simulator(LAYOUT), ABSTRACTION, SHORT, "somewhere")
    made.save(tmp_path / "values.npz")
    read = ActionValues.load(tmp_path / "values.npz")
    assert read.fingerprint == made.fingerprint
    assert read.origin == made.origin
    assert read.positions == made.positions
    assert np.array_equal(read.table, made.table)


def test_a_file_without_values_is_a_problem_error(tmp_path):
    (tmp_path / "text.npz").write_text("no values")
    np.savez(tmp_path / "other.npz", numbers=np.arange(3))
    for name in ("absent.npz", "text.npz", "other.npz"):
        with pytest.raises(ProblemError, match=f"{name} does not contain values of a grid agent"):
            ActionValues.load(tmp_path / name)


def test_the_fingerprint_covers_the_grid_the_values_and_the_temperature():
    assert LAYOUT.fingerprint in PROBLEM.fingerprint
    assert VALUES.fingerprint in PROBLEM.fingerprint
    warmer = GridQAgent(VALUES, ABSTRACTION, 0.5)
    assert warmer.fingerprint != PROBLEM.agent.fingerprint
    assert PROBLEM.limits.temporal_length is None
    assert PROBLEM.limits.horizon == 100


def test_a_random_walk_stays_in_positions_that_have_values():
    """Every position that the agent can reach alive was visited during training."""
    simulator, chooser = grid_simulator(LAYOUT), random.Random(0)
    seen = simulator.reset(0)
    for _ in range(3000):
        if not simulator.actions():
            seen = simulator.reset(0)
        assert position_of(seen) in VALUES.positions
        seen = simulator.step(chooser.choice(simulator.actions()))
