"""What to watch out for: findings that have one cause are one warning, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from capscope.insight.agent_failures import agent_failure_text
from capscope.insight.findings import Finding
from capscope.insight.findings.context import rate_among
from capscope.insight.findings.finding import Kind
from capscope.insight.first_screen.families import by_type, without_two_articles
from capscope.insight.hazards import HazardResult
from capscope.insight.hazards.wording import hazard_headline, short_way
from capscope.logic import Intent, Phrasing, Vocabulary
from capscope.problem.counterfactual import Need
from capscope.stats.rate import Rate
from capscope.wording import counted, first_few, joined

if TYPE_CHECKING:
    from capscope.insight.run_facts import RunFacts

_MOST_REQUESTS = 2
"""Requests of a warning that are named."""
_MOST_CHANGES = 3
_MOST_STEPS = 3
"""Requests of a path that are named."""
_MANY_FAILURES = 0.1
"""The rate of failed executions from which on nothing is more important."""
_SELECTED_FROM = 10
"""What is told together was chosen among several, so its interval is wider."""
_EQUAL = re.compile(r"(?<!\S)(\w+) (!?=) (?=\S)")


@dataclass(frozen=True)
class Warned:
    """Something to watch out for: what, in which executions, and how to get there."""

    serious: bool
    """Whether nothing undoes it, or the user named it, or it spoils the run."""
    what: str
    """What the agent does, after which request, under which condition."""
    evidence: str
    """One number with its interval, whether it was needed, and whether it was undone."""
    path: str
    """The requests that lead there; empty if none are known."""
    findings: tuple[Finding, ...] = ()
    """What it is said of; none for an agent that fails and for hazards that were not met."""

    @property
    def intents(self) -> tuple[Intent, ...]:
        """The capabilities that showed it."""
        return tuple(dict.fromkeys(intent for one in self.findings for intent in one.intents))


def warnings_about(run: RunFacts, found: Sequence[Finding]) -> Iterator[Warned]:
    """Yield all warnings about a run, the most important first.

    Args:
        run: The run.
        found: Its findings.

    Yields:
        The warnings.
    """
    hazards = sorted(map(_hazard, run.hazards), key=lambda one: not one.serious)
    yield from _broken(run)
    yield from (one for one in hazards if one.serious)
    yield from _found(run, found)
    yield from (one for one in hazards if not one.serious)


def _broken(run: RunFacts) -> Iterator[Warned]:
    """Warn of an agent that fails: what else is said of it is about its failure."""
    for failure in run.agent_failures:
        serious = failure.executions > _MANY_FAILURES * failure.had_to_act
        what = f"the agent {agent_failure_text(failure)}: {failure.detail}".removesuffix(": ")
        of = counted(failure.had_to_act, "execution")
        yield Warned(serious, what, f"{failure.executions:,} of {of} in which it had to act", "")
    if run.drift is not None:  # a finding shows an example; this says what it means for the rest
        after = counted(run.drift.executions, "execution")
        evidence = f"after about {after}; all rates mix what it did before and after"
        yield Warned(True, "the agent changed while the run was under way", evidence, "")
    if run.executions.idle and not run.agent_failures:
        number = counted(len(run.executions), "execution")
        yield Warned(True, "nothing ever changed; does the agent act on this world?", number, "")


def _hazard(result: HazardResult) -> Warned:
    met = bool(result.happened or result.cut_short)
    name, _, what = hazard_headline(result).partition(": ")
    known = [pair.way for pair in result.unasked[:1] if pair.way]
    return Warned(met, f"hazard {name}", what, short_way(known[0]) if known else "")


def _found(run: RunFacts, found: Sequence[Finding]) -> Iterator[Warned]:
    words = run.graph.vocabulary
    alike: dict[object, list[Finding]] = {}
    for number, finding in enumerate(found):
        if finding.watch:
            alike.setdefault(_cause(finding, words) or number, []).append(finding)
    for own in alike.values():
        names = by_type(own[0].intents[0], words) if own[0].intents else {}
        finding = own[0] if len(own) == 1 else _as_one(run, own)
        yield Warned(
            any(one.hazard or one.lasting for one in own),
            in_words(short_text(finding), words, names),
            in_words(finding.count_text, words, names),
            in_words(_path(finding), words),
            tuple(own),
        )


def _cause(finding: Finding, words: Vocabulary) -> object:
    """Return what findings share that have one cause; None if it matters.

    They differ in their request only, or in what changed of the wrong object.
    """
    if finding.kind not in (Kind.MORE, Kind.ELSE) or not len(finding.shown):
        return None
    kinds = tuple(words.objects[name] for name in finding.intents[0].objects)
    shared = finding.kind, finding.when or finding.perhaps, finding.hazard, kinds
    if finding.other is not None:
        return *shared, finding.request.removeprefix("not "), finding.other
    return *shared, finding.change, finding.lasting


def _as_one(run: RunFacts, alike: Sequence[Finding]) -> Finding:
    """Join findings of one cause, counted by the executions that showed any of them."""
    first = next((one for one in alike if one.when), alike[0])
    rows = [one.likely if first.when and not one.when else one.among for one in alike]
    shown, among = (np.unique(np.concatenate(own)) for own in ([one.shown for one in alike], rows))
    requests = list(dict.fromkeys(one.request for one in alike))
    changes = list(dict.fromkeys(p for one in alike for p in one.change.split(" and ")))
    if all(one.change == first.change for one in alike):
        changes = [first.change]  # these always came together
    lasting = list(dict.fromkeys(one.change for one in alike if one.lasting))
    lasting = [c for c in lasting if not {*c.split(" and ")} & {*lasting} - {c}]
    needs = {one.need for one in alike}
    mixed = any(one.lasting for one in alike) and not all(one.lasting for one in alike)
    number = _SELECTED_FROM if first.when else 1
    return replace(
        first,
        request=_requests(requests),
        change=joined(first_few(changes, _MOST_CHANGES, "{:,} other changes"), "or"),
        count=len(shown),
        possible=len(among),
        rate=rate_among(run.executions, among, np.isin(among, shown), number),
        against=_beside(alike) if first.when and len(requests) == len(alike) else None,
        need=needs.pop() if len(needs) == 1 else Need.UNDECIDED,
        lasting=bool(lasting) and not mixed,
        partly=joined(lasting) if mixed else "",
        note="",
    )


def _requests(forms: Sequence[str]) -> str:
    """Name forms of requests.

    >>> _requests(["not p(x)", "p(x)"]), _requests(["p(x)", "q(x)"])
    ('p(x) or the opposite', 'p(x) or q(x)')
    """
    positive, *others = sorted(forms, key=len)
    if others == [f"not {positive}"]:
        return f"{positive} or the opposite"
    return joined(first_few(forms, _MOST_REQUESTS, "{:,} other requests"), "or")


def _beside(alike: Sequence[Finding]) -> Rate | None:
    """Return the executions of different requests in which the condition did not hold."""
    rates = [one.against for one in alike if one.against is not None]
    if any(one.when and one.against is None for one in alike):
        return None
    hits = sum(rate.hits or 0.0 for rate in rates)
    beside = sum(len(one.among) - len(one.likely) for one in alike if not one.when)
    return Rate(None, 0.0, 1.0, hits, beside + sum(rate.executions for rate in rates))


def in_words(text: str, vocabulary: Vocabulary, names: Mapping[str, str] | None = None) -> str:
    """Say the literals within a text in words, and variables by what they are called."""
    phrasing = Phrasing.of(vocabulary)
    said = phrasing.sentence(text, names)
    if phrasing.phrases and names:
        verb = {"=": "is", "!=": "is not"}
        said = _EQUAL.sub(lambda m: f"{names[m[1]]} {verb[m[2]]} " if m[1] in names else m[0], said)
    return without_two_articles(said)


def sentence_in_words(finding: Finding, vocabulary: Vocabulary) -> str:
    """Return the sentence of a finding, with its objects called by their types."""
    names = by_type(finding.intents[0], vocabulary) if finding.intents else {}
    return in_words(finding.sentence, vocabulary, names)


def short_text(finding: Finding) -> str:
    """Say a finding without its numbers."""
    asked = f"asked for {finding.request}{finding.condition}"
    match finding.kind:
        case Kind.MORE:
            return f"{asked}: also {finding.change}"
        case Kind.ELSE | Kind.CONFUSES:
            return f"{asked}: {finding.change} instead"
        case Kind.REFUSES:
            return f"{asked}: nothing changes"
        case Kind.LESS | Kind.EXCEPTION if not finding.change:
            return f"{asked}: not achieved"
    return finding.text or f"{asked}: {finding.kind}, {finding.change}".removesuffix(", ")


def _path(finding: Finding) -> str:
    if finding.path is None or finding.example is None:
        return ""
    intents = [*(step.intent for step in finding.path), finding.example.intent]
    requests = list(map(str, intents))
    hidden = len(requests) - _MOST_STEPS
    if hidden > 0:
        requests[1:-1] = [f"{hidden + 1} more requests"]
    return ", then ".join(requests)
