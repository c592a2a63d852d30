"""Seven families of honest agents, with known truth; parameters vary with the seed.

Their worlds are `support.honest_worlds.HonestWorld`: each agent does what is best for the request.
"""

import random
from collections.abc import Callable, Mapping
from typing import Any

from capscope import Predicate, Vocabulary
from support.honest_worlds import HonestWorld

Moves = dict[str, Mapping[Any, float]]


def _slips(end: Any, other: Any, rate: float) -> dict[Any, float]:
    """Return a distribution: an end, and another one with some probability."""
    return {end: 1 - rate, other: rate} if rate and end != other else {end: 1.0}


def chain(seed: int) -> Any:
    """Links that are fastened and unfastened in order; the last one may slip off."""
    rng = random.Random(seed)
    links, slip = [f"link{i}" for i in range(rng.choice((4, 5)))], rng.choice((0.0, 0.02, 0.08))
    words = Vocabulary([Predicate("fastened", ("link",))], dict.fromkeys(links, "link"))

    def moves(state: tuple[int]) -> Moves:
        (k,) = state
        found: Moves = {}
        if k < len(links):
            found["fasten"] = _slips((k + 1,), (max(k - 1, 0),), slip)
        if k:
            found["loosen"] = _slips((k - 1,), (k,), slip)
        return found

    def label(state: tuple[int]) -> list[str]:
        return [f"fastened({link})" for link in links[: state[0]]]

    return HonestWorld("chain", words, (0,), moves, label, rng.choice((1, None)))


def corridor(seed: int) -> Any:
    """Rooms in a row with doors that may fall shut behind whoever walks through."""
    rng = random.Random(seed)
    number, shuts = rng.choice((3, 4)), rng.choice((0.0, 0.1, 0.5))
    rooms, doors = [f"r{i}" for i in range(number)], [f"d{i}" for i in range(1, number)]
    words = Vocabulary(
        [Predicate("at", ("room",)), Predicate("open", ("door",))],
        dict.fromkeys(rooms, "room") | dict.fromkeys(doors, "door"),
    )

    def moves(state: tuple[int, int]) -> Moves:
        room, opened = state
        found: Moves = {}
        for way, door, end in (("back", room - 1, room - 1), ("on", room, room + 1)):
            if not 0 <= end < number:
                continue
            bit = 1 << door
            found[f"turn {way}"] = {(room, opened ^ bit): 1.0}
            if opened & bit:
                found[f"walk {way}"] = _slips((end, opened), (end, opened & ~bit), shuts)
        return found

    def label(state: tuple[int, int]) -> list[str]:
        room, opened = state
        found = [f"open({door})" for i, door in enumerate(doors) if opened >> i & 1]
        return [f"at({rooms[room]})", *found]

    return HonestWorld("corridor", words, (0, 0), moves, label, rng.choice((1, None)))


def tanks(seed: int) -> Any:
    """Two tanks with three levels: fill one, pour into the other, drain that; some is spilled."""
    rng = random.Random(seed)
    spills = rng.choice((0.0, 0.05, 0.15))
    names, levels = ("upper", "lower"), ("empty", "half", "full")
    words = Vocabulary(
        [Predicate("is", ("tank", "level"))],
        dict.fromkeys(names, "tank") | dict.fromkeys(levels, "level"),
    )

    def moves(state: tuple[int, int]) -> Moves:
        upper, lower = state
        found: Moves = {}
        if upper < 2:
            found["fill"] = _slips((upper + 1, lower), state, spills)
        if upper and lower < 2:
            found["pour"] = _slips((upper - 1, lower + 1), (upper - 1, lower), spills)
        if lower:
            found["drain"] = {(upper, lower - 1): 1.0}
        return found

    def label(state: tuple[int, int]) -> list[str]:
        return [f"is({name},{levels[n]})" for name, n in zip(names, state, strict=True)]

    return HonestWorld("tanks", words, (0, 0), moves, label, rng.choice((1, None)))


def press(seed: int) -> Any:
    """A clerk who stamps papers in a press with one slot, and may smudge one."""
    rng = random.Random(seed)
    papers, smudges = [f"p{i}" for i in range(rng.choice((2, 3)))], rng.choice((0.0, 0.05, 0.1))
    words = Vocabulary(
        [Predicate("in-press", ("paper",)), Predicate("stamped", ("paper",)), Predicate("free")],
        dict.fromkeys(papers, "paper"),
    )

    def moves(state: tuple[int, int]) -> Moves:
        slot, stamped = state
        if slot < 0:
            return {f"insert {p}": {(i, stamped): 1.0} for i, p in enumerate(papers)}
        bit = 1 << slot
        found: Moves = {"take": {(-1, stamped): 1.0}}
        if stamped & bit:
            found["wash"] = {(slot, stamped & ~bit): 1.0}
        else:
            found["stamp"] = _slips((slot, stamped | bit), state, smudges)
        return found

    def label(state: tuple[int, int]) -> list[str]:
        slot, stamped = state
        found = [f"in-press({papers[slot]})"] if slot >= 0 else ["free"]
        return found + [f"stamped({p})" for i, p in enumerate(papers) if stamped >> i & 1]

    return HonestWorld("press", words, (-1, 0), moves, label, rng.choice((1, None)))


def courier(seed: int) -> Any:
    """A courier with a tank of fuel, who loads a parcel at the depot and unloads it elsewhere."""
    rng = random.Random(seed)
    number, burns, most = rng.choice((3, 4)), rng.choice((0.5, 1.0)), 2
    stops, fuel = [f"s{i}" for i in range(number)], [f"f{i}" for i in range(most + 1)]
    words = Vocabulary(
        [Predicate("at", ("stop",)), Predicate("fuel", ("amount",)),
         Predicate("parcel-at", ("stop",)), Predicate("loaded")],
        dict.fromkeys(stops, "stop") | dict.fromkeys(fuel, "amount"),
    )  # fmt: skip

    def moves(state: tuple[int, int, int]) -> Moves:
        at, left, parcel = state
        found: Moves = {}
        for way, end in (("back", at - 1), ("on", at + 1)):
            if 0 <= end < number and left:
                found[way] = _slips((end, left - 1, parcel), (end, left, parcel), 1 - burns)
        if at == 0 and left < most:
            found["refuel"] = {(at, most, parcel): 1.0}
        if parcel == at:
            found["load"] = {(at, left, -1): 1.0}
        elif parcel < 0:
            found["unload"] = {(at, left, at): 1.0}
        return found

    def label(state: tuple[int, int, int]) -> list[str]:
        at, left, parcel = state
        found = [f"at({stops[at]})", f"fuel({fuel[left]})"]
        return [*found, f"parcel-at({stops[parcel]})" if parcel >= 0 else "loaded"]

    return HonestWorld("courier", words, (0, most, 0), moves, label, rng.choice((1, None)))


_STAGES = ("drafted", "signed", "sent")


def letters(seed: int) -> Any:
    """A secretary who drafts, signs and sends letters, with a tool for each; sending may fail."""
    rng = random.Random(seed)
    names, fails = [f"l{i}" for i in range(rng.choice((2, 3)))], rng.choice((0.0, 0.05, 0.2))
    words = Vocabulary(
        [Predicate(stage, ("letter",)) for stage in _STAGES], dict.fromkeys(names, "letter")
    )

    def moves(state: tuple[int, ...]) -> Moves:
        found: Moves = {}
        for i, stage in enumerate(state):
            after = (*state[:i], stage + 1, *state[i + 1 :])
            if stage < len(_STAGES):
                rate = fails if stage == len(_STAGES) - 1 else 0.0
                found[f"{_STAGES[stage]} {names[i]}"] = _slips(after, state, rate)
            found[f"withdraw {names[i]}"] = {(*state[:i], 0, *state[i + 1 :]): 1.0}
        return found

    def label(state: tuple[int, ...]) -> list[str]:
        stages = zip(names, state, strict=True)
        return [f"{_STAGES[i]}({name})" for name, stage in stages for i in range(stage)]

    start = (0,) * len(names)
    return HonestWorld("letters", words, start, moves, label, None)


def bookings(seed: int) -> Any:
    """A clerk who seats guests, and refuses a seat that is broken or taken."""
    rng = random.Random(seed)
    guests, seats = ("ann", "bo"), [f"s{i}" for i in range(rng.choice((3, 4)))]
    broken, frees = rng.choice(seats), rng.random() < 0.5
    words = Vocabulary(
        [Predicate("sits", ("guest", "seat")), Predicate("broken", ("seat",))],
        dict.fromkeys(guests, "guest") | dict.fromkeys(seats, "seat"),
    )

    def moves(state: tuple[str, ...]) -> Moves:
        found: Moves = {}
        for i, guest in enumerate(guests):
            if frees and state[i]:
                found[f"{guest} stands"] = {(*state[:i], "", *state[i + 1 :]): 1.0}
            for seat in seats if not state[i] else ():
                if seat != broken and seat not in state:
                    found[f"{guest} {seat}"] = {(*state[:i], seat, *state[i + 1 :]): 1.0}
        return found

    def label(state: tuple[str, ...]) -> list[str]:
        pairs = zip(guests, state, strict=True)
        return [f"broken({broken})", *(f"sits({g},{s})" for g, s in pairs if s)]

    return HonestWorld("bookings", words, ("", ""), moves, label, rng.choice((1, None)))


FAMILIES: dict[str, Callable[[int], Any]] = {
    f.__name__: f for f in (chain, corridor, tanks, press, courier, letters, bookings)
}
