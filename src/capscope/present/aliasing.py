"""That what happens depends on something that the words leave out, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from capscope.analysis.aliasing import AliasedPair, Aliasing, Position
from capscope.analysis.findings.finding import joined
from capscope.present.text import counted
from capscope.sanitize import sanitize
from capscope.symbolic import Effect, State

_MOST_NAMED = 6


def aliasing_notes(aliasing: Aliasing, constant: State = 0) -> Iterator[str]:
    """Say in how many pairs the position matters, and where that is clearest.

    Atoms that are `constant` are not named.
    """
    for clearest in aliasing.aliased_pairs[:1]:
        yield sanitize(
            f"in {len(aliasing.aliased_pairs):,} of {counted(aliasing.pairs, 'pair')} drawn from "
            "several positions of the simulator, what happens depends on the position, and so on "
            f"something that the words leave out: {_example(clearest, constant)}; odds there are "
            "mixtures over positions, and a further predicate would tell them apart"
        )


def _example(clearest: AliasedPair, constant: State) -> str:
    state, words = clearest.state, clearest.vocabulary
    holding = words.holding(state & ~constant) or words.holding(state)
    names = [str(atom) for atom in holding[:_MOST_NAMED]]
    if len(holding) > len(names):
        names.append(f"{len(holding) - len(names):,} more")
    when = f"when {joined(names) or 'no atom holds'}"
    one, other = clearest.contrast
    usual, usual_of_other = (next(iter(position.outcomes)) for position in (one, other))
    told = (
        f"asked for {clearest.intent} {when}, {_share(one, usual, ' draws')} from one position "
        f"ended with {_changed(clearest, usual)}, "
    )
    if usual == usual_of_other:
        return f"{told}against {_share(other, usual)} from another"
    changed = _changed(clearest, usual_of_other)
    return f"{told}and {_share(other, usual_of_other)} from another with {changed}"


def _share(position: Position, outcome: State, noun: str = "") -> str:
    """Say how many of the draws from a position had an outcome."""
    count, draws = position.outcomes[outcome], position.draws
    return f"all {draws:,}{noun}" if count == draws else f"{count:,} of the {draws:,}{noun}"


def _changed(clearest: AliasedPair, after: State) -> str:
    literals = Effect.between(clearest.state, after).literals(clearest.vocabulary)
    return joined(literals) or "nothing changed"
