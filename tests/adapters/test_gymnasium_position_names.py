"""A position has one name, however it was reached, and different positions have different names."""

import random

import pytest

pytest.importorskip("gymnasium")

from gymnasium import wrappers

from capscope import Budget, assess, load, resume
from capscope.adapters.gymnasium import Copy, Native, Options, Replay, gymnasium_problem
from capscope.adapters.gymnasium.position_names import PositionNamer
from capscope.problem.checks import notes_on
from capscope.problem.positions import save_position
from support import odd_environments as odd
from support.odd_environments import corridor_problem

FOR_RENDERING = ["lastaction", "dealer_top_card_suit", "dealer_top_card_value_str"]


def visits(simulator, count, seed=0):
    """Walk at random; yield at each step."""
    rng = random.Random(seed)
    simulator.reset(seed)
    for visit in range(count):
        yield simulator
        if simulator.actions():
            simulator.step(rng.choice(simulator.actions()))
        else:
            simulator.reset(rng.randrange(3) + visit % 2)


def world(make, restore="replay", **given):
    label = given.pop("label", lambda _: [])
    return gymnasium_problem(make, odd.VOCABULARY, label, lambda _: 0, restore=restore, **given)


WORLDS = [
    "FrozenLake-v1",
    "CliffWalking-v1",
    "Blackjack-v1",
    odd.Corridor,
    odd.CorridorThatHandsOutItself,
    odd.CorridorWithAGeneratorOfItsOwn,
    odd.CorridorWithACounterLeftOut,
    odd.CorridorWithWindLeftOut,
    odd.CorridorInACorridor,
    lambda: wrappers.FrameStackObservation(odd.Corridor(ends=False), 3),
    lambda: wrappers.StickyAction(odd.Corridor(ends=False), 0.5),
]


@pytest.mark.parametrize("restore", [Replay, Copy, lambda ignore: Native.of(ignore=ignore)])
@pytest.mark.parametrize("make", WORLDS)
def test_positions_have_one_name_if_a_full_comparison_finds_them_equal(make, restore):
    """The naive twin compares every attribute in every layer, each time."""
    simulator = world(make, restore(ignore=FOR_RENDERING)).simulator
    by_values, by_name = {}, {}
    for visited in visits(simulator, 150):
        step = {name: text for name, text in visited.last_step().items() if name != "the reward"}
        values = repr(sorted({**step, **visited.inspect().parts}.items()))
        name = visited.position_name()
        assert by_values.setdefault(values, name) == name
        assert by_name.setdefault(name, values) == values
    assert 3 < len(by_name) <= 150


def test_a_large_table_that_changes_is_part_of_a_position():
    """The full comparison skips it."""
    simulator = world(odd.CorridorWithALongTrail).simulator
    found = {
        (
            visited.last_step()["the observation"],
            str(visited.env.board),
            visited.position_name(),
        )
        for visited in visits(simulator, 60)
    }
    assert len(found) == len({name for *_, name in found}) > 10


@pytest.mark.parametrize("restore", ["replay", "copy"])
def test_a_name_depends_neither_on_the_history_nor_on_the_process(restore):
    here, there = (corridor_problem(lambda: odd.Corridor(0.0), restore=restore) for _ in range(2))
    here, there = here.simulator, there.simulator
    here.reset(1)
    begin = save_position(here)
    here.step(0)
    here.step(1)
    there.reset(2)
    assert len({begin.snapshot, here.snapshot(), there.snapshot()}) == 3
    assert begin.name == here.position_name() == there.position_name()
    there.restore(here.snapshot(), 7)
    assert there.position_name() == begin.name
    there.step(0)
    assert there.position_name() != begin.name


def steps_to_the_same_cell(restore, make=odd.CorridorWithACounterLeftOut, **given):
    simulator = world(lambda: make(0.0, ends=False), restore, **given).simulator
    simulator.reset(0)
    begin = simulator.position_name()
    simulator.step(0)
    simulator.step(1)
    return simulator.position_name() == begin


@pytest.mark.parametrize("restore", [Replay, Copy, lambda **given: Native.of("cell", **given)])
def test_an_ignored_attribute_does_not_distinguish_positions(restore):
    assert not steps_to_the_same_cell(restore())
    assert steps_to_the_same_cell(restore(ignore=["steps"]))


def watched_corridor(*_, **__):
    env = wrappers.TimeLimit(odd.Corridor(0.0, ends=False), 9)
    return wrappers.RecordEpisodeStatistics(env)


def test_statistics_and_a_removed_limit_do_not_distinguish_positions():
    assert steps_to_the_same_cell("replay", watched_corridor)
    kept = Options(keep_time_limit=True)
    assert not steps_to_the_same_cell("replay", watched_corridor, options=kept)


def test_values_that_survive_a_reset_do_not_distinguish_positions():
    simulator = world(odd.CorridorThatRemembersEpisodes).simulator
    names = set()
    for visited in visits(simulator, 50):
        names.add((visited.last_step()["the observation"], visited.position_name()))
    assert len(names) == 5


@pytest.mark.parametrize("name", ["FrozenLake-v1", "Taxi-v4", "CliffWalking-v1"])
def test_values_for_rendering_do_not_distinguish_positions(name):
    seen, names = set(), set()
    for visited in visits(world(name).simulator, 80):
        seen.add(visited.last_step()["the observation"])
        names.add(visited.position_name())
    assert len(seen) == len(names)


class Sealed(odd.Corridor):
    """Holds an object that does not show its content."""

    def reset(self, *, seed=None, options=None):
        self.engine = {"wheels": [(n for n in ())]}
        return super().reset(seed=seed)


def test_an_environment_that_cannot_be_examined_has_no_names_and_a_note():
    problem = world(Sealed, label=lambda cell: [f"at({odd.CELLS[cell]})"])
    assert problem.simulator.position_name() is None
    saved = save_position(problem.simulator)
    assert saved.name == saved.snapshot
    assert problem.simulator.restore(saved.snapshot, 0).observation == 2
    note = "engine['wheels'][0] cannot be read, so positions have no names"
    assert any(note in text for text in notes_on(problem))
    named = save_position(world(Sealed, Replay(ignore=["engine"])).simulator)
    assert named.name != named.snapshot


def test_an_environment_that_can_be_made_only_once_has_no_names():
    made = []

    def once():
        if made:
            raise OSError("the port is taken")
        made.append(odd.Corridor())
        return made[0]

    problem = world(once, label=lambda cell: [f"at({odd.CELLS[cell]})"])
    simulator = problem.simulator
    assert simulator.position_name() is None
    assert "a second environment (OSError: the port is taken)" in simulator.notes()[0]


def test_an_environment_that_raises_while_it_is_observed_still_has_names():
    class Fragile(odd.Corridor):
        def step(self, action):
            if action:
                raise RuntimeError("not to the right")
            return super().step(action)

    simulator = world(Fragile).simulator
    begin = simulator.position_name()
    simulator.step(0)
    assert simulator.position_name() != begin


def test_a_run_started_without_names_can_be_resumed_with_them(tmp_path, monkeypatch):
    for name in ("later", "earlier"):
        with monkeypatch.context() as release:
            if name == "earlier":
                release.setattr(PositionNamer, "description", lambda self, episode: None)
            assess(corridor_problem(), run=tmp_path / name, budget=Budget(executions=60))
        resume(tmp_path / name, problem=corridor_problem(), budget=Budget(executions=120))
    later, earlier = (load(tmp_path / name).executions for name in ("later", "earlier"))
    for column in ("capability", "before", "after", "query", "draw", "changes"):
        assert getattr(later, column).tolist() == getattr(earlier, column).tolist()
    assert len(later.position_names) < len(earlier.position_names)
