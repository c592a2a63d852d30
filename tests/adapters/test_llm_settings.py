from pathlib import Path

import pytest

from capscope.adapters.llm import LlmSettings
from capscope.adapters.llm.answers import cache_directory
from capscope.errors import LlmError
from capscope_worlds.local_llm import weights_path
from support.llm_agents import KEY

pytest_plugins = ["support.llm_fixtures"]
pytestmark = pytest.mark.usefixtures("own_cache")

URL = "http://localhost:1/v1"


@pytest.fixture
def given(monkeypatch):
    def set_all(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return set_all


def test_a_server_is_read_from_the_environment(given):
    given(CAPSCOPE_LLM_BASE_URL=URL, CAPSCOPE_LLM_MODEL="m", CAPSCOPE_LLM_API_KEY=KEY)
    given(CAPSCOPE_LLM_PRICE_PROMPT="0.15", CAPSCOPE_LLM_PRICE_COMPLETION="0.6")
    given(CAPSCOPE_LLM_TIMEOUT="7.5", CAPSCOPE_LLM_CONCURRENCY="3", CAPSCOPE_LLM_SEED="0")
    settings = LlmSettings.from_environment()
    assert (settings.base_url, settings.model, settings.api_key) == (URL, "m", KEY)
    assert settings.cost(2_000_000, 500_000) == pytest.approx(0.30 + 0.30)
    assert (settings.timeout, settings.concurrency, settings.send_seed) == (7.5, 3, False)
    assert settings.priced


def test_variables_of_openai_are_the_fallback(given):
    given(OPENAI_BASE_URL="http://other/v1", OPENAI_API_KEY="other", CAPSCOPE_LLM_MODEL="m")
    settings = LlmSettings.from_environment()
    assert (settings.base_url, settings.api_key) == ("http://other/v1", "other")
    given(CAPSCOPE_LLM_BASE_URL=URL, CAPSCOPE_LLM_API_KEY=KEY)
    settings = LlmSettings.from_environment()
    assert (settings.base_url, settings.api_key) == (URL, KEY)
    assert not settings.priced


def test_arguments_take_precedence_over_the_environment(given):
    given(CAPSCOPE_LLM_BASE_URL=URL, CAPSCOPE_LLM_MODEL="m")
    settings = LlmSettings.from_environment(model="n", price_prompt=1.0)
    assert (settings.model, settings.base_url, settings.price_prompt) == ("n", URL, 1.0)


def test_a_key_alone_does_not_select_a_server(given):
    """A key for another program must not make capscope spend money."""
    given(OPENAI_API_KEY="other")
    with pytest.raises(LlmError, match=r"no language model is configured: .* `capscope llm fetch`"):
        LlmSettings.from_environment()


def test_without_a_server_the_local_model_is_used(given):
    path = weights_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF")
    given(OPENAI_API_KEY="other")
    settings = LlmSettings.from_environment()
    assert (settings.base_url, settings.gguf, settings.api_key) == (None, path, None)
    assert settings.model == "SmolLM2-135M-Instruct.Q4_1"
    assert settings.priced
    assert settings.cost(1000, 1000) == 0
    assert settings.concurrency == 1


def test_custom_weights_are_identified_by_name_and_size(tmp_path):
    own = tmp_path / "mine.gguf"
    own.write_bytes(b"GGUF and more")
    assert LlmSettings.from_environment(gguf=own).model == "mine-13"
    with pytest.raises(LlmError, match="no file"):
        LlmSettings.from_environment(gguf=tmp_path / "none.gguf")


MISTAKES = {
    "no model is named": {"CAPSCOPE_LLM_BASE_URL": URL},
    "is not a base URL": {"CAPSCOPE_LLM_BASE_URL": "localhost:1/v1", "CAPSCOPE_LLM_MODEL": "m"},
    "PRICE_PROMPT must be a number, not 'cheap'": {"CAPSCOPE_LLM_PRICE_PROMPT": "cheap"},
    "a price must be a number of at least 0": {"CAPSCOPE_LLM_PRICE_PROMPT": "-1"},
    "timeout must be positive": {"CAPSCOPE_LLM_TIMEOUT": "0"},
    "concurrency must be positive": {"CAPSCOPE_LLM_CONCURRENCY": "0"},
}


@pytest.mark.parametrize(("said", "variables"), MISTAKES.items(), ids=MISTAKES)
def test_a_mistake_in_the_environment_is_reported(given, said, variables):
    if "CAPSCOPE_LLM_BASE_URL" not in variables:
        given(CAPSCOPE_LLM_BASE_URL=URL, CAPSCOPE_LLM_MODEL="m")
    given(**variables)
    with pytest.raises(LlmError, match=said):
        LlmSettings.from_environment()


def test_the_cache_directory_is_configurable(monkeypatch):
    monkeypatch.setenv("CAPSCOPE_CACHE", "~/mine")
    assert cache_directory() == Path.home() / "mine"
    monkeypatch.delenv("CAPSCOPE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_directory() == Path("/somewhere/capscope")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert cache_directory() == Path.home() / ".cache" / "capscope"
