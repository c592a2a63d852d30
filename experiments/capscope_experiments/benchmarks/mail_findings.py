"""Are the two planted bugs of the mail assistant among the first three findings?

`examples/mail.py` strips the attachment of a mail that it puts into a full archive, and takes the
wrong one of two mails with the same subject in 30 %. Target: both among the first three findings
with their conditions, in at least 9 of 10 seeds, within 3,000 executions in the small version (64
states) and 10,000 in the large one (1,728 states). Runs make all of these executions: an audit
that passes earlier does not end them.

    python -m capscope_experiments.benchmarks.mail_findings [SEEDS] [small|large]
"""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from capscope import Budget, Settings, assess
from capscope.insight.findings import Finding

EXAMPLE = Path(__file__).parents[3] / "examples" / "mail.py"
VERSIONS = {"small": ("problem", 3000), "large": ("large", 10000)}
FIRST = 3


def condition_of(finding: Finding) -> set[str]:
    """Return the predicates of the literals that must hold."""
    return {x.atom.predicate for c in finding.when if c.holds for x in c.term if x.positive}


def tells_of_attachments(finding: Finding) -> bool:
    """Return whether a finding is that archiving into a full archive strips the attachment."""
    lost = [x for x in finding.literals if x.atom.predicate == "attachment" and not x.positive]
    return finding.kind == "side effect" and bool(lost) and "full" in condition_of(finding)


def tells_of_wrong_mail(finding: Finding) -> bool:
    """Return whether a finding is that the wrong one of two mails is archived."""
    moved = [x for x in finding.literals if x.atom.predicate == "in" and x.positive]
    return finding.kind == "side effect" and bool(moved) and "twins" in condition_of(finding)


def ranks(findings: Sequence[Finding]) -> list[int | None]:
    """Return the rank of the first finding about each bug, from 1; None if there is none."""
    return [
        next((i for i, finding in enumerate(findings, 1) if tells(finding)), None)
        for tells in (tells_of_attachments, tells_of_wrong_mail)
    ]


def measure(version: str, seed: int) -> tuple[bool, str]:
    """Assess the assistant; return whether both bugs were told first, and a line about it."""
    factory, executions = VERSIONS[version]
    run = assess(
        f"{EXAMPLE}:{factory}",
        seed=seed,
        settings=Settings(audit=0.0),
        budget=Budget(executions=executions),
    )
    started = time.process_time()
    findings = run.findings()
    seconds = time.process_time() - started
    found = ranks(findings)
    told = all(rank is not None and rank <= FIRST for rank in found)
    return told, (
        f"{version}, seed {seed}: attachment at rank {found[0]}, wrong mail at rank {found[1]}, "
        f"{len(findings)} findings in {seconds:.1f} s; {len(run.graph.nodes)} states, "
        f"{run.usage.executions:,} executions"
    )


def measure_all(seeds: int, versions: Sequence[str]) -> Iterator[str]:
    for version in versions:
        told = 0
        for seed in range(seeds):
            both, line = measure(version, seed)
            told += both
            yield line
        yield f"{version}: both among the first {FIRST} in {told} of {seeds}"


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    for line in measure_all(seeds, sys.argv[2:] or list(VERSIONS)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
