"""Whole assessments of tool-using agents."""

from pathlib import Path

import pytest

import capscope
from capscope import Budget, Settings
from capscope.adapters.tools import ToolWorld, ask, tool_problem
from capscope.errors import ProblemError
from capscope.problem.checks import check_problem
from capscope.problems import load_problem, restore_elsewhere

pytest.importorskip("pydantic")
EXAMPLE = f"{Path(__file__).parents[3] / 'examples' / 'mail_tools.py'}:problem"


def archive(box, mail: str) -> None:
    """Archive a mail, which also marks it as read."""
    box[mail] = {"archived": True, "read": True}


def mails(agent, **ask_options):
    world = ToolWorld(
        {name: {"archived": False, "read": False} for name in ("ann", "bob")},
        [archive],
        {"mail": ["ann", "bob"]},
    )
    return tool_problem(
        world,
        predicates={
            "archived(mail)": lambda box, mail: box[mail]["archived"],
            "read(mail)": lambda box, mail: box[mail]["read"],
        },
        objects={"mail": ["ann", "bob"]},
        asks=[ask("archived(m)", "Archive {m}", **ask_options)],
        agent=agent,
    )


def sloppy(prompt, tools, llm, rng):
    """Archives the other mail as well, every other time."""
    wanted = prompt.split()[1]
    tools[0](wanted)
    if rng.random() < 0.5:
        tools[0]({"ann": "bob", "bob": "ann"}[wanted])


def caused(problem, seed=0):
    run = capscope.assess(problem, seed=seed, budget=Budget(executions=120))
    return {finding.change for finding in run.findings()}


def test_what_belongs_to_an_ask_is_no_side_effect():
    assert any("read" in one for one in caused(mails(sloppy)))
    assert not any("read" in one for one in caused(mails(sloppy, also=["read(*)"])))


def test_what_belongs_to_an_ask_is_recorded_with_the_run(tmp_path):
    problem = mails(sloppy, also=["read(m)"])
    capscope.assess(problem, budget=Budget(executions=20), run=tmp_path / "run")
    loaded = capscope.load(tmp_path / "run")
    assert loaded.identity.settings.expected == (
        "archived(ann): read(ann)", "archived(bob): read(bob)",
    )  # fmt: skip
    assert loaded.identity.settings.intents == ("archived(ann)", "archived(bob)")
    assert loaded.graph.expected is not None


def test_the_user_may_name_other_intents():
    settings = Settings(intents=("archived(bob)",))
    run = capscope.assess(mails(sloppy), settings=settings, budget=Budget(executions=5))
    assert [str(intent) for intent in run.graph.capabilities] == ["archived(bob)"]


def test_two_asks_about_the_same_intent_are_refused():
    with pytest.raises(ProblemError, match=r"two asks are about archived\(ann\)"):
        tool_problem(
            ToolWorld({}, [archive]),
            predicates={"archived(mail)": lambda box, mail: False},
            objects={"mail": ["ann"]},
            asks=[ask("archived(m)", "Archive {m}"), ask("archived(ann)", "Archive it")],
            agent=sloppy,
        )


def test_the_example_keeps_its_contracts_in_this_and_another_process():
    problem = load_problem(EXAMPLE)
    assert check_problem(problem, elsewhere=lambda s: restore_elsewhere(EXAMPLE, s)) == []


def test_a_run_is_the_same_with_any_number_of_workers(tmp_path):
    journals = []
    for workers in (1, 2):
        settings = Settings(batch=4)
        run = capscope.assess(
            EXAMPLE, settings=settings, budget=Budget(executions=40), workers=workers
        )
        journals.append([(str(t), n) for t, n in run.executions.transitions().items()])
    assert journals[0] == journals[1]
