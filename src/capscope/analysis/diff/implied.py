"""Leave out of the side effects what others that are told imply.

Where exactly one of several atoms holds, one of them ends because another begins. Each is a
question of its own, for B may begin to leave a place without a favourite among the places it goes
to; but if it is told where it goes, then that it leaves is the same thing told twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import reduce
from operator import or_

from capscope.analysis.diff.difference import Difference
from capscope.symbolic import Effect, ExactlyOne, Intent


def without_implied(
    found: Sequence[Difference], effects: Mapping[Intent, Set[Effect]], groups: ExactlyOne
) -> Iterator[Difference]:
    """Yield the differences without the deletions that additions told of the same change imply.

    `effects` are those that either run saw of a capability: an addition implies a deletion only
    where one execution showed both.
    """
    begun: defaultdict[tuple[Intent, bool], int] = defaultdict(int)
    for one in found:
        begun[_direction(one)] |= one.vocabulary.literal_masks(one.literals)[0]
    for one in found:
        adds, deletes = one.vocabulary.literal_masks(one.literals)
        told = begun[_direction(one)]
        together = (Effect(e.adds & told, e.deletes) for e in effects[one.capability])
        implied = reduce(or_, (e.deletes & ~groups.told(e).deletes for e in together), 0)
        left = Effect(adds, deletes & ~implied)
        if left != Effect(0, 0) or not one.literals:
            yield replace(one, literals=left.literals(one.vocabulary))


def _direction(one: Difference) -> tuple[Intent, bool]:
    return one.capability, one.b.probability > one.a.probability
