from collections import Counter
from dataclasses import replace

import pytest

from capscope.assessment.workers import WorkerSettings, start_workers
from capscope.errors import CapscopeError, ProblemError
from capscope.insight.evaluation.sample import Recipe, build, load
from capscope.logic import Intent
from capscope.problem import Position
from capscope.problem.attempt import pursue
from support.intents import achieved_from
from support.toy_worlds import Board, BrokenBoard, board_problem, slippery_board

JAMMED = ZeroDivisionError("gears jammed")
INTENTS = [Intent.parse(f"{sign}lit({s})") for s in "abc" for sign in ("", "not ")]


class CountedBoard(Board):
    """Counts its resets; breaks down, or is interrupted, at one of them."""

    def __init__(self, fails_at=None, failure=None):
        super().__init__(slip=0.25)
        self.resets = 0
        self.fails_at = fails_at
        self.failure = failure

    def reset(self, seed):
        self.resets += 1
        if self.resets == self.fails_at:
            raise self.failure
        return super().reset(seed)


def recipe(board=None, sequences=12, seed=1, intents=INTENTS):
    return Recipe.of(board_problem(board or CountedBoard()), "board", intents, seed, sequences)


def test_the_sample_holds_sequences_of_10_to_30_executions_of_the_agent(tmp_path):
    found = build(recipe(sequences=40), tmp_path)
    assert found.sequences == 40
    assert 40 * 10 <= found.executions <= 40 * 30
    for before, capability, after in found.transitions:
        aim = achieved_from(found.intents[capability], before, board_problem().vocabulary)
        assert after in (before, aim)
    assert {c for _, c, _ in found.transitions} == set(range(6))


def test_the_same_recipe_gives_the_same_sample_and_another_seed_another(tmp_path):
    one = build(recipe(), tmp_path / "one").transitions
    assert build(recipe(), tmp_path / "two").transitions == one
    assert build(recipe(intents=INTENTS[::-1]), tmp_path / "three").transitions == one
    assert build(recipe(seed=2), tmp_path / "one").transitions != one


def test_a_longer_sample_has_the_shorter_one_in_it(tmp_path):
    short, long = (build(recipe(sequences=n), tmp_path).transitions for n in (5, 9))
    assert short < long
    assert len(list(tmp_path.iterdir())) == 2


def test_the_frequencies_are_those_of_the_agent(tmp_path):
    found = build(recipe(sequences=400), tmp_path).transitions
    tried, slipped = Counter(), Counter()
    for (before, c, after), count in found.items():
        acts = achieved_from(sorted(INTENTS)[c], before, board_problem().vocabulary) != before
        tried[acts] += count
        slipped[acts] += count * (before == after)
    # With Θ = 1 an attempt goes on after a slip until something changes: it always succeeds.
    assert slipped[True] == 0
    assert slipped[False] == tried[False]
    assert tried[True] > 1000


def test_a_finished_sample_is_used_again_without_a_step(tmp_path):
    first = build(recipe(), tmp_path)
    board = CountedBoard()
    heard = []
    again = build(recipe(board), tmp_path, progress=lambda *counts: heard.append(counts))
    assert again.transitions == first.transitions
    assert board.resets == 0
    assert not heard


def test_rebuilding_asks_again(tmp_path):
    first = build(recipe(), tmp_path)
    board = CountedBoard()
    assert build(recipe(board), tmp_path, rebuild=True).transitions == first.transitions
    assert board.resets == 12


def test_rebuilding_does_not_look_at_a_damaged_file(tmp_path):
    (tmp_path / recipe().file_name).write_text("rubbish")
    with pytest.raises(CapscopeError, match="--rebuild"):
        build(recipe(), tmp_path)
    assert build(recipe(), tmp_path, rebuild=True).sequences == 12


def test_progress_is_told_at_the_beginning_and_after_each_sequence(tmp_path):
    heard = []
    build(recipe(sequences=3), tmp_path, progress=lambda *counts: heard.append(counts))
    assert heard == [(0, 3), (1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), JAMMED])
@pytest.mark.parametrize("fails_at", [1, 5, 12])
def test_an_interrupted_building_is_completed_to_the_same_sample(tmp_path, fails_at, failure):
    whole = build(recipe(), tmp_path / "whole")
    told = KeyboardInterrupt if isinstance(failure, KeyboardInterrupt) else ProblemError
    with pytest.raises(told):
        build(recipe(CountedBoard(fails_at, failure)), tmp_path / "cut")
    kept = load(recipe(), tmp_path / "cut").sequences
    assert kept < fails_at
    board = CountedBoard()
    found = build(recipe(board), tmp_path / "cut")
    assert board.resets == 12 - kept
    assert found.transitions == whole.transitions


class Killed(BaseException):
    pass


def test_a_kill_loses_only_what_was_built_since_the_last_save(tmp_path, monkeypatch):
    """A sequence takes three seconds by this clock, so a save is due at every second one."""
    from capscope.insight.evaluation import sample as sampling

    now = 0.0
    saved = []
    save = sampling.save

    def heard(done, of):
        nonlocal now
        now += 3.0 * bool(done)

    def saving(sample, made_of, folder):
        if sample.sequences >= 8:
            raise Killed  # from here on nothing is written any more
        saved.append(sample.sequences)
        save(sample, made_of, folder)

    monkeypatch.setattr(sampling, "save", saving)
    with pytest.raises(Killed):
        build(recipe(), tmp_path, progress=heard, clock=lambda: now)
    assert saved == [0, 1, 3, 5, 7]
    monkeypatch.undo()
    assert load(recipe(), tmp_path).sequences == 7
    assert build(recipe(), tmp_path).sequences == 12


def test_saving_waits_until_it_costs_a_tenth_of_the_time(tmp_path, monkeypatch):
    from capscope.insight.evaluation import sample as sampling

    now = 0.0
    saved = []

    def slow(sample, made_of, folder):
        nonlocal now
        now += 2.0  # seconds that a save takes
        saved.append(sample.sequences)

    def heard(done, of):
        nonlocal now
        now += bool(done)  # seconds that a sequence takes

    monkeypatch.setattr(sampling, "save", slow)
    build(recipe(sequences=50), tmp_path, progress=heard, clock=lambda: now)
    assert saved == [0, 1, 21, 41, 50]


def test_a_folder_that_cannot_be_written_to_is_told_before_the_work(tmp_path):
    (tmp_path / "file").touch()
    board = CountedBoard()
    with pytest.raises(CapscopeError, match="cannot"):
        build(recipe(board), tmp_path / "file")
    assert board.resets == 0


@pytest.mark.parametrize("broken", ["step", "actions"])
def test_a_simulator_that_raises_is_an_error_of_the_problem(tmp_path, broken):
    with pytest.raises(ProblemError, match="gears jammed"):
        build(recipe(BrokenBoard(broken)), tmp_path)


def test_the_counts_are_those_of_executing_the_sequences_one_by_one(tmp_path):
    """The twin: a journal of single executions, counted afterwards."""
    executed = []

    class Noting:
        def begin(self, intent, seed):
            executed.append(intent)
            return board_problem().agent.begin(intent, seed)

    problem = board_problem(CountedBoard(), Noting())
    made_of = replace(recipe(), problem=problem)
    found = build(made_of, tmp_path)
    by_intent = Counter()
    for (_, c, _), count in found.transitions.items():
        by_intent[found.intents[c]] += count
    assert by_intent == Counter(executed)
    world = board_problem(Board())
    position = Position(0, world.abstraction(world.simulator.reset(0)))
    first = build(replace(made_of, sequences=1), tmp_path / "one")
    for intent in executed[-first.executions :]:
        before = position.state
        _, position = pursue(world, intent, position, 0)
        assert first.transitions[before, first.intents.index(intent), position.state]


@pytest.mark.parametrize("workers", [WorkerSettings(3), WorkerSettings(2, "processes")])
def test_workers_make_the_same_sample(workers, tmp_path):
    order = recipe(Board(slip=0.3), sequences=25)
    alone = build(order, tmp_path / "alone")
    with start_workers(workers, slippery_board(), slippery_board) as started:
        together = build(order, tmp_path / "together", workers=started)
    assert together.transitions == alone.transitions
    assert together.sequences == 25
