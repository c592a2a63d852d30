"""A model as a small table, for notebooks.

A notebook asks a value for `_repr_html_` and shows what it gets. The names in it are the assessed
world's and are never taken for markup.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Set

from capscope.model.rules import Rule
from capscope.symbolic import Intent, State, Vocabulary

MOST_ROWS = 50
_HEADINGS = ("capability", "success", "states tried", "draws", "rules")


def rules_html(
    rules: Mapping[Intent, tuple[Rule, ...]],
    states: int,
    sinks: Set[State],
    words: Vocabulary,
) -> str:
    """Return a table of capabilities, the first of them if there are many.

    Success is that of the states tried in which the intent did not hold already: the mean
    probability, by the rules, that it holds afterwards. Sinks, from which nothing led away, are
    left out unless it was tried in sinks only: a world that has ended says nothing about the agent.
    """
    chosen = list(rules)[:MOST_ROWS]
    rows = (_row(intent, rules[intent], states, sinks, words) for intent in chosen)
    body = "".join(f"<tr>{''.join(_cells(row))}</tr>" for row in rows)
    head = "".join(f"<th>{name}</th>" for name in _HEADINGS)
    hidden = len(rules) - len(chosen)
    rest = f"<p>and {hidden:,} more</p>" if hidden else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def escaped(text: str) -> str:
    """Make a text fit for HTML, what does not show in it spelled out."""
    return html.escape("".join(c if c.isprintable() else ascii(c)[1:-1] for c in text))


def _row(
    intent: Intent, rules: tuple[Rule, ...], states: int, sinks: Set[State], words: Vocabulary
) -> tuple[str, ...]:
    success = _success(intent, rules, sinks, words)
    return (
        str(intent),
        "unknown" if success is None else f"{success:.2f}",
        f"{sum(len(rule.states) for rule in rules):,} of {states:,}",
        f"{sum(rule.executions for rule in rules):,}",
        f"{len(rules):,}",
    )


def _cells(row: tuple[str, ...]) -> Iterator[str]:
    name, *numbers = map(escaped, row)
    yield f'<td style="text-align:left">{name}</td>'
    yield from (f"<td>{number}</td>" for number in numbers)


def _success(
    intent: Intent, rules: tuple[Rule, ...], sinks: Set[State], words: Vocabulary
) -> float | None:
    chances = {
        state: sum(
            o.probability for o in rule.outcomes if intent.holds(o.effect.apply(state), words)
        )
        for rule in rules
        for state in rule.states
        if not intent.holds(state, words)
    }
    counting = chances.keys() - sinks or chances.keys()
    return sum(chances[state] for state in counting) / len(counting) if counting else None
