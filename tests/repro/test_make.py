"""Tests that are made of findings: they fail on the agent, and pass without its bugs."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import capscope
from capscope import Budget, assess, load
from capscope.errors import CapscopeError, ProblemError
from capscope.logic import Intent, Literal
from capscope.problems import load_problem
from capscope.repro import RequestPath, assert_achieved, assert_not_caused
from capscope.repro.check import PositionTrials
from capscope.repro.make import make_repro
from capscope.repro.symptom import _replayed
from capscope.repro.text import WrittenTest, file_text, name_for
from support.processes import SECONDS

AGENT = '''
from dataclasses import dataclass, field

from capscope.adapters.tools import ToolWorld, ask, tool_problem

NAMES = tuple(f"m{i}" for i in range(10))
RATE = 0.3


@dataclass
class Mail:
    name: str
    starred: bool
    archived: bool = False
    deleted: bool = False


@dataclass
class Box:
    mails: list[Mail]

    def by(self, name: str) -> Mail:
        return next(mail for mail in self.mails if mail.name == name)


def show(box: Box) -> list[str]:
    """List the mails that are not deleted, those with a star first."""
    kept = [mail for mail in box.mails if not mail.deleted]
    return [("*" if mail.starred else "") + mail.name for mail in kept]


def archive(box: Box, name: str) -> str:
    """Archive a mail."""
    box.by(name).archived = True
    return "done"


def delete(box: Box, name: str) -> str:
    """Delete a mail."""
    box.by(name).deleted = True
    return "done"


def assistant(prompt, tools, llm, rng):
    import json
    call = {tool.__name__: tool for tool in tools}
    verb, name = prompt.rstrip(".").split()
    kept = json.loads(call["show"]())
    if "*" + name in kept and BUGGY and verb == "Archive":
        return "I do not archive what has a star."
    call["archive" if verb == "Archive" else "delete"](name=name)
    others = sorted({one.lstrip("*") for one in kept} - {name})
    if verb == "Archive" and BUGGY and others and rng.random() < RATE:
        call["delete"](name=rng.choice(others))
    return "Done!"


def problem():
    mails = [Mail(name, starred=i % 2 == 1) for i, name in enumerate(NAMES)]
    return tool_problem(
        ToolWorld(Box(mails), [show, archive, delete], values={"name": list(NAMES)}),
        predicates={
            "archived(mail)": lambda box, name: box.by(name).archived,
            "deleted(mail)": lambda box, name: box.by(name).deleted,
            "starred(mail)": lambda box, name: box.by(name).starred,
        },
        objects={"mail": NAMES},
        asks=[ask("archived(m)", "Archive {m}."), ask("deleted(m)", "Delete {m}.")],
        agent=assistant,
        name="box",
    )
'''


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    (folder / "buggy.py").write_text(f"BUGGY = True\n{AGENT}", encoding="utf-8")
    assess(f"{folder}/buggy.py:problem", budget=Budget(executions=400), run=folder / "run")
    return folder


def made(home, folder, kind, change=""):
    run = load(home / "run")
    (finding,) = (f for f in run.findings() if f.kind == kind and change in f.change)
    return finding, make_repro(run, run.load_problem(trust=True), finding, folder, 2000)


def in_a_fresh_folder(test, folder, *, buggy):
    """Run a test where nothing is but the agent; return the output of pytest."""
    (folder / "tests").mkdir(parents=True)
    (folder / "buggy.py").write_text(f"BUGGY = {buggy}\n{AGENT}", encoding="utf-8")
    text = Path(test).read_text(encoding="utf-8")
    text = re.sub(r'"[./\w-]*buggy\.py:problem"', '"../buggy.py:problem"', text)
    (folder / "tests" / Path(test).name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS
    )


def start_of(test):
    """Return the position of a test, as it was written."""
    tree = ast.parse(Path(test).read_text(encoding="utf-8"))
    (value,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "START"
    )
    return ast.literal_eval(value.func.value.args[0])


def test_a_change_becomes_a_test_that_fails_with_it_and_passes_without(home, tmp_path):
    finding, one = made(home, tmp_path / "made", "does more", "deleted(another mail)")
    assert one.fails
    # The mail, and another one that it deletes; eight more were left out.
    mails = start_of(one.file)["state"]["$object"][1]["mails"]
    assert len(mails) == one.objects == 2
    assert not any(mail["$object"][1]["archived"] for mail in mails)
    assert finding.sentence in " ".join(Path(one.file).read_text(encoding="utf-8").split())
    failed = in_a_fresh_folder(one.file, tmp_path / "a", buggy=True)
    assert failed.returncode == 1
    assert "the agent caused deleted(" in failed.stdout
    assert in_a_fresh_folder(one.file, tmp_path / "b", buggy=False).returncode == 0


def test_a_refusal_becomes_a_test_that_the_request_is_achieved(home, tmp_path):
    _, one = made(home, tmp_path / "made", "exception")
    (mail,) = start_of(one.file)["state"]["$object"][1]["mails"]
    # Without the star the agent would not refuse, and without the mail nobody could help.
    assert mail["$object"][1]["starred"]
    failed = in_a_fresh_folder(one.file, tmp_path / "a", buggy=True)
    assert failed.returncode == 1
    assert "was achieved in 0 of" in failed.stdout
    assert in_a_fresh_folder(one.file, tmp_path / "b", buggy=False).returncode == 0


def test_the_numbers_of_a_test_are_those_of_executions_of_its_position(home, tmp_path):
    _, one = made(home, tmp_path, "does more", "deleted(another mail)")
    text = " ".join(Path(one.file).read_text(encoding="utf-8").split())
    hits, of = map(int, re.search(r"position: (\d+) of (\d+) executions", text).groups())
    assert hits == 10
    assert abs(hits / of - 0.3) < 4 * (0.3 * 0.7 / of) ** 0.5
    times, power = re.search(r"possible, (\d+) executions show it with ([\d.]+) %", text).groups()
    assert int(times) == one.times
    assert 1 - 0.7**one.times >= float(power) / 100 - 0.001  # at the true rate it is higher
    assert f"{one.objects} of 10 objects" in text


def test_a_test_is_formatted_linted_and_typed(home, tmp_path):
    made(home, tmp_path, "does more", "deleted(another mail)")
    made(home, tmp_path, "exception")
    tool, cache = Path(sys.executable).with_name, tmp_path / "cache"
    for command in (
        [tool("ruff"), "check", "--isolated", "--select", "E4,E7,E9,F,I,UP,B,SIM,PT", tmp_path],
        [tool("ruff"), "format", "--isolated", "--check", tmp_path],
        [tool("mypy"), "--strict", "--follow-imports=silent", "--cache-dir", cache, tmp_path],
    ):
        env = {"MYPYPATH": str(Path(capscope.__file__).parents[1]), "PATH": ""}
        done = subprocess.run(
            [*map(str, command)],
            capture_output=True,
            text=True,
            check=False,
            env=env,
            cwd=tmp_path,
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_test_that_exists_is_kept(home, tmp_path):
    _, one = made(home, tmp_path, "exception")
    with pytest.raises(CapscopeError, match="exists; remove it"):
        made(home, tmp_path, "exception")
    assert Path(one.file).exists()


def test_the_command_writes_a_test_for_each_finding_to_watch_out_for(capscope, home, tmp_path):
    given = ["repro", str(home / "run"), "--all", "--trust", "--output", str(tmp_path / "all")]
    done = capscope(*given, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    watched = [finding for finding in load(home / "run").findings() if finding.watch]
    assert len(found["tests"]) + len(found["skipped"]) == len(watched)
    assert {one["file"] for one in found["tests"]} == set(map(str, (tmp_path / "all").iterdir()))
    total = sum(one["executions"] for one in found["tests"])
    done = capscope(*given[:2], "--trust", "--output", str(tmp_path / "first"))
    assert "cost: " in done.out
    assert total > 0


def test_a_test_names_the_problem_that_the_command_was_given(capscope, home, tmp_path):
    moved = tmp_path / "elsewhere.py"
    moved.write_bytes((home / "buggy.py").read_bytes())
    given = ["repro", str(home / "run"), "--output", str(tmp_path), "--problem", f"{moved}:problem"]
    done = capscope(*given, "--trust")
    (test,) = tmp_path.glob("test_*.py")
    assert '"elsewhere.py:problem"' in test.read_text(encoding="utf-8"), done.err


def test_the_command_says_which_findings_there_are(capscope, home):
    done = capscope("repro", str(home / "run"), "99", "--trust")
    assert done.code == 2
    assert "list them with: capscope show" in done.err


def test_code_that_only_the_run_names_is_run_with_trust_only(capscope, home, tmp_path):
    done = capscope("repro", str(home / "run"), "--output", str(tmp_path))
    assert done.code == 2
    assert "--trust" in done.err


@pytest.fixture
def buggy(home):
    return load_problem(f"{home}/buggy.py:problem")


START = json.dumps(
    {"state": {"$object": ["buggy:Box", {"mails": [
        {"$object": ["buggy:Mail", {"name": name, "starred": starred, "archived": False,
                                    "deleted": False}]}
        for name, starred in (("m0", False), ("m1", True))
    ]}]}}
).encode()  # fmt: skip


def test_a_request_that_does_nothing_shows_nothing(buggy):
    ask = {"start": START, "times": 5}
    with pytest.raises(AssertionError, match="achieved in none of 5 executions"):
        assert_not_caused(buggy, "archived(m1)", ["deleted(m0)"], **ask)
    assert_not_caused(buggy, "archived(m1)", ["deleted(m0)"], achieving=False, **ask)


def test_a_test_about_objects_that_its_position_lacks_is_an_error(buggy):
    with pytest.raises(ProblemError, match=r"deleted\(m7\) cannot be evaluated"):
        assert_not_caused(buggy, "archived(m0)", ["deleted(m7)"], start=START, times=5)


def test_a_request_that_holds_already_is_an_error(buggy):
    start = START.replace(b'"archived": false', b'"archived": true')
    assert start != START
    with pytest.raises(ProblemError, match="holds already"):
        assert_achieved(buggy, "archived(m0)", start=start, at_least=0.9, rather_than=0.5)
    with pytest.raises(AssertionError, match="caused deleted"):  # asked again, it deletes as well
        assert_not_caused(buggy, "archived(m0)", ["deleted(m1)"], start=start, times=30)


def test_success_is_decided_by_a_sequential_test(buggy):
    assert_achieved(buggy, "archived(m0)", start=START, at_least=0.9, rather_than=0.5)
    with pytest.raises(AssertionError, match="rather 50% than 90%"):
        assert_achieved(buggy, "archived(m1)", start=START, at_least=0.9, rather_than=0.5)


def test_a_position_may_be_requests_that_lead_there(buggy):
    start = RequestPath(["deleted(m3)"], ["deleted(m3)"])
    assert_achieved(buggy, "archived(m0)", start=start, at_least=0.9, rather_than=0.5)
    with pytest.raises(ProblemError, match="did not lead to deleted"):
        elsewhere = RequestPath(["deleted(m3)"], ["deleted(m5)"])
        assert_achieved(buggy, "archived(m0)", start=elsewhere, at_least=0.9, rather_than=0.5)


def test_in_a_world_that_cannot_be_changed_a_test_begins_with_requests(tmp_path):
    pytest.importorskip("plado", reason="needs the extra pddl")
    run = assess("tireworld", strategy="exhaustive", budget=Budget(executions=150))
    problem = run.load_problem()
    finding = next(one for one in run.findings() if one.change and one.path)
    one = make_repro(run, problem, finding, tmp_path, 200)
    assert one.fails
    assert not one.shrunk
    tree = ast.parse(Path(one.file).read_text(encoding="utf-8"))
    asked = next(node for node in ast.walk(tree) if getattr(node, "keywords", None))
    start = next(n for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "START")
    requests, holds = (ast.literal_eval(argument) for argument in start.value.args[:2])
    assert requests
    assert all(text in map(str, run.capabilities) for text in requests)
    reached = PositionTrials(problem, Intent.parse(one.request), RequestPath(requests, holds))
    assert problem.vocabulary.test([Literal.parse(text) for text in holds])(reached.state)
    assert asked.func.id == "assert_not_caused"


def test_a_state_in_the_middle_of_a_draw_is_reached_by_its_actions(buggy):
    run = assess(buggy, strategy="random", budget=Budget(executions=60))
    problem, table = buggy, run.executions
    later = [row for row in range(len(table)) if table.number[row] > 0 and table.moved[row]]
    assert later
    for row in later[:20]:
        state = table.states[table.before[row]]
        snapshot = _replayed(run, problem, state, row)
        assert snapshot is not None
        assert problem.abstraction(problem.simulator.restore(snapshot, 0)) == state


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("blocksworld", 'PROBLEM = "blocksworld"'),
        ("/a/b/agent.py:problem", 'str(Path(__file__).parent / "../b/agent.py:problem")'),
    ],
)
def test_a_test_names_the_problem_relative_to_itself(source, written):
    test = WrittenTest("test_x", ["What."], source, b"\x00", "assert_achieved", "p()", {})
    text = file_text(test, Path("/a/tests"))
    assert written in text
    assert ("from pathlib import Path" in text) is ("Path(" in text)
    ast.parse(text)


def test_the_name_of_a_test_is_a_name():
    hostile = name_for('p("; import os\n)', "x" * 200)
    assert hostile.isidentifier()
    assert len(hostile) <= 65
