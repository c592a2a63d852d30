"""The shipped problems have the state spaces that were enumerated independently."""

import subprocess
import sys
from typing import NamedTuple

import pytest

from capscope.adapters.pddl import SHIPPED_PROBLEMS, PddlTruth, load_task, shipped_files
from capscope.errors import ProblemError, install_hint
from capscope.logic import Intent
from capscope.problem import Limits
from support.pddl_tasks import dynamic_mask
from support.processes import SECONDS


class Counts(NamedTuple):
    atoms: int
    dynamic_atoms: int
    states: int
    operators: int
    intents: int


KNOWN = {
    "blocksworld": Counts(20, 20, 22, 24, 40),
    "tireworld": Counts(49, 13, 20, 14, 20),
    "first-responders": Counts(29, 21, 576, 27, 34),
    "probabilistic-elevators": Counts(112, 60, 1080, 75, 81),
    # Not known from elsewhere: 64 places of two crates, times 9 places of two trucks.
    "depot": Counts(58, 58, 576, 270, 116),
    # 5 places of each parcel, times 4 of the van, and 3 where it can get stuck.
    "couriers": Counts(47, 15, 175, 25, 30),
    # 3 pegs for each of 5 disks; a disk moves from any of 8 things, by its type, to a larger one.
    "hanoi": Counts(88, 48, 243, 200, 96),
}


@pytest.mark.parametrize("name", SHIPPED_PROBLEMS)
def test_a_shipped_problem_has_the_known_counts(name):
    task = load_task(*shipped_files(name))
    truth = PddlTruth(task, lambda intent, state: None, Limits())
    found = Counts(
        atoms=len(task.vocabulary.atoms),
        dynamic_atoms=dynamic_mask(task).bit_count(),
        states=len(truth.reachable_states()),
        operators=len(task.operators),
        intents=len(truth.intents()),
    )
    assert found == KNOWN[name]


@pytest.mark.parametrize("name", SHIPPED_PROBLEMS)
def test_static_predicates_never_become_intents(name):
    task = load_task(*shipped_files(name))
    truth = PddlTruth(task, lambda intent, state: None, Limits())
    named = {literal.atom for i in truth.intents() for literal in i.literals}
    assert not task.vocabulary.state(named) & ~dynamic_mask(task)


def test_a_predicate_that_is_only_added_gives_no_deletion_intents():
    task = load_task(*shipped_files("first-responders"))
    intents = set(PddlTruth(task, lambda intent, state: None, Limits()).intents())
    assert Intent.parse("nfire(l1)") in intents
    assert Intent.parse("not nfire(l1)") not in intents


def test_an_unknown_shipped_problem_names_the_known_ones():
    with pytest.raises(ProblemError, match=r"no planning problem 'gripper'.*blocksworld"):
        shipped_files("gripper")


def run(code: str) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)
    return done.stdout


def test_importing_the_package_does_not_import_plado():
    code = "import sys, capscope.adapters.pddl; print('plado' in sys.modules)"
    assert run(code).strip() == "False"


def test_without_plado_loading_names_the_extra():
    code = """
import sys
sys.modules["plado"] = None
from capscope.adapters.pddl import load_task, shipped_files
from capscope.errors import ProblemError, install_hint
try:
    load_task(*shipped_files("blocksworld"))
except ProblemError as error:
    print(error)
"""
    assert f"needs plado: {install_hint('pddl')}" in run(code)
