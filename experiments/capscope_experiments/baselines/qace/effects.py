"""Which effects a capability may have: hypotheses for each atom, narrowed by observations.

An execution after which an atom is true, as it was before, may have added the atom or left it
unchanged. Naively taking only changes as the effect would split one effect that adds an atom which
is sometimes true already into two. So an effect is a hypothesis: for each atom added, deleted or
unchanged, as far as the observations allow. An outcome in another state narrows it. What is still
open in the end counts as unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from capscope.logic import Effect, State


class EffectHypothesis(NamedTuple):
    """What the effect may do to each atom: bits it may add, delete, leave unchanged.

    >>> seen = EffectHypothesis.of(0b01, 0b11, mask=0b11)
    >>> seen.effect, seen.meet(EffectHypothesis.of(0b00, 0b11, mask=0b11)).effect
    (Effect(adds=2, deletes=0), Effect(adds=3, deletes=0))
    """

    adds: int
    deletes: int
    keeps: int
    mask: int

    @classmethod
    def of(cls, before: State, after: State, mask: int) -> EffectHypothesis:
        """Return the hypothesis of all effects that lead from one state to another."""
        return cls(after, mask & ~after, mask & ~(before ^ after), mask)

    def meet(self, other: EffectHypothesis) -> EffectHypothesis | None:
        """Return what fits both; None if nothing is possible for some atom."""
        adds, deletes, keeps = (a & b for a, b in zip(self[:3], other[:3], strict=True))
        if adds | deletes | keeps != self.mask:
            return None
        return EffectHypothesis(adds, deletes, keeps, self.mask)

    @property
    def effect(self) -> Effect:
        """The smallest effect that is possible."""
        return Effect(self.adds & ~self.keeps, self.deletes & ~self.keeps)


class EffectList:
    """The effects of one capability as far as they are known; it grows and gets narrower."""

    def __init__(self, mask: int) -> None:
        self._mask = mask
        self._entries: list[EffectHypothesis] = []

    @property
    def effects(self) -> tuple[Effect, ...]:
        """The smallest possible version of each effect."""
        return tuple(entry.effect for entry in self._entries)

    def explains(self, before: State, after: State) -> bool:
        """Return whether an effect of the list that changes something fits a transition."""
        return any(self._entries[i].effect != Effect(0, 0) for i in self._fitting(before, after))

    def absorb(self, before: State, ends: Iterable[State]) -> None:
        """Narrow the effects by transitions of this capability; add those that none fits."""
        for after in ends:
            seen = EffectHypothesis.of(before, after, self._mask)
            fitting = self._fitting(before, after)
            if not fitting:
                self._entries.append(seen)
            elif len(fitting) == 1:
                met = self._entries[fitting[0]].meet(seen)
                assert met is not None
                self._entries[fitting[0]] = met
            # If several fit, it is unknown which one happened, so none gets narrower.

    def _fitting(self, before: State, after: State) -> Sequence[int]:
        """Return the entries that predict a transition; if there are none, those that allow it."""
        exact = [i for i, e in enumerate(self._entries) if e.effect.apply(before) == after]
        if exact:
            return exact
        seen = EffectHypothesis.of(before, after, self._mask)
        return [i for i, e in enumerate(self._entries) if e.meet(seen) is not None]
