"""The options of `capscope` itself."""

import os
import subprocess
import sys

import pytest

import capscope as package
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
