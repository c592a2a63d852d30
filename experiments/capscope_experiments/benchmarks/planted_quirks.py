"""Are planted quirks found, and are the findings about clean agents true?

Random worlds of three or four lamps, some weather and one more mechanism, in which the agent has
one quirk of each kind or none. Targets: each quirk is found in at least 18 of 20 worlds, with its
condition; clean agents get a finding in at most 5 % of 200 runs; every rate is within its interval
in at least 95 %. Constants were chosen on worlds from 1,000 on; report others.

    python -m capscope_experiments.benchmarks.planted_quirks [WORLDS] [CLEAN RUNS] [FIRST SEED]
"""

import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from capscope import Budget, Intent, Predicate, Problem, Run, Settings, Vocabulary, assess
from capscope.insight.findings import Finding
from capscope.logic import Atom, Literal, State
from capscope_experiments.benchmarks.tabulated_world import tabulated_problem

EXECUTIONS = 2000
QUIRKS = {
    "stains the lamp": "side effect",
    "never takes anything": "failure",
    "slack in some weather": "drop",
    "raises in some weather": "breakdown",
    "gets tired": "change",
}
_CHOOSING = ("never takes anything",)


class QuirkError(Exception):
    """What a broken agent raises."""


@dataclass
class LampWorld:
    """An agent that switches lamps on and off, and perhaps takes one."""

    seed: int
    quirk: str | None
    mechanism: str
    """The quirk that its further mechanism is made for."""
    executions: int = 0
    vocabulary: Vocabulary = field(init=False)

    def __post_init__(self) -> None:
        rng = random.Random(self.seed)
        self.lamps = [f"lamp{i}" for i in range(rng.choice((3, 4)))]
        self.weather = ["rain", "wind", "snow"][: rng.choice((2, 3))]
        self.reliability = rng.choice((1.0, 1.0, 0.95, 0.85))
        self.trigger = rng.choice(self.weather)
        predicates = [Predicate("on", ("lamp",)), *map(Predicate, self.weather)]
        if self.mechanism == "stains the lamp":
            predicates.append(Predicate("stained", ("lamp",)))
        if self.mechanism in _CHOOSING:
            predicates += [Predicate("taken", ("lamp",)), Predicate("busy")]
        self.vocabulary = Vocabulary(predicates, dict.fromkeys(self.lamps, "lamp"))
        self.bit = {str(atom): bit for atom, bit in self.vocabulary.bit.items()}

    def intents(self) -> list[Intent]:
        """Return what is asked for."""
        texts = [f"{sign}on({lamp})" for lamp in self.lamps for sign in ("", "not ")]
        texts += [f"{sign}{name}()" for name in self.weather for sign in ("", "not ")]
        if self.mechanism in _CHOOSING:
            texts += [f"taken({lamp})" for lamp in self.lamps] + ["busy()", "not busy()"]
        return [Intent.parse(text) for text in texts]

    def draw(self, state: State, intent: Intent) -> Mapping[State, float]:
        """Return the outcomes of the next execution."""
        self.executions += 1
        return self.outcomes(state, intent)

    def outcomes(self, state: State, intent: Intent) -> Mapping[State, float]:
        """Return where an execution may end, and how probably."""
        if intent.holds(state, self.vocabulary):
            return {state: 1.0}
        literal = intent.literals[0]
        ends = self._clean(state, literal)
        triggered = bool(state & self.bit[f"{self.trigger}()"])
        is_on = literal.atom.predicate == "on" and literal.positive
        if self.quirk == "stains the lamp" and is_on and triggered:
            stain = self.bit[f"stained({literal.atom.arguments[0]})"]
            ends = {end | stain: p for end, p in ends.items()}
        if self.quirk == "raises in some weather" and is_on and triggered:
            raise QuirkError("wet")
        return self._unreliable(state, literal, ends, triggered=triggered)

    def _unreliable(
        self, state: State, literal: Literal, ends: Mapping[State, float], *, triggered: bool
    ) -> Mapping[State, float]:
        success = self.reliability
        is_on = literal.atom.predicate == "on" and literal.positive
        if self.quirk == "slack in some weather" and is_on and triggered:
            success *= 0.4
        if self.quirk == "gets tired" and self.executions > EXECUTIONS / 2:
            success *= 0.3
        found = {end: p * success for end, p in ends.items()}
        found[state] = found.get(state, 0.0) + 1 - sum(found.values())
        return found

    def _clean(self, state: State, literal: Literal) -> Mapping[State, float]:
        name, bit = literal.atom.predicate, self.bit[str(literal.atom)]
        if name in ("taken", "busy"):
            return self._taking(state, literal)
        return {state | bit if literal.positive else state & ~bit: 1.0}

    def _taking(self, state: State, literal: Literal) -> Mapping[State, float]:
        held = sum(self.bit[f"taken({lamp})"] for lamp in self.lamps) | self.bit["busy()"]
        if not literal.positive:
            return {state & ~held: 1.0}
        if literal.atom.predicate == "taken":
            return {state & ~held | self.bit["busy()"] | self.bit[str(literal.atom)]: 1.0}
        if self.quirk == "never takes anything":
            return {state: 1.0}
        taken = [state | self.bit["busy()"] | self.bit[f"taken({lamp})"] for lamp in self.lamps]
        return dict.fromkeys(taken, 1 / len(taken))

    def problem(self) -> Problem:
        """Make the problem."""
        return tabulated_problem(
            f"lamps-{self.seed}", self.vocabulary, 0, self.intents(), self.draw
        )


def run_of(world: LampWorld) -> Run:
    """Assess the agent of a world."""
    asked = tuple(map(str, world.intents()))
    return assess(
        world.problem(),
        seed=world.seed,
        settings=Settings(intents=asked, audit=0.0),
        budget=Budget(executions=EXECUTIONS),
    )


def shows(world: LampWorld, finding: Finding) -> bool:
    """Return whether a finding tells of the quirk of a world, with its condition."""
    if finding.kind != QUIRKS[str(world.quirk)]:
        return False
    when = {str(x) for clause in finding.when for x in clause.term}
    conditional = ("stains the lamp", "slack in some weather", "raises in some weather")
    return world.quirk not in conditional or when == {f"{world.trigger}()"}


def true_rate(world: LampWorld, run: Run, finding: Finding) -> float | None:
    """Return the mean of what the rate of a finding is about; None if it is not known here."""
    if finding.kind == "change":
        return None
    rates = []
    for capability, state in finding.pairs:
        intent = run.capabilities[capability]
        ends = world.outcomes(state, intent) if finding.kind != "breakdown" else {}
        if finding.kind in ("failure", "drop"):
            hits = [p for end, p in ends.items() if intent.holds(end, world.vocabulary)]
        elif finding.kind == "side effect":
            wanted = [_ground(x, intent) for x in finding.literals]
            test = world.vocabulary.test(wanted)
            hits = [p for end, p in ends.items() if test(end)]
        else:
            return None
        rates.append(sum(hits))
    return sum(rates) / len(rates)


def _ground(literal: Literal, intent: Intent) -> Literal:
    """Replace a variable by the object of the intent."""
    (wanted,) = intent.literals
    arguments = tuple(
        o if o.startswith("lamp") else wanted.atom.arguments[0] for o in literal.atom.arguments
    )
    return Literal(Atom(literal.atom.predicate, arguments), literal.positive)


def measure_all(worlds: int, clean_runs: int, first: int) -> Iterator[str]:
    inside = checked = 0
    misses: list[str] = []

    def check(world: LampWorld, run: Run, finding: Finding) -> None:
        nonlocal inside, checked
        truth = true_rate(world, run, finding)
        if truth is not None:
            low, high = finding.rate.interval
            checked += 1
            inside += low - 1e-9 <= truth <= high + 1e-9
            if not low - 1e-9 <= truth <= high + 1e-9:
                misses.append(f"  truth {truth:.3f}: {finding.sentence}")

    for quirk, kind in QUIRKS.items():
        found, others = 0, []
        for seed in range(first, first + worlds):
            world = LampWorld(seed, quirk, quirk)
            run = run_of(world)
            findings = run.findings()
            found += any(shows(world, finding) for finding in findings)
            others += [f.kind for f in findings if f.kind != kind]
            if quirk != "gets tired":
                for finding in findings:
                    check(world, run, finding)
        yield f"{quirk} ({kind}): found in {found} of {worlds}; other findings: {others}"
    false = []
    for number in range(clean_runs):
        mechanism = list(QUIRKS)[number % len(QUIRKS)]
        world = LampWorld(first + number, None, mechanism)
        false += [(number, mechanism, f.sentence) for f in run_of(world).findings()[:1]]
    yield f"clean agents: findings in {len(false)} of {clean_runs}"
    yield from (f"  {mechanism}: {sentence}" for _, mechanism, sentence in false)
    yield f"rates within their interval: {inside} of {checked}"
    yield from misses


def main() -> None:
    given = [int(argument) for argument in sys.argv[1:]]
    worlds, clean_runs, first = (*given, *(20, 200, 0)[len(given) :])
    for line in measure_all(worlds, clean_runs, first):
        print(line, flush=True)


if __name__ == "__main__":
    main()
