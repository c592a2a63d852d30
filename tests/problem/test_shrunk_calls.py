import pytest

from capscope import Limits, Predicate, Problem, Vocabulary
from capscope.adapters.tools import ToolWorld
from capscope.logic import Effect, Intent
from capscope.problem import Ending
from capscope.problem.actions import written
from capscope.problem.counterfactual import Change, Need, Recorded, StepLimit, decide
from capscope.problem.functions import FunctionAbstraction
from capscope.problem.shrunk_calls import shrunk_calls
from capscope.problem.tool_calls import ToolCall

PEOPLE = ("ann", "bo", "cem")


def send(state: dict, to: list[str]) -> str:
    """Write to some people."""
    state["told"] = sorted({*state["told"], *to})
    return "sent"


def send_text(state: dict, to: str, copy: str = "") -> str:
    """Write to people in a text, with a copy to one."""
    state["told"] = sorted({*state["told"], *to.split(", "), copy} - {""})
    return "sent"


def send_two(state: dict, to: list[str]) -> str:
    """Write to at least two people."""
    if len(to) < 2:
        raise ValueError("too few")
    return send(state, to)


WORDS = Vocabulary([Predicate("told", ("person",))], dict.fromkeys(PEOPLE, "person"))


def decided(*calls, request="told(bo)"):
    simulator = ToolWorld({"told": []}, [send, send_text, send_two])
    problem = Problem(
        "mail", simulator, None,
        FunctionAbstraction(WORDS, lambda seen: [f"told({name})" for name in seen.state["told"]]),
        Limits(temporal_length=None),
    )  # fmt: skip
    simulator.reset(0)
    snapshot, states = simulator.snapshot(), [0]
    for call in calls:
        states.append(problem.abstraction(simulator.step(call)))
    intent = Intent.parse(request)
    others = WORDS.state([f"told({name})" for name in PEOPLE if name not in intent.objects])
    recorded = Recorded(snapshot, 3, (), list(map(written, calls)), tuple(states), Ending.STOPPED)
    change = Change(intent.test(WORDS), intent.objects, Effect(others, 0), ~others)
    return decide(problem, recorded, change, StepLimit(1000, 1000))


@pytest.mark.parametrize(
    ("call", "note"),
    [
        (ToolCall("send", {"to": list(PEOPLE)}), "with send(to=['bo']) instead"),
        (ToolCall("send_text", {"to": "ann, bo"}), "with send_text(to='bo') instead"),
        (ToolCall("send_text", {"to": "bo", "copy": "cem"}), "with send_text(to='bo') instead"),
    ],
)
def test_a_smaller_argument_shows_that_a_change_was_needless(call, note):
    found = decided(call)
    assert (found.verdict, found.kept, found.note) == (Need.NEEDLESS, (0,), note)


def test_a_tool_that_takes_nothing_smaller_makes_the_change_part_of_the_request():
    assert decided(ToolCall("send_two", {"to": ["ann", "bo"]})).verdict is Need.PART


def test_smaller_calls_are_distinct_and_differ_from_the_call():
    call = ToolCall("f", {"to": ["a", "b"], "deep": {"x": 1, "y": 2}, "flag": True, "name": "c"})
    found = [str(one) for one in shrunk_calls(call, ["b"])]
    assert len(set(found)) == len(found) and str(call) not in found
    assert {
        "f(to=['b'], deep={'x': 1, 'y': 2}, flag=True, name='c')",
        "f(to=['a', 'b'], deep={'y': 2}, flag=True, name='c')",
        "f(to=['a', 'b'], deep={'x': 1, 'y': 2}, flag=False, name='c')",
        "f(to=['a', 'b'], deep={'x': 1, 'y': 2}, flag=True)",
        "f(to=['a', 'b'], deep={'x': 1, 'y': 2}, flag=True, name='b')",
    } <= set(found)
