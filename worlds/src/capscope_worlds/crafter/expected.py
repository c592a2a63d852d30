"""Consequences that belong to a request in Crafter and are not side effects.

An agent that is sent to a tree leaves the water. Without this list, hundreds of such changes come
before what is worth knowing: that an agent asked for one thing falls asleep, builds or uses up
another.
"""

from collections.abc import Iterator, Mapping, Sequence

from capscope.logic import Intent, Literal, Vocabulary
from capscope.logic.condition import matching

_WALKING = ("next_to(*)", "not next_to(*)", "close_to(*)", "not close_to(*)")
_WAKING = ("not is_sleeping()", "achieved(wake_up)")
_AMOUNTS = (
    *("can_make(*)", "not can_make(*)", "can_build(*)", "not can_build(*)"),
    "achieved(collect_*)",
)
_TOOLS = ("has(*)", "achieved(make_*)")
_THINGS = ("exists(*)", "not exists(*)", "achieved(place_*)", "achieved(eat_plant)")
_CONSEQUENCES: Mapping[str, Sequence[str]] = {
    # One walks to get anywhere, and a sleeper wakes up by itself.
    "*": (*_WALKING, *_WAKING),
    # Whatever is collected, built or made changes what there is material for.
    **dict.fromkeys((*_TOOLS, *_THINGS, *_AMOUNTS), _AMOUNTS),
}
_STATIONS = ("exists(table)", "achieved(place_table)", "exists(furnace)", "achieved(place_furnace)")
_PLANT = ("exists(plant)", "not exists(plant)", "achieved(place_plant)")


def expected_consequences(vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return what may follow from each intent, as `Problem.expected` takes it."""
    known = [
        Intent.of([Literal(atom, sign)]) for atom in vocabulary.atoms for sign in (True, False)
    ]
    rules = [*_CONSEQUENCES.items(), *((tool, _STATIONS) for tool in _TOOLS)]
    rules.append(("achieved(eat_plant)", _PLANT))
    for one, other in _synonyms(vocabulary):
        rules += [(one, (other,)), (other, (one,))]
    found = []
    for intent, consequences in rules:
        possible = [part for part in consequences if matching(part, known)]
        if possible and matching(intent, known):
            found.append(f"{intent}: {' and '.join(possible)}")
    return tuple(found)


def _synonyms(vocabulary: Vocabulary) -> Iterator[tuple[str, str]]:
    """Yield what is achieved by the same action."""
    for thing in vocabulary.objects_of("structure"):
        yield f"exists({thing})", f"achieved(place_{thing})"
    for tool in vocabulary.objects_of("tool"):
        yield f"has({tool})", f"achieved(make_{tool})"
