"""RESULTS.md: the chapters that the experiments wrote, put together; no number is typed by hand."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

from capscope.errors import CapscopeError
from capscope.record.run_directory import versions, write_atomically
from capscope_experiments.suite import Bench, Section, linked_from
from capscope_experiments.suites.ablation import ablation
from capscope_experiments.suites.agreement import measure_agreement
from capscope_experiments.suites.efficiency import efficiency
from capscope_experiments.suites.findings import measure_findings
from capscope_experiments.suites.peers import measure_peers
from capscope_experiments.suites.qace import measure_qace
from capscope_experiments.suites.reachability import measure_reachability
from capscope_experiments.suites.speed import speed

SUITES: Mapping[str, Callable[[Bench], Section]] = {
    "efficiency": efficiency,
    "agreement": measure_agreement,
    "findings": measure_findings,
    "reachability": measure_reachability,
    "ablation": ablation,
    "qace": measure_qace,
    "peers": measure_peers,
    "speed": speed,
}
"""The experiments by name, in the order of their chapters."""

_HEAD = """# Results

Written by `capscope bench --write RESULTS.md`; every number comes out of the command above it. Each
chapter says on which machine, with which seeds and settings it was measured.

## Read this first

- **The defaults were chosen on these problems.** The readings of the search, `discount`,
  `policy_exploration`, `starts` and the reset rule of MCQS, and the levels and priors of the
  adaptive strategy, were settled while looking at runs on the planning problems below. None of them
  was held out, so the ratios say how well the methods can be made to do here, not what to expect
  elsewhere.
- **The adaptive strategy starts anywhere** it has been, while MCQS and Random Query on first
  responders go on where the last query ended and are reset after 100 executions, as in the paper.
  Its ratio to them there is one of strategies together with their start rules.
- **Wall times** are the least of these numbers: runs are kept and may have been made earlier, with
  others beside them on a busy machine. Executions and steps do not depend on that.
- **Seeds differ from row to row** where runs take long; the last column counts them.
"""


def run_suite(name: str, bench: Bench, command: str) -> Section:
    """Carry out an experiment and write its chapter and files into the output folder."""
    try:
        bench.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CapscopeError(f"cannot make the folder {bench.output}: {error.strerror}") from error
    section = SUITES[name](bench)
    body = f"```\n{command}\n```\n\n{section.body.strip()}\n\n*{measured_with(bench)}*"
    section = Section(section.title, body, (*section.files, f"{name}.md"))
    write_atomically(bench.output / f"{name}.md", section.text())
    return section


def write_results(path: Path, output: Path) -> None:
    """Put the chapters that are there together."""
    chapters = [output / f"{name}.md" for name in SUITES]
    found = [chapter.read_text("utf-8") for chapter in chapters if chapter.exists()]
    if not found:
        raise CapscopeError(f"{output} holds no results; run `capscope bench` first")
    relative = Path(os.path.relpath(output.resolve(), path.resolve().parent)).as_posix()
    prefix = "" if relative == "." else f"{quote(relative)}/"
    text = "\n".join([_HEAD, *(linked_from(chapter, prefix) for chapter in found)])
    write_atomically(path, text)


def measured_with(bench: Bench) -> str:
    """Say what was measured with: machine, versions, seeds and settings."""
    changed = ", ".join(f"{name} {value}" for name, value in bench.settings.changed().items())
    seeds = ", ".join(map(str, bench.seeds))
    installed = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        f"Measured on {_machine()}; {bench.workers} at a time; {installed}. "
        f"Seeds {seeds}. Settings: {changed or 'the defaults'}."
    )


def _machine() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"
