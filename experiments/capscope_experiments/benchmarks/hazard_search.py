"""How many executions until a hazard is found that is hidden behind three steps?

A cook can take, open and heat each of five pots, in this order, and put it down again. Putting down
one of them, `x`, while it is open and hot, spills it: `gone(x)`. The four other pots are harmless,
so a model that generalizes expects nothing (1,280 states, 30 capabilities). The same search with
`--hazard` and without it; a hazard that names the pot, one that names any pot, one that is rarer,
and one in a world whose atoms have no objects.

    python -m capscope_experiments.benchmarks.hazard_search [SEEDS] [EXECUTIONS]
"""

import statistics
import sys
from collections.abc import Iterator, Mapping

from capscope import Budget, Intent, Predicate, Problem, Settings, Vocabulary, assess
from capscope.assessment import Event
from capscope.logic import Atom, State
from capscope_experiments.benchmarks.tabulated_world import tabulated_problem

POTS = ("x", "a", "b", "c", "d")
STEPS = ("taken", "opened", "heated")


def kitchen(
    spill: float = 1.0, *, pots: tuple[str, ...] = POTS, objects: bool = True
) -> tuple[Problem, tuple[str, ...]]:
    """Return the problem and its intents; without `objects`, atoms are propositions."""
    names = (*STEPS, "gone")
    if objects:
        vocabulary = Vocabulary(
            [Predicate(name, ("pot",)) for name in names], dict.fromkeys(pots, "pot")
        )
        atoms = {(name, pot): Atom(name, (pot,)) for name in names for pot in pots}
    else:
        atoms = {(name, pot): Atom(f"{name}-{pot}") for name in names for pot in pots}
        vocabulary = Vocabulary.of_atoms([atom.predicate for atom in atoms.values()])
    bit = {key: vocabulary.bit_of(atom) for key, atom in atoms.items()}
    asked = {
        Intent.parse(f"{sign}{atoms[step, pot]}"): (step, pot, not sign)
        for pot in pots
        for step in STEPS
        for sign in ("", "not ")
    }

    def outcomes(state: State, intent: Intent) -> Mapping[State, float]:
        step, pot, positive = asked[intent]
        place = STEPS.index(step)
        reached = sum(bool(state & bit[one, pot]) for one in STEPS)
        if state & bit["gone", pot] or (reached != place if positive else reached <= place):
            return {state: 1.0}
        if positive:
            return {state | bit[step, pot]: 1.0}
        undone = sum(bit[one, pot] for one in STEPS[place:])
        after = state & ~undone
        if pot == pots[0] and step == "taken" and reached == len(STEPS) and spill:
            ends = {after | bit["gone", pot]: spill, after: 1.0 - spill}
            return {end: share for end, share in ends.items() if share}
        return {after: 1.0}

    problem = tabulated_problem("kitchen", vocabulary, 0, list(asked), outcomes)
    return problem, tuple(map(str, asked))


def found_after(
    hazards: tuple[str, ...], seed: int, executions: int, spill: float = 1.0, objects: bool = True
) -> int | None:
    """Return after how many executions the pot was spilled; None if it was not."""
    problem, intents = kitchen(spill, objects=objects)
    gone = problem.vocabulary.bit_of("gone(x)" if objects else "gone-x")
    first: list[int] = []

    class Found(Exception):  # noqa: N818 - not an error
        """Ends a run."""

    def listen(event: Event) -> None:
        if any(state & gone for state in event.graph.nodes):
            first.append(event.usage.executions)
            raise Found

    settings = Settings(intents=intents, hazards=hazards, audit=0.0)
    try:
        assess(
            problem,
            seed=seed,
            settings=settings,
            budget=Budget(executions=executions),
            listener=listen,
        )
    except Found:
        return first[0]
    return None


CASES: dict[str, tuple[tuple[str, ...], float, bool]] = {
    "no hazard named": ((), 1.0, True),
    "gone(x)": (("gone(x)",), 1.0, True),
    "gone(*)": (("gone(*)",), 1.0, True),
    "no hazard named, spilled in 1 of 10": ((), 0.1, True),
    "gone(x), spilled in 1 of 10": (("gone(x)",), 0.1, True),
    "no hazard named, no objects": ((), 1.0, False),
    "gone-x, no objects": (("gone-x",), 1.0, False),
}


def measure(seeds: int, executions: int) -> Iterator[str]:
    """Describe each case: the median, and in how many runs it was found."""
    for name, (hazards, spill, objects) in CASES.items():
        found = [found_after(hazards, s, executions, spill, objects) for s in range(seeds)]
        known = [executions if one is None else one for one in found]
        times = sum(one is not None for one in found)
        yield (
            f"{name:<38} median {statistics.median(known):7,.0f}   found in {times} of {seeds}   "
            f"{sorted(known)}"
        )


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    for line in measure(seeds, int(sys.argv[2]) if len(sys.argv) > 2 else 3000):
        print(line, flush=True)


if __name__ == "__main__":
    main()
