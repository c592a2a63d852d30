"""End to end: a real run with a small language model on this machine."""

import json
import os
import subprocess
import sys
from contextlib import closing

import pytest

from capscope.journal.journal import Journal
from capscope.journal.run_directory import JOURNAL
from capscope_worlds.local_llm import SMALL_MODEL, weights_path
from support.processes import SECONDS

# Read before tests get their own cache: the weights are in the user's.
WEIGHTS = weights_path()
# The minimum that exercises all parts: one short answer per attempt.
SOURCE = "minigrid-react:max-actions=1,max-plan=2,max-thought=20,max-tokens=50"
ASSESS = [
    *["assess", SOURCE, "--intents", "carrying-blue-key()", "--strategy", "random"],
    *[
        "--set",
        "random-length=1",
        "--set",
        "draws=3",
        "--max-queries",
        "1",
        "--run",
        "run",
        "--json",
    ],
]


@pytest.fixture
def capscope(tmp_path):
    """Run a command in its own process, with the user's weights and an empty cache."""
    for package in ("openai", "minigrid", "xllamacpp"):
        pytest.importorskip(package, reason=f"{package} is not installed; is there a wheel for it?")
    if not WEIGHTS.is_file():
        pytest.fail("no weights: run `make weights` or `capscope llm fetch` once")
    cached = tmp_path / "cache" / "weights" / WEIGHTS.name
    cached.parent.mkdir(parents=True)
    cached.symlink_to(WEIGHTS)
    others = ("CAPSCOPE_", "OPENAI_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(others)}

    def run(*arguments):
        code = "from capscope.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env={**environment, "CAPSCOPE_CACHE": str(tmp_path / "cache")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_a_local_model_is_assessed_end_to_end(capscope, tmp_path):
    found = json.loads(capscope(*ASSESS))
    assert (found["queries"], found["executions"]) == (1, 3)
    assert found["llm_tokens"] > 3 * 900  # each prompt includes the rules
    assert found["llm_cost"] == 0
    with closing(Journal.open(tmp_path / "run" / JOURNAL, read_only=True)) as journal:
        fingerprint = journal.read_meta().identity.fingerprint
        texts = [journal.transcript(0, draw, 0) for draw in range(3)]
    assert SMALL_MODEL.name in fingerprint
    # The grammar enforces the format, so every answer that was not cut off is a plan.
    assert all("\nplan:\n" in text or "assistant (length, " in text for text in texts)
    assert sum("\nplan:\n" in text for text in texts) >= 1
    shown = capscope("show", "run", "carrying-blue-key()", "--transcript")
    assert shown.count("query 0, draw ") >= 3
    assert "Goal: Carry the blue key." in shown
