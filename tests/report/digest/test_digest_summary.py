"""The sentences at the top of a report, of runs whose every execution is known."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope import Budget
from capscope.journal.run_meta import StopReason
from capscope.logic import Intent
from capscope.problem import Ending
from capscope.report.digest.capabilities import Standings
from capscope.report.digest.summary import summary_of
from capscope.report.text import capability_views
from support.small_runs import draw, execution, run_in_memory


def summary(queries, **said):
    run = run_in_memory(queries, **said)
    standings = Standings.of_run(run, capability_views(run.graph))
    return dict(summary_of(run, standings, run.findings()))


HEADINGS = [
    "What was assessed",
    "What it cost",
    "What it achieved",
    "What else it changed",
    "What is unknown",
]
# lit(a) always comes on, with side effects; lit(b) only where a is lit; broken() never.
SEEN = [
    *[(0b000, 0, 0b001)] * 30,
    *[(0b001, 0, 0b001)] * 2,
    *[(0b000, 1, 0b000)] * 8,
    *[(0b001, 1, 0b011)] * 9,
    *[(0b011, 3, 0b011)] * 5,
]


def test_the_story_of_a_small_run():
    said = summary([[draw(*SEEN)]], stopped="budget of executions spent", budget={"executions": 54})
    assert list(said) == HEADINGS
    assert said["What was assessed"] == [
        "The agent of lamps was asked to achieve one of 4 intents, for example lit(a) or lit(b). "
        "Everything that it can be asked for is a capability; asking once, and observing what "
        "changes, is an execution.",
        "The run saw 3 states. A state is described by 3 atoms, each of which holds or does not "
        "hold.",
        "An execution ends when the state has changed, when the agent stops, or after 100 "
        "simulator steps. An intent that takes longer therefore shows as a step on the way, not as "
        "a success.",
    ]
    assert said["What it cost"][-1] == "It stopped because its budget was spent (54 executions)."
    assert said["What it achieved"] == [
        "3 capabilities were tried where they did not hold already.",
        "1 was achieved by every execution: lit(a) (30 executions in 1 state).",
        "1 was achieved by some executions and not by others. For example, lit(b) when lit(a) (9 "
        "executions in 1 state) never failed.",
        "1 was never seen to be achieved: broken() (5 executions in 1 state).",
        "If the same intent is requested until it holds or three executions change nothing, the "
        "agent almost certainly achieves it (with probability 0.99 or more, by the observed "
        "frequencies) from every state tried for 1 of these 3 capabilities, and from some states "
        "for 1 more.",
    ]
    unknown = said["What is unknown"]
    assert unknown[:3] == [
        "Of the 12 pairs of a state seen and a capability, 7 (58.3 %) were never tried; what "
        "happens there is unknown.",
        "1 capability was never executed where it did not hold already: not lit(a).",
        "Nothing is known about states that the run never reached.",
    ]
    assert unknown[3].startswith(
        "By the criterion of `--until settled` the evidence is not settled yet: 7 pairs "
    )
    assert "with probability above 0.1" in unknown[3]


def test_a_run_of_one_execution_has_its_singulars():
    said = summary([[draw((0, 0, 1))]])
    assert said["What it cost"] == [
        "1 execution in 1 query, chosen by the strategy exhaustive, took 1 simulator step and less "
        "than 0.1 seconds.",
        "The run has not finished: it is still running or was interrupted.",
    ]
    assert said["What it achieved"] == [
        "1 capability was tried where it did not hold already.",
        "It was achieved by every execution: lit(a) (1 execution in 1 state).",
    ]
    said = summary([[draw((0, 0, 0))]])
    assert said["What it achieved"][1:] == [
        "It was never seen to be achieved: lit(a) (1 execution in 1 state)."
    ]
    said = summary([[draw((0, 0, 0), (0, 1, 0))]])
    assert said["What it achieved"][:2] == [
        "2 capabilities were tried where they did not hold already.",
        "Both were never seen to be achieved: lit(b) (1 execution in 1 state) and lit(a) (1 "
        "execution in 1 state).",
    ]


def test_nothing_was_executed_yet():
    said = summary([])
    assert said["What was assessed"][0].startswith("The agent of lamps is to be asked to achieve")
    assert said["What it cost"][0] == "Nothing yet: nothing was executed."
    assert said["What it achieved"] == [
        "Nothing is known yet: no capability was executed where it did not hold already."
    ]
    assert said["What else it changed"] == ["Nothing yet: no execution was completed."]
    assert said["What is unknown"] == ["Everything: no execution was completed yet."]
    cut = summary([[draw(execution(0, 0, 1, ending=Ending.CUT))]])
    assert cut["What is unknown"] == said["What is unknown"]
    assert cut["What else it changed"] == said["What else it changed"]


def test_nothing_was_found_to_ask_for():
    said = summary([], intents=[])
    assert said["What was assessed"] == [
        "The agent of lamps; the run has not found anything to ask it for yet."
    ]


@pytest.mark.parametrize(
    ("said", "end"),
    [
        (
            {"stopped": "no news", "patience": 4},
            "It stopped because 4 queries in a row showed nothing new.",
        ),
        (
            {"stopped": "nothing left to settle"},
            "It stopped because, by its own criterion, the evidence was settled.",
        ),
        (
            {"stopped": "budget of queries spent", "budget": {"queries": 1}},
            "It stopped because its budget was spent (1 query).",
        ),
        (
            {"stopped": "budget of llm_tokens spent", "budget": {"llm_tokens": 5000}},
            "It stopped because its budget was spent (5,000 tokens).",
        ),
        (
            {"stopped": "budget of simulator_steps spent", "budget": {"simulator_steps": 9000}},
            "It stopped because its budget was spent (9,000 simulator steps).",
        ),
        (
            {"stopped": "budget of seconds spent", "budget": {"seconds": 1.5}},
            "It stopped because its budget was spent (1.5 seconds).",
        ),
        (
            {"stopped": "budget of llm_cost spent", "budget": {"llm_cost": 0.25}},
            "It stopped because its budget was spent (a cost of 0.25).",
        ),
        ({"stopped": "the moon"}, "It stopped for this reason: the moon."),
        ({}, "The run has not finished: it is still running or was interrupted."),
    ],
)
def test_the_reason_for_stopping_is_given(said, end):
    assert summary([[draw(*SEEN)]], **said)["What it cost"][-1] == end


def test_a_run_that_continued_with_a_larger_budget_has_not_ended():
    run = run_in_memory([], stopped="budget of queries spent", budget={"queries": 1})
    assert run.stop_reason == StopReason.budget("queries")
    run.meta = replace(run.meta, budget=Budget(queries=2))
    assert run.stop_reason is None


def test_settled_evidence_is_called_settled_by_its_own_criterion():
    every = [(s, c, s & ~1 if c == 2 else s | (1, 2, 0, 4)[c]) for s in range(8) for c in range(4)]
    said = summary([[draw(*every * 60)]])["What is unknown"]
    assert said[0] == (
        "Each of the 32 pairs of a state seen and a capability was tried at least once."
    )
    assert said[-2].startswith(
        "By the criterion of `--until settled` the evidence is settled: with probability "
        "0.95, no outcome with probability above 0.1 was missed"
    )
    assert said[-1].endswith("in single states they may differ.")


def test_a_comma_separates_two_intents_if_one_is_a_conjunction():
    intents = [Intent.parse("lit(a) and lit(b)"), Intent.parse("not broken()")]
    said = summary([[draw((0, 0, 1))]], intents=intents)
    assert (
        "achieve this: lit(a) and lit(b), or not broken(). Everything"
        in said["What was assessed"][0]
    )


TRIPLES = st.tuples(st.integers(0, 7), st.integers(0, 3), st.integers(0, 7))


@given(st.lists(st.lists(TRIPLES, max_size=12).map(lambda made: [draw(*made)]), max_size=5))
def test_no_sentence_says_cannot_and_all_are_sentences(queries):
    for heading, sentences in summary(queries).items():
        assert sentences, heading
        for sentence in sentences:
            assert not re.search(r"cannot|can't|impossible|unable|  | ,|\.\.", sentence), sentence
            assert sentence.endswith(".")
            assert sentence[0].isupper() or sentence[0].isdigit()
            assert not re.search(r"\b1 (capabilities|executions|states|queries|pairs)\b", sentence)
