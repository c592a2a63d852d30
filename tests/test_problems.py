import re
import sys
from dataclasses import fields
from importlib import metadata
from pathlib import Path

import pytest

from capscope import problems
from capscope.adapters.llm.client import close_shared_clients
from capscope.errors import ProblemError, install_hint
from capscope.problem import Problem
from capscope.problem.checks import check_problem
from capscope.problem.problem import RegisteredProblem
from capscope.problems import (
    canonical_source,
    load_problem,
    registered_problems,
    restore_elsewhere,
    source_slug,
)
from capscope_worlds.react import ReactSettings
from support import toy_worlds
from support.llm_stub import say, stub_server

TOYS = toy_worlds.__file__


@pytest.fixture
def language_model(monkeypatch, tmp_path):
    """A server for the problems that ask one; it gives up at once."""
    with stub_server() as stub:
        stub.usual = say("Thought: no.\nActions:\ndone")
        monkeypatch.setenv("CAPSCOPE_LLM_BASE_URL", stub.url)
        monkeypatch.setenv("CAPSCOPE_LLM_MODEL", "stub")
        monkeypatch.setenv("CAPSCOPE_CACHE", str(tmp_path))
        yield stub
        close_shared_clients()


NOT_INSTALLED = {"agentdojo"}
"""Extras that bring dozens of packages; `make test-frameworks` tests them."""


def installed_problems():
    return {n: p for n, p in registered_problems().items() if p.extra not in NOT_INSTALLED}


def test_every_registered_problem_can_be_loaded_and_planners_know_their_truth(language_model):
    for name, registered in installed_problems().items():
        assert registered.installed
        problem = load_problem(name)
        assert isinstance(problem, Problem)
        assert problem.name == name
        assert (problem.truth is not None) == (registered.extra == "pddl")
        assert problem.fingerprint


def test_no_registered_problem_breaks_its_contract(language_model):
    for name in installed_problems():
        assert check_problem(load_problem(name)) == []


def test_an_option_that_is_not_declared_to_name_a_file_takes_no_path(language_model, tmp_path):
    for name, registered in installed_problems().items():
        for option in set(registered.options) - set(registered.files):
            with pytest.raises(ProblemError, match=r"number|yes or no"):
                load_problem(f"{name}:{option}={tmp_path / 'file'}")


def test_first_responders_are_reset_every_hundred_executions():
    assert load_problem("first-responders").limits.reset_every == 100
    assert load_problem("blocksworld").limits.reset_every is None


def test_a_factory_in_a_file_makes_a_problem():
    problem = load_problem(f"{TOYS}:slippery_board")
    assert problem.name == "board"
    assert problem.simulator.slip == 0.3


def test_a_file_may_import_its_neighbours_and_leaves_the_path_as_it_was(tmp_path):
    (tmp_path / "neighbour_of_mine.py").write_text(
        "from support.toy_worlds import slippery_board as made"
    )
    (tmp_path / "mine.py").write_text(
        "import neighbour_of_mine\ndef make(): return neighbour_of_mine.made()"
    )
    before = list(sys.path)
    assert load_problem(f"{tmp_path / 'mine.py'}:make").name == "board"
    assert sys.path == before
    (tmp_path / "broken.py").write_text("raise RuntimeError")
    with pytest.raises(ProblemError):
        load_problem(f"{tmp_path / 'broken.py'}:make")
    assert sys.path == before


def test_a_file_named_like_a_package_does_not_take_its_place(tmp_path):
    import json

    (tmp_path / "json.py").write_text("from support.toy_worlds import slippery_board")
    assert load_problem(f"{tmp_path / 'json.py'}:slippery_board").name == "board"
    assert sys.modules["json"] is json


def test_a_problem_may_stand_in_a_file_as_it_is(tmp_path):
    path = tmp_path / "standing.py"
    path.write_text("from support.toy_worlds import slippery_board\nboard = slippery_board()")
    assert load_problem(f"{path}:board").name == "board"


def test_a_wrong_name_is_answered_with_what_the_file_itself_defines(tmp_path):
    path = tmp_path / "mine_own.py"
    path.write_text(
        "from support.toy_worlds import *\nboard = slippery_board()\n"
        "def make(): pass\ndef _part(): pass\nNUMBER = 7"
    )
    with pytest.raises(ProblemError, match=r"has no function 'problem'; it has board, make$"):
        load_problem(f"{path}:problem")
    path.write_text("")
    with pytest.raises(ProblemError, match="define one that returns a capscope Problem"):
        load_problem(f"{path}:problem")


def test_a_file_without_a_function_is_told_to_name_one(tmp_path):
    with pytest.raises(ProblemError, match=r"name of the function in it: mine\.py:problem"):
        load_problem("mine.py")


def test_a_changed_file_is_read_anew(tmp_path):
    path = tmp_path / "changing.py"
    for horizon in (5, 6):
        path.write_text(
            f"from support.toy_worlds import *\ndef make(): return board_problem(horizon={horizon})"
        )
        # Python compares times to the second before it trusts a compiled file of the same size.
        for compiled in tmp_path.glob("__pycache__/*"):
            compiled.unlink()
        assert load_problem(f"{path}:make").limits.horizon == horizon


def test_a_pair_of_files_is_named_after_the_problem_and_known_by_its_text(tmp_path):
    domain = "(define (domain lamp) (:predicates (lit)) (:action on :effect (lit)))"
    (tmp_path / "d.pddl").write_text(domain)
    (tmp_path / "night.pddl").write_text(
        "(define (problem n) (:domain lamp) (:init) (:goal (lit)))"
    )
    source = canonical_source([str(tmp_path / "d.pddl"), str(tmp_path / "night.pddl")])
    problem = load_problem(source)
    assert problem.name == "night"
    (tmp_path / "d.pddl").write_text(domain + " ; a comment")
    assert load_problem(source).fingerprint != problem.fingerprint
    (tmp_path / "d.pddl").write_text(domain.replace("(lit)))", "(lit)"))
    with pytest.raises(ProblemError, match=r"d\.pddl:1: "):
        load_problem(source)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["blocksworld"], "blocksworld"),
        (["mine.py:make"], "{here}/mine.py:make"),
        (["sub/../mine.py:make"], "{here}/mine.py:make"),
        (["/abs/mine.py:make"], "/abs/mine.py:make"),
        (["a.pddl", "b.pddl"], "{here}/a.pddl:{here}/b.pddl"),
        (["a.pddl:b.pddl"], "{here}/a.pddl:{here}/b.pddl"),
    ],
)
def test_what_was_typed_is_found_again_from_anywhere(typed, meant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = canonical_source(typed)
    assert source == meant.format(here=Path.cwd())
    assert canonical_source([source]) == source


@pytest.mark.parametrize("typed", [[], ["a", "b"], ["a.pddl", "b"], ["a.pddl", "b.pddl", "c.pddl"]])
def test_anything_but_one_problem_is_refused(typed):
    with pytest.raises(ProblemError, match="name one problem, or a domain file and a problem file"):
        canonical_source(typed)


def test_a_missing_package_names_the_extra_to_install(monkeypatch):
    absent = RegisteredProblem(
        "moon", "far away", lambda: None, extra="space", modules=("nonesuch_package",)
    )
    assert not absent.installed
    monkeypatch.setattr(problems, "PLANNING_PROBLEMS", (absent,))
    hint = install_hint("space")
    with pytest.raises(ProblemError, match=re.escape(f"moon needs an extra: {hint}")):
        load_problem("moon")


def test_options_stand_behind_the_name(monkeypatch):
    made = RegisteredProblem(
        "moon", "far", lambda **options: options, options=("max_craters", "full")
    )
    bare = RegisteredProblem("sun", "farther", dict)
    monkeypatch.setattr(problems, "PLANNING_PROBLEMS", (made, bare))
    assert load_problem("moon") == {}
    assert load_problem("moon:max-craters=3, full=yes") == {"max_craters": "3", "full": "yes"}
    assert canonical_source(["moon:full=yes"]) == "moon:full=yes"
    assert source_slug("moon:full=yes") == "moon-full=yes"
    for wrong in ("moon:", "moon:full", "moon:cold=yes", "moon:full=yes,full=no"):
        with pytest.raises(
            ProblemError,
            match=r"moon: unknown or repeated option .*; options: max-craters=…, full=…",
        ):
            load_problem(wrong)
    with pytest.raises(
        ProblemError, match="sun: unknown or repeated option 'full=yes'; options: none"
    ):
        load_problem("sun:full=yes")
    with pytest.raises(ProblemError, match="no problem 'mooon:full=yes'; did you mean moon"):
        load_problem("mooon:full=yes")


def test_every_setting_of_the_language_agent_is_an_option():
    options = registered_problems()["minigrid-react"].options
    assert options == tuple(field.name for field in fields(ReactSettings))


def test_another_package_may_register_a_problem(monkeypatch):
    entry = metadata.EntryPoint("board", "support.toy_worlds:slippery_board", problems.ENTRY_POINTS)
    taken = metadata.EntryPoint(
        "blocksworld", "support.toy_worlds:slippery_board", problems.ENTRY_POINTS
    )
    wrong = metadata.EntryPoint("sevens", "builtins:int", problems.ENTRY_POINTS)
    monkeypatch.setattr(
        metadata,
        "entry_points",
        lambda group, name="": [e for e in (entry, taken, wrong) if name in e.name],
    )
    assert load_problem("board").name == "board"
    assert load_problem("blocksworld").name == "blocksworld"  # its own names come first
    with pytest.raises(ProblemError, match="returned int, not a capscope Problem"):
        load_problem("sevens")


def test_an_installed_package_is_known_by_what_its_metadata_says(monkeypatch, tmp_path):
    (tmp_path / "lamps.py").write_text("from support.toy_worlds import slippery_board as lamps")
    installed = tmp_path / "lamp_worlds-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: lamp-worlds\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[capscope.problems]\nlamps = lamps:lamps\n")
    assert "lamps" not in registered_problems()
    monkeypatch.syspath_prepend(tmp_path)
    assert registered_problems()["lamps"].summary == "from lamp-worlds"
    assert load_problem("lamps").name == "board"
    assert canonical_source(["lamps"]) == "lamps"


def test_a_package_that_cannot_be_imported_is_an_error_of_the_problem(monkeypatch):
    entry = metadata.EntryPoint("moon", "nonesuch_package:make", problems.ENTRY_POINTS)
    monkeypatch.setattr(metadata, "entry_points", lambda **_: [entry])
    assert "moon" in registered_problems()
    with pytest.raises(ProblemError, match="nonesuch_package"):
        load_problem("moon")


def test_snapshots_are_restored_in_another_process():
    snapshots = [bytes([state]) for state in (0, 5, 7)]
    assert restore_elsewhere(f"{TOYS}:slippery_board", snapshots) == [0, 5, 7]
    with pytest.raises(ProblemError, match="IndexError"):
        restore_elsewhere(f"{TOYS}:board_with_handles", [b"0"])


def test_a_banner_printed_on_import_is_no_answer(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(TOYS).parent))
    (tmp_path / "loud.py").write_text(
        "print('welcome to state 7')\nfrom toy_worlds import slippery_board"
    )
    assert restore_elsewhere(f"{tmp_path / 'loud.py'}:slippery_board", [b"\3"]) == [3]
