"""A stub server, and clients of it that never really wait."""

from contextlib import ExitStack, closing

import pytest

from capscope.agents.llm import LlmClient, LlmSettings, Place, Sampling
from capscope.agents.llm.client import close_shared_clients
from support.llm_agents import KEY, QUESTION
from support.llm_stub import stub_server


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    """No test touches the user's cache or goes by the user's environment."""
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
    """The waits that clients would have made."""
    return []


@pytest.fixture
def client(stub, waits, tmp_path):
    """Make a client of the stub; settings may be given."""
    with ExitStack() as all_closed:

        def make(**given):
            settings = {
                "model": "stub", "base_url": stub.url, "api_key": KEY, "timeout": 30.0,
                "cache": tmp_path / "answers.sqlite",
            } | given  # fmt: skip
            made = LlmClient(LlmSettings(**settings), lambda seconds, _: waits.append(seconds))
            return all_closed.enter_context(closing(made))

        yield make


@pytest.fixture
def ask(client):
    """Ask the same question for a draw."""
    asked = client()

    def one(draw=0, call=0, **sampling):
        place = Place(draw, call)
        return asked.complete(QUESTION, sampling=Sampling(**sampling), draw=place)

    return one


@pytest.fixture
def in_environment(stub, monkeypatch):
    """Name the stub in the environment, as a user does; waits take no time."""
    monkeypatch.setenv("CAPSCOPE_LLM_BASE_URL", stub.url)
    monkeypatch.setenv("CAPSCOPE_LLM_MODEL", "stub")
    monkeypatch.setenv("CAPSCOPE_LLM_API_KEY", KEY)
    monkeypatch.setattr("capscope.agents.llm.client.FIRST_WAIT", 0.0)
    return stub
