"""A stub server, and clients of it that record their waits instead of waiting."""

from contextlib import ExitStack, closing

import pytest

from capscope.adapters.llm import CallId, LlmClient, LlmSettings, Sampling
from capscope.adapters.llm.client import close_shared_clients
from support.llm_agents import KEY, QUESTION
from support.llm_stub import stub_server


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    """Isolate tests from the user's cache and environment."""
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CAPSCOPE_CACHE", str(tmp_path / "cache"))
    yield
    close_shared_clients()


@pytest.fixture
def stub():
    pytest.importorskip("openai")
    with stub_server() as stub:
        yield stub


@pytest.fixture
def waits():
    """The waits, in seconds, that clients would have made."""
    return []


@pytest.fixture
def client(stub, waits, tmp_path):
    """Return a function that makes a client of the stub with the given settings."""
    with ExitStack() as all_closed:

        def make(**given):
            settings = {
                "model": "stub", "base_url": stub.url, "api_key": KEY, "timeout": 30.0,
                "cache": tmp_path / "answers.sqlite",
            } | given  # fmt: skip
            made = LlmClient(LlmSettings(**settings), lambda _, seconds: waits.append(seconds))
            return all_closed.enter_context(closing(made))

        yield make


@pytest.fixture
def ask(client):
    """Return a function that asks the same question for a draw."""
    asked = client()

    def one(draw=0, call=0, **sampling):
        call_id = CallId(draw, call)
        return asked.complete(QUESTION, sampling=Sampling(**sampling), call=call_id)

    return one


@pytest.fixture
def in_environment(stub, monkeypatch):
    """Set the stub in the environment, as a user would; waits take no time."""
    monkeypatch.setenv("CAPSCOPE_LLM_BASE_URL", stub.url)
    monkeypatch.setenv("CAPSCOPE_LLM_MODEL", "stub")
    monkeypatch.setenv("CAPSCOPE_LLM_API_KEY", KEY)
    monkeypatch.setattr("capscope.adapters.llm.client.FIRST_WAIT", 0.0)
    return stub
