"""Every registered strategy on every small problem, by the same tests.

A strategy that is added to the registry is covered on arrival.
"""

import functools
import json

import pytest

from capscope import Budget, assess
from capscope.errors import CapscopeError, RunError
from capscope.insight.evaluation.reference import enumerate_truth
from capscope.journal.journal import Journal
from capscope.journal.settings import Settings
from capscope.model import ExtremeModels
from capscope.problems import load_problem
from capscope.strategy import STRATEGIES, RegisteredStrategy
from capscope.strategy.candidates import _FLOOR, _LEAST_RELEVANCE, _NOVELTY, _RELEVANCE, _UNDECIDED
from capscope_experiments.measure import exact_distance
from support.toy_worlds import Board, board_problem, slippery_board

SETTINGS = Settings(draws=3, iterations=40, depth=6, random_length=8, patience=6)
BUDGET = Budget(executions=100)

PROBLEMS = {
    "blocksworld": functools.partial(load_problem, "blocksworld"),
    "tireworld": functools.partial(load_problem, "tireworld"),
    "board": board_problem,
    "slippery board": slippery_board,
    "board that ends": lambda: board_problem(Board(ends_at=0b111)),
    "board with long attempts": lambda: board_problem(Board(slip=0.5), temporal_length=2),
    "board that is reset": lambda: board_problem(reset_every=10),
}


@functools.cache
def problem_named(name):
    return PROBLEMS[name]()


class Trace:
    """A finished run with what was noted after each query."""

    def __init__(self, strategy, problem, path):
        self.problem = problem_named(problem)
        self.truth = self.problem.truth and enumerate_truth(self.problem.truth)
        self.path = path
        self.pairs, self.agreement = [], []
        self.result = assess(
            self.problem, strategy=strategy, settings=SETTINGS, budget=BUDGET, run=path,
            listener=self.note,
        )  # fmt: skip

    def note(self, event):
        self.pairs.append(event.pairs_tried)
        if self.truth:
            self.agreement.append(
                1 - exact_distance(ExtremeModels(event.graph).pessimistic, self.truth)
            )

    def queries(self):
        """List (record, draws) as the journal has them."""
        journal = Journal.open(self.path / "journal.sqlite", read_only=True)
        records = []
        while (record := journal.query(len(records))) is not None:
            records.append((record, journal.draws(len(records))))
        journal.close()
        return records


@pytest.fixture(scope="module", params=PROBLEMS)
def problem(request):
    return request.param


@pytest.fixture(scope="module", params=STRATEGIES.all)
def strategy(request):
    return request.param


@pytest.fixture(scope="module")
def trace(strategy, problem, tmp_path_factory):
    return Trace(strategy, problem, tmp_path_factory.mktemp("runs") / "run")


def test_it_learns_something_and_forgets_nothing(trace):
    assert trace.result.graph.pairs_tried == trace.pairs[-1] >= 10
    assert trace.pairs == sorted(trace.pairs)
    assert trace.result.graph.distinct_transitions >= trace.pairs[-1]


def test_agreement_where_it_can_be_known_grows_and_never_falls_to_nothing(trace):
    if trace.truth:
        assert min(trace.agreement) > 0.0
        assert trace.agreement[-1] > trace.agreement[0]


def test_it_keeps_to_its_settings(trace, strategy):
    longest = SETTINGS.random_length if strategy == "random" else SETTINGS.depth
    queries = trace.queries()
    capabilities = len(trace.result.graph.capabilities)
    for number, (record, draws) in enumerate(queries):
        assert record.finished or number == len(queries) - 1
        repeats = STRATEGIES.find(strategy).repeats_policy
        together = SETTINGS.draws if repeats else 1
        assert len(draws) == together or not record.finished
        for draw in draws:
            assert len(draw.executions) <= longest
            assert all(0 <= c < capabilities for c, _ in draw.executions)
    assert trace.result.usage.executions <= BUDGET.executions


def test_it_says_what_it_expects(trace, strategy, problem):
    if strategy == "adaptive":
        assert_scores([record for record, _ in trace.queries()], problem)
        return
    for record, _ in trace.queries():
        assert 0.0 <= record.predicted <= 1.0
        assert record.informative is (record.predicted > SETTINGS.threshold)
        assert 0.0 <= record.xi <= SETTINGS.xi


def assert_scores(records, problem):
    """Compare the scores of adaptive queries with the least and the most that they can be."""
    scores = [record.predicted for record in records if record.informative]
    least = _FLOOR * _LEAST_RELEVANCE**_RELEVANCE
    most = 1.0 + _UNDECIDED + _NOVELTY + _FLOOR
    assert all(least * (1 - 1e-9) <= score <= most * (1 + 1e-9) for score in scores)
    # The first query is about the nearest pair, whatever it promises.
    assert scores[0] == _FLOOR
    if problem in ("blocksworld", "tireworld"):
        # At the start all is in doubt, new and relevant, and no behavior's conditions are in doubt.
        assert scores[1] == pytest.approx(most - _UNDECIDED)
    assert all(record.xi == 0.0 for record in records)
    # Only the queries of an audit expect nothing.
    assert {record.predicted for record in records if not record.informative} <= {0.0}


def test_a_query_that_is_predicted_to_tell_something_asks_something(trace):
    for record, draws in trace.queries():
        if record.informative:
            assert all(draw.executions or draw.cut for draw in draws)


def test_one_seed_one_run(trace, strategy, problem, tmp_path):
    again = Trace(strategy, problem, tmp_path / "again")
    first, second = (
        [
            (r.start, r.distance, r.xi, r.predicted, r.policy,
             [draw.executions for draw in draws])
            for r, draws in one.queries()
        ]
        for one in (trace, again)
    )  # fmt: skip
    assert first == second
    assert trace.result.graph.capabilities == again.result.graph.capabilities


def test_another_seed_is_another_run(trace, strategy):
    other = assess(
        trace.problem, strategy=strategy, seed=1, settings=SETTINGS, budget=Budget(executions=40)
    )
    mine = assess(trace.problem, strategy=strategy, settings=SETTINGS, budget=Budget(executions=40))
    assert mine.executions.transitions() != other.executions.transitions()


def test_its_queries_can_be_explained(trace):
    every = list(enumerate(trace.queries()))
    for number, (_, draws) in [*every[:5], *every[5::12]]:
        lines = trace.result.explain(number).lines
        assert lines[0].startswith(f"query {number}: ")
        assert any(line.startswith("learned: ") for line in lines)
        names = trace.result.capabilities
        asked = {str(names[c]) for draw in draws for c, _ in draw.executions}
        assert all(any(name in line for line in lines) for name in asked)


def test_its_policies_are_written_down_as_json(trace):
    kinds = {json.loads(r.policy)["kind"] for r, _ in trace.queries() if r.policy is not None}
    assert kinds
    assert kinds <= {"draws", "graph", "tree", "sequence", "targets"}


def test_a_strategy_that_does_not_exist_is_answered_with_those_that_do():
    known = "choose one of adaptive, exhaustive, mcqs-s"
    with pytest.raises(CapscopeError, match=f"no strategy 'mcqs-x'; {known}"):
        STRATEGIES.find("mcqs-x")


def test_every_strategy_is_found_by_its_name(strategy):
    assert STRATEGIES.find(strategy).name == strategy


def test_a_strategy_that_lacks_something_is_refused_before_anything_is_executed(monkeypatch):
    def unfinished(context):
        strategy = STRATEGIES.find("random").make(context)
        del strategy.audit
        return strategy

    registered = RegisteredStrategy("unfinished", "lacks an attribute", unfinished, True)
    monkeypatch.setitem(STRATEGIES.built_in, "unfinished", registered)
    problem = board_problem()
    monkeypatch.setattr(problem.agent, "begin", lambda intent, seed: pytest.fail("it was asked"))
    with pytest.raises(RunError, match="'unfinished' cannot be used: it has no audit; "):
        assess(problem, strategy="unfinished", settings=SETTINGS, budget=BUDGET)
