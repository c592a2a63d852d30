"""Whole assessments of `minigrid-react`, started as by a user."""

import json
import os
import random
import signal
import subprocess
import sys
from contextlib import closing

import pytest

from capscope import resume
from capscope.cli import main
from capscope.errors import LlmError, RunError
from capscope.journal.journal import Journal
from capscope.journal.run_directory import JOURNAL
from capscope.problems import load_problem
from capscope_worlds.minigrid import ACTIONS
from support.llm_agents import KEY
from support.llm_stub import fails, say
from support.processes import SECONDS, started

pytest_plugins = ["support.llm_fixtures"]
pytestmark = pytest.mark.usefixtures("own_cache")

SOURCE = "minigrid-react:max-actions=6"
TINY = [
    *["assess", SOURCE, "--intents", "carrying-blue-key()", "--intents", "not is-dead()"],
    *["--strategy", "random", "--set", "random-length=2", "--set", "draws=3", "--max-queries", "2"],
]


def wander(handler, request):
    """Answer as a model would: a random plan that depends only on the seed, or nonsense."""
    rng = random.Random(request["seed"])
    plan = rng.choices(ACTIONS, k=rng.randint(1, 4))
    last = rng.choice(["done", "I cannot fly", "", "move_forward"])
    say("\n".join(["Thought: who knows.", "Actions:", *plan, last]))(handler, request)


@pytest.fixture
def model(in_environment):
    in_environment.usual = wander
    return in_environment


def run_command(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["capscope", *map(str, arguments)])
    try:
        main()
    except SystemExit as end:
        return end.code or 0
    return 0


def record(run):
    """Return everything that a run recorded, except times and costs."""
    with closing(Journal.open(run / JOURNAL, read_only=True)) as journal:
        draws = [journal.draws(query) for query in (0, 1)]
        return [
            (draw.executions, draw.cut, draw.llm_tokens, transcripts)
            for query, made in enumerate(draws)
            for number, draw in enumerate(made)
            for transcripts in [
                [journal.transcript(query, number, i) for i in range(len(draw.executions))]
            ]
        ]


@pytest.fixture
def undisturbed(model, tmp_path, monkeypatch, request):
    """An uninterrupted run with its own cache, and the number of its calls."""
    run = tmp_path / "undisturbed"
    with monkeypatch.context() as own:
        own.setenv("CAPSCOPE_CACHE", str(tmp_path / "own cache"))
        assert run_command(own, *TINY, "--run", run) == 0
    calls = len(model.requests)
    model.requests.clear()
    return record(run), calls


def test_every_attempt_is_recorded_with_its_transcript(undisturbed):
    draws, calls = undisturbed
    assert len(draws) == 6
    answers = 0
    for executions, _, _, transcripts in draws:
        assert len(executions) == len(transcripts) == 2
        assert all(text.startswith("system:\n  You steer an agent") for text in transcripts)
        answers += sum(text.count("\nassistant (") for text in transcripts)
    assert answers == calls
    assert KEY not in repr(draws)


@pytest.mark.parametrize("call", [1, 4])
def test_a_killed_run_resumes_to_the_same_result_and_pays_for_nothing_twice(
    call, undisturbed, model, tmp_path
):
    draws, calls = undisturbed
    run = tmp_path / "killed"
    code = "from capscope.cli import main; main()"
    command = [sys.executable, "-c", code, *TINY, "--run", str(run)]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:

        def kill(handler, request):
            os.kill(process.pid, signal.SIGKILL)
            handler.close_connection = True

        model.script.extend([*[wander] * call, kill])
        output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == -signal.SIGKILL, output
    assert len(model.requests) == call + 1
    resume(run)
    assert record(run) == draws
    # Only the interrupted call is repeated; earlier answers come from the cache.
    assert len(model.requests) == calls + 1


def test_a_server_failure_stops_the_run_and_records_nothing(
    undisturbed, model, tmp_path, monkeypatch, capsys
):
    draws, calls = undisturbed
    run = tmp_path / "stopped"
    model.script.extend([*[wander] * 3, *[fails(401, f"bad key {KEY}")]])
    capsys.readouterr()
    assert run_command(monkeypatch, *TINY, "--run", run) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert KEY not in error
    with pytest.raises(RunError, match=r"fingerprint was '.*-stub-.*', now '.*-other-"):
        monkeypatch.setenv("CAPSCOPE_LLM_MODEL", "other")
        resume(run)
    monkeypatch.setenv("CAPSCOPE_LLM_MODEL", "stub")
    resume(run)
    assert record(run) == draws
    assert len(model.requests) == calls + 1


def test_the_number_of_workers_does_not_change_the_result(
    undisturbed, model, tmp_path, monkeypatch
):
    draws, _ = undisturbed
    run = tmp_path / "several"
    assert run_command(monkeypatch, *TINY, "--workers", 3, "--run", run) == 0
    assert record(run) == draws


def test_options_follow_the_name_of_the_problem(model):
    problem = load_problem("minigrid-react:structured=yes,max-actions=7")
    assert problem.agent.settings.structured
    assert problem.agent.settings.max_actions == 7
    assert problem.fingerprint != load_problem("minigrid-react").fingerprint


def test_without_server_or_weights_a_one_line_error_says_what_to_do(monkeypatch, capsys):
    monkeypatch.delenv("CAPSCOPE_LLM_BASE_URL", raising=False)
    assert run_command(monkeypatch, "assess", "minigrid-react") == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert "capscope llm fetch" in printed.err
    with pytest.raises(LlmError):
        load_problem("minigrid-react")


def test_show_prints_transcripts_without_control_characters(model, tmp_path, monkeypatch, capsys):
    run = tmp_path / "run"
    model.usual = say("Thought: \x1b[2Jgone\u202e.\nActions:\nface_south\ndone")
    assert run_command(monkeypatch, *TINY, "--run", run) == 0
    capsys.readouterr()
    assert run_command(monkeypatch, "show", run, "carrying-blue-key()", "--transcript") == 0
    shown = capsys.readouterr().out
    assert "query 0, draw 0, execution " in shown
    assert r"Thought: \x1b[2Jgone\u202e." in shown
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert shown.count("You steer an agent") == 1
    assert (
        run_command(monkeypatch, "show", run, "carrying-blue-key()", "--transcript", "--json") == 0
    )
    draws = json.loads(capsys.readouterr().out)["draws"]
    assert all("\x1b[2Jgone" in draw["transcript"] for draw in draws)
