"""Build capscope, capscope-worlds and capscope-view, and use their wheels as a user would.

Tests run on the source tree, so they miss a template that is not packaged, a dependency that is
not declared, or a command that does not start. This script builds the source distribution and the
wheel of each, checks what is in them, installs the core into a new virtual environment, runs
commands in an empty folder, and then adds the worlds and the viewer.

    python scripts/check_package.py [--python PYTHON]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Project:
    """A distribution, and where it is built from."""

    folder: Path
    package: str
    data: tuple[str, ...]
    """How the names of files end that accompany the code; there is one of each kind at least."""
    needed: frozenset[str]
    """What a packager needs to build and test."""


COMMON = {"LICENSE", "README.md", "pyproject.toml", "tests"}
CORE = Project(
    ROOT,
    "capscope",
    (".css", ".j2", ".js", ".licences.txt", ".pddl"),  # pages and planning problems
    frozenset({*COMMON, "src/capscope/__init__.py"}),
)
WORLDS = Project(
    ROOT / "worlds",
    "capscope_worlds",
    (".npz", ".txt", ".xml"),  # weights, layouts and maps, the table
    frozenset({*COMMON, "src/capscope_worlds/__init__.py"}),
)
VIEWER = Project(
    ROOT / "viewer",
    "capscope_view",
    (".css", ".j2", ".js"),  # pages
    frozenset({*COMMON, "src/capscope_view/__init__.py"}),
)
WORLD_PROBLEM = "minigrid-q"
"""A problem of the worlds, which is listed even without its extra."""
COMMANDS = (
    ("--version",),
    ("list",),
    ("assess", "blocksworld", "--max-executions", "300", "--run", "run"),
    ("show", "run", "--limit", "1"),
)


def main() -> None:
    """Build, inspect, install, run; exit with a message at the first failure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter to install for")
    python = parser.parse_args().python
    with tempfile.TemporaryDirectory(prefix="capscope-package-") as scratch:
        projects = (CORE, WORLDS, VIEWER)
        wheels = [build(project, Path(scratch, project.package)) for project in projects]
        environment = Path(scratch, "environment")
        run(python, "-m", "venv", environment)
        binaries = environment / ("Scripts" if sys.platform == "win32" else "bin")
        install(f"{wheels[0]}[pddl]", binaries)
        use(binaries / "capscope", Path(scratch, "empty"))
        install(str(wheels[1]), binaries)
        listed = run(binaries / "capscope", "list")
        expect(WORLD_PROBLEM in listed, f"capscope-worlds is installed, but list has:\n{listed}")
        install(str(wheels[2]), binaries)
        watch(binaries / "capscope", Path(scratch, "empty"))
    print(f"{', '.join(wheel.name for wheel in wheels)}: built, installed and used")


def build(project: Project, folder: Path) -> Path:
    """Build the source distribution and the wheel, check them and return the wheel."""
    run(sys.executable, "-m", "build", "--outdir", folder, project.folder)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        check_wheel(project, archive.namelist())
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        check_metadata(wheel.name, archive.read(metadata).decode())
    with tarfile.open(source) as archive:
        check_source(project, archive.getnames())
    return wheel


def check_wheel(project: Project, names: Iterable[str]) -> None:
    """Require every file of the package, and nothing else beside the metadata."""
    packaged = {name for name in names if ".dist-info/" not in name}
    strange = {name for name in packaged if not _belongs(project, PurePosixPath(name))}
    expect(not strange, f"the wheel has files that do not belong there: {sorted(strange)}")
    source = project.folder / "src"
    tracked = run("git", "-C", source, "ls-files", project.package).split("\n")
    missing = {name for name in tracked if name and (source / name).exists()} - packaged
    expect(not missing, f"the wheel lacks {sorted(missing)}")
    lacking = [end for end in project.data if not any(name.endswith(end) for name in packaged)]
    expect(not lacking, f"the wheel has no files {lacking}")


def _belongs(project: Project, path: PurePosixPath) -> bool:
    kind = path.name.endswith((".py", *project.data)) or path.name == "py.typed"
    return kind and path.parts[0] == project.package and "tests" not in path.parts


def check_source(project: Project, names: Iterable[str]) -> None:
    """Require what a packager needs to build and test."""
    kept = {name.partition("/")[2] for name in names}
    lacking = {n for n in project.needed if not any(k == n or k.startswith(f"{n}/") for k in kept)}
    expect(not lacking, f"the source distribution lacks {sorted(lacking)}")


def check_metadata(wheel: str, metadata: str) -> None:
    """Require the version that CITATION.cff names, a license and a description."""
    built = re.search(r"^Version: (.*)$", metadata, re.MULTILINE)
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    expect(
        bool(built and cited and built[1] == cited[1]),
        f"CITATION.cff names version {cited and cited[1]}, {wheel} is {built and built[1]}",
    )
    for field in ("License-Expression: Apache-2.0", "License-File: LICENSE"):
        expect(f"\n{field}\n" in metadata, f"the metadata of {wheel} lack {field!r}")
    expect("\n\n# " in metadata, f"{wheel} has no description")


def install(requirement: str, binaries: Path) -> None:
    """Install a wheel with what it needs."""
    pip = (binaries / "python", "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "install", requirement)
    run(*pip, "check")


def use(command: Path, folder: Path) -> None:
    """Run commands of the core in an empty folder."""
    folder.mkdir()
    for arguments in COMMANDS:
        answer = run(command, *arguments, cwd=folder)
        print(f"$ capscope {' '.join(arguments)}\n{answer.partition(chr(10))[0]}")
    expect((folder / "run" / "report.html").is_file(), "the run has no report.html")
    expect(WORLD_PROBLEM not in run(command, "list"), f"the core lists {WORLD_PROBLEM}")


def watch(command: Path, folder: Path) -> None:
    """Run a command with its page."""
    assess = ("assess", "blocksworld", "--live", "--max-executions", "300", "--run", "watched")
    run(command, *assess, "--max-seconds", "60", cwd=folder)
    expect((folder / "watched" / "report.html").is_file(), "the watched run has no report.html")
    expect("--port" in run(command, "view", "--help"), "there is no command view")


def run(*command: object, cwd: Path | None = None) -> str:
    """Run a command outside the source tree and return its output."""
    # With these set, the source tree could be imported instead of the wheel.
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd or tempfile.gettempdir(), env=env, capture_output=True, text=True
    )
    expect(done.returncode == 0, f"`{' '.join(words)}` failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(holds: bool, message: str) -> None:
    """Exit with a message unless something holds."""
    if not holds:
        raise SystemExit(f"package check failed: {message}")


if __name__ == "__main__":
    main()
