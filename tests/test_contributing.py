"""The recipes of CONTRIBUTING work as they are printed, in every command."""

import json
import os
import subprocess
import sys
import tomllib

import pytest

from support.processes import SECONDS, started
from support.shown_sessions import ROOT, blocks

PAGE = ROOT / "CONTRIBUTING.md"
FILES = {block.caption: block.text for block in blocks(PAGE) if block.caption}
GROUPS = {"strategies", "finding_kinds", "export_formats", "problems"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return a folder with the package of the page, as an installer would leave it."""
    site = tmp_path_factory.mktemp("site")
    for name, text in FILES.items():
        file = site / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    metadata = site / "my_package-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    declared = tomllib.loads(FILES["pyproject.toml"])["project"]["entry-points"]
    assert set(declared) == {f"capscope.{group}" for group in GROUPS}
    sections = [
        "\n".join([f"[{group}]", *(f"{name} = {place}" for name, place in entries.items())])
        for group, entries in declared.items()
    ]
    (metadata / "entry_points.txt").write_text("\n\n".join(sections) + "\n")
    return site


@pytest.fixture(scope="module")
def commands(installed, tmp_path_factory):
    """Return a function that runs a command of a user who has the package, and its folder."""
    folder = tmp_path_factory.mktemp("user")
    path = os.pathsep.join([str(installed), *filter(None, sys.path)])

    def run(*arguments):
        command = [sys.executable, "-m", "capscope", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": path}
        options = {"cwd": folder, "env": environment, "text": True, "encoding": "utf-8"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with started(command, **options, **pipes) as process:
            out, err = process.communicate(timeout=SECONDS)
        assert "Traceback" not in err, err
        assert process.returncode == 0, err
        return out

    return run, folder


@pytest.fixture(scope="module")
def capscope(commands):
    """Return the function, after two runs of the strategy on the problem."""
    run, _ = commands
    run("assess", "my-problem", "--strategy", "my-strategy", "--run", "one")
    run("assess", "my-problem", "--strategy", "my-strategy", "--run", "two", "--seed", 1)
    return run


def test_no_code_of_the_page_is_left_to_the_reader():
    for block in blocks(PAGE):
        assert block.language == "sh" or block.caption or not block.language, block.text
        assert "    ...\n" not in block.text


def test_the_problem_is_listed_and_nothing_is_wrong_with_it(commands):
    run, _ = commands
    assert "my-problem" in run("list")
    assert "my-problem: nothing wrong found\n" in run("check", "my-problem")


def test_the_strategy_tries_each_pair_twenty_times_and_says_why_it_stopped(capscope):
    answer = json.loads(capscope("assess", "my-problem", "--strategy", "my-strategy", "--json"))
    assert answer["strategy"] == "my-strategy"
    assert answer["stopped_because"] == "each pair tried 20 times"
    assert answer["audit"] is None
    assert answer["executions"] == 20 * answer["states"] * answer["capabilities"]


def test_a_run_that_is_resumed_asks_the_same_as_one_that_was_not(capscope, commands):
    _, folder = commands
    begun = ("my-problem", "--strategy", "my-strategy", "--run", "resumed", "--max-executions", 35)
    capscope("assess", *begun)
    capscope("resume", "resumed", "--max-executions", 1000)
    tables = []
    for run in ("one", "resumed"):
        written = capscope("export", run, "--to", "csv", "--output", f"{run}-tables").splitlines()
        (transitions,) = (line for line in written if line.endswith("transitions.csv"))
        tables.append((folder / transitions.removeprefix("written: ")).read_text())
    assert tables[0] == tables[1]
    assert capscope("show", "resumed", "*") == capscope("show", "one", "*")


def test_the_finding_is_shown_and_true(capscope):
    found = json.loads(capscope("show", "one", "--findings", "--json"))["findings"]
    idle = [finding for finding in found if finding["kind"] == "idleness"]
    assert idle
    for finding in idle:
        assert finding["request"].startswith("not lit(")
        assert finding["count"] == finding["possible"] == 20


def test_the_format_exports_the_run(capscope):
    lines = capscope("export", "one", "--to", "my-format").splitlines()
    assert sorted(lines) == sorted(
        f"{sign}lit({lamp}): 2" for sign in ("", "not ") for lamp in ("hall", "cellar")
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "one"),
        ("show", "one", "lit(cellar)", "--draws"),
        ("show", "one", "--findings"),
        ("report", "one"),
        ("diff", "one", "two"),
        ("diff", "one", "two", "--json"),
        ("hazards", "one", "lit(cellar)"),
        ("evaluate", "one", "--sequences", "20"),
        ("export", "one", "--to", "json"),
    ],
    ids=" ".join,
)
def test_a_command_works_on_a_run_of_the_strategy(capscope, arguments):
    assert capscope(*arguments)


@pytest.mark.parametrize("number", [0, 1, 7, None])
def test_each_query_of_the_strategy_can_be_explained(capscope, number):
    lines = capscope("explain", "one", *([] if number is None else [number])).splitlines()
    assert lines[0].endswith(": chosen by the strategy my-strategy")
    asked = lines[lines.index("asked:") + 1]
    observed = lines.index("observed (1 draw):")
    assert lines[observed + 1] == "  1×"
    assert lines[observed + 2].strip().startswith(f"{asked.removeprefix('  1. ')} → ")


def test_nothing_is_said_of_the_strategy_that_is_true_of_another_one(capscope, commands):
    _, folder = commands
    capscope("report", "one")
    told = [capscope("explain", "one", number) for number in (0, 7)]
    told += [capscope("show", "one"), (folder / "one" / "report.html").read_text("utf-8")]
    for text in told:
        assert "predicted disagreement" not in text
        assert "a random sequence" not in text
        assert "the run's own criterion" not in text
        assert "part of an audit" not in text
