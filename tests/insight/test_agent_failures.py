"""Agent failures found in the table, against all draws read one by one."""

import random
from contextlib import closing

import pytest

from capscope import load
from capscope.errors import JournalError
from capscope.insight.agent_failures import FAILURES, AgentFailure
from capscope.journal.journal import Journal
from capscope.problem import Ending
from support.small_runs import LAMPS, WISHES, draw, execution, executions_of, small_run


def holds_already(made):
    return WISHES[made.capability].holds(made.attempt.trajectory[0], LAMPS)


def failures_by_hand(queries):
    found = []
    for ending in FAILURES:
        ended = [made for _, made in executions_of(queries) if made.attempt.ending is ending]
        if ended:
            first = ended[0]
            intent = WISHES[first.capability]
            to_act = sum(
                made.attempt.ending is ending or not holds_already(made)
                for _, made in executions_of(queries)
            )
            found.append(AgentFailure(ending, len(ended), to_act, intent, first.attempt.detail))
    return tuple(found)


def read(path):
    return load(path).agent_failures


def random_execution(rng):
    return execution(
        rng.randrange(8),
        rng.randrange(4),
        rng.randrange(8),
        simulator_steps=rng.randrange(7),
        ending=rng.choice([*Ending, *[Ending.STOPPED] * 9]),
        llm_tokens=rng.choice([0, 0, 4, 5]),
        detail=rng.choice(["", "", "],4,5]", "ValueError: 4\n", '"],[0,[1],0,4]']),
    )


@pytest.mark.parametrize("seed", range(20))
def test_failures_are_counted_as_by_reading_every_draw(tmp_path, seed):
    rng = random.Random(seed)
    queries = [
        [draw(*(random_execution(rng) for _ in range(rng.randrange(1, 5)))) for _ in range(3)]
        for _ in range(4)
    ]
    run = small_run(tmp_path / "run", queries)
    assert read(run) == failures_by_hand(queries)
    within = sum(len(one.executions) for query in queries[:2] for one in query)
    assert load(run).within(within).agent_failures == failures_by_hand(queries[:2])


def test_identical_draws_count_each_and_the_first_is_the_first_that_was_made(tmp_path):
    def raised(words):
        return draw(execution(0, 1, 0, ending=Ending.AGENT_RAISED, detail=words))

    queries = [[draw((0, 0, 1)), raised("B")], [raised("A"), raised("B"), raised("B")]]
    assert read(small_run(tmp_path / "run", queries)) == (
        AgentFailure(Ending.AGENT_RAISED, 4, 5, WISHES[1], "B"),
    )


def test_a_failure_without_a_message_has_none(tmp_path):
    queries = [[draw(execution(0, 2, 0, ending=Ending.INVALID_ACTION))]]
    assert read(small_run(tmp_path / "run", queries)) == (
        AgentFailure(Ending.INVALID_ACTION, 1, 1, WISHES[2], ""),
    )


def test_a_run_without_failures_has_none(tmp_path):
    assert read(small_run(tmp_path / "run", [[draw((0, 0, 1), (1, 2, 0))]])) == ()


@pytest.mark.parametrize("changed", ["[[0,[1],0]]", "[[0,[],0,4]]", "[[9,[1],0,4]]", "[0,[1],0,4]"])
def test_a_journal_that_something_else_wrote_is_refused(tmp_path, changed):
    run = small_run(tmp_path / "run", [[draw((0, 0, 1))]])
    with closing(Journal.open(run / "journal.sqlite")) as journal:
        journal._db.execute("UPDATE draws SET attempts = ?", (changed,))
    with pytest.raises(JournalError, match="left untouched"):
        read(run)
