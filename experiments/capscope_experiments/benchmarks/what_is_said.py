"""Is what was planted told: the request, the change and the condition, and after how much?

Each world is assessed with the default strategy and read again at checkpoints. A bug is *named*
if a statement has its request and its change, and *told* if the condition is right as well. Honest
agents are checked sentence by sentence against raw executions and the known truth.

    PYTHONPATH=experiments:tests python -m capscope_experiments.benchmarks.what_is_said \\
        [--seeds N] [--naive] [WORLD | GROUP ...]

Groups: `tools` (each bug that always shows, the desk and the mail assistant), `plain`,
`warehouse`, `twins` (honest versions of the tool agents), `families` (honest agents) and
`tests-families` (those that the tests use).
"""

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from capscope import Budget, Intent, Problem, Run, Settings, assess
from capscope.logic import Effect, State
from capscope.problem.attempt import Position, pursue
from capscope_experiments.benchmarks.said import Execution, Form, Match, Said, Statement
from capscope_experiments.worlds import desk, files, habits, honest, mail
from capscope_experiments.worlds.planted import Planted, PlantedWorld
from support import honest_worlds
from support.sentence_checker import false_sentences

WORLDS = {**files.WORLDS, **mail.WORLDS, **desk.WORLDS, **habits.WORLDS}
FAMILIES = {**honest_worlds.FAMILIES, **honest.FAMILIES}
TWINS: dict[str, Callable[[], Problem]] = {**files.HONEST, **mail.HONEST, **desk.HONEST}
GROUPS: dict[str, list[str]] = {
    "tools": [*files.WORLDS, *mail.WORLDS, *desk.WORLDS],
    "plain": [name for name in habits.WORLDS if "warehouse" not in name],
    "warehouse": [name for name in habits.WORLDS if "warehouse" in name],
    "twins": [f"honest-{name}" for name in TWINS],
    "families": [*honest.FAMILIES],
    "tests-families": [*honest_worlds.FAMILIES],
}
CHECKPOINTS = (5, 10, 20, 40, 60, 100, 150, 200, 300, 400, 600, 900, 1500)
OCCURRENCES = 8
"""After so many, the rate of a rare change should be a finding."""
HONEST_EXECUTIONS = 250
WALKED = 1000


@dataclass(frozen=True)
class Reading:
    """What a run says about one bug after some executions."""

    executions: int
    shown: int
    """The executions that showed it so far."""
    level: int
    """0 not named, 1 named, 2 told with its condition."""
    has_rate: bool
    needless: bool
    on_screen: bool
    """Looked up after the last execution only."""
    first: bool


def run_of(problem: Problem, executions: int, seed: int, resets: int = 1) -> Run:
    """Assess an agent with the default strategy."""
    settings = Settings(resets=resets)
    return assess(problem, seed=seed, settings=settings, budget=Budget(executions=executions))


def readings(
    world: PlantedWorld, run: Run, others: Sequence[Execution] = ()
) -> dict[Planted, list[Reading]]:
    """Read a run at checkpoints.

    Args:
        world: What was planted.
        run: All of its executions.
        others: More executions to compare conditions on.

    Returns:
        For each bug what was said about it, by the number of executions.
    """
    matches = {planted: Match(planted, run, others) for planted in world.planted}
    found: dict[Planted, list[Reading]] = {planted: [] for planted in world.planted}
    for number in (*(n for n in CHECKPOINTS if n < world.executions), world.executions):
        said = Said(run.within(number))
        for planted, match in matches.items():
            found[planted].append(reading(number, said, match, last=number == world.executions))
    return found


def reading(number: int, said: Said, match: Match, *, last: bool) -> Reading:
    """Judge all statements about one bug; the screen takes long and is read at the end only."""
    levels = [(match.level(one), one) for one in said.statements]
    best = max((level for level, _ in levels), default=0)
    about = [one for level, one in levels if level]
    return Reading(
        number,
        sum(n <= number for n in match.shown),
        best,
        any(one.has_rate for one in about),
        any("needless" in one.need for one in about),
        last and any(map(said.on_screen, about)),
        any(map(said.is_first, about)),
    )


def line_of(planted: Planted, runs: Sequence[Sequence[Reading]]) -> str:
    """Describe when a bug was told, over several runs."""

    def first(holds: Callable[[Reading], bool]) -> str:
        numbers = [next((r.executions for r in run if holds(r)), None) for run in runs]
        known = [n for n in numbers if n is not None]
        return f"{len(known)}/{len(runs)}" + (f" (median {median(known):.0f})" if known else "")

    told = [[r.level == 2 for r in run] for run in runs]
    lost = sum(any(b and not a for b, a in pairwise(t)) for t in told)
    last = [run[-1] for run in runs]
    return (
        f"  {planted.name}: shown {first(lambda r: r.shown > 0) if planted.change else '–'}, "
        f"named {first(lambda r: r.level > 0)}, told {first(lambda r: r.level == 2)}, "
        f"lost again {lost}, needless {first(lambda r: r.needless)}; at the end on the screen "
        f"{sum(r.on_screen for r in last)}, headline {sum(r.first for r in last)}"
    )


def rare_line(runs: Sequence[Sequence[Reading]]) -> str:
    """Describe whether a rare change is listed at once, and its rate is told after eight."""
    seen = [next(r for r in run if r.shown) for run in runs if run[-1].shown]
    often = [
        next(r for r in run if r.shown >= OCCURRENCES)
        for run in runs
        if run[-1].shown >= OCCURRENCES
    ]
    return (
        f"    shown once: listed {sum(r.level > 0 for r in seen)}, headline "
        f"{sum(r.first for r in seen)} of {len(seen)}; shown {OCCURRENCES} times: with a rate "
        f"{sum(r.has_rate for r in often)}, headline {sum(r.first for r in often)} of {len(often)}"
    )


def measure_planted(name: str, seeds: Sequence[int]) -> Iterator[str]:
    """Assess an agent with bugs several times; yield a line about each bug."""
    world = WORLDS[name]
    made = [run_of(world.problem(), world.executions, seed, world.resets) for seed in seeds]
    read = [readings(world, run, reference(world, run)) for run in made]
    most = max(run.usage.executions for run in made)
    yield f"{name}, {most:,} executions, {len(made)} seeds"
    for planted in world.planted:
        runs = [by_bug[planted] for by_bug in read]
        yield line_of(planted, runs)
        if planted.where is None and planted.change:
            yield rare_line(runs)
    all_told = [sum(r[-1].level == 2 for r in by_bug.values()) for by_bug in read]
    yield f"  told at the end: {all_told} of {len(world.planted)} bugs"


def walked(
    problem: Problem, intents: Sequence[Intent], executions: int, seed: int
) -> Iterator[tuple[Intent, State, State]]:
    """Make requests that are drawn evenly, ten in a row from each reset.

    Args:
        problem: Its agent and its world.
        intents: What may be asked for.
        executions: How many to make.
        seed: Draws the requests.

    Yields:
        The request, and the state before and after.
    """
    rng = random.Random(seed)
    for number in range(executions):
        child = rng.getrandbits(32)
        if number % 10 == 0:
            observation = problem.simulator.reset(child)
        here = Position(observation, problem.abstraction(observation))
        intent = rng.choice(intents)
        attempt, (observation, _) = pursue(problem, intent, here, child)
        yield intent, here.state, attempt.trajectory[-1]


def reference(world: PlantedWorld, run: Run) -> list[Execution]:
    """Return executions that no strategy chose, to compare conditions on."""
    problem, words = world.problem(), run.graph.vocabulary

    def atoms(state: State) -> frozenset[str]:
        return frozenset(map(str, words.holding(state)))

    rows = walked(problem, run.capabilities, WALKED, 0)
    return [(0, Form.parse(str(intent)), atoms(was), atoms(now)) for intent, was, now in rows]


def changes_beyond(problem: Problem, executions: int, seed: int) -> Iterator[tuple[int, Statement]]:
    """Yield every change outside the intent: the loop that anybody would write.

    Args:
        problem: It must name its intents.
        executions: How many to make.
        seed: Draws the requests.

    Yields:
        The number of the execution, and what it says.
    """
    words = problem.vocabulary
    asked = [one if isinstance(one, Intent) else Intent.parse(one) for one in problem.intents]
    rows = enumerate(walked(problem, asked, executions, seed), 1)
    for number, (intent, before, after) in rows:
        changed = Effect.between(before, after).literals(words)
        request = Form.parse(str(intent))
        for literal in changed:
            if literal not in intent.literals:
                text = f"{intent}: {literal}"
                yield number, Statement(text, "naive", request, Form.parse(str(literal)))
        if not changed and not intent.holds(before, words):
            yield number, Statement(f"{intent}: nothing", "failure", request, None)


def measure_naive(name: str, seeds: Sequence[int]) -> Iterator[str]:
    """Yield how soon the loop flags each bug, without any condition or class."""
    world = WORLDS[name]
    if not world.problem().intents:
        return
    first: dict[str, list[int]] = {planted.name: [] for planted in world.planted}
    for seed in seeds:
        problem = world.problem()
        run = run_of(world.problem(), 1, seed, world.resets)
        matches = {planted.name: Match(planted, run) for planted in world.planted}
        found = list(changes_beyond(problem, world.executions, seed))
        for bug, match in matches.items():
            numbers = [n for n, statement in found if match.level(statement)]
            first[bug] += numbers[:1]
    for bug, numbers in first.items():
        when = f" (median {median(numbers):.0f})" if numbers else ""
        yield f"  {bug}: flagged by the loop {len(numbers)}/{len(seeds)}{when}"


def measure_twin(name: str, seeds: Sequence[int]) -> Iterator[str]:
    """Yield what is said to have changed beside the requests of an honest tool agent: nothing."""
    resets = 4 if name == "desk" else 1
    runs = [run_of(TWINS[name](), HONEST_EXECUTIONS, seed, resets) for seed in seeds]
    false = [{one.text for one in Said(run).statements if one.change is not None} for run in runs]
    yield f"honest-{name}: a false sentence in {sum(map(bool, false))} of {len(runs)} runs"
    yield from (f"  {text}" for texts in false for text in sorted(texts))


def measure_family(name: str, seeds: Sequence[int]) -> Iterator[str]:
    """Yield how many runs about honest agents have a false sentence, and which."""
    false: list[str] = []
    wrong = spurious = 0
    for seed in seeds:
        world = FAMILIES[name](seed)
        found = false_sentences(world, run_of(world.problem(), HONEST_EXECUTIONS, seed))
        wrong += bool(found)
        spurious += any("condition does not matter" in reason for reason in found)
        false += [f"  seed {seed}: {reason}" for reason in found]
    yield (
        f"{name}: a false sentence in {wrong} of {len(seeds)} runs, a spurious condition in "
        f"{spurious}"
    )
    yield from false


def measure_all(names: Sequence[str], seeds: int, *, naive: bool = False) -> Iterator[str]:
    """Measure worlds, or groups of them."""
    every = [one for name in names or GROUPS for one in GROUPS.get(name, [name])]
    for name in every:
        if name in WORLDS:
            yield from measure_planted(name, range(seeds))
            yield from measure_naive(name, range(seeds)) if naive else ()
        elif name in FAMILIES:
            yield from measure_family(name, range(seeds))
        elif name.removeprefix("honest-") in TWINS:
            yield from measure_twin(name.removeprefix("honest-"), range(seeds))
        else:
            known = ", ".join((*GROUPS, *(one for group in GROUPS.values() for one in group)))
            raise SystemExit(f"cannot measure {name}; choose from {known}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what runs say about known agents.")
    parser.add_argument("what", nargs="*", help="worlds or groups; everything unless given")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--naive", action="store_true", help="also flag every change in a loop")
    given = parser.parse_args()
    for line in measure_all(given.what, given.seeds, naive=given.naive):
        print(line, flush=True)


if __name__ == "__main__":
    main()
