"""The options of `capscope` itself."""

import os
import subprocess
import sys
from importlib import metadata
from typing import Annotated

import pytest
import typer

import capscope as package
from capscope.cli.commands import ENTRY_POINTS
from capscope.cli.output import print_line
from support.processes import SECONDS

COMMAND = "import sys; from capscope.cli import main; sys.argv[0] = 'capscope'; main()"


def test_the_version_is_printed(capscope):
    done = capscope("--version")
    assert (done.code, done.out) == (0, f"capscope {package.__version__}\n")


def test_the_shell_completes_the_name_of_a_command(capscope):
    assert "--install-completion" in capscope("--help").out
    asked = {"_CAPSCOPE_COMPLETE": "complete_bash", "COMP_WORDS": "capscope ev", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", COMMAND],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.stdout.split() == ["evaluate"]


def loaded_by(code):
    """Return the modules that are loaded after some code, in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*sys.modules, file=sys.stderr)"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    return set(done.stderr.split())


def test_what_is_not_used_is_not_imported():
    assert not {"numpy", "typer"} & loaded_by("import capscope")
    assert not {"numpy", "typer"} & loaded_by(
        "sys.argv[1:] = ['--version']; from capscope.cli import main; main()"
    )
    helped = "sys.argv[1:] = ['list', '--help']; from capscope.cli import main"
    others = {f"capscope.cli.{name}" for name in ("assess", "diff", "plan")}
    assert not others & loaded_by(f"{helped}\ntry: main()\nexcept SystemExit: pass")


def test_an_assessment_loads_a_part_of_the_package_only(tmp_path):
    pytest.importorskip("plado", reason="needs the extra pddl")
    given = ["assess", "blocksworld", "--max-executions", "60", "--run", str(tmp_path / "run")]
    called = f"sys.argv[1:] = {given}; from capscope.cli import main"
    loaded = loaded_by(f"{called}\ntry: main()\nexcept SystemExit: pass")
    own = {name for name in loaded if name.partition(".")[0] == "capscope"}
    assert "capscope.report.page" in own
    assert len(own) <= 150
    unused = ("llm", "mcp", "tools", "gymnasium", "view", "planning", "diff", "evaluation")
    assert not [name for name in own if set(unused) & set(name.split("."))]


def test_every_public_name_can_be_imported():
    for name in package.__all__:
        assert getattr(package, name).__name__ == name or name == "State"
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        package.nonsense  # noqa: B018


def greet(name: str = "you") -> None:
    """Greet somebody."""
    sys.stdout.write("said by a library\n")
    print_line(f"hello {name}")


def shout(
    loudness: Annotated[int, typer.Option(rich_help_panel="Voice")] = 1,
    name: Annotated[str, typer.Option()] = "you",
) -> None:
    """Shout at somebody."""


GROUP = typer.Typer(help="Some commands.")
GROUP.command("greet")(greet)
GROUP.command("other")(greet)
NOT_A_COMMAND = 7


@pytest.fixture
def declare(monkeypatch):
    """Return a function that declares entry points of another package, which replace all others."""

    def declared(**objects):
        found = [
            metadata.EntryPoint(name, f"{__name__}:{value}", ENTRY_POINTS)
            for name, value in objects.items()
        ]
        monkeypatch.setattr(metadata, "entry_points", lambda group: found)

    return declared


def test_a_function_of_another_package_is_a_command(capscope, declare):
    declare(hello="greet")
    done = capscope("hello", "--name", "world")
    assert (done.code, done.out, done.err) == (0, "hello world\n", "said by a library\n")
    assert "hello" in capscope("--help").out


def test_the_help_of_a_command_lists_arguments_options_and_then_groups_of_any_name(
    capscope, declare
):
    declare(shout="shout")
    shown = capscope("shout", "--help").out
    assert shown.index("Options:") < shown.index("--name") < shown.index("Voice:")
    assert shown.index("Voice:") < shown.index("--loudness")
    shown = capscope("plan", "--help").out
    assert shown.index("Arguments:") < shown.index("--goal") < shown.index("Budget:")


def test_an_application_of_another_package_is_a_group_of_commands(capscope, declare):
    declare(hello="greet", many="GROUP")
    assert capscope("many", "greet", "--name", "all").out.endswith("hello all\n")
    listed = capscope("--help").out
    assert "Greet somebody." in listed
    assert "Some commands." in listed


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"hello": "NOT_A_COMMAND"}, "it is of type int, not Callable"),
        ({"hello": "missing"}, "importing it raised AttributeError"),
        ({"show": "greet"}, "the name 'show' is taken"),
    ],
)
def test_a_command_that_cannot_be_used_is_told_and_the_built_in_ones_work(
    refusal, capscope, declare, entry, reason
):
    declare(**entry)
    line = refusal("hello")
    assert f"of the entry points capscope.commands cannot be used: {reason}" in line
    assert capscope("show", "--help").code == 0
