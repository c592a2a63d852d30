"""What is measured by default: problems, strategies and budgets.

On small problems every run goes to its own stop. Budgets bound what would take hours: on large
problems MCQS and Random Query get 300,000 executions. A run of `mcqs-e` takes twenty minutes on
probabilistic elevators, so there is one, and it is left out on depot. The exhaustive strategy,
which tries every pair, is left out on both, and has one seed on the other problems of more than a
thousand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from capscope.journal.run_meta import Budget
from capscope.strategy.registry import RANDOM, STRATEGIES
from capscope_experiments.baselines.uniform_pair import UNIFORM
from capscope_experiments.measure import SEQUENCES
from capscope_experiments.variant import strategy_of

BASELINES = (RANDOM, f"{RANDOM}, --draws 3", f"{RANDOM}, --draws 1", UNIFORM)
"""What a strategy is compared with; each runs until it has reached the highest level."""
ONE_DRAW = BASELINES[2]
WITHOUT_BONUS = ", --xi 0"


@dataclass(frozen=True)
class BenchCase:
    """A problem, the strategies to run on it, and what each may spend."""

    problem: str
    strategies: tuple[str, ...] = tuple(STRATEGIES.built_in)
    """By label; it may name a variant."""
    budgets: Mapping[str, Budget] = field(default_factory=dict)
    """By label, or by strategy for all its variants."""
    sequences: int = SEQUENCES
    """Random capability sequences in its independent dataset."""
    max_seeds: Mapping[str, int] = field(default_factory=dict)
    """By label, for runs that take too long to make all of them."""
    variants: tuple[str, ...] = BASELINES[1:]
    """The labels that E1 has in addition."""
    intents: tuple[str, ...] = ()
    """For all runs, where discovery would give each seed other ones; empty: discovered."""
    only_for: tuple[str, ...] = ()
    """The experiments that include it unless problems are named; empty: all."""

    def budget(self, label: str) -> Budget:
        """Return what a strategy may spend; unlimited if no budget is given.

        A baseline may spend as much as Random Query.
        """
        names = [label, strategy_of(label), *([RANDOM] if label in BASELINES else [])]
        return next((self.budgets[name] for name in names if name in self.budgets), Budget())


_LARGE: Mapping[str, Budget] = {
    "adaptive": Budget(executions=30_000),
    "mcqs-s": Budget(executions=300_000),
    "mcqs-e": Budget(executions=300_000),
    "random": Budget(executions=300_000),
}
_DEPOT: Mapping[str, Budget] = {name: _LARGE[name] for name in ("adaptive", "mcqs-s", "random")}
_GENERATED: Mapping[str, Budget] = {
    "adaptive": Budget(executions=15_000),
    "exhaustive": Budget(executions=50_000),
    "mcqs-s": Budget(executions=50_000),
    "random": Budget(executions=50_000),
}
_GRID: Mapping[str, Budget] = {
    "adaptive": Budget(executions=20_000),
    "exhaustive": Budget(executions=20_000),
    "mcqs-s": Budget(executions=20_000),
    "mcqs-e": Budget(executions=20_000),
}
_CRAFTER: Mapping[str, Budget] = {
    "adaptive": Budget(simulator_steps=20_000),
    "mcqs-s": Budget(simulator_steps=20_000),
    "mcqs-e": Budget(simulator_steps=20_000),
    "random": Budget(simulator_steps=100_000),
}
_STOCHASTIC: Mapping[str, Budget] = {
    "adaptive": Budget(simulator_steps=50_000),
    "mcqs-s": Budget(simulator_steps=50_000),
}
_QUARRY: Mapping[str, Budget] = dict.fromkeys(("adaptive", "random"), _CRAFTER["adaptive"])
_MEADOW_ACHIEVEMENTS = (
    *("collect_drink", "collect_sapling", "collect_wood", "eat_plant", "make_wood_pickaxe"),
    *("make_wood_sword", "place_plant", "place_table", "wake_up"),
)
_QUARRY_ACHIEVEMENTS = (
    *("collect_coal", "collect_diamond", "collect_iron", "collect_stone", "make_iron_pickaxe"),
    *("make_iron_sword", "make_stone_pickaxe", "make_stone_sword", "place_furnace", "place_stone"),
)


def _crafter_intents(
    natural: Sequence[str],
    structures: Sequence[str],
    tools: Sequence[str],
    achievements: Sequence[str],
) -> tuple[str, ...]:
    """Return all that can be asked for on a map but death; walks find other parts of it each."""
    things = (*natural, *(thing for thing in structures if thing not in natural))
    near = [f"{p}({x})" for p in ("next_to", "close_to") for x in things]
    used_up = [f"not exists({x})" for x in natural if x not in ("water", "stone")]
    built = [f"exists({x})" for x in structures if x not in natural]
    return (
        *near,
        *(f"not {atom}" for atom in near),
        *(*used_up, *built, "is_sleeping()", "not is_sleeping()"),
        *(f"{p}({x})" for p in ("has", "can_make", "not can_make") for x in tools),
        *(f"{p}({x})" for p in ("can_build", "not can_build") for x in structures),
        *(f"achieved({x})" for x in achievements),
    )


_MEADOW_INTENTS = _crafter_intents(
    ("water", "tree"), ("table", "plant"), ("wood_pickaxe", "wood_sword"), _MEADOW_ACHIEVEMENTS
)
_QUARRY_INTENTS = _crafter_intents(
    ("water", "tree", "stone", "coal", "iron", "diamond"),
    ("table", "plant", "stone", "furnace"),
    tuple(f"{kind}_{tool}" for kind in ("wood", "stone", "iron") for tool in ("pickaxe", "sword")),
    (*_MEADOW_ACHIEVEMENTS, *_QUARRY_ACHIEVEMENTS),
)
_KITCHEN: Mapping[str, Budget] = dict.fromkeys(
    ("adaptive", "mcqs-s", "mcqs-e", "random"), Budget(simulator_steps=10_000)
)
"""As in the paper's figure: what is learned from the same number of simulator steps."""
_TABLE: Mapping[str, Budget] = dict.fromkeys(
    ("adaptive", "mcqs-s", "random"), Budget(simulator_steps=2_500)
)
"""A step is a skill. The adaptive strategy makes fewer than 3,000 executions with them. `mcqs-e`
is left out: requests have many outcomes, and the search for a single query takes minutes."""
_LANGUAGE: Mapping[str, Budget] = {"adaptive": Budget(executions=200)}
"""For findings about an agent that asks a language model."""
_BLOCKS = ("red", "blue", "green", "yellow")
_STACKING = tuple(f"on({x},{y})" for x in _BLOCKS for y in (*_BLOCKS, "cup") if x != y)
"""All that the robot at the table has a skill for."""
_FEW: Mapping[str, int] = {"exhaustive": 1, "mcqs-s": 3, "random": 3}
_PAPERS = ("mcqs-s, --paper", "mcqs-e, --paper", *BASELINES[1:])
CASES = (
    BenchCase("blocksworld", variants=_PAPERS),
    BenchCase("tireworld", variants=_PAPERS),
    # Random Query gets more than twenty times the steps that `mcqs-s` needs.
    BenchCase(
        "first-responders",
        budgets={
            "exhaustive": Budget(executions=130_000),
            "mcqs-s": Budget(executions=1_000_000),
            "random": Budget(simulator_steps=2_000_000),
        },
        max_seeds={"exhaustive": 1, "mcqs-e": 3, "mcqs-e, --paper": 1, "random": 3},
        variants=_PAPERS,
    ),
    BenchCase("probabilistic-elevators", tuple(_LARGE), _LARGE, max_seeds={"mcqs-e": 1}),
    BenchCase("depot", tuple(_DEPOT), _DEPOT),
    BenchCase("couriers", tuple(_GENERATED), _GENERATED, max_seeds=_FEW),
    BenchCase("hanoi", tuple(_GENERATED), _GENERATED, max_seeds=_FEW),
    BenchCase("minigrid-q", budgets=_GRID, sequences=5000, variants=_PAPERS),
    # Of 5,000 sequences for the many points of a curve; `agreement --sequences 100000` has more.
    BenchCase(
        "crafter-steve",
        tuple(_CRAFTER),
        _CRAFTER,
        sequences=5000,
        variants=_PAPERS,
        intents=_MEADOW_INTENTS,
    ),
    BenchCase(
        "crafter-steve:map=quarry",
        tuple(_QUARRY),
        _QUARRY,
        sequences=5000,
        intents=_QUARRY_INTENTS,
    ),
    # As in the paper, to have sequences of five capabilities: Θ = 4 and drawn actions.
    BenchCase(
        "crafter-steve:stochastic=yes",
        tuple(_STOCHASTIC),
        _STOCHASTIC,
        sequences=5000,
        variants=(),
        intents=_MEADOW_INTENTS,
    ),
    BenchCase("overcooked-hrl", tuple(_KITCHEN), _KITCHEN, sequences=2000, variants=_PAPERS[1:]),
    BenchCase("tabletop-affordance", tuple(_TABLE), _TABLE, sequences=400, intents=_STACKING),
    BenchCase(
        "tabletop-saycan",
        tuple(_LANGUAGE),
        _LANGUAGE,
        sequences=20,
        intents=_STACKING,
        only_for=("findings",),
    ),
)
SEEDS = 5
_PROBLEMS_OF: Mapping[str, tuple[str, ...]] = {
    "ablation": ("blocksworld", "tireworld", "first-responders"),
    "choice": ("blocksworld", "tireworld", "first-responders", "couriers", "minigrid-q"),
    "peers": ("blocksworld",),
}
"""For experiments on some of the problems only: those of the paper, or those that are feasible."""
CHOICES = (ONE_DRAW, UNIFORM, "mcqs-s", "mcqs-e", "adaptive, --audit 0")
"""What chooses the executions in the experiment about choice and model."""
CHOICE_SEEDS = 3


def cases_of(
    suite: str, problems: Sequence[str] = (), strategies: Sequence[str] = ()
) -> tuple[BenchCase, ...]:
    """Return the cases of an experiment: of the named problems and strategies, or as planned.

    A problem without a plan gets every strategy, unlimited.
    """
    planned = {case.problem: case for case in CASES}
    chosen = (
        problems
        or _PROBLEMS_OF.get(suite)
        or [case.problem for case in CASES if not case.only_for or suite in case.only_for]
    )
    cases = (planned.get(problem) or BenchCase(problem) for problem in chosen)
    return tuple(case_for(suite, case, strategies) for case in cases)


def case_for(suite: str, case: BenchCase, strategies: Sequence[str] = ()) -> BenchCase:
    """Return a case with the runs that an experiment makes of it."""
    labels = tuple(strategies) or case.strategies
    if suite == "efficiency" and not strategies:
        labels = tuple(dict.fromkeys((*case.strategies, *case.variants)))
    elif suite == "choice":
        case = replace(case, max_seeds=dict.fromkeys(CHOICES, CHOICE_SEEDS))
        labels = tuple(strategies) or CHOICES
    elif suite == "ablation":
        labels = tuple(_with_and_without_bonus(labels))
    return replace(case, strategies=labels)


def _with_and_without_bonus(labels: Sequence[str]) -> Iterator[str]:
    for label in labels:
        if STRATEGIES.find(strategy_of(label)).repeats_policy:
            yield label
            if label not in BASELINES:
                yield label + WITHOUT_BONUS
