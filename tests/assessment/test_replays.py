"""Replays of a run: recorded once, whoever makes the draws and however often it is killed."""

import sqlite3
from collections import Counter
from contextlib import closing
from functools import partial

import pytest

from capscope import Budget, Limits, Predicate, Problem, Settings, Vocabulary, assess
from capscope.assessment import replays as replays_module
from capscope.assessment.workers import WorkerSettings
from capscope.insight.needs import ReplayedChange, need_of
from capscope.journal.journal import Journal
from capscope.logic import Effect
from capscope.problem.counterfactual import Need
from capscope.problem.functions import FunctionAbstraction, FunctionWorld
from capscope.run import load
from capscope_experiments.worlds.desk import desk
from capscope_experiments.worlds.habits import warehouse
from support.journal_rows import dump

NAMES = ("a", "b", "c")
WORDS = Vocabulary([Predicate("on", ("lamp",)), Predicate("hot")], dict.fromkeys(NAMES, "lamp"))


class Careless:
    """An agent that switches on what it is asked for, and then the next lamp."""

    def begin(self, intent, seed):
        (literal,) = intent.literals
        name = literal.atom.arguments[0]
        self.left = [name, NAMES[(NAMES.index(name) + 1) % 3]] if literal.positive else ["-" + name]
        return self

    def act(self, observation):
        return self.left.pop(0) if self.left else None


def step(state, action):
    changed = set(state) - {action[1:]} if action.startswith("-") else {*state, action}
    return tuple(sorted(changed))


def careless(step=step, agent=Careless):
    names = [f"{sign}on({name})" for name in NAMES for sign in ("", "not ")]
    return Problem(
        "careless",
        FunctionWorld((), step, [*NAMES, *(f"-{name}" for name in NAMES)]),
        agent(),
        FunctionAbstraction(WORDS, lambda state: [f"on({name})" for name in state]),
        Limits(temporal_length=None, horizon=5),
        intents=names,
    )


def assessed(
    problem=careless, executions=60, run=None, seed=3, budget=None, replays=1000, ratio=0.5, **how
):
    return assess(
        problem, seed=seed, budget=budget or Budget(executions=executions), run=run,
        settings=Settings(batch=4, replays=replays, replay_ratio=ratio), **how,
    )  # fmt: skip


def test_each_kind_of_change_is_examined_in_at_most_three_executions():
    run = assessed()
    table = run.executions
    shown = Counter()
    for one in run.replays:
        intent = run.capabilities[int(table.capability[one.execution])]
        after = table.states[int(table.after[one.execution])]
        before = table.states[int(table.before[one.execution])]
        atom, positive = one.literal
        assert bool(after >> atom & 1) is positive and bool(before >> atom & 1) is not positive
        shown[intent.literals[0].positive] += 1
    assert shown == {True: 3}
    assert {one.verdict for one in run.replays} == {Need.NEEDLESS}
    assert len({one.execution for one in run.replays}) == 3


def test_replays_count_as_steps_and_not_as_executions():
    run, without = assessed(), assessed(replays=0)
    assert without.replays == () and without.usage.replay_steps == 0
    assert run.usage.replay_steps == sum(one.steps for one in run.replays) > 0
    assert run.usage.executions == without.usage.executions == 60
    assert run.usage.simulator_steps == without.usage.simulator_steps


class Hesitant(Careless):
    """One that first does ten times what changes nothing."""

    def begin(self, intent, seed):
        super().begin(intent, seed)
        idle = "-" + NAMES[(NAMES.index(self.left[0][-1]) + 1) % 3]
        self.left = [*[idle] * 10, *self.left] if len(self.left) > 1 else self.left
        return self


def hesitant():
    problem = careless(agent=Hesitant)
    return Problem(**{**vars(problem), "limits": Limits(temporal_length=None, horizon=40)})


def test_long_executions_wait_until_there_is_room_for_their_replays():
    decided = {}
    for ratio in (0, 0.1, 0.5):
        run = assessed(hesitant, replays=100, ratio=ratio)
        most = 100 + ratio * run.usage.simulator_steps
        assert run.usage.replay_steps <= most
        decided[ratio] = len(run.replays)
    assert decided[0] == 0 < decided[0.1] < decided[0.5] == 3


def test_nothing_is_replayed_if_nothing_changes_beyond_requests():
    class Careful(Careless):
        def begin(self, intent, seed):
            super().begin(intent, seed)
            self.left = self.left[:1]
            return self

    assert assessed(partial(careless, agent=Careful)).replays == ()


@pytest.mark.parametrize("workers", [2, 3])
def test_the_number_of_workers_changes_no_replay(workers):
    assert assessed(workers=workers).replays == assessed().replays


def test_actions_and_replays_are_the_same_if_other_processes_make_the_draws(tmp_path):
    for name, workers in (("here", 1), ("there", WorkerSettings(2, "processes"))):
        run = assessed(f"{__file__}:careless", run=tmp_path / name, workers=workers)
        assert run.replays and run.usage.executions == 60
    assert dump(tmp_path / "here") == dump(tmp_path / "there")


def rows(path):
    with closing(sqlite3.connect(path / "journal.sqlite")) as db:
        return db.execute("SELECT * FROM replays").fetchall()


@pytest.mark.parametrize(("strategy_seed", "most"), [(0, 1000), (1, 1000), (1, 15)])
def test_a_run_that_is_killed_between_replays_makes_those_that_are_missing(
    tmp_path, monkeypatch, strategy_seed, most
):
    whole = assessed(desk, 40, tmp_path / "whole", strategy_seed, replays=most)
    made = [0]
    decide, add = replays_module.decide, Journal.add_replay

    def counted(*given):
        made[0] += 1
        return decide(*given)

    def add_and_die(self, *given):
        add(self, *given)
        raise KeyboardInterrupt

    monkeypatch.setattr(replays_module, "decide", counted)
    monkeypatch.setattr(Journal, "add_replay", add_and_die)
    with pytest.raises(KeyboardInterrupt):
        assessed(desk, 40, tmp_path / "killed", strategy_seed, replays=most)
    for _ in range(len(whole.replays) - 1):
        with pytest.raises(KeyboardInterrupt):
            load(tmp_path / "killed").resume(problem=desk())
    resumed = load(tmp_path / "killed").resume(problem=desk())
    assert rows(tmp_path / "killed") == rows(tmp_path / "whole")
    assert made[0] == len(whole.replays) == len(resumed.replays)
    assert resumed.usage.replay_steps == whole.usage.replay_steps
    assert load(tmp_path / "killed").usage.replay_steps == whole.usage.replay_steps


ENOUGH = Budget(simulator_steps=200)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return assessed(desk, run=tmp_path_factory.mktemp("runs") / "whole", budget=ENOUGH)


@pytest.mark.parametrize("steps", [104, 111, 118, 125])
def test_a_replay_that_a_budget_cuts_short_is_made_when_there_is_more_to_spend(
    tmp_path, whole, steps
):
    path = tmp_path / "cut"
    cut = assessed(desk, run=path, budget=Budget(simulator_steps=steps))
    assert cut.usage.simulator_steps + cut.usage.replay_steps <= steps
    assert str(cut.stop_reason) == "budget of simulator_steps spent"
    cut.resume(problem=desk(), budget=ENOUGH)
    assert rows(path) == rows(whole.path)
    assert load(path).usage.simulator_steps == whole.usage.simulator_steps


def test_an_error_of_the_simulator_in_a_replay_does_not_stop_the_run():
    def touchy(state, action):
        # Agents never switch a lamp on alone after another was left out.
        if action == "b" and "a" not in state:
            raise RuntimeError("no current")
        return step(state, action)

    class Pair(Careless):
        def begin(self, intent, seed):
            self.left = ["a", "b"]
            return self

    problem = careless(touchy, Pair)
    problem = Problem(**{**vars(problem), "intents": ["on(b)"]})
    run = assess(problem, budget=Budget(executions=5), settings=Settings(audit=0))
    (one,) = run.replays
    assert (one.verdict, one.note) == (
        Need.UNDECIDED,
        "the simulator raised RuntimeError: no current",
    )


def test_executions_later_in_a_draw_are_repeated_from_its_start_also_with_chance():
    run = assessed(partial(warehouse, 0.3, whole=True), 60, strategy="random")
    later = [one for one in run.replays if run.executions.number[one.execution]]
    assert later
    assert all(one.note != "the world does not repeat exactly" for one in run.replays)


def test_the_actions_of_an_execution_can_be_read():
    run = assessed()
    for one in run.replays:
        first, second = run.actions(one.execution)
        assert NAMES.index(second) == (NAMES.index(first) + 1) % 3
        assert one.kept == (0,)


def test_one_needless_example_suffices_and_part_of_it_needs_all():
    def replays(*verdicts):
        return [
            ReplayedChange(row, (1, True), verdict, (), 0, "")
            for row, verdict in enumerate(verdicts)
        ]

    made = Effect(0b10, 0)

    def need(*verdicts, executions=(0, 1, 2), changes=made):
        return need_of(replays(*verdicts), executions, changes)

    assert need(Need.PART, Need.NEEDLESS) is Need.NEEDLESS
    assert need(Need.PART, Need.NEEDLESS, executions=[0]) is Need.PART
    assert need(Need.PART, Need.UNDECIDED) is Need.UNDECIDED
    assert need(Need.PART, Need.ON_THE_WAY) is Need.PART
    assert need(Need.ON_THE_WAY) is Need.ON_THE_WAY
    assert need(Need.NEEDLESS, changes=Effect(0b01, 0b10)) is Need.UNDECIDED
    assert need() is Need.UNDECIDED
