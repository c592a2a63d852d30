"""Word the verdict about a new version of an agent."""

from __future__ import annotations

from collections.abc import Iterator

from capscope.insight.compare.verdict import AgentChange, ComparisonVerdict, VersionComparison
from capscope.problem.counterfactual import Need
from capscope.stats.rate import Rate
from capscope.strategy.questions import IMPOSSIBLE
from capscope.wording import counted

_NEEDS = {
    Need.NEEDLESS: "needless",
    Need.PART: "part of the request",
    Need.ON_THE_WAY: "on the way",
}


def comparison_lines(found: VersionComparison) -> Iterator[str]:
    """Yield the verdict, the differences, and what they cost."""
    yield f"baseline: {found.baseline}"
    yield _headline(found)
    for change in found.changes:
        yield f"  {change_line(change)}"
    yield _in_use(found)
    yield _cost(found)


def _headline(found: VersionComparison) -> str:
    if found.verdict is ComparisonVerdict.CHANGED:
        if not found.changes:
            return (
                "changed: it does what the baseline's model held impossible more often, but no "
                "request is sure yet; a larger budget would tell more"
            )
        return f"changed: {counted(len(found.changes), 'difference')}"
    if found.verdict is ComparisonVerdict.UNCHANGED:
        return (
            f"unchanged to within {_percent(found.within)}: with 0.98 confidence, at most this "
            "rate of executions in use does what the baseline's model held impossible"
        )
    if found.more_needed is None:
        return (
            "undecided: no difference is shown, and at the present rate of impossible outcomes "
            "more executions would not show that it is unchanged to within "
            f"{_percent(found.within)}"
        )
    return (
        f"undecided: no difference is shown; about {counted(found.more_needed, 'more execution')} "
        f"in use would show that it is unchanged to within {_percent(found.within)}"
    )


def change_line(change: AgentChange) -> str:
    """Word a difference: the request, the condition, what happens, and how often before and now."""
    when = f" when {' and '.join(change.when)}" if change.when else ""
    if not change.change:
        happens = "is achieved " + ("more often" if change.more else "less often")
    elif change.change == IMPOSSIBLE.name:
        happens = "does what the baseline's model held impossible"
    elif change.more:
        happens = f"also causes {change.change}"
        if change.before is not None and change.before.hits:
            happens += " more often"
    else:
        happens = f"causes {change.change} less often"
    rates = f"{_rate(change.after)}, in the baseline {_rate(change.before)}"
    need = f", {_NEEDS[change.need]}" if change.need in _NEEDS else ""
    return f"asked for {change.request}{when}: {happens}: {rates}{need}"


def _rate(rate: Rate | None) -> str:
    if rate is None:
        return "never possible"
    return (
        f"{rate.hits:,} of {counted(rate.executions, 'execution')} "
        f"({_percent(rate.estimate or 0.0)}, {_percent(rate.low)} to {_percent(rate.high)})"
    )


def _in_use(found: VersionComparison) -> str:
    own = (
        f"at most {_percent(found.baseline_bound)} for the baseline itself"
        if found.baseline_bound < 1
        else "the model of the baseline was not audited"
    )
    return (
        f"in use: {found.impossible:,} of {counted(found.in_use, 'execution')} did what the "
        f"baseline's model held impossible (at most {_percent(found.bound)}; {own})"
    )


def _cost(found: VersionComparison) -> str:
    usage = found.usage
    tokens = f", {usage.llm_tokens:,} tokens" if usage.llm_tokens else ""
    return (
        f"cost: {counted(usage.executions, 'execution')}, {usage.simulator_steps:,} simulator "
        f"steps{tokens} (the baseline: {found.baseline_executions:,} executions)"
    )


def _percent(rate: float) -> str:
    return f"{100 * rate:.2g} %" if rate < 0.995 else "100 %"
