"""An agent that chooses one of several objects that would serve."""

from capscope import Predicate
from capscope_experiments.worlds.habits import habit

BLOCKS = ("a", "b", "c", "d", "e")


def hand(choose):
    """Return an agent that fills its hand with a block that it chooses of those not glued."""

    def plan(atoms, request, rng, number):
        held = [b for b in BLOCKS if f"held({b})" in atoms]
        free = [b for b in BLOCKS if f"glued({b})" not in atoms]
        if request == "full()" and free and not held:
            return [f"held({choose(free, rng)})", "full()"]
        if request == "not full()":
            return [f"not held({held[0]})", "not full()"]
        return [request] if "glued" in request and not held else []

    words = [Predicate("held", ("block",)), Predicate("glued", ("block",)), Predicate("full")]
    asked = [f"{sign}glued({block})" for block in BLOCKS for sign in ("", "not ")]
    asked += ["full()", "not full()"]
    return habit("hand", words, dict.fromkeys(BLOCKS, "block"), asked, plan)
