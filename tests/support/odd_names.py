"""Models with names that other languages do not allow, and random models, for testing exports."""

from collections import Counter

from hypothesis import strategies as st

from capscope.journal.execution_table import Transition
from capscope.logic import Atom, Intent, Literal, Predicate, Vocabulary
from capscope.model import StateGraph

BREAKOUT = 'b"\n) (:action evil) ; </script><script>alert(1)</script> -->'
FORMULA = "=cmd|'/c calc'!A0"

ODD = Vocabulary(
    [
        Predicate("and"),
        Predicate("On", ("Thing", "object")),
        Predicate("on", ("smörgås", "Thing")),
        Predicate("@ready?"),
        Predicate("true"),
    ],
    {"A": "Thing", "a": "smörgås", BREAKOUT: "smörgås", FORMULA: "9 lives"},
    {"smörgås": "Thing", "9 lives": "object", "Thing": "object"},
)
ODD_INTENTS = [
    Intent.of([Literal(atom, positive)])
    for atom, positive in [
        (ODD.atoms[0], True),
        (ODD.atoms[0], False),
        (Atom("On", ("A", FORMULA)), True),
        (Atom("on", ("a", BREAKOUT)), False),
    ]
]
ODD_INTENTS.append(Intent.of([Literal(Atom("@ready?"), False), Literal(Atom("true"))]))


def taught(vocabulary, intents, transitions):
    """Return a model of transitions with counts."""
    graph = StateGraph(vocabulary, intents)
    graph.update(Counter(transitions))
    return graph


def transitions_over(states, capabilities, most=12):
    """Draw transitions with counts among a few states."""
    chosen = st.sampled_from(states)
    drawn = st.builds(Transition, chosen, st.integers(0, capabilities - 1), chosen)
    return st.dictionaries(drawn, st.integers(1, 50), max_size=most)


def odd_models():
    """Draw models over the odd vocabulary; some of them have seen nothing."""
    # Few states, so that they are met again; each differs from the others in several atoms.
    states = [0, 1, 0b10, ODD.mask, ODD.mask >> 1, 0b1011 << 3, 0b0110 << 3]
    return transitions_over(states, len(ODD_INTENTS)).map(
        lambda transitions: taught(ODD, ODD_INTENTS, transitions)
    )


TOSSED = [Intent.parse(text) for text in ("p", "not q", "p and not r")]


def tossed_models():
    """Models over p, q and r: randomness, an untried pair, and a state with nothing tried."""
    vocabulary = Vocabulary.of_atoms("pqr")
    counts = {
        Transition(0b000, 0, 0b001): 2,
        Transition(0b000, 0, 0b000): 1,
        Transition(0b000, 1, 0b000): 4,
        Transition(0b001, 0, 0b001): 5,
        Transition(0b001, 2, 0b111): 7,
        Transition(0b001, 2, 0b011): 7,
        Transition(0b001, 2, 0b000): 9,
        Transition(0b011, 1, 0b001): 6,
    }
    return taught(vocabulary, TOSSED, counts)
