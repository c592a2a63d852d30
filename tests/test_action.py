"""The GitHub Action in the repository: its steps, run here, and the actions that it pins."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from capscope import Budget, assess
from support.processes import SECONDS
from support.shown_sessions import PAGES, ROOT, blocks

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {one.get("name", one.get("uses")): one for one in ACTION["runs"]["steps"]}
# Answers as the command line of GitHub does: it lists no comment, or one with the number 7.
GH = """#!/bin/sh
echo "$*" >> "$CALLS"
for word in "$@"; do
  case $word in
    body=@*) cp "${word#body=@}" "$CALLS.body" ;;
    .\\[\\]*) [ -z "$EARLIER" ] || echo 7 ;;
  esac
done
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "mail"
    assess(f"{ROOT}/examples/mail.py:problem", budget=Budget(executions=200), run=directory)
    return directory


@pytest.fixture
def step(tmp_path):
    """Return a function that runs a step with the inputs and outputs of earlier ones."""
    binaries = tmp_path / "bin"
    binaries.mkdir()
    (binaries / "gh").write_text(GH, encoding="utf-8")
    (binaries / "gh").chmod(0o755)
    names = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "CALLS")
    files = {name: str(tmp_path / name.lower()) for name in names}
    path = f"{binaries}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    given = {**os.environ, **files, "PATH": path, "RUNNER_TEMP": str(tmp_path)}
    given |= {"GITHUB_ACTION": "own", "GITHUB_REPOSITORY": "owner/agent"}

    def called(name, **variables):
        declared = STEPS[name].get("env", {})
        assert variables.keys() - {"EARLIER", "GITHUB_ACTION_PATH"} <= declared.keys()
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]]
        return subprocess.run(
            command,
            env={**given, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )

    called.folder = tmp_path
    return called


def outputs(step):
    lines = (step.folder / "github_output").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_other_actions_are_pinned_to_a_commit_with_its_version():
    used = re.findall(r"uses: (.*)", (ROOT / "action.yml").read_text(encoding="utf-8"))
    for one in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", one)
    assert used


def test_no_input_is_part_of_a_script():
    # It could end the command and begin another one; steps get inputs as variables.
    assert not [name for name, one in STEPS.items() if "${{" in one.get("run", "")]


def test_each_input_is_used_and_described():
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])
    assert all(one["description"] for one in ACTION["inputs"].values())


@pytest.mark.parametrize(
    ("package", "installed"), [("", "/action"), ("capscope==1", "capscope==1")]
)
def test_the_version_of_the_action_is_installed_unless_another_is_named(step, package, installed):
    python = step.folder / "bin" / "python"
    python.write_text('#!/bin/sh\necho "$*"\n', encoding="utf-8")
    python.chmod(0o755)
    done = step("Install", PACKAGE=package, GITHUB_ACTION_PATH="/action")
    assert done.stdout.split()[-1] == installed


def test_a_command_becomes_a_report_and_a_verdict(step, run):
    done = step("Run", COMMAND=f"show {run}")
    assert done.returncode == 0, done.stderr
    assert outputs(step)["verdict"] == "unchanged"
    report = Path(outputs(step)["report"]).read_text(encoding="utf-8")
    assert report.startswith("### mail-2: ")
    assert (step.folder / "github_step_summary").read_text(encoding="utf-8") == report


@pytest.mark.parametrize(
    ("code", "verdict"), [(0, "unchanged"), (1, "changed"), (3, "undecided"), (2, None)]
)
def test_the_verdict_is_that_of_the_exit_code_and_an_error_ends_the_job(step, code, verdict):
    command = step.folder / "bin" / "capscope"
    command.write_text(f"#!/bin/sh\necho '### told'\nexit {code}\n", encoding="utf-8")
    command.chmod(0o755)
    done = step("Run", COMMAND="compare agent.py:problem --against runs/v1")
    if verdict is None:
        assert done.returncode == code
    else:
        assert done.returncode == 0
        assert outputs(step)["verdict"] == verdict


def test_words_of_a_command_are_not_expanded(step):
    command = step.folder / "bin" / "capscope"
    command.write_text('#!/bin/sh\nprintf "%s|" "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    step("Run", COMMAND="show runs/* $(touch here) in(*,b)")
    report = Path(outputs(step)["report"]).read_text(encoding="utf-8")
    assert report == "show|runs/*|$(touch|here)|in(*,b)|--format|markdown|"


def test_the_first_comment_is_made_and_a_later_one_replaces_it(step):
    report = step.folder / "report.md"
    report.write_text("### told\n" + "–" * 70_000, encoding="utf-8")
    known = {"REPORT": str(report), "NUMBER": "12", "MARKER": "<!-- capscope -->"}
    done = step("Comment", **known, EARLIER="")
    assert done.returncode == 0, done.stderr
    calls = (step.folder / "calls").read_text(encoding="utf-8").splitlines()
    assert calls[1].startswith("api repos/owner/agent/issues/12/comments --field body=@")
    body = (step.folder / "calls.body").read_text(encoding="utf-8")
    assert body.startswith("<!-- capscope -->\n### told\n")
    assert len(body) < 65_536
    assert step("Comment", **known, EARLIER="yes").returncode == 0
    calls = (step.folder / "calls").read_text(encoding="utf-8").splitlines()
    assert calls[-1].startswith("api --method PATCH repos/owner/agent/issues/comments/7 ")


@pytest.mark.parametrize(
    ("fail_on", "failing"),
    [
        ("changed", {"changed"}),
        ("undecided", {"undecided"}),
        ("both", {"changed", "undecided"}),
        ("none", set()),
    ],
)
def test_the_verdicts_that_fail_the_job_are_chosen(step, fail_on, failing):
    verdicts = {"unchanged", "changed", "undecided"}
    codes = {one: step("Judge", FAIL_ON=fail_on, VERDICT=one).returncode for one in verdicts}
    assert {one for one, code in codes.items() if code} == failing


def test_the_job_of_the_other_host_runs_as_it_is_shown(step, run, tmp_path):
    page = PAGES / "how-to" / "ci.md"
    (shown,) = (yaml.safe_load(b.text) for b in blocks(page) if "script:" in b.text)
    (job,) = shown.values()
    curl = step.folder / "bin" / "curl"
    curl.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$CALLS"\n', encoding="utf-8")
    curl.chmod(0o755)
    shutil.copytree(run, tmp_path / "runs" / "new")
    known = {
        "CI_API_V4_URL": "https://host/api/v4",
        "CI_PROJECT_ID": "5",
        "CI_MERGE_REQUEST_IID": "9",
        "CAPSCOPE_TOKEN": "secret",
        "CALLS": str(tmp_path / "curled"),
        "PATH": f"{step.folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    own = [line for line in job["script"] if not line.startswith(("pip ", "capscope assess"))]
    assert len(own) >= 3
    for line in own:
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", line], cwd=tmp_path, env={**os.environ, **known},
            capture_output=True, text=True, check=False, timeout=SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    posted = (tmp_path / "curled").read_text(encoding="utf-8").splitlines()
    assert "https://host/api/v4/projects/5/merge_requests/9/notes" in posted
    kept = [job["artifacts"]["reports"]["junit"]]
    assert all((tmp_path / name).stat().st_size > 0 for name in kept)


def test_the_workflow_that_is_shown_uses_the_inputs_that_there_are():
    page = PAGES / "how-to" / "ci.md"
    (shown,) = (yaml.safe_load(b.text) for b in blocks(page) if "uses: " in b.text)
    (job,) = shown["jobs"].values()
    own = [one for one in job["steps"] if "capscope" in one.get("uses", "")]
    assert own
    for one in own:
        assert one["with"].keys() <= ACTION["inputs"].keys()
        needed = {name for name, given in ACTION["inputs"].items() if given.get("required")}
        assert needed <= one["with"].keys()
    assert job["permissions"]["pull-requests"] == "write"
