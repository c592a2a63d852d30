"""The positions of the simulator that a run may start from.

Several positions of the simulator may look like one symbolic state. For each state a bounded,
uniform sample of the positions met is kept in the journal. Which visits are kept depends only on
the run's seed, the state and the number of the visit, so a resumed run keeps the same ones.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from capscope.errors import JournalError
from capscope.journal.draws import Draw, Start
from capscope.journal.journal import Journal
from capscope.journal.run_meta import InitialPosition, InitialPositions, position_digest
from capscope.journal.settings import Settings
from capscope.logic import State
from capscope.problem import Problem
from capscope.problem.attempt import observed_state, report_simulator_errors
from capscope.problem.positions import SavedPosition, save_position
from capscope.seeds import child_seed
from capscope.strategy.base import RESTORED_ELSEWHERE

_RESERVOIR = -2  # the place that seeds the sampling of positions
_START = -3  # the place that seeds resets
_CARRIED = -10  # the place that seeds positions of another run
CARRIED = 1_000_000
"""The slot of a position that another run met."""


class Reservoir:
    """Decides which visits of each state are kept: a bounded, uniform sample."""

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._seed = seed
        self._visits: dict[State, int] = {}
        self._next: dict[State, tuple[int, float]] = {}

    def count_visit(self, state: State) -> int | None:
        """Count a visit of a state; return the slot its position goes to, or None to skip it."""
        visit = self._visits.get(state, 0)
        self._visits[state] = visit + 1
        if visit < self._size:
            if visit == self._size - 1:
                self._next[state] = self._skip(state, visit, 1.0)
            return visit
        due, weight = self._next[state]
        if visit < due:
            return None
        self._next[state] = self._skip(state, visit, weight)
        return child_seed(self._seed, state, visit, 1) % self._size

    def count_past_visits(self, state: State, number: int) -> None:
        """Add a number of visits of a state whose positions were kept or skipped before."""
        before = self._visits.get(state, 0)
        after = self._visits[state] = before + number
        if before < self._size <= after:
            self._next[state] = self._skip(state, self._size - 1, 1.0)
        if after >= self._size:
            due, weight = self._next[state]
            while due < after:
                due, weight = self._skip(state, due, weight)
            self._next[state] = due, weight

    def _skip(self, state: State, visit: int, weight: float) -> tuple[int, float]:
        # Algorithm L: draw how many visits to skip instead of a number at each visit.
        rng = random.Random(child_seed(self._seed, state, visit))
        weight *= math.exp(math.log(1.0 - rng.random()) / self._size)
        passed = math.floor(math.log(1.0 - rng.random()) / math.log1p(-weight))
        return visit + passed + 1, weight


class KnownPositions:
    """The initial positions of a run, and those kept in its journal."""

    def __init__(
        self,
        initial: Sequence[Start],
        journal: Journal,
        settings: Settings,
        seed: int,
        reset: Callable[[int], Start],
    ) -> None:
        self.initial = initial
        self._by_name = {start.position.name: start for start in initial}
        self._reset = reset
        self._journal = journal
        self.reservoir = Reservoir(settings.snapshots, child_seed(seed, _RESERVOIR))

    def count_initial_visits(self, *, keep: bool) -> None:
        """Count the initial positions as visited; `keep` them in the journal."""
        for state, position in self.initial:
            slot = self.reservoir.count_visit(state)
            if slot is not None and keep:
                self._journal.keep_position(state, slot, position)

    def reset(self, seed: int) -> Start:
        """Reset the simulator with a seed; positions that the run began in are not new ones."""
        start = self._reset(seed)
        return self._by_name.get(start.position.name, start)

    def count_past_resets(self, starts: Iterable[tuple[State, bytes]]) -> None:
        """Count the draws that began after a reset: the state of each, and its position's name."""
        for state, name in starts:
            if name not in self._by_name:
                self.reservoir.count_past_visits(state, 1)

    def count_visits(
        self, draw: Draw, positions: dict[int, SavedPosition], reset: Start | None = None
    ) -> dict[tuple[State, int], SavedPosition]:
        """Count the visits of a draw; return what is to be kept, by state and slot.

        A position that a `reset` led to was met, too, unless the run began in it.
        """
        kept = {}
        if reset is not None and draw.executions and reset.position.name not in self._by_name:
            slot = self.reservoir.count_visit(reset.state)
            if slot is not None:
                kept[reset.state, slot] = reset.position
        for i, (_, attempt) in enumerate(draw.executions):
            if attempt.simulator_steps:
                state = attempt.trajectory[-1]
                slot = self.reservoir.count_visit(state)
                if slot is not None and i in positions:
                    kept[state, slot] = positions[i]
        return kept

    def choose(self, state: State, rng: random.Random) -> Start:
        """Choose one of the positions kept for a state that was seen."""
        positions = self._journal.positions(state)
        if not positions:
            holding = map(str, self._journal.read_meta().vocabulary.holding(state))
            raise JournalError(
                f"{self._journal.path} holds no position of state {state:#x} "
                f"({', '.join(holding)}), from which the run is to continue; {RESTORED_ELSEWHERE}. "
                "If that finds nothing, the journal was changed by something else"
            )
        return Start(state, rng.choice(positions))


def keep_carried(
    problem: Problem, positions: Mapping[State, SavedPosition], journal: Journal, seed: int
) -> None:
    """Keep the positions of another run that lead to the same states here.

    Another version of the world may not know them, or call them something else; these are skipped.
    """
    for number, (state, position) in enumerate(positions.items()):
        try:
            observation = problem.simulator.restore(
                position.snapshot, child_seed(seed, _CARRIED, number)
            )
            same = problem.abstraction(observation) == state
        except Exception:  # whatever a simulator raises about a position that is not its own
            continue
        if same:
            journal.keep_position(state, CARRIED, position)


def reset_positions(problem: Problem, settings: Settings, seed: int) -> dict[Start, int]:
    """Reset the simulator several times; return how many resets led to each position."""
    found: dict[bytes, Start] = {}
    led: Counter[Start] = Counter()
    for number in range(settings.resets):
        start = after_reset(problem, _reset_seed(seed, number))
        led[found.setdefault(start.position.name, start)] += 1
    return led


def describe_initial(
    problem: Problem, initial: Mapping[Start, int], settings: Settings, seed: int
) -> InitialPositions:
    """Describe the initial positions, and look where one more reset leads."""
    each = tuple(
        InitialPosition(position_digest(position.name), state, resets)
        for (state, position), resets in initial.items()
    )
    beyond = after_reset(problem, _reset_seed(seed, settings.resets))
    another = position_digest(beyond.position.name)
    states = tuple(dict.fromkeys(one.state for one in each))
    return InitialPositions(len(each), another not in {one.digest for one in each}, states, each)


def _reset_seed(seed: int, number: int) -> int:
    return child_seed(seed, _START, number) if number else child_seed(seed, _START)


def after_reset(problem: Problem, seed: int) -> Start:
    """Reset the simulator with a seed, and return where that leads."""
    with report_simulator_errors(problem, "when it was reset"):
        state = observed_state(problem, problem.simulator.reset(seed))
        return Start(state, save_position(problem.simulator))
