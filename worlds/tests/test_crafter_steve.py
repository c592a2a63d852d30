"""A policy that follows instructions: its network, its experts, and how it was trained."""

import random
import runpy
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from capscope.errors import ProblemError
from capscope.logic import Intent
from capscope.problem import Ending, Position
from capscope.problem.attempt import pursue
from capscope.problem.checks import check_problem
from capscope.problems import load_problem
from capscope_worlds.crafter import (
    ACTIONS,
    CrafterAbstraction,
    crafter_simulator,
    read_map,
    rules,
    shipped_maps,
)
from capscope_worlds.crafter_steve import (
    SKILLS,
    STEVE_WEIGHTS,
    InstructionFollower,
    PolicyNetwork,
    SteveAgent,
)
from capscope_worlds.crafter_steve.network import ITERATIONS, LAYERS, NOTHING
from capscope_worlds.crafter_steve.view import (
    CREATURES,
    KINDS,
    MATERIALS,
    OWN_FEATURES,
    own_features,
    view_of,
)
from crafter_training import experts
from crafter_training import scene as scenes
from crafter_training.experts import INSTRUCTIONS, expert_for
from crafter_training.scene import MOVES, Scene

pytest.importorskip("crafter")

SCRIPT = Path(__file__).parents[2] / "scripts" / "train_crafter_steve.py"
script = runpy.run_path(str(SCRIPT))
Training = script["Training"]
MEADOW = read_map(shipped_maps()["meadow"])


@pytest.fixture(scope="module")
def network():
    return PolicyNetwork.load(STEVE_WEIGHTS)


@pytest.fixture
def games():
    """Yield observations of random games."""

    def some(number, seed=0):
        rng = random.Random(seed)
        for _ in range(number):
            simulator = script["random_game"](rng)
            for _ in range(rng.randrange(4)):
                simulator.step(rng.choice(ACTIONS))
            yield simulator.restore(simulator.snapshot(), 0)

    return some


# What it sees.


def test_the_policy_and_the_environment_number_things_alike():
    assert rules.MATERIALS == MATERIALS
    assert rules.CREATURES == CREATURES
    assert rules.ITEMS == scenes.ITEMS
    assert rules.WALKABLE == scenes.WALKABLE
    assert {**rules.MAKE, **rules.PLACE} == experts.INGREDIENTS
    assert {rule.item: m for m, rule in rules.COLLECT.items()} == experts.MATERIAL_OF


def test_the_view_has_the_kind_of_each_cell_around_the_player(games):
    for seen in games(30):
        view = iter(view_of(seen).tolist())
        for x in range(seen.x - 4, seen.x + 5):
            for y in range(seen.y - 3, seen.y + 4):
                here = {(c.x, c.y): c.kind for c in seen.creatures}
                kind = here.get((x, y)) or seen.material(x, y) or "outside"
                assert KINDS[next(view)] == kind


def test_own_features_say_which_amounts_are_reached(games):
    for seen in games(10):
        features = own_features(seen)
        assert features.shape == (OWN_FEATURES,)
        assert features[:64].tolist() == [n >= t for n in seen.inventory for t in (1, 2, 4, 9)]
        assert features[64:68].sum() == 1
        assert features[68] == seen.sleeping


# The network.


def naive_routes(plans, view):
    """Compute the values of the four neighbours, cell by cell; maps are last in the result."""
    cells = [(x, y) for x in range(-4, 5) for y in range(-3, 4)]
    kinds = dict(zip(cells, view.tolist(), strict=True))
    columns = []
    for worth, bare in zip(*plans.reshape(2, -1, len(KINDS)), strict=True):
        values = {cell: worth[kind] for cell, kind in kinds.items()}
        for _ in range(ITERATIONS):
            best = {
                (x, y): max(values.get((x + dx, y + dy), NOTHING) for dx, dy in MOVES)
                for x, y in cells
            }
            values = {
                cell: max(worth[kind], best[cell] - np.log1p(np.exp(bare[kind])))
                for cell, kind in kinds.items()
            }
        near = [values[cell] for cell in MOVES]
        columns.append([*(value - max(near) for value in near), max(near)])
    return np.array(columns).T.ravel()


def naive_scores(network, view, own, instruction):
    """Compute the scores cell by cell, in double precision."""
    layers = {name: weights.astype(np.float64) for name, weights in network.layers.items()}
    words = [w for w in instruction.lower().replace("_", " ").split() if w in network.vocabulary]
    rows = [layers["words"][network.vocabulary.index(word)] for word in words]
    meaning = sum(rows) / len(rows) if rows else np.zeros(layers["words"].shape[1])
    present = [float(kind in view) for kind in range(len(KINDS))]
    inputs = np.array([*meaning, *own, *present])
    context = np.maximum(inputs @ layers["context"] + layers["context_bias"], 0)
    looks = context @ layers["look"] + layers["look_bias"]
    size = len(looks) // len(KINDS)
    first = context @ layers["hint"] + layers["first_bias"]
    plans = context @ layers["plan"] + layers["plan_bias"]
    first = first + naive_routes(plans, view) @ layers["route"]
    for cell, kind in enumerate(view.tolist()):
        seen = looks[kind * size : (kind + 1) * size]
        first = first + seen @ layers["cells"][cell * size : (cell + 1) * size]
    second = np.maximum(first, 0) @ layers["second"] + layers["second_bias"]
    return np.maximum(second, 0) @ layers["last"] + layers["last_bias"]


@pytest.mark.parametrize("phrase", ["obtain tree", "not next_to water", "gibberish", ""])
def test_scores_follow_the_definition_of_the_network(network, games, phrase):
    for seen in games(5):
        view, own = view_of(seen), own_features(seen)
        scores = network.scores(view, own, network.meaning(phrase))
        expected = naive_scores(network, view, own, phrase)
        np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-3)


def test_only_known_words_count_and_their_order_does_not(network):
    plain = network.meaning("obtain tree")
    for same in ("tree obtain", "Obtain my_Tree", "please obtain(tree)"):
        np.testing.assert_allclose(plain, network.meaning(same), rtol=1e-4, atol=1e-5)
    assert not np.allclose(plain, network.meaning("obtain water"))


def test_weights_are_read_as_they_were_written(network, tmp_path):
    network.save(tmp_path / "again.npz")
    again = PolicyNetwork.load(tmp_path / "again.npz")
    assert again.fingerprint == network.fingerprint
    assert (again.actions, again.vocabulary) == (network.actions, network.vocabulary)
    other = replace(network, layers={**network.layers, "last": network.layers["last"] + 1})
    assert other.fingerprint != network.fingerprint


def test_a_file_without_a_policy_names_the_script(tmp_path):
    for content in (b"", b"PK\3\4 not a zip", b"some text"):
        (tmp_path / "broken.npz").write_bytes(content)
        with pytest.raises(ProblemError, match="train_crafter_steve"):
            PolicyNetwork.load(tmp_path / "broken.npz")


# The shipped weights.


def test_shipped_weights_are_small_and_made_by_the_script(network):
    assert STEVE_WEIGHTS.stat().st_size <= 300_000
    assert network.actions == ACTIONS
    assert network.origin["training"] == asdict(Training())
    data = script["collect"](
        Training(), script["FIRST_STATES"], script["child_seed"](Training().seed, 2), None
    )
    assert network.origin["first_states"] == script["digest_of"](data, script["FIRST_STATES"])


def test_the_policy_is_nearly_as_good_as_its_experts(network):
    rates = {skill: rest for skill, *rest in script["compare"](network, 12)}
    assert set(rates) == set(SKILLS)
    experts, own = (sum(column) for column in zip(*rates.values(), strict=True))
    assert own >= 0.9 * experts
    for skill in ("go to sleep", "move to east", "move to west", "stay"):
        assert rates[skill][1] == 1.0


# Experts.


def test_every_expert_always_has_an_action(games):
    for seen in games(40):
        scene = Scene(seen)
        for instruction in INSTRUCTIONS:
            actions = instruction.expert(scene)
            assert actions
            assert set(actions) <= set(ACTIONS)


def naive_distance(scene, target, dig):
    """Return the cost of the cheapest way, by relaxing all cells again and again."""

    def cost(cell):
        if scene.free(cell):
            return 1
        return 2 if dig and scene.kind(cell) == "stone" else np.inf

    best = dict.fromkeys(scene.kinds, np.inf)
    best[0, 0] = 0
    for _ in range(len(best)):
        for x, y in best:
            for dx, dy in MOVES:
                if (x + dx, y + dy) in best:
                    way = best[x + dx, y + dy] + cost((x, y))
                    best[x, y] = min(best[x, y], way)
    return best[target]


def test_steps_to_begins_the_cheapest_ways(games):
    for seen in games(12, seed=5):
        scene = Scene(seen)
        dig = scene.has("wood_pickaxe")
        for target in [cell for cell in scene.kinds if scene.free(cell) and cell != (0, 0)][::7]:
            steps = scene.steps_to([target])
            distance = naive_distance(scene, target, dig)
            assert bool(steps) == (distance < np.inf)
            if distance == 1:
                assert steps == [MOVES[target]]


@pytest.mark.parametrize(
    ("skill", "achievement", "map_name"),
    [
        ("obtain tree", "collect_wood", "meadow"),
        ("obtain water", "collect_drink", "meadow"),
        ("craft wood pickaxe", "make_wood_pickaxe", "meadow"),
        ("craft wood sword", "make_wood_sword", "quarry"),
        ("obtain coal", "collect_coal", "quarry"),
        ("craft stone pickaxe", "make_stone_pickaxe", "quarry"),
    ],
)
def test_an_expert_gets_what_it_lacks(skill, achievement, map_name):
    simulator = crafter_simulator(read_map(shipped_maps()[map_name]))
    seen, rng, expert = simulator.reset(1), random.Random(1), expert_for(skill)
    for _ in range(100):
        seen = simulator.step(rng.choice(expert(Scene(seen))))
    assert seen.achieved >> rules.ACHIEVEMENTS.index(achievement) & 1


def test_an_unknown_phrase_has_no_expert():
    with pytest.raises(KeyError):
        expert_for("open the pod bay doors")


# Training.


def test_the_gradient_is_the_slope_of_the_loss(games):
    tiny = Training(words=3, context=5, look=2, plans=2, first=6, second=4)
    rng = np.random.default_rng(0)
    layers = script["initial_layers"](tiny, 6, rng)
    layers = {name: weights.astype(np.float64) for name, weights in layers.items()}
    seen = list(games(4))
    labels = rng.dirichlet(np.ones(len(ACTIONS)), (4, 2))
    batch = {
        "views": np.array([view_of(one) for one in seen]),
        "own": np.array([own_features(one) for one in seen], np.float64),
        "bags": rng.dirichlet(np.ones(6), 8),
        "labels": labels,
    }
    words = tuple("abcdef")

    def loss():
        network = PolicyNetwork(ACTIONS, words, layers)
        total = 0.0
        for i, one in enumerate(seen):
            for j in range(2):
                meaning = batch["bags"][2 * i + j] @ layers["words"]
                mixed = replace(network, layers={**layers, "words": np.array([meaning])})
                scores = naive_scores(
                    replace(mixed, vocabulary=("a",)), view_of(one), own_features(one), "a"
                )
                shares = np.exp(scores - scores.max())
                total -= labels[i, j] @ np.log(shares / shares.sum())
        return total / 8

    slopes = script["gradients"](layers, batch)
    for name in LAYERS:
        flat = layers[name].ravel()
        at = int(np.abs(slopes[name]).argmax())
        old, change = flat[at], 1e-5
        flat[at] = old + change
        above = loss()
        flat[at] = old - change
        slope = (above - loss()) / (2 * change)
        flat[at] = old
        assert slope == pytest.approx(slopes[name].ravel()[at], rel=1e-3, abs=1e-7), name


def test_training_repeats_and_learns(tmp_path):
    tiny = Training(states=800, epochs=3)
    one, other = script["train"](tiny), script["train"](tiny)
    assert one.fingerprint == other.fingerprint
    untrained = script["fit"](replace(tiny, epochs=0), script["collect"](tiny, 300, 9, None))
    data = script["collect"](tiny, 300, 9, None)

    def agreement(network):
        hits = 0
        for view, own, rows, labels in zip(
            data.views, data.own, data.phrases, data.labels, strict=True
        ):
            how = network.meaning(script["PHRASES"][rows[0]][0])
            chosen = network.scores(view, own.astype(np.float32), how).argmax()
            hits += labels[0, chosen] > 0
        return hits / 300

    assert agreement(one) > agreement(untrained) + 0.1


def test_the_script_writes_weights_that_can_be_loaded(tmp_path, capsys):
    path = tmp_path / "weights.npz"
    assert script["main"]([str(path), "--states", "600", "--epochs", "1"]) == 0
    assert PolicyNetwork.load(path).origin["training"]["states"] == 600
    assert "kB" in capsys.readouterr().out
    assert script["main"]([str(tmp_path / "no" / "where.npz"), "--states", "600"]) == 2


# The agent.


def agent_in(game_map, network, **options):
    return SteveAgent(network, CrafterAbstraction(game_map), **options)


def pursued(problem, intent, seed=0):
    seen = problem.simulator.reset(seed)
    start = Position(seen, problem.abstraction(seen))
    return pursue(problem, Intent.parse(intent), start, seed=seed)


def test_a_greedy_agent_takes_the_best_action_and_a_stochastic_one_draws(network):
    seen = crafter_simulator(MEADOW).reset(0)
    greedy = InstructionFollower(network, "obtain tree", None)
    how = network.meaning("obtain tree")
    scores = network.scores(view_of(seen), own_features(seen), how)
    assert greedy.act(seen) == ACTIONS[int(scores.argmax())]
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    follower = InstructionFollower(network, "obtain tree", random.Random(0))
    drawn = Counter(follower.act(seen) for _ in range(2_000))
    for action, share in zip(ACTIONS, shares, strict=True):
        assert abs(drawn[action] / 2_000 - share) < 0.05


def test_an_attempt_is_repeated_by_its_seed(network):
    problem = load_problem("crafter-steve:stochastic=yes")
    made = [pursued(problem, "has(wood_sword)", seed)[0] for seed in (1, 1, *range(2, 12))]
    trails = [(one.trajectory, one.simulator_steps) for one in made]
    assert trails[0] == trails[1]
    assert len(set(trails)) > 1


def test_the_agent_stops_when_the_intent_holds():
    problem = load_problem("crafter-steve")
    made, _ = pursued(problem, "exists(tree)")
    assert (made.ending, made.simulator_steps) == (Ending.STOPPED, 0)
    made, end = pursued(problem, "is_sleeping()")
    assert made.simulator_steps == 1
    assert end.state & problem.vocabulary.bit_of("is_sleeping()")


def test_problems_have_maps_creatures_and_a_longer_theta_if_stochastic():
    plain = load_problem("crafter-steve")
    assert (plain.limits.temporal_length, plain.limits.horizon) == (1, 15)
    assert plain.simulator.game_map.name == "meadow"
    drawn = load_problem("crafter-steve:stochastic=yes,map=quarry,spawn=yes")
    assert drawn.limits.temporal_length == 4
    assert drawn.simulator.game_map.name == "quarry"
    assert drawn.simulator.spawn
    sources = ("crafter-steve:spawn=yes", "crafter-steve:map=quarry")
    prints = {load_problem(source).fingerprint for source in sources}
    assert len({plain.fingerprint, drawn.fingerprint, *prints}) == 4


def test_a_map_of_ones_own_is_given_by_its_file(tmp_path):
    (tmp_path / "pond.txt").write_text(". . .\n. > W\n. T .\n")
    problem = load_problem(f"crafter-steve:map={tmp_path / 'pond.txt'}")
    assert problem.vocabulary.objects_of("tool") == ()
    assert check_problem(problem) == []


@pytest.mark.parametrize("option", ["spawn=maybe", "map=nowhere", "stochastic=1"])
def test_an_option_that_makes_no_sense_is_refused(option):
    with pytest.raises(ProblemError):
        load_problem(f"crafter-steve:{option}")


def test_no_problem_in_crafter_breaks_its_contract():
    for options in ("spawn=yes", "map=quarry", "stochastic=yes"):
        assert check_problem(load_problem(f"crafter-steve:{options}")) == []
