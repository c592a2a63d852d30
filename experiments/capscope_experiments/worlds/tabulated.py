"""Worlds in Python whose agent draws the outcome of a request, so that the truth is known."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from capscope import Intent, Predicate, Problem, Vocabulary
from capscope.logic import State
from capscope_experiments.benchmarks.tabulated_world import Outcomes, tabulated_problem

Chances = Mapping[State, float]


def _signed(atoms: Iterable[str], signs: Sequence[str] = ("", "not ")) -> list[Intent]:
    return [Intent.parse(f"{sign}{atom}") for atom in atoms for sign in signs]


def _literal(intent: Intent) -> tuple[str, tuple[str, ...], bool]:
    """Return the predicate, the arguments and the sign of an intent with one literal."""
    (literal,) = intent.literals
    return literal.atom.predicate, tuple(literal.atom.arguments), literal.positive


def mixed(chances: Chances, change: Outcomes, intent: Intent) -> Chances:
    """Return the distribution after a further change of every outcome."""
    after: dict[State, float] = {}
    for state, share in chances.items():
        for end, part in change(state, intent).items():
            after[end] = after.get(end, 0.0) + share * part
    return after


def lamps(number: int) -> Problem:
    """Lamps that are switched on and off one by one: 2 capabilities for each, 2 ** N states."""
    names = [f"l{i:03}" for i in range(number)]
    words = Vocabulary([Predicate("on", ("lamp",))], dict.fromkeys(names, "lamp"))
    bits = {str(atom): bit for atom, bit in words.bit.items()}

    def outcomes(state: State, intent: Intent) -> Chances:
        (literal,) = intent.literals
        bit = bits[str(literal.atom)]
        return {state | bit if literal.positive else state & ~bit: 1.0}

    return tabulated_problem(f"lamps-{number}", words, 0, _signed(bits), outcomes)


lamps_6, lamps_50, lamps_100, lamps_200 = (partial(lamps, n) for n in (6, 50, 100, 200))


def flags() -> Problem:
    """Two flags and a lamp; switching it succeeds with 0.9 if the first flag is up, else 0.6."""
    words = Vocabulary([Predicate(name) for name in ("calm", "late", "lit")], {})
    bits = {atom.predicate: bit for atom, bit in words.bit.items()}

    def outcomes(state: State, intent: Intent) -> Chances:
        name, _, wanted = _literal(intent)
        after = state | bits[name] if wanted else state & ~bits[name]
        if name != "lit" or after == state:
            return {after: 1.0}
        share = 0.9 if state & bits["calm"] else 0.6
        return {after: share, state: 1 - share}

    return tabulated_problem("flags", words, 0, _signed(bits), outcomes)


def boxes(odds: Mapping[str, float], breaks: Mapping[str, float], name: str) -> Problem:
    """Boxes that are opened with some probability; some break when they are opened."""
    words = Vocabulary(
        [Predicate("open", ("box",)), Predicate("broken", ("box",))], dict.fromkeys(odds, "box")
    )
    bits = {str(atom): bit for atom, bit in words.bit.items()}

    def outcomes(state: State, intent: Intent) -> Chances:
        _, (box,), wanted = _literal(intent)
        lid, broken = bits[f"open({box})"], bits[f"broken({box})"]
        if bool(state & lid) == wanted or state & broken:
            return {state: 1.0}
        if not wanted:
            return {state & ~lid: 1.0}
        after, loss = state | lid, breaks.get(box, 0.0)
        chances = {after: odds[box] * (1 - loss), after | broken: odds[box] * loss}
        return {**{s: p for s, p in chances.items() if p}, state: 1 - odds[box]}

    asked = _signed(f"open({box})" for box in odds)
    return tabulated_problem(name, words, 0, asked, outcomes)


def symmetric() -> Problem:
    """Four boxes that behave alike."""
    return boxes(dict.fromkeys("abcd", 0.8), {}, "symmetric")


def asymmetric() -> Problem:
    """Four boxes; one of them is opened less often, and breaks in half of the cases."""
    return boxes({"a": 0.8, "b": 0.8, "c": 0.8, "glass": 0.3}, {"glass": 0.5}, "asymmetric")


def ambiguous() -> Problem:
    """Guests who are served with one of the cups on the shelf, drawn evenly.

    If one cup is left there, it is *the* cup on the shelf; otherwise that names none of them.
    """
    guests, cups = ("ann", "bob"), ("blue", "grey", "red")
    words = Vocabulary(
        [
            Predicate("served", ("guest",)),
            Predicate("shelf", ("cup",)),
            Predicate("has", ("guest", "cup")),
        ],
        {**dict.fromkeys(guests, "guest"), **dict.fromkeys(cups, "cup")},
    )
    bits = {str(atom): bit for atom, bit in words.bit.items()}
    start = sum(bits[f"shelf({cup})"] for cup in cups)

    def outcomes(state: State, intent: Intent) -> Chances:
        _, (guest,), wanted = _literal(intent)
        served = bits[f"served({guest})"]
        if bool(state & served) == wanted:
            return {state: 1.0}
        if not wanted:
            (cup,) = (c for c in cups if state & bits[f"has({guest},{c})"])
            return {state & ~served & ~bits[f"has({guest},{cup})"] | bits[f"shelf({cup})"]: 1.0}
        left = [cup for cup in cups if state & bits[f"shelf({cup})"]]
        return {
            state & ~bits[f"shelf({cup})"] | served | bits[f"has({guest},{cup})"]: 1 / len(left)
            for cup in left
        }

    asked = _signed(f"served({guest})" for guest in guests)
    return tabulated_problem("ambiguous", words, start, asked, outcomes)


DELETES_ANOTHER = 0.15


def forgetful_mail(number: int) -> Problem:
    """An assistant that files or deletes one mail and, now and then, deletes one other mail too.

    The other mail is drawn evenly from those that are not deleted yet. Deleting is final.
    """
    mails = [f"m{i:02}" for i in range(number)]
    words = Vocabulary(
        [Predicate("archived", ("mail",)), Predicate("deleted", ("mail",))],
        dict.fromkeys(mails, "mail"),
    )
    bits = {str(atom): bit for atom, bit in words.bit.items()}

    def deleted(state: State, mail: str) -> State:
        return (state | bits[f"deleted({mail})"]) & ~bits[f"archived({mail})"]

    def outcomes(state: State, intent: Intent) -> Chances:
        name, (mail,), wanted = _literal(intent)
        bit = bits[f"{name}({mail})"]
        if bool(state & bit) == wanted or state & bits[f"deleted({mail})"]:
            return {state: 1.0}
        after = deleted(state, mail) if name == "deleted" else state ^ bit
        others = [o for o in mails if o != mail and not state & bits[f"deleted({o})"]]
        if not wanted or not others:
            return {after: 1.0}
        share = DELETES_ANOTHER / len(others)
        return {after: 1 - DELETES_ANOTHER, **{deleted(after, other): share for other in others}}

    archive = _signed(f"archived({mail})" for mail in mails)
    delete = _signed((f"deleted({mail})" for mail in mails), ("",))
    return tabulated_problem(f"forgetful-mail-{number}", words, 0, [*archive, *delete], outcomes)


forgetful_mail_3, forgetful_mail_6, forgetful_mail_12, forgetful_mail_24 = (
    partial(forgetful_mail, n) for n in (3, 6, 12, 24)
)

PLACES = ("dock", "hall", "shelf", "yard")
BOXES = ("blue", "glass", "red")
HARD = ("dock", "yard")
"""The floors on which the glass box may break when it is put down."""
BREAKS = 0.04
RUNS_LOW = 0.1


class Warehouse:
    """A robot carries three boxes between four places, one at a time.

    - The gate of the yard is shut behind the robot, but left open when the battery is low.
    - Each drive runs the battery low with 0.1; the robot charges at the dock.
    - The glass box breaks for good with 0.04 when it is put down on a hard floor.
    """

    def __init__(self) -> None:
        self.vocabulary = Vocabulary(
            [
                Predicate("robot-at", ("place",)),
                Predicate("box-at", ("box", "place")),
                Predicate("holding", ("box",)),
                Predicate("broken", ("box",)),
                Predicate("gate-open"),
                Predicate("battery-low"),
            ],
            {**dict.fromkeys(PLACES, "place"), **dict.fromkeys(BOXES, "box")},
        )
        self.bit = {str(atom).removesuffix("()"): b for atom, b in self.vocabulary.bit.items()}
        start = ("robot-at(dock)", "box-at(blue,hall)", "box-at(glass,shelf)", "box-at(red,yard)")
        self.start = sum(self.bit[atom] for atom in start)
        broken = [atom for atom in self.bit if atom.startswith("broken")]
        self.intents = _signed(a for a in self.bit if a not in broken) + _signed(broken, ("",))

    def place(self, state: State) -> str:
        """Return where the robot is."""
        return next(p for p in PLACES if state & self.bit[f"robot-at({p})"])

    def held(self, state: State) -> str | None:
        """Return the box that the robot carries."""
        return next((b for b in BOXES if state & self.bit[f"holding({b})"]), None)

    def drive(self, to: str, state: State, intent: Intent) -> Chances:
        """Go to a place; in and out of the yard through the gate."""
        here, low, gate = self.place(state), self.bit["battery-low"], self.bit["gate-open"]
        if here == to:
            return {state: 1.0}
        after = state & ~self.bit[f"robot-at({here})"] | self.bit[f"robot-at({to})"]
        if "yard" in (here, to):
            after = after | gate if state & low else after & ~gate
        return {after: 1.0} if state & low else {after: 1 - RUNS_LOW, after | low: RUNS_LOW}

    def put(self, state: State, intent: Intent) -> Chances:
        """Put down what the robot carries, if anything."""
        here, box = self.place(state), self.held(state)
        if box is None:
            return {state: 1.0}
        after = state & ~self.bit[f"holding({box})"] | self.bit[f"box-at({box},{here})"]
        broken = self.bit["broken(glass)"]
        if box != "glass" or here not in HARD or state & broken:
            return {after: 1.0}
        return {after: 1 - BREAKS, after | broken: BREAKS}

    def fetch(self, box: str, state: State, intent: Intent) -> Chances:
        """Pick up a box, after putting down another one."""
        if self.held(state) == box:
            return {state: 1.0}
        at = next(p for p in PLACES if state & self.bit[f"box-at({box},{p})"])
        grip = self.bit[f"box-at({box},{at})"] | self.bit[f"holding({box})"]
        free = mixed(self.put(state, intent), partial(self.drive, at), intent)
        return {after ^ grip: share for after, share in free.items()}

    def outcomes(self, state: State, intent: Intent) -> Chances:
        """Return how a request ends: as a whole, in one execution."""
        name, arguments, wanted = _literal(intent)
        if intent.holds(state, self.vocabulary) or name == "broken":
            return {state: 1.0}
        match name, wanted:
            case "robot-at", True:
                return self.drive(arguments[0], state, intent)
            case "robot-at", False:
                return self.drive("dock" if arguments[0] == "hall" else "hall", state, intent)
            case "box-at", True:
                there = mixed(
                    self.fetch(arguments[0], state, intent),
                    partial(self.drive, arguments[1]),
                    intent,
                )
                return mixed(there, self.put, intent)
            case ("box-at", False) | ("holding", True):
                return self.fetch(arguments[0], state, intent)
            case "holding", False:
                return self.put(state, intent)
            case "gate-open", _:
                at_gate = self.place(state) in ("hall", "yard")
                return {state ^ self.bit["gate-open"] if at_gate else state: 1.0}
            case "battery-low", False:
                at_dock = self.drive("dock", state, intent)
                return {s & ~self.bit["battery-low"]: share for s, share in at_dock.items()}
        return {state: 1.0}


def warehouse() -> Problem:
    """The warehouse: 45 capabilities and some thousand states."""
    world = Warehouse()
    return tabulated_problem(
        "warehouse", world.vocabulary, world.start, world.intents, world.outcomes
    )
