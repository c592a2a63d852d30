"""`show --draws`: what stands behind the rules of a capability."""

import json
from collections import Counter
from pathlib import Path

import pytest

from capscope.sanitize import sanitize

TOYS = Path(__file__).parents[1] / "support" / "toy_worlds.py"
SMALL = [
    "--strategy",
    "random",
    "--set",
    "draws=3",
    "--set",
    "random-length=6",
    "--max-queries",
    "4",
]
SMALL += ["--set", "walks=2", "--set", "walk-steps=10"]
SHARED = "line 7 of what is always the same"


@pytest.fixture
def run(capscope):
    assert capscope("assess", f"{TOYS}:board_with_a_diary", *SMALL, "--run", "run").code == 0
    return "run"


@pytest.fixture
def document(capscope):
    def shown(*arguments):
        done = capscope("show", *arguments, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)

    return shown


def test_the_draws_of_a_capability_are_those_that_its_rules_count(run, document):
    model = document(run)
    assert len(model["capabilities"]) > 3
    behind = Counter()
    for capability in model["capabilities"]:
        found = document(run, " and ".join(capability["intent"]), "--draws")
        assert found["intent"] == capability["intent"]
        assert found["left_out"] == 0
        assert len(found["draws"]) == capability["executions"]
        behind.update((capability["family"], draw["rule"]) for draw in found["draws"])
    assert behind == {
        (place, number): sum(effect["count"] for effect in rule["effects"])
        for place, family in enumerate(model["families"])
        for number, rule in enumerate(family["rules"])
    }


def test_draws_are_listed_below_their_rule_with_the_state_they_started_in(run, capscope, document):
    shown = capscope("show", run, "lit(a)", "--draws").out
    draws = document(run, "lit(a)", "--draws")["draws"]
    lines = shown.splitlines()
    assert lines[0] == f"lit(a)   ({len(draws)} executions)"
    for draw in draws:
        place = f"query {draw['query']}, draw {draw['draw']}, execution {draw['execution']}: "
        line = next(line for line in lines if line.strip().startswith(place))
        assert draw["ending"] in line
        below = lines[lines.index(line) + 1].strip()
        assert below == (", ".join(map(str, draw["actions"])) or "no action recorded")
        above = [other for other in lines[: lines.index(line)] if other.startswith("      in ")]
        assert above[-1] == f"      in {', '.join(draw['before']) or 'no atom'}:"
    assert SHARED not in shown


def test_a_limit_says_how_many_more_there_are(run, capscope, document):
    every = document(run, "lit(a)", "--draws")["draws"]
    some = document(run, "lit(a)", "--draws", "--limit", 2)
    assert some["draws"] == every[:2]
    assert some["left_out"] == len(every) - 2
    shown = capscope("show", run, "lit(a)", "--draws", "--limit", 2).out
    assert shown.count("query ") == 2
    assert f"{len(every) - 2} more executions" in shown


def test_transcripts_are_sanitized_and_what_they_share_is_shown_once(run, capscope, document):
    shown = capscope("show", run, "lit(a)", "--transcript").out
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert r"\x1b[2J\x1b]0;mine\x07 \u202eloof" in shown
    assert shown.count(SHARED) == 1
    draws = document(run, "lit(a)", "--transcript")["draws"]
    assert shown.count("(begins with the first 22 lines of query ") == len(draws) - 1 > 1
    for draw in draws:
        assert SHARED in draw["transcript"]
        assert "\x1b[2J" in draw["transcript"]
        assert draw["transcript"].splitlines()[-1] in shown
    assert "transcript" not in document(run, "lit(a)", "--draws")["draws"][0]


def test_what_is_omitted_from_a_transcript_ends_at_the_end_of_a_part(capscope):
    Path("talk.py").write_text(
        "from support.toy_worlds import Presser, Pressing, board_problem\n"
        "class Talker(Presser):\n"
        "    def begin(self, intent, seed):\n"
        "        attempting = Pressing(intent)\n"
        "        rules = ''.join(f'  rule {i}\\n' for i in range(9))\n"
        "        attempting.transcript = f'rules:\\n{rules}asked:\\n  now\\n  by {seed}'\n"
        "        return attempting\n"
        "def make(): return board_problem(agent=Talker())"
    )
    one = [
        "--intents",
        "lit(a)",
        "--strategy",
        "random",
        "--set",
        "random-length=1",
        "--set",
        "draws=2",
    ]
    assert capscope("assess", "talk.py:make", *one, "--max-queries", "1", "--run", "run").code == 0
    shown = capscope("show", "run", "lit(a)", "--transcript").out
    second = shown.split("(begins with the first 10 lines of query 0, draw 0, execution 0)\n")[1]
    assert second.startswith("  asked:\n    now\n    by ")


def test_an_agent_without_a_transcript_is_reported_to_have_none(capscope):
    assert capscope("assess", f"{TOYS}:slippery_board", *SMALL, "--run", "run").code == 0
    shown = capscope("show", "run", "lit(a)", "--transcript").out
    assert shown.endswith("there is no transcript of these executions\n")


def test_draws_need_a_capability_that_the_run_has(run, refusal):
    assert "whose executions? Name a capability" in refusal("show", run, "--draws")
    assert "no capability lit(z) among the" in refusal("show", run, "lit(z)", "--draws")


def test_an_execution_that_a_budget_cut_is_shown_and_counts_for_no_rule(capscope, document):
    Path("idle.py").write_text(
        "from support.toy_worlds import Scripted, board_problem\n"
        "def make(): return board_problem(agent=Scripted(forever='wait'), horizon=4)"
    )
    cut = ["--max-steps", "10", "--intents", "lit(a)", "--run", "run"]
    assert capscope("assess", "idle.py:make", *SMALL[:6], *cut).code == 0
    draws = document("run", "lit(a)", "--draws")["draws"]
    assert [(draw["ending"], draw["simulator_steps"], draw["rule"]) for draw in draws] == [
        ("horizon reached", 4, 0),
        ("horizon reached", 4, 0),
        ("budget spent", 2, None),
    ]
    shown = capscope("show", "run", "lit(a)", "--draws").out
    assert shown.startswith("lit(a)   (2 executions)\n")
    counted, cut_short = shown.split("  cut short by a budget, in no rule:\n")
    assert (counted.count("query "), cut_short.count("query ")) == (2, 1)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain grün 漢字 ☃", "plain grün 漢字 ☃"),
        ("\x1b[31m", r"\x1b[31m"),
        ("a\tb\rc\x00\x7f\x9b", r"a\tb\rc\x00\x7f\x9b"),
        ("\u202e\u2066\u200b\ufeff\u2028", r"\u202e\u2066\u200b\ufeff\u2028"),
        ("half \ud800", r"half \ud800"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_invisible_characters_are_escaped(text, shown):
    assert sanitize(text) == shown
    assert sanitize(text).isprintable()
