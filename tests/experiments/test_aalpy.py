import random
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from aalpy.learning_algs.stochastic import StochasticLStar

from capscope.errors import CapscopeError, ProblemError
from capscope.insight.evaluation.reference import TrueModel
from capscope.logic import Intent, Literal
from capscope_experiments.baselines.aalpy import (
    METHODS,
    NOTE,
    PeerSettings,
    learn_with_aalpy,
)
from capscope_experiments.baselines.aalpy.learned_mdp import CHAOS, LearnedMdp, label, state_of
from capscope_experiments.baselines.aalpy.system import AgentSystem
from support.intents import achieved_from
from support.toy_worlds import WORDS, Board, Presser, board_problem

INTENTS = [Intent.of([Literal(atom, sign)]) for atom in WORDS.atoms for sign in (True, False)]
LIT_A, NOT_A = INTENTS[:2]
FEW = PeerSettings(method="alergia", traces=60, shortest=10, longest=10)


class CountedBoard(Board):
    """Counts its resets and steps."""

    resets = steps = 0

    def reset(self, seed):
        self.resets += 1
        return super().reset(seed)

    def step(self, action):
        self.steps += 1
        return super().step(action)


class CountedPresser(Presser):
    """Counts its requests."""

    requests = 0

    def begin(self, intent, seed):
        self.requests += 1
        return super().begin(intent, seed)


class BoardLeftAsItWas(Board):
    """Starts with a switch that the seed chooses."""

    def reset(self, seed):
        super().reset(seed)
        self.lit = 1 << self.rng.randrange(3)
        return self.lit


def counted(slip=0.0):
    # One step for each attempt: a switch that slips stays as it is.
    return board_problem(CountedBoard(slip), CountedPresser(), horizon=1)


def true_board(slip=0.0):
    table = {}
    for state in range(8):
        for intent in INTENTS:
            after = achieved_from(intent, state, WORDS)
            moved = {after: 1 - slip, state: slip} if slip else {after: 1.0}
            table[state, intent] = {state: 1.0} if after == state else moved
    return TrueModel(INTENTS, range(8), table)


def learn(settings, slip=0.0):
    return learn_with_aalpy(counted(slip), INTENTS, true_board(slip), settings)


def timeless(run):
    return replace(run, points=tuple(replace(point, seconds=0.0) for point in run.points))


@pytest.fixture(scope="module")
def learned_by_l_star():
    problem = counted()
    return problem, learn_with_aalpy(problem, INTENTS, true_board(), PeerSettings())


# What is learned.


def test_l_star_learns_a_deterministic_agent_exactly_and_counts_every_request(
    learned_by_l_star,
):
    problem, run = learned_by_l_star
    assert (run.last.mean_tv, run.last.agreement, run.last.states) == (0, 1, 8)
    assert run.last.executions == problem.agent.requests > 0
    assert run.last.resets == problem.simulator.resets > 0
    assert run.last.simulator_steps == problem.simulator.steps > 0
    assert run.stopped_because.startswith("done in")


def test_alergia_learns_a_deterministic_agent_exactly_and_counts_every_request():
    problem = counted()
    run = learn_with_aalpy(problem, INTENTS, true_board(), replace(FEW, traces=300))
    assert (run.last.mean_tv, run.last.agreement, run.last.states) == (0, 1, 8)
    assert run.last.executions == problem.agent.requests == 3000
    assert run.last.resets == problem.simulator.resets == 300
    assert run.last.simulator_steps == problem.simulator.steps > 0
    assert run.stopped_because == "all of 300 traces sampled"


@pytest.mark.parametrize(
    "settings", [PeerSettings(), replace(FEW, traces=1000)], ids=lambda s: s.method
)
def test_a_stochastic_agent_is_learned_approximately(settings):
    run = learn(settings, slip=0.5)
    assert 0 < run.last.mean_tv < 0.05
    assert run.last.agreement > 0.95


def test_the_points_show_every_hypothesis_on_the_way_to_the_exact_model(learned_by_l_star):
    _, run = learned_by_l_star
    assert run.points[0].mean_tv > 0.5 > run.points[-1].mean_tv
    assert [p.executions for p in run.points] == sorted(p.executions for p in run.points)
    exact = run.first_within()
    assert exact.mean_tv == 0
    assert exact.executions < run.last.executions
    assert all(p.mean_tv > 0 for p in run.points if p.executions < exact.executions)
    assert run.first_within(0.2).executions <= exact.executions
    assert learn(replace(FEW, traces=1)).first_within() is None


def test_the_maximum_number_of_rounds_ends_a_run():
    run = learn(PeerSettings(min_rounds=1, max_rounds=2))
    assert run.stopped_because == "maximum number of rounds reached"
    assert run.last.mean_tv > 0


# Pairs without a prediction.


def states(*labels):
    return [SimpleNamespace(output=text, transitions={}) for text in labels]


def test_an_input_never_tried_is_not_a_prediction():
    here, there, chaos = states("0", "1", CHAOS)
    chaos.transitions = {0: [(chaos, 1.0)], 1: [(chaos, 1.0)]}
    here.transitions = {0: [(there, 1.0)], 1: [(chaos, 1.0)], 2: []}
    model = LearnedMdp([here, there, chaos], INTENTS)
    assert model.predict(0, INTENTS[0]) == {1: 1.0}
    assert [model.predict(0, intent) for intent in INTENTS[1:]] == [{}] * 5
    assert model.predict(1, INTENTS[0]) == model.predict(7, INTENTS[0]) == {}
    assert model.states == 2


def test_what_alergia_did_not_sample_counts_as_untried():
    one = learn(replace(FEW, traces=1, shortest=1, longest=1))
    assert one.last.executions == 1
    assert one.last.mean_tv == pytest.approx(47 / 48)


def test_what_l_star_did_not_sample_counts_as_untried(learned_by_l_star):
    # The first hypothesis has samples of the initial state alone; the rest of it is chaos.
    first = learned_by_l_star[1].points[0]
    assert first.states == 4
    assert first.mean_tv == pytest.approx(42 / 48)


def test_learned_states_with_one_label_have_equal_weights_if_they_predict_anything():
    one, other, third, lit = states("0", "0", "0", "1")
    one.transitions = {0: [(lit, 1.0)]}
    other.transitions = {0: [(lit, 0.25), (third, 0.75)], 1: [(one, 0.5), (other, 0.5)]}
    model = LearnedMdp([one, other, third, lit], INTENTS)
    assert model.predict(0, LIT_A) == {0: 0.375, 1: 0.625}
    assert model.predict(0, NOT_A) == {0: 1.0}


def test_no_state_has_the_label_of_chaos():
    assert all(state_of(label(state)) == state for state in (0, 1, 0xC4A05, 1 << 200))
    with pytest.raises(ValueError, match=CHAOS):
        state_of(CHAOS)


# Randomness, budgets, and side effects on other modules.


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_numbers_and_another_seed_others(method):
    settings = replace(FEW, method=method, max_executions=4000)
    first, again = (timeless(learn(settings, slip=0.3)) for _ in range(2))
    assert first == again
    assert learn(replace(settings, seed=1), slip=0.3).last.mean_tv != first.last.mean_tv


@pytest.mark.parametrize(
    "limit", [{"max_executions": 700}, {"max_seconds": 0.0}, {"max_rounds": 1}]
)
@pytest.mark.parametrize("method", METHODS)
def test_a_run_leaves_python_and_aalpy_as_they_were(method, limit):
    table = StochasticLStar.SamplingBasedObservationTable
    random.seed(5)
    before = random.getstate()
    learn(replace(FEW, method=method, min_rounds=1, **limit))
    assert random.getstate() == before
    assert StochasticLStar.SamplingBasedObservationTable is table


@pytest.mark.parametrize("method", METHODS)
def test_executions_are_cut_at_the_budget_and_the_last_model_counts(method):
    problem = counted()
    settings = replace(FEW, method=method, traces=200, max_executions=1500)
    run = learn_with_aalpy(problem, INTENTS, true_board(), settings)
    assert run.last.executions == problem.agent.requests == 1500
    assert run.last.resets == problem.simulator.resets
    assert run.stopped_because == "cut after 1,500 executions"
    assert 0 < run.last.states <= 8
    assert run.last.mean_tv < 1


@pytest.mark.parametrize("method", METHODS)
def test_a_run_without_time_learns_nothing(method):
    run = learn(replace(FEW, method=method, max_seconds=0.0))
    assert run.stopped_because == "cut after 0 seconds"
    assert (run.last.executions, run.last.mean_tv, run.last.agreement) == (0, 1, 0)


def test_seeds_come_from_the_place_in_the_run():
    def answers(*words):
        system = AgentSystem(counted(slip=0.5), INTENTS, seed=3)
        return [(system.reset(), [system.request(c) for c in word])[1] for word in words]

    long, short = [0, 2, 4, 0, 2, 4], [0]
    assert answers(long, long)[1] == answers(short, long)[1]
    assert len(set(map(tuple, answers(*[long] * 20)))) > 5


def test_resets_that_lead_to_two_states_are_refused():
    problem = board_problem(BoardLeftAsItWas())
    with pytest.raises(ProblemError, match="two resets of board gave two states"):
        learn_with_aalpy(problem, INTENTS, true_board(), FEW)


# Settings.


def test_settings_that_make_no_sense_are_refused():
    for values, message in [
        ({"method": "l-star"}, "no method 'l-star'; choose one of l-star-mdp, alergia"),
        ({"shortest": 5, "longest": 4}, "shortest <= longest"),
        ({"min_rounds": 5, "max_rounds": 4}, "min_rounds <= max_rounds"),
        ({"traces": 0}, "traces must be at least 1"),
        ({"max_executions": 0}, "max_executions must be at least 1"),
    ]:
        with pytest.raises(CapscopeError, match=message):
            PeerSettings(**values)


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "capscope_experiments.baselines.aalpy.learners", raising=False)
    monkeypatch.setitem(sys.modules, "aalpy.base", None)
    with pytest.raises(CapscopeError, match=r"needs AALpy: pip install .*\[experiments\]'"):
        learn(FEW)


def test_the_note_says_what_aalpy_cannot_do():
    assert "cannot return to visited states" in NOTE
