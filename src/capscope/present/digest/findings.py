"""What is surprising in a run, with an example of each and a word on how sure all of it is."""

from __future__ import annotations

from collections.abc import Sequence

from capscope.analysis.findings import Example, Finding, Kind
from capscope.present.digest.shape import FindingDigest
from capscope.present.digest.size_budget import SizeBudget
from capscope.present.digest.states import Listing
from capscope.present.text import counted, example_text
from capscope.sanitize import sanitize
from capscope.statistics.betting import ERROR_RATE, LEAST_DIFFERENCE, LEAST_RATE


def finding_digests(
    findings: Sequence[Finding], listing: Listing, space: SizeBudget
) -> tuple[FindingDigest, ...]:
    """Tell the findings as far as they fit, the most striking first."""
    told: list[FindingDigest] = []
    for finding in findings:
        examples = finding.examples[:1]
        digest = FindingDigest(
            str(finding.kind),
            sanitize(finding.sentence),
            "".join(sanitize(_example(example, listing)) for example in examples),
            tuple(sanitize(str(intent)) for intent in finding.intents),
        )
        if not listing.take((listing.number[e.state] for e in examples), space, digest):
            break
        told.append(digest)
    return tuple(told)


def findings_note(findings: Sequence[Finding], told: int, executions: int) -> str:
    """Say how sure the findings are, in a sentence or two."""
    if not findings:
        searched = f"The {counted(executions, 'execution')} of this run were searched for "
        return (
            f"{searched if executions else 'There is nothing yet to be searched for '}"
            "side effects that were not needed, conditions under which the agent fails, "
            "preferences among outcomes, unusual means and like objects treated differently"
            f"{'; the evidence supports none of them.' if executions else '.'}"
        )
    hidden = len(findings) - told
    note = (
        f"All comparisons together share an error rate of {ERROR_RATE:.0%}: with a probability of "
        f"at least {1 - ERROR_RATE:.0%} none of these sentences is a false alarm, whatever the "
        "strategy chose to try and whenever it stopped. Differences of less than "
        f"{LEAST_DIFFERENCE:g} and events rarer than {LEAST_RATE:g} are not told."
    )
    if any(finding.kind is Kind.ASYMMETRY for finding in findings):
        note += " For asymmetries the error rate holds only approximately."
    return note + (f" {counted(hidden, 'further finding')} did not fit." if hidden else "")


def _example(example: Example, listing: Listing) -> str:
    name = f"s{listing.number[example.state]}"
    return f"For {example_text(example, listing.constant, name)}."
