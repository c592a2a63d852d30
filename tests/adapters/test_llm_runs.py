"""Whole runs with a language model: resumable, repeatable, within budget."""

from contextlib import closing
from pathlib import Path

import pytest

from capscope import Budget, Settings, WorkerSettings, assess, load, resume
from capscope.assessment.worker_pool import WorkerPool
from capscope.errors import LlmError
from capscope.insight.agent_failures import agent_failure_warnings
from capscope.journal.journal import Journal
from support import llm_agents
from support.llm_agents import TOKENS, asking_board, choose
from support.llm_stub import fails, say

pytest_plugins = ["support.llm_fixtures"]
pytestmark = pytest.mark.usefixtures("own_cache")

BOARD = f"{Path(llm_agents.__file__)}:asking_board"
SMALL = {
    "strategy": "random",
    "settings": Settings(draws=4, random_length=2, walks=2, walk_steps=20),
}
SHORT = Budget(queries=3)


@pytest.fixture
def model(in_environment, monkeypatch):
    """The stub as a model, at a price of 1 per token."""
    in_environment.usual = choose
    monkeypatch.setenv("CAPSCOPE_LLM_PRICE_PROMPT", "1e6")
    monkeypatch.setenv("CAPSCOPE_LLM_PRICE_COMPLETION", "1e6")
    return in_environment


@pytest.fixture
def fresh_cache(monkeypatch, tmp_path):
    """Switch to an empty cache."""

    def begin(name):
        monkeypatch.setenv("CAPSCOPE_CACHE", str(tmp_path / f"cache-{name}"))

    return begin


def recorded(run):
    """Return everything that a journal records of a run, except times and costs."""
    found = []
    with closing(Journal.open(run / "journal.sqlite", read_only=True)) as journal:
        while (record := journal.query(len(found))) is not None:
            draws = journal.draws(len(found))
            found.append((record.start, [(d.executions, d.llm_tokens, d.cut) for d in draws]))
    return found


def test_an_agent_that_asks_a_model_is_assessed(model, tmp_path):
    result = assess(BOARD, **SMALL, budget=SHORT, run=tmp_path / "run")
    assert str(result.stop_reason) == "budget of queries spent"
    assert result.usage.llm_tokens == TOKENS * len(model.requests)
    assert result.usage.llm_cost == pytest.approx(TOKENS * len(model.requests))
    seeds = [request["seed"] for request in model.requests]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize("strategy", ["random", "mcqs-s", "exhaustive"])
def test_the_number_of_workers_changes_nothing_in_the_journal(
    model, fresh_cache, strategy, tmp_path
):
    settings = Settings(draws=6, batch=6, random_length=4, depth=4, iterations=20, walk_steps=20)
    for workers in (1, 4):
        fresh_cache(workers)
        assess(
            BOARD, strategy=strategy, settings=settings, budget=Budget(executions=30),
            run=tmp_path / str(workers), workers=workers,
        )  # fmt: skip
    assert recorded(tmp_path / "1") == recorded(tmp_path / "4")


def test_a_repeated_run_is_identical_and_free(model, tmp_path):
    first = assess(BOARD, **SMALL, budget=SHORT, run=tmp_path / "first")
    asked = len(model.requests)
    again = assess(BOARD, **SMALL, budget=SHORT, run=tmp_path / "again", workers=3)
    assert len(model.requests) == asked
    assert again.usage.llm_cost == 0
    assert again.usage.llm_tokens == first.usage.llm_tokens
    assert recorded(tmp_path / "first") == recorded(tmp_path / "again")


# A server that is down.


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("answers", [0, 17])
def test_a_server_that_goes_down_stops_the_run_and_loses_no_draw(
    model, fresh_cache, workers, answers, tmp_path
):
    """A missing answer is not a failure of the agent; no answer is paid for twice."""
    fresh_cache("whole")
    whole = assess(BOARD, **SMALL, budget=SHORT, run=tmp_path / "whole")
    needed = len(model.requests)
    fresh_cache("parts")
    model.requests.clear()
    model.script.extend([choose] * answers)
    model.usual = fails(500, "on fire")
    with pytest.raises(LlmError, match=r"status 500 \(on fire\) in 6 tries; the current draw"):
        assess(BOARD, **SMALL, budget=SHORT, run=tmp_path / "parts", workers=workers)
    done = recorded(tmp_path / "parts")
    for (_, expected), (_, draws) in zip(recorded(tmp_path / "whole"), done, strict=False):
        assert draws == expected[: len(draws)]
    model.usual = choose
    model.requests.clear()
    result = resume(tmp_path / "parts", trust=True)
    assert recorded(tmp_path / "parts") == recorded(tmp_path / "whole")
    assert answers + len(model.requests) == needed
    assert result.usage.llm_tokens == whole.usage.llm_tokens
    assert result.usage.llm_cost == whole.usage.llm_cost == TOKENS * needed
    assert load(tmp_path / "parts").usage.llm_cost == result.usage.llm_cost


@pytest.mark.parametrize(
    "hiccup", [fails(429, headers={"Retry-After": "0"}), fails(500)], ids=["429", "500"]
)
def test_a_hiccup_of_the_server_leaves_no_trace(model, fresh_cache, hiccup, tmp_path):
    assess(BOARD, **SMALL, budget=SHORT, run=tmp_path / "smooth")
    fresh_cache("bumpy")
    model.script.extend([choose, hiccup, choose, hiccup, hiccup, hiccup] * 3)
    assess(BOARD, **SMALL, budget=SHORT, run=tmp_path / "bumpy")
    assert recorded(tmp_path / "bumpy") == recorded(tmp_path / "smooth")


def test_a_damaged_cache_stops_the_run_without_recording_anything(model, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "answers.sqlite").write_bytes(b"no database" * 500)
    monkeypatch.setenv("CAPSCOPE_CACHE", str(cache))
    with pytest.raises(LlmError, match="the answer cache is damaged; delete it"):
        assess(BOARD, **SMALL, budget=SHORT, run=tmp_path / "run")
    assert [draws for _, draws in recorded(tmp_path / "run")] == [[]]
    (cache / "answers.sqlite").unlink()
    assert resume(tmp_path / "run", trust=True).usage.queries == SHORT.queries


@pytest.mark.parametrize("workers", [1, 3])
def test_the_cost_of_an_interrupted_draw_counts_although_it_is_not_recorded(
    model, monkeypatch, workers, tmp_path
):
    """Otherwise a run that is interrupted often could exceed its budget."""
    run = tmp_path / "run"
    add_draw, calls = Journal.add_draw, []

    def interrupted(*given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        add_draw(*given)

    monkeypatch.setattr(Journal, "add_draw", interrupted)
    with pytest.raises(KeyboardInterrupt):
        assess(BOARD, **SMALL, budget=Budget(llm_cost=400), run=run, workers=workers)
    assert load(run).usage.llm_cost == TOKENS * len(model.requests)
    result = resume(run, trust=True, workers=workers)
    assert result.usage.llm_cost == TOKENS * len(model.requests)
    assert 400 <= result.usage.llm_cost < 400 + workers * TOKENS


# Budgets.


@pytest.mark.parametrize("limit", [1, 15, 200])
@pytest.mark.parametrize("currency", ["llm_tokens", "llm_cost"])
def test_a_budget_stops_a_run_within_one_call_of_the_limit(model, currency, limit, tmp_path):
    result = assess(BOARD, **SMALL, budget=Budget(**{currency: limit}), run=tmp_path / "run")
    assert str(result.stop_reason) == f"budget of {currency} spent"
    spent = getattr(result.usage, currency)
    assert limit <= spent < limit + TOKENS
    assert spent == TOKENS * len(model.requests)
    again = resume(tmp_path / "run", trust=True)
    assert getattr(again.usage, currency) == spent == TOKENS * len(model.requests)


def test_a_raised_budget_continues_and_pays_only_for_new_calls(model, tmp_path):
    run = tmp_path / "run"
    assess(BOARD, **SMALL, budget=Budget(llm_cost=100), run=run)
    before = recorded(run)
    for limit in (260, 420):
        result = resume(run, trust=True, budget=Budget(llm_cost=limit))
        assert limit <= result.usage.llm_cost < limit + TOKENS
        assert result.usage.llm_cost == TOKENS * len(model.requests)
        after = recorded(run)
        assert [draws[: len(old)] for (_, draws), (_, old) in zip(after, before, strict=False)] == [
            old for _, old in before
        ]
        before = after


@pytest.mark.parametrize("limit", [40, 333])
@pytest.mark.parametrize("never_tight", [False, True])
def test_a_token_budget_ends_at_the_same_place_with_any_number_of_workers(
    model, fresh_cache, monkeypatch, limit, never_tight, tmp_path
):
    """Even if draws are made in parallel until the end."""
    if never_tight:
        monkeypatch.setattr(WorkerPool, "_tight", lambda *_: False)
    made = {}
    for workers in (1, 4):
        fresh_cache(workers)
        model.requests.clear()
        given = {"budget": Budget(llm_tokens=limit), "run": tmp_path / str(workers)}
        assess(BOARD, **SMALL, **given, workers=workers)
        made[workers] = len(model.requests)
    assert recorded(tmp_path / "1") == recorded(tmp_path / "4")
    # One call per worker and, if draws are repeated sequentially, the rest of the budget.
    wasted = 4 * TOKENS + (limit if never_tight else 0)
    assert TOKENS * made[1] <= TOKENS * made[4] <= TOKENS * made[1] + wasted


@pytest.mark.parametrize("limit", [40, 333])
@pytest.mark.parametrize("never_tight", [False, True])
def test_all_costs_are_counted_with_any_number_of_workers(
    model, monkeypatch, limit, never_tight, tmp_path
):
    if never_tight:
        monkeypatch.setattr(WorkerPool, "_tight", lambda *_: False)
    result = assess(BOARD, **SMALL, budget=Budget(llm_cost=limit), run=tmp_path / "run", workers=4)
    assert str(result.stop_reason) == "budget of llm_cost spent"
    assert result.usage.llm_cost == TOKENS * len(model.requests)
    assert limit <= result.usage.llm_cost < limit + 4 * TOKENS


@pytest.mark.parametrize("currency", ["llm_tokens", "llm_cost"])
@pytest.mark.parametrize("never_tight", [False, True])
def test_processes_share_a_budget_as_threads_do(
    model, fresh_cache, monkeypatch, currency, never_tight, tmp_path
):
    """Every call asks the process of the loop, so at most one call for each is too many."""
    if never_tight:
        monkeypatch.setattr(WorkerPool, "_tight", lambda *_: False)
    limit, spent = Budget(**{currency: 200}), {}
    for workers in (WorkerSettings(1), WorkerSettings(2, "processes")):
        fresh_cache(workers.backend)
        model.requests.clear()
        run = tmp_path / workers.backend
        result = assess(BOARD, **SMALL, budget=limit, run=run, workers=workers)
        assert str(result.stop_reason) == f"budget of {currency} spent"
        spent[workers.backend] = TOKENS * len(model.requests)
        if currency == "llm_cost":
            assert result.usage.llm_cost == spent[workers.backend]
            assert 200 <= result.usage.llm_cost < 200 + workers.number * TOKENS
    if currency == "llm_tokens":
        assert recorded(tmp_path / "threads") == recorded(tmp_path / "processes")
        wasted = 2 * TOKENS + (200 if never_tight else 0)
        assert spent["threads"] <= spent["processes"] <= spent["threads"] + wasted


def test_a_cost_limit_without_prices_is_rejected_before_the_first_call(in_environment, tmp_path):
    with pytest.raises(LlmError, match="a cost limit needs prices: set CAPSCOPE_LLM_PRICE_PROMPT"):
        assess(BOARD, **SMALL, budget=Budget(llm_cost=1.0), run=tmp_path / "run")
    assert in_environment.requests == []


def test_costs_are_restored_with_the_run(model, tmp_path):
    run = tmp_path / "run"
    paid = assess(BOARD, **SMALL, budget=SHORT, run=run).usage.llm_cost
    assert paid > 0
    assert load(run).usage.llm_cost == paid
    assert resume(run, trust=True).usage.llm_cost == paid


def refusing(wanted):
    """Refuse the conversations about one intent."""
    no = fails(400, "exceeds the available context size")
    return lambda handler, request: (no if wanted in str(request["messages"]) else choose)(
        handler, request
    )


def test_conversations_that_the_server_refuses_are_failures_of_the_agent(model, tmp_path):
    run = tmp_path / "run"
    model.usual = refusing("Wanted: lit(a)")
    budget = Budget(executions=40)
    result = assess(BOARD, strategy="random", settings=SMALL["settings"], budget=budget, run=run)
    assert str(result.stop_reason) == "budget of executions spent"
    (failure,) = result.agent_failures
    assert str(failure.ending) == "conversation refused" and failure.executions > 1
    assert "status 400 (exceeds the available context size)" in failure.detail
    (warning,) = agent_failure_warnings(result.agent_failures, run)
    assert "had a conversation that the server of its model refused (first: the server" in warning
    # Read back from the journal, and made again, the run is the same.
    assert load(run).agent_failures == result.agent_failures
    again = assess(BOARD, strategy="random", settings=SMALL["settings"], budget=budget)
    assert again.agent_failures == result.agent_failures


def test_a_proxy_that_limits_requests_stops_a_run_that_then_continues(model, tmp_path):
    run = tmp_path / "run"
    model.script.extend([choose] * 3 + [fails(413, "<html>Request Entity Too Large</html>")])
    with pytest.raises(LlmError, match=r"status 413 .*a proxy may limit .* resume"):
        assess(BOARD, **SMALL, budget=SHORT, run=run)
    assert load(run).agent_failures == ()
    assert resume(run, trust=True).agent_failures == ()


def test_a_server_that_refuses_everything_stops_a_run_before_anything_is_recorded(model, tmp_path):
    model.usual = fails(400, "unknown parameter: seed")
    with pytest.raises(LlmError, match=r"unknown parameter: seed\), even to a greeting"):
        assess(BOARD, **SMALL, budget=SHORT, run=tmp_path / "run")
    assert len(load(tmp_path / "run").executions) == 0


def test_long_nonsense_is_an_outcome_of_the_agent(model, tmp_path):
    model.usual = say("\N{SNOWMAN} \x00 nonsense" * 4000)
    result = assess(BOARD, **SMALL, budget=SHORT, run=tmp_path / "run", workers=2)
    assert str(result.stop_reason) == "budget of queries spent"


def test_a_problem_object_may_have_its_own_client(client, stub):
    stub.usual = choose
    result = assess(asking_board(client()), **SMALL, budget=Budget(llm_tokens=60))
    assert 60 <= result.usage.llm_tokens < 60 + TOKENS
