"""A pytest plugin: a budget of executions for the session, and costs of tests.

`pytest --capscope-budget 500` allows all tests together 500 executions. A test may declare what it
costs at most, `@pytest.mark.capscope_cost(60)`; it is skipped if less is left, and its assertions
stop there. How many executions each test made is in the JUnit file.
"""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from capscope.testing.sequential_claim import ExecutionBudget

BUDGET_OPTION = "--capscope-budget"
_SESSION = pytest.StashKey[ExecutionBudget]()


def pytest_addoption(parser: Any) -> None:
    """Declare the option."""
    parser.getgroup("capscope").addoption(
        BUDGET_OPTION,
        type=int,
        metavar="N",
        help="Executions that all tests together may make with capscope.testing.",
    )


def pytest_configure(config: Any) -> None:
    """Declare the marker, and begin the session's budget."""
    config.addinivalue_line(
        "markers", "capscope_cost(executions): the most executions that a test may make."
    )
    given = config.getoption(BUDGET_OPTION)
    config.stash[_SESSION] = ExecutionBudget(inf if given is None else given)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Any:
    """Run a test within its budget, and record what it used."""
    session: ExecutionBudget = item.config.stash[_SESSION]
    marker = item.get_closest_marker("capscope_cost")
    cost = inf if marker is None else marker.args[0]
    if cost < inf and session.left < cost:
        pytest.skip(f"needs {cost} executions, and {session.left:g} are left of {BUDGET_OPTION}")
    own = ExecutionBudget(cost, session)
    ExecutionBudget.current = own
    try:
        return (yield)
    finally:
        ExecutionBudget.current = ExecutionBudget()
        if own.made:
            item.user_properties.append(("capscope_executions", own.made))


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """Say how many executions were made."""
    session: ExecutionBudget = config.stash[_SESSION]
    if session.made:
        most = "" if session.most == inf else f" of {session.most:g}"
        terminalreporter.write_line(f"capscope: {session.made}{most} executions")
