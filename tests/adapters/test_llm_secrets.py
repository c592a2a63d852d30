"""The API key reaches only the server: no journal, log, report, message or repr."""

import logging
import traceback
from pathlib import Path

import pytest

from capscope import Budget, Settings, assess
from capscope.adapters.llm import CallId, Calls, LlmSettings, Sampling
from capscope.errors import LlmError
from support import llm_agents
from support.llm_agents import KEY, QUESTION, choose
from support.llm_stub import drops, fails, hangs, say, sends
from support.processes import SECONDS

pytest_plugins = ["support.llm_fixtures"]
pytestmark = pytest.mark.usefixtures("own_cache")

BOARD = f"{Path(llm_agents.__file__)}:asking_board"
SMALL = {
    "strategy": "random",
    "settings": Settings(draws=2, random_length=2, walks=2, walk_steps=20),
    "budget": Budget(queries=1),
}
LOGGERS = ("openai", "httpx", "httpx2", "httpcore", "httpcore2", "capscope")


@pytest.fixture(autouse=True)
def everything_is_logged(caplog):
    for name in (None, *LOGGERS):
        caplog.set_level(logging.DEBUG, name)
    yield
    assert KEY not in caplog.text


def everything_about(error):
    """Return all that a traceback, debugger or crash report would show of an error."""
    shown, seen = [], []
    while error is not None and error not in seen:
        seen.append(error)
        shown += [str(error), repr(error), repr(vars(error))]
        shown += ["".join(traceback.format_exception(error))]
        error = error.__cause__ or error.__context__
    return "\n".join(shown)


ECHOES = {
    "401": fails(401, f"Incorrect API key provided: {KEY}."),
    "401 as text": sends(f"bad key {KEY}".encode(), 401),
    "403": fails(403, f"{KEY} may not", code=KEY, type=KEY),
    "404": fails(404, KEY),
    "400": fails(400, KEY * 3),
    "429": fails(429, f"{KEY} is too fast", headers={"X-Key": KEY}),
    "500": fails(500, f"stack trace: Authorization: Bearer {KEY}"),
    "nonsense": sends(f"<html>{KEY}</html>".encode()),
    "cut at the edge of the quote": sends(("x" * 190 + KEY).encode()),
    "half a body": sends(KEY.encode(), length=400),
    "dropped": drops,
    "hang": hangs,
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_no_error_contains_the_key(client, stub, echo):
    stub.usual = echo
    asked = client(tries=2, timeout=0.2 if echo is hangs else 30.0)
    with pytest.raises(LlmError) as error:
        asked.complete(QUESTION, sampling=Sampling(), call=CallId(0))
    assert stub.asked.wait(SECONDS)  # a client may give up before the server reads the request
    assert stub.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY[:12] not in everything_about(error.value)
    assert error.value.__context__ is None


def test_no_error_of_an_unreachable_server_contains_the_key(client):
    with pytest.raises(LlmError) as error:
        client(base_url=f"http://me:{KEY}@127.0.0.1:9/v1?k={KEY}", tries=1).complete(
            QUESTION, sampling=Sampling(), call=CallId(0)
        )
    assert "http://127.0.0.1:9/v1 cannot be reached" in str(error.value)
    assert KEY not in everything_about(error.value)


@pytest.mark.parametrize("key", [f"{KEY}\nX-Other: 1", f"{KEY}\x7f", f"{KEY}é"])
def test_a_key_that_cannot_be_sent_is_rejected_without_quoting_it(key):
    with pytest.raises(LlmError, match="not printable ASCII") as error:
        LlmSettings("m", "http://localhost/v1", key)
    assert KEY not in everything_about(error.value)


def test_whitespace_around_a_key_is_stripped():
    assert LlmSettings("m", "http://localhost/v1", f" {KEY}\n").api_key == KEY
    assert LlmSettings("m", "http://localhost/v1", "  ").api_key is None


def test_no_repr_contains_the_key(client):
    asked = client(base_url=f"http://me:{KEY}@127.0.0.1:9/v1")
    shown = [asked, asked.settings, Calls(asked, 1), asked.cache, asked._connected()]
    assert all(KEY not in repr(thing) + str(thing) for thing in shown)


def test_a_password_in_the_base_url_is_as_secret_as_the_key(client, stub):
    url = stub.url.replace("//", f"//me:{KEY}@")
    asked = client(base_url=url, api_key=None, tries=1)
    assert asked.complete(QUESTION, sampling=Sampling(), call=CallId(0)).text == "hello"
    stub.usual = fails(400, f"not {KEY}")
    with pytest.raises(LlmError, match=r"not \*\*\*") as error:
        asked.complete(QUESTION, sampling=Sampling(), call=CallId(1))
    assert KEY not in everything_about(error.value)


def test_a_key_in_an_answer_is_masked(client, stub):
    stub.usual = say(f"your key is {KEY}")
    asked = client()
    assert asked.complete(QUESTION, sampling=Sampling(), call=CallId(0)).text == "your key is ***"


def files_below(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("usual", [choose, say(KEY), ECHOES["401"]], ids=["well", "echo", "401"])
@pytest.mark.parametrize("workers", [1, 2])
def test_no_file_of_a_run_contains_the_key(in_environment, tmp_path, capfd, usual, workers):
    in_environment.usual = usual
    if usual is ECHOES["401"]:
        with pytest.raises(LlmError):
            assess(BOARD, **SMALL, run=tmp_path / "run", workers=workers)
    else:
        assess(BOARD, **SMALL, run=tmp_path / "run", workers=workers)
    written = files_below(tmp_path)
    names = {path.name for path in written}
    assert {"journal.sqlite", "run.json", "answers.sqlite"} <= names
    assert not [path for path, content in written.items() if KEY.encode() in content]
    assert KEY not in "".join(capfd.readouterr())


def test_the_command_line_reports_a_rejected_key_in_one_line(
    in_environment, tmp_path, monkeypatch, capsys
):
    from capscope.cli import main

    in_environment.usual = ECHOES["401"]
    monkeypatch.chdir(tmp_path)
    command = [
        "assess",
        BOARD,
        "--strategy",
        "random",
        "--set",
        "walks=2",
        "--set",
        "walk-steps=20",
    ]
    monkeypatch.setattr("sys.argv", ["capscope", *command])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert (end.value.code, out, err.count("\n")) == (2, "", 1)
    assert "status 401 (Incorrect API key provided: ***.); check CAPSCOPE_LLM_API_KEY" in err
    assert not [path for path, content in files_below(tmp_path).items() if KEY.encode() in content]
