"""An assistant that files mail: one bug always shows under a condition, the other by chance."""

from capscope import Intent, Predicate, Vocabulary
from capscope_experiments.benchmarks.tabulated_world import tabulated_problem

WRONG_MAIL = 0.3


def careless_sorter(mails=3):
    """Return its problem.

    Of two mails with the same subject it takes the other one with probability 0.3. If the folder is
    full, a mail that is filed loses its stamp.
    """
    names = [f"m{number}" for number in range(mails)]
    words = Vocabulary(
        [
            Predicate("filed", ("mail",)), Predicate("stamped", ("mail",)),
            Predicate("twins", ("mail", "mail")), Predicate("full"),
        ],
        dict.fromkeys(names, "mail"),
    )  # fmt: skip
    bits = {str(atom): bit for atom, bit in words.bit.items()}
    pairs = [(one, other) for one in names for other in names if one != other]
    same = {one: bits[f"twins({','.join(one)})"] for one in pairs}
    every = sum(same.values())

    def outcomes(state, intent):
        (literal,) = intent.literals
        name, arguments, wanted = literal.atom.predicate, literal.atom.arguments, literal.positive
        if name == "full":
            return {state | bits["full()"] if wanted else state & ~bits["full()"]: 1.0}
        if name == "twins":
            return {state & ~every | same[arguments] | same[arguments[::-1]]: 1.0}
        if not wanted:
            return {state & ~bits[str(literal.atom)]: 1.0}
        (mail,) = arguments
        if state & bits[f"filed({mail})"]:
            return {state: 1.0}
        twin = [other for other in names if other != mail and state & same[mail, other]]
        ends = {}
        for taken, share in (
            ((mail, 1.0 - WRONG_MAIL), (twin[0], WRONG_MAIL)) if twin else ((mail, 1.0),)
        ):
            after = state | bits[f"filed({taken})"]
            after = after & ~bits[f"stamped({taken})"] if state & bits["full()"] else after
            ends[after] = ends.get(after, 0.0) + share
        return ends

    asked = [f"{sign}filed({name})" for name in names for sign in ("", "not ")]
    asked += ["full()", "not full()", *(f"twins({','.join(one)})" for one in pairs)]
    start = sum(bits[f"stamped({name})"] for name in names)
    return tabulated_problem("sorter", words, start, list(map(Intent.parse, asked)), outcomes)
