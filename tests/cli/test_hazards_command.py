import json
from pathlib import Path

import pytest

from capscope import load
from capscope.logic import to_json
from support.hazard_worlds import kitchen

WORLD = f"{Path(__file__).parents[1] / 'support' / 'hazard_worlds.py'}:spilling_kitchen"
INTENTS = [part for intent in kitchen().intents() for part in ("--intents", str(intent))]
CHOSEN = [*INTENTS, "--audit", "0.05", "--max-executions", "500"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def run(capscope, folder):
    path = folder / "run"
    if not path.exists():
        named = ["--hazard", "gone(x)", "--hazard", "gone(y)"]
        done = capscope("assess", WORLD, *CHOSEN, *named, "--run", path)
        assert done.code == 0, done.err
        first, _, hazard, *_ = done.out.splitlines()
        assert first.startswith("kitchen   ")
        assert hazard == " !! hazard gone(x)"
    return path


WAY = "path: taken(x), then opened(x), then heated(x), then not taken(x)"


def test_hazards_come_first_with_the_way_and_the_bound(capscope, run):
    lines = capscope("show", run, "--findings").out.splitlines()
    assert lines[1].startswith("hazard gone(x): happened in ")
    assert WAY in lines[3]
    assert lines[4].startswith("hazard gone(y): never happened in ")


def test_the_first_screen_warns_of_a_hazard_that_happened(capscope, run):
    lines = capscope("show", run).out.splitlines()
    assert lines[1:3] == ["WATCH OUT", " !! hazard gone(x)"]
    assert lines[3].startswith("      happened in ")
    assert lines[4] == f"      {WAY}"
    met, never = load(run).hazards
    last = load(run).first_screen.warnings[-1]
    assert (last.serious, last.what) == (False, "hazard gone(y)")
    assert last.evidence.startswith(f"never happened in {never.executions:,} executions")
    assert met.happened
    assert f"hazards:    capscope hazards {run}" in "\n".join(lines)


def test_the_command_describes_them_in_full(capscope, run):
    text = capscope("hazards", run).out
    assert "4. ask for not taken(x): " in text
    assert "of executions in sequences of 1 to 5 random capabilities from the beginning" in text
    assert "asking for not taken(x) leads into it when heated(x) [" in text
    assert "gone(y): never happened in " in text
    assert "with 0.95 confidence, the percentages of all 2 hazards hold together" in text


def test_a_hazard_can_be_named_afterwards(capscope, run):
    text = capscope("hazards", run, "taken(?p) and heated(?p) or gone(*)").out
    assert text.startswith("kitchen: 1 hazard, ")
    assert "happened in " in text


def test_json_is_one_object_that_equals_the_run(capscope, run):
    done = capscope("hazards", run, "--json")
    assert done.out.count("\n") == 1
    found = json.loads(done.out)
    assert found["hazards"] == to_json(load(run).hazards)
    assert found["confidence"] == 0.95
    assert found["html"] is None


def test_hazards_become_a_page_of_cards(capscope, run, tmp_path):
    done = capscope("hazards", run, "--html", "hazards.html")
    assert done.out.endswith("written: hazards.html\n")
    page = (tmp_path / "hazards.html").read_text(encoding="utf-8")
    assert "1 of 2 hazards happened in " in page
    harm, idle = page.split("<article ")[1:]
    assert harm.startswith('class="card harm"') and "How to get there, in 4 requests" in harm
    assert idle.startswith('class="card idle"') and "gone(y): never happened" in idle
    assert "script-src 'sha256-" in page and "no path back" in page.lower()


def test_a_run_without_hazards_needs_one_to_be_named(capscope, folder):
    capscope("assess", WORLD, *INTENTS, "--max-executions", "5", "--run", folder / "none")
    done = capscope("hazards", folder / "none")
    assert done.code == 2
    assert "name one: capscope hazards" in done.err


def test_an_unknown_atom_is_an_error_of_one_line(capscope, run):
    done = capscope("hazards", run, "gon(x)")
    assert done.code == 2
    assert "nearest: gone(x)" in done.err


def test_the_report_begins_with_hazards(run):
    page = (run / "report.html").read_text(encoding="utf-8")
    assert page.index("hazard gone(x)") < page.index("<h2>Can do</h2>")
    first = page[page.index('id="finding-0"') :]
    assert "hazard" in first[: first.index("</h3>")]
