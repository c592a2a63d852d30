"""Build the source distribution and the wheel, and use the wheel as a user would.

Tests run on the source tree, so they miss a template that is not packaged, a dependency that is
not declared, or a command that does not start. This script builds both distributions, checks what
is in the wheel, installs it into a new virtual environment and runs commands in an empty folder.

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
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
DATA = {".css", ".j2", ".js", ".npz", ".pddl", ".txt", ".xml"}
"""Kinds of files that may accompany the code: templates, assets, PDDL files, layouts, weights."""
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
        wheel = build(Path(scratch, "dist"))
        command = install(wheel, python, Path(scratch, "environment"))
        use(command, Path(scratch, "empty"))
    print(f"{wheel.name}: built, installed and used")


def build(folder: Path) -> Path:
    """Build both distributions, check their contents and return the wheel."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        check_wheel(archive.namelist())
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        check_citation(archive.read(metadata).decode())
    with tarfile.open(source) as archive:
        check_source(archive.getnames())
    return wheel


def check_wheel(names: Iterable[str]) -> None:
    """Require every file of the package, and nothing else beside the metadata."""
    packaged = {name for name in names if ".dist-info/" not in name}
    strange = {name for name in packaged if not _belongs(PurePosixPath(name))}
    expect(not strange, f"the wheel has files that do not belong there: {sorted(strange)}")
    tracked = run("git", "-C", ROOT, "ls-files", "src/capscope").split("\n")
    missing = {name.removeprefix("src/") for name in tracked if name} - packaged
    missing = {name for name in missing if (ROOT / "src" / name).exists()}
    expect(not missing, f"the wheel lacks {sorted(missing)}")


def _belongs(path: PurePosixPath) -> bool:
    kind = path.suffix in {".py", *DATA} or path.name == "py.typed"
    return kind and path.parts[0] == "capscope" and "tests" not in path.parts


def check_source(names: Iterable[str]) -> None:
    """Require what a packager needs to build and test."""
    kept = {name.partition("/")[2] for name in names}
    needed = {"LICENSE", "README.md", "pyproject.toml", "src/capscope/__init__.py", "tests"}
    lacking = {n for n in needed if not any(k == n or k.startswith(f"{n}/") for k in kept)}
    expect(not lacking, f"the source distribution lacks {sorted(lacking)}")


def check_citation(metadata: str) -> None:
    """Require the version of the package in CITATION.cff."""
    built = re.search(r"^Version: (.*)$", metadata, re.MULTILINE)
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    expect(
        bool(built and cited and built[1] == cited[1]),
        f"CITATION.cff names version {cited and cited[1]}, the package is {built and built[1]}",
    )


def install(wheel: Path, python: str, environment: Path) -> Path:
    """Install the wheel with the extra `pddl` and return the command."""
    run(python, "-m", "venv", environment)
    folder = environment / ("Scripts" if sys.platform == "win32" else "bin")
    pip = (folder / "python", "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "install", f"{wheel}[pddl]")
    run(*pip, "check")
    return folder / "capscope"


def use(command: Path, folder: Path) -> None:
    """Run commands in an empty folder."""
    folder.mkdir()
    for arguments in COMMANDS:
        answer = run(command, *arguments, cwd=folder)
        print(f"$ capscope {' '.join(arguments)}\n{answer.partition(chr(10))[0]}")
    expect((folder / "run" / "report.html").is_file(), "the run has no report.html")


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
