from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from capscope.logic import Intent
from capscope.problem import Allowance, AllowanceSpent, Ending, Position
from capscope.problem.attempt import pursue
from support.toy_worlds import board_problem


def test_no_call_is_allowed_after_the_allowance_is_spent():
    allowance = Allowance(tokens=10, cost=1.0)
    allowance.pay(9, 0.75)
    allowance.check_tokens()
    allowance.check_cost()
    assert not allowance.spent
    allowance.pay(1, 0.0)
    with pytest.raises(AllowanceSpent, match="no tokens"):
        allowance.check_tokens()
    allowance.check_cost()
    allowance.pay(0, 0.25)
    with pytest.raises(AllowanceSpent, match="no money"):
        allowance.check_cost()
    assert allowance.spent


def test_without_a_limit_nothing_is_refused():
    allowance = Allowance()
    allowance.pay(10**12, 1e12)
    allowance.check_tokens()
    allowance.check_cost()
    assert not allowance.spent
    assert not allowance.limits_cost


def test_parallel_draws_stop_at_the_common_limit():
    stopped = Event()
    common = Allowance(tokens=10, stopped=stopped)
    mine, yours = Allowance(tokens=10, within=common), Allowance(tokens=10, within=common)
    assert mine.stopped is yours.stopped is stopped
    mine.pay(6, 0.5)
    yours.pay(4, 0.25)
    for allowance in (mine, yours):
        with pytest.raises(AllowanceSpent):
            allowance.check_tokens()
    assert (mine.tokens, yours.tokens, common.tokens) == (6, 4, 10)
    assert (mine.cost, yours.cost, common.cost) == (0.5, 0.25, 0.75)


def test_payments_of_several_threads_are_all_counted():
    common = Allowance()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: [common.pay(1, 0.5) for _ in range(2000)], range(4)))
    assert (common.tokens, common.cost) == (8000, 4000.0)


class Spender:
    """Presses `a` forever and pays three tokens each time."""

    def begin(self, intent, seed):
        self.llm_tokens = 0
        return self

    def spend_from(self, allowance):
        self.allowance = allowance

    def act(self, observation):
        self.allowance.check_tokens()
        self.allowance.pay(3, 0.0)
        self.llm_tokens += 3
        return "a"


def test_an_attempt_is_cut_when_its_allowance_is_spent():
    problem = board_problem(agent=Spender(), temporal_length=None)
    start = Position(problem.simulator.restore(b"\0", 0), 0)
    attempt, end = pursue(problem, Intent.parse("lit(b)"), start, 0, allowance=Allowance(tokens=7))
    assert attempt == ((0, 1, 0, 1), 3, Ending.CUT, 9, "", "", ("a",) * 3)
    assert end.state == 1
