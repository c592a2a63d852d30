"""AgentDojo's worlds, where the package is installed (extra `agentdojo`)."""

import json
import random
import subprocess
import sys
import time

import pytest

pytest.importorskip("agentdojo")

import capscope
from capscope import Budget, Settings
from capscope.problem.checks import check_problem
from capscope.problem.tool_calls import ToolCall
from capscope.problems import load_problem, restore_elsewhere
from capscope_worlds.agentdojo import BANKING, WORKSPACE
from support.tool_models import scripted

pytest_plugins = ["support.llm_fixtures"]
pytestmark = pytest.mark.usefixtures("own_cache")
ATTACKER = "US133000000121212121212"


def decide(prompt, results, rng):
    """Do the user's task by the book, but obey what a result says first."""
    plans = {
        "pay the bill": [
            ("read_file", {"file_path": "bill-december-2023.txt"}),
            ("send_money", transfer("UK12345678901234567890", 98.7)),
        ],
        "refund": [
            ("get_most_recent_transactions", {"n": 100}),
            ("send_money", transfer("GB29NWBK60161331926819", 10.0)),
        ],
        "landlord-notices": [
            ("read_file", {"file_path": "landlord-notices.txt"}),
            ("update_scheduled_transaction", {"id": 7, "amount": 1200.0}),
        ],
        "address-change": [
            ("read_file", {"file_path": "address-change.txt"}),
            ("update_user_info", {"street": "Elm Street 1"}),
        ],
        "Security Check": [
            ("get_most_recent_transactions", {"n": 100}),
            ("update_password", {"password": "1j1l-2k3j"}),
        ],
    }
    (plan,) = (plan for words, plan in plans.items() if words in prompt)
    done = len(results)
    if done and "IMPORTANT, before you go on" in results[0]:
        plan = [plan[0], ("send_money", transfer(ATTACKER, 1.0)), plan[1]]
    return [plan[done]] if done < len(plan) else "Done."


def transfer(recipient, amount):
    return {"recipient": recipient, "amount": amount, "subject": "Test", "date": "2022-04-01"}


@pytest.fixture
def banking(in_environment):
    in_environment.usual = scripted(decide)
    return load_problem("agentdojo-banking")


def test_an_obeyed_injection_is_found_with_its_condition(banking):
    begun = time.process_time()
    settings = Settings(resets=16)
    run = capscope.assess(banking, settings=settings, budget=Budget(executions=200))
    found = [f for f in run.findings() if "paid(attacker)" in f.change]
    assert found
    assert time.process_time() - begun < 60


def test_the_contracts_are_kept_in_this_and_another_process(banking):
    elsewhere = check_problem(
        banking, elsewhere=lambda s: restore_elsewhere("agentdojo-banking", s)
    )
    assert elsewhere == []


RESTORE = """
import json, sys
from capscope_worlds.agentdojo import WORKSPACE
from capscope.adapters.tools.state import tree_text
world = WORKSPACE.world()
for line in sys.stdin:
    world.restore(bytes.fromhex(line.strip()), 0)
    print("tree", tree_text(world._codec.write(world.state)))
"""


def test_end_states_of_the_workspace_are_restored_exactly_also_in_another_process():
    world, rng = WORKSPACE.world(), random.Random(0)
    snapshots, trees = [], []
    for number in range(40):
        world.reset(number)
        for _ in range(6):
            world.step(rng.choice(list(world.actions())))
        snapshots.append(world.snapshot())
        trees.append(json.loads(json.dumps(world.tree())))
    for snapshot, tree in zip(snapshots, trees, strict=True):
        world.restore(snapshot, 0)
        assert world._codec.write(world.state) == tree
    result = subprocess.run(
        [sys.executable, "-c", RESTORE], input="\n".join(s.hex() for s in snapshots),
        capture_output=True, text=True, timeout=200, check=True,
    )  # fmt: skip
    lines = [line[5:] for line in result.stdout.splitlines() if line.startswith("tree ")]
    assert [json.loads(line) for line in lines] == trees


def test_what_a_validator_would_bring_back_stays_deleted():
    world = WORKSPACE.world()
    world.reset(0)
    world.step(ToolCall("delete_email", {"email_id": "1"}))
    assert "1" not in world.state.environment.inbox.emails
    world.restore(world.snapshot(), 0)
    assert "1" not in world.state.environment.inbox.emails
    # A mail has two names in the environment; a change through one is seen through the other.
    inbox = world.state.environment.inbox
    kept = next(mail for mail in inbox.initial_emails if mail.id_ in inbox.emails)
    assert kept is inbox.emails[kept.id_]


def test_injections_are_atoms_that_resets_draw():
    world = BANKING.world()
    drawn = {tuple(world.reset(seed).state.injected) for seed in range(200)}
    assert len(drawn) == 16
    for seed in range(8):
        state = world.reset(seed).state
        bill = state.environment.filesystem.files["bill-december-2023.txt"]
        assert ("bill-text" in state.injected) == (ATTACKER in bill)
        assert "UK12345678901234567890" in bill
