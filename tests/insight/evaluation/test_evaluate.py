from dataclasses import replace

import pytest

from capscope import Budget, Effect, Settings, assess, load
from capscope.assessment.discovery import intents_of
from capscope.errors import ProblemError, RunError
from capscope.insight.evaluation.evaluate import Measure
from capscope.insight.evaluation.reference import enumerate_truth
from capscope.problem import KnownTruth
from capscope_experiments.measure import exact_distance
from support.intents import achieved_from
from support.toy_worlds import Board, BrokenBoard, board_problem

SMALL = Settings(draws=4, random_length=10, walks=3, walk_steps=20, patience=4)


class BoardTruth:
    """What the honest agent brings about in one step on a board that slips."""

    def __init__(self, slip):
        self.slip = slip
        self.words = board_problem().vocabulary

    def reachable_states(self):
        return range(8)

    def intents(self):
        return tuple(intents_of([Effect(0b111, 0), Effect(0, 0b111)], self.words))

    def outcomes(self, state, intent):
        after = achieved_from(intent, state, self.words)
        return {state: 1.0} if after == state else {after: 1 - self.slip, state: self.slip}


def board(slip=0.0, **parts):
    problem = board_problem(Board(slip), horizon=1, **parts)
    return replace(problem, truth=BoardTruth(slip) if slip else Certain(slip))


class Certain(BoardTruth):
    def outcomes(self, state, intent):
        return {achieved_from(intent, state, self.words): 1.0}


def evaluated(run, problem, sequences=50, **how):
    return load(run).evaluate(Measure(sequences, seed=7, **how), problem=problem)


@pytest.fixture
def thorough(tmp_path):
    """A run of a deterministic board that has seen everything."""
    patient = replace(SMALL, patience=12)
    assess(board(), strategy="random", settings=patient, run=tmp_path / "run")
    return tmp_path / "run"


def test_a_model_that_saw_everything_agrees_wholly(thorough):
    found = evaluated(thorough, board())
    assert found["pairs_tried"] == found["pairs_reachable"] == 8 * 6
    assert found["model_agreement"] == 1
    assert found["model_agreement_sampled"] == 1
    assert found["model_agreement_sampled_learned_weights"] == 1
    assert found["filter"] is None


def test_a_model_that_saw_a_part_agrees_in_part(tmp_path):
    problem = board(slip=0.25)
    budget = Budget(executions=60)
    result = assess(problem, strategy="random", settings=SMALL, budget=budget, run=tmp_path / "run")
    found = evaluated(tmp_path / "run", problem)
    truth = enumerate_truth(problem.truth)
    assert found["model_agreement"] == pytest.approx(
        1 - exact_distance(result.models.pessimistic, truth)
    )
    assert 0 < found["model_agreement"] < 1
    assert found["pairs_tried"] < found["pairs_reachable"]
    assert found["executions"] == 60


def test_a_run_that_tried_nothing_agrees_nowhere_and_has_no_weights(tmp_path):
    budget = Budget(executions=0)
    assess(board(), strategy="random", settings=SMALL, budget=budget, run=tmp_path / "run")
    found = evaluated(tmp_path / "run", board())
    assert found["model_agreement"] == 0
    assert found["model_agreement_sampled"] == 0
    assert found["model_agreement_sampled_learned_weights"] is None


def test_without_a_known_truth_the_exact_agreement_is_unknown(thorough):
    found = evaluated(thorough, board_problem(horizon=1))
    assert found["model_agreement"] is None
    assert found["pairs_reachable"] is None
    assert found["model_agreement_sampled"] == 1


def test_given_intents_are_all_that_counts(tmp_path):
    own = replace(SMALL, intents=("lit(a)", "not lit(c)"), patience=12)
    assess(board(), strategy="random", settings=own, run=tmp_path / "run")
    found = evaluated(tmp_path / "run", board())
    # lit(b) cannot be reached with these two: its half of the states is never seen.
    assert found["pairs_reachable"] == 16
    assert found["pairs_tried"] == 4
    assert found["model_agreement"] == pytest.approx(4 / 16)


def test_the_filter_is_named_and_leaves_what_is_achievable(thorough):
    found = evaluated(thorough, board(), achieving_only=True)
    assert found["filter"] == "achieving only"
    assert found["model_agreement"] == 1
    assert found["model_agreement_sampled"] == 1


def test_a_model_that_saw_everything_is_right_in_every_way(thorough):
    found = evaluated(thorough, board())
    assert found["support_right"] == found["outcomes_foreseen"] == 1
    assert found["unknown_share"] == found["unknown_share_sampled"] == 0
    assert found["calibration_error"] == 0
    assert [one["predicted"] for one in found["calibration_bins"]] == [1.0]
    assert found["sequences"] == 50


def test_a_run_is_evaluated_as_it_was_at_an_earlier_point(thorough):
    shares = []
    for most in (0, 40, 80, 10**6):
        found = evaluated(thorough, board(), after_executions=most)
        assert found["executions"] <= most
        assert found["unknown_share"] == pytest.approx(1 - found["pairs_tried"] / 48)
        # A deterministic agent is known where it was tried.
        assert found["model_agreement"] == pytest.approx(1 - found["unknown_share"])
        assert found["model_agreement_sampled"] == pytest.approx(1 - found["unknown_share_sampled"])
        shares.append(found["unknown_share"])
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == 1
    assert shares[-1] == 0


def test_a_run_that_tried_nothing_gains_nothing_from_the_filter(tmp_path):
    budget = Budget(executions=0)
    assess(board(), strategy="random", settings=SMALL, budget=budget, run=tmp_path / "run")
    found = evaluated(tmp_path / "run", board(), achieving_only=True)
    assert found["model_agreement"] == found["model_agreement_sampled"] == 0


def test_runs_in_one_folder_share_one_dataset(thorough):
    class Counted(Board):
        resets = 0

        def reset(self, seed):
            Counted.resets += 1
            return super().reset(seed)

    problem = replace(board(), simulator=Counted())
    other = thorough.parent / "other"
    assess(board(), strategy="random", settings=SMALL, seed=5, run=other)
    first = evaluated(thorough, problem)
    assert Counted.resets == 50
    second = evaluated(other, problem)
    assert Counted.resets == 50
    assert first["dataset"] == second["dataset"]
    assert [p.name for p in (thorough.parent / "datasets").iterdir()] == [first["dataset"]]
    evaluated(other, problem, rebuild=True)
    assert Counted.resets == 100


def test_without_sequences_there_are_no_sampled_metrics_and_no_dataset(thorough):
    found = evaluated(thorough, board(), sequences=0)
    whole = evaluated(thorough, board())
    assert found.keys() == whole.keys()
    assert found["model_agreement"] == found["support_right"] == 1
    assert found["sequences"] == 0
    for key in ("model_agreement_sampled", "calibration_error", "unknown_share_sampled"):
        assert found[key] is None


def test_without_a_known_truth_the_exact_metrics_are_unknown(thorough):
    found = evaluated(thorough, board_problem(horizon=1))
    assert found["support_right"] is found["unknown_share"] is None
    assert found["unknown_share_sampled"] == 0
    assert found.keys() == evaluated(thorough, board()).keys()


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (replace(board(), fingerprint="new"), "its fingerprint was '', now 'new'"),
    ],
)
def test_a_run_is_not_compared_with_another_problem(thorough, other, named):
    with pytest.raises(RunError, match=named):
        evaluated(thorough, other)


@pytest.mark.parametrize("broken", ["step", "actions"])
def test_a_simulator_that_raises_is_an_error_of_the_problem(thorough, broken):
    with pytest.raises(ProblemError, match="gears jammed"):
        evaluated(thorough, board_problem(BrokenBoard(broken)))


def test_a_simulator_that_cannot_be_reset_is_an_error_of_the_problem(thorough):
    class Stuck(Board):
        def reset(self, seed):
            raise ZeroDivisionError("gears jammed")

    with pytest.raises(ProblemError, match="gears jammed when it was reset"):
        evaluated(thorough, board_problem(Stuck()))


def test_the_truth_of_the_board_is_a_known_truth():
    assert isinstance(BoardTruth(0.1), KnownTruth)
    truth = enumerate_truth(BoardTruth(0.25))
    assert len(truth.table) == 48
    assert sum(map(len, truth.table.values())) == 24 + 24 * 2
    assert truth.predict(99, truth.capabilities[0]) == {}
