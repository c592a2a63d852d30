"""Whether a request needed a change: repeat the recorded actions without some of them.

The simulator repeats an execution without the agent: the position is restored, and the actions are
taken again. If this ends where it ended before, other sequences show what the request needed: the
actions without some of them, a tool call with smaller arguments, another action in the place of the
one that made the change. A sequence after which the request holds, and along which the change never
happens, shows that it was needless.

In a world with chance a sequence is repeated with several seeds, so that no luck is taken for a
cause. What is found then is said to be so by chance, unless all repetitions agree.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from capscope.logic import Effect, State
from capscope.logic.condition import StateTest
from capscope.problem.actions import UnknownAction, WrittenAction, read_action
from capscope.problem.attempt import Attempt, Ending, is_exit, observed_state
from capscope.problem.problem import Action, InvalidAction, Problem, Snapshot
from capscope.problem.tool_calls import ToolCall
from capscope.seeds import child_seed

_AGAIN = 2
"""Repetitions with other seeds that show whether there is chance."""
_REPETITIONS = 3
"""Of each sequence, if there is."""
_MOST_IN_ALL_SUBSETS = 7
"""With more actions not all subsets are tried."""
_MOST_ONE_BY_ONE = 16
"""With more actions left they are not left out one by one."""
_MOST_MAKERS = 5
"""Actions that make the change, left out one after the other."""
_MOST_OTHERS = 64
"""Actions tried in the place of one."""
_LONGEST_NOTE = 200
BY_CHANCE = "by chance"
"""The note if only some repetitions of the same actions were spared the change."""
_CHANCE = "there is chance in the world"
_DONE = (Ending.STOPPED, Ending.WORLD_ENDED)


class Need(StrEnum):
    """Whether the request needed a change."""

    NEEDLESS = "needless"
    PART = "part of it"
    """The same action caused both, or one implies the other."""
    ON_THE_WAY = "on the way"
    """The execution ended before the request held, or an earlier action that it needs made it."""
    UNDECIDED = "undecided"


class StepsSpent(Exception):  # noqa: N818 - an event, not a mistake
    """The budget of the run is spent; the replay is made again if there is more to spend."""


@dataclass(frozen=True)
class Recorded:
    """An execution as it was recorded."""

    snapshot: Snapshot
    """Where its draw started."""
    seed: int
    """The seed of the draw."""
    earlier: Sequence[WrittenAction]
    """The actions of earlier executions of the draw."""
    actions: Sequence[WrittenAction]
    trajectory: tuple[State, ...]
    ending: Ending
    nearby: Snapshot | None = None
    """A position in the state where the execution began."""


@dataclass(frozen=True)
class Change:
    """What is asked about an execution."""

    holds: StateTest
    """Whether the request holds."""
    named: tuple[str, ...]
    """The objects that it names."""
    of: Effect
    """All atoms that would be the same kind of change."""
    own: State
    """The atoms that are about objects of the request only, and what was asked for."""

    def happened(self, before: State, after: State) -> bool:
        """Return whether a change of this kind was made."""
        made = Effect.between(before, after)
        return bool(made.adds & self.of.adds or made.deletes & self.of.deletes)

    def is_beyond(self, effect: Effect) -> bool:
        """Return whether an effect is about more than the objects of the request."""
        return bool((effect.adds | effect.deletes) & ~self.own)


class Decision(NamedTuple):
    """What replays show about a change."""

    verdict: Need
    kept: tuple[int, ...]
    """The actions that suffice, by their places in the execution."""
    steps: int
    """Simulator steps that it took to find out."""
    note: str
    """Why it is undecided, or what else was different."""


class StepLimit(NamedTuple):
    """Simulator steps that a decision may take."""

    most: int
    """Beyond this, from where the execution began, the change stays undecided."""
    left: float
    """What is left of the run's budget; beyond this `StepsSpent` is raised."""


def decide(problem: Problem, recorded: Recorded, change: Change, limit: StepLimit) -> Decision:
    """Decide whether a request needed a change that an execution made.

    Args:
        problem: The problem; its agent is not asked.
        recorded: The execution.
        change: The request and the change.
        limit: What it may take.

    Returns:
        The decision; an error of the simulator leaves the change undecided.
    """
    held = change.holds(recorded.trajectory[-1])
    if ended_on_the_way(recorded, change.holds):
        return Decision(Need.ON_THE_WAY, (), 0, "")
    if not held and recorded.ending not in _DONE:
        return Decision(Need.UNDECIDED, (), 0, f"the execution ended early: {recorded.ending}")
    world = _World(problem, recorded, limit)
    try:
        verdict, kept, note = _SequenceSearch(world, change, len(recorded.actions)).decided(held)
    except StepsSpent:
        raise
    except _TooLong:
        verdict, kept, note = Need.UNDECIDED, (), f"more than {limit.most:,} simulator steps"
    except BaseException as error:
        if not (isinstance(error, Exception) or is_exit(error)):
            raise
        message = " ".join(f"the simulator raised {type(error).__name__}: {error}".split())
        verdict, kept, note = Need.UNDECIDED, (), message[:_LONGEST_NOTE]
    return Decision(verdict, kept, world.steps, note)


def ended_on_the_way(execution: Recorded | Attempt, holds: StateTest) -> bool:
    """Return whether a change ended an execution before its request held."""
    return execution.ending is Ending.CHANGED and not holds(execution.trajectory[-1])


class _TooLong(Exception):  # noqa: N818 - an event, not a mistake
    """The decision takes too many simulator steps."""


_Kept = tuple[int, ...]
_Verdict = tuple[Need, _Kept, str]


class _Repetition(NamedTuple):
    """What some of the actions led to."""

    taken: _Kept
    """The actions that were available."""
    states: tuple[State, ...]
    """The state before the first, and after each of them."""


class _World:
    """The simulator, and the position in which the execution began."""

    def __init__(self, problem: Problem, recorded: Recorded, limit: StepLimit) -> None:
        self._problem, self._simulator = problem, problem.simulator
        self._recorded, self._limit = recorded, limit
        self._spent = 0
        self.steps = 0
        self.random = True
        """Whether there is chance; if not, what is known of the first actions is not repeated."""
        self._states: list[State] = []
        self._positions: list[Snapshot] = []

    def repeated(self) -> _Repetition | None:
        """Repeat the execution, from nearby if that ends alike; None if it ends elsewhere."""
        recorded = self._recorded
        near = [] if recorded.nearby is None else [(recorded.nearby, ())]
        starts = (*near, (recorded.snapshot, recorded.earlier))
        if not any(self._ends_alike(*start) for start in starts):
            return None
        return _Repetition(tuple(range(len(recorded.actions))), tuple(self._states))

    def _ends_alike(self, start: Snapshot, earlier: Sequence[WrittenAction]) -> bool:
        """Repeat the execution after earlier actions, and note its states and positions."""
        state = self._restore(start, self._recorded.seed)
        try:
            for written in earlier:
                state = self._step(self._action(written))
                self._spent = 0  # the search has not begun
            self._states, self._positions = [state], [self._simulator.snapshot()]
            for written in self._recorded.actions:
                self._states.append(self._step(self._action(written)))
                self._positions.append(self._simulator.snapshot())
        except (InvalidAction, UnknownAction):
            return False
        distinct = tuple(state for state, _ in itertools.groupby(self._states))
        return distinct == self._recorded.trajectory

    def take(
        self, kept: _Kept, number: int, instead: tuple[int, Action] | None = None
    ) -> _Repetition:
        """Take some of the actions; `instead` gives another one for one of them."""
        changed = -1 if self.random else len(kept) if instead is None else kept.index(instead[0])
        known = next((n for n, place in enumerate(kept) if n >= changed or place != n), len(kept))
        taken, states = list(kept[:known]), self._states[: known + 1]
        self._restore(self._positions[known], child_seed(self._recorded.seed, number))
        for place in kept[known:]:
            try:
                other = instead is not None and instead[0] == place
                action = instead[1] if other and instead else self.action(place)
                states.append(self._step(action))
                taken.append(place)
            except (InvalidAction, UnknownAction):
                continue
        return _Repetition(tuple(taken), tuple(states))

    def others(self, kept: _Kept, place: int) -> tuple[Action, list[Action]]:
        """Return an action and others that are available there, those of its tool first."""
        self.take(kept[: kept.index(place)], 0)
        own, found = self.action(place), list(self._simulator.actions())
        if isinstance(own, ToolCall):
            found.sort(key=lambda action: getattr(action, "tool", None) != own.tool)
        return own, [action for action in found[:_MOST_OTHERS] if str(action) != str(own)]

    def action(self, place: int) -> Action:
        """Return an action of the execution, as it is in the present position."""
        return self._action(self._recorded.actions[place])

    def _action(self, written: WrittenAction) -> Action:
        return read_action(written, self._simulator.actions)

    def _restore(self, snapshot: Snapshot, seed: int) -> State:
        self._spend()  # a restore may take longer than a step
        return observed_state(self._problem, self._simulator.restore(snapshot, seed))

    def _step(self, action: Action) -> State:
        if self.steps >= self._limit.left:
            raise StepsSpent
        self._spend()
        self.steps += 1
        return observed_state(self._problem, self._simulator.step(action))

    def _spend(self) -> None:
        if self._spent >= self._limit.most:
            raise _TooLong
        self._spent += 1


class _SequenceSearch:
    """Looks for a sequence that shows that a change was needless."""

    def __init__(self, world: _World, change: Change, number: int) -> None:
        self._world, self._change = world, change
        self._all = tuple(range(number))
        self._minimal = self._all  # actions of which none can be left out
        self._tried: dict[_Kept, list[_Repetition]] = {}
        self._lucky: _Kept | None = None
        self._made = Effect(0, 0)

    def decided(self, held: bool) -> _Verdict:
        """Return the verdict, the actions that suffice, and a note."""
        recorded = self._world.repeated()
        if recorded is None:
            return Need.UNDECIDED, (), "the world does not repeat exactly"
        self._made = Effect.between(recorded.states[0], recorded.states[-1])
        times = _AGAIN if len(self._all) <= _MOST_ONE_BY_ONE else 1
        again = [self._world.take(self._all, number) for number in range(times)]
        self._world.random = any(one != recorded for one in again)
        self._note_luck(again)
        if not held:
            if any(self._achieved(one) for one in again):
                return Need.UNDECIDED, (), f"{BY_CHANCE} the request was not achieved"
            return Need.NEEDLESS, (), "nothing was achieved"
        for length in range(len(recorded.states)):
            if self._shows(_Repetition((), recorded.states[: length + 1])):
                return Need.NEEDLESS, self._all[:length], ""
        for kept in self._candidates():
            if all(map(self._shows, self._try(kept))):
                return Need.NEEDLESS, kept, ""
        return self._without_subset()

    def _candidates(self) -> Iterator[_Kept]:
        """Yield subsets of the actions, the most likely ones first."""
        yield from self._without_makers()
        yield from self._smaller()
        if len(self._all) <= _MOST_IN_ALL_SUBSETS:
            for size in reversed(self._all):
                yield from itertools.combinations(self._all, size)

    def _without_makers(self) -> Iterator[_Kept]:
        """Leave out one after the other the actions that make the change."""
        kept = self._all
        for _ in range(_MOST_MAKERS):
            maker = self._maker(self._try(kept)[0])
            if maker is None:
                return
            kept = tuple(place for place in kept if place != maker)
            yield kept

    def _smaller(self) -> Iterator[_Kept]:
        """Leave out more and more actions as long as the request is achieved."""
        kept, size = self._all, len(self._all) // 2
        while size and (len(kept) <= _MOST_ONE_BY_ONE or 4 * size >= len(kept) - 3):
            first, before = 0, kept
            while first < len(kept):
                rest = kept[:first] + kept[first + size :]
                yield rest
                if all(map(self._achieved, self._try(rest))):
                    kept = rest
                else:
                    first += size
            if size > 1 or kept == before:
                size //= 2
        self._minimal = kept

    def _without_subset(self) -> _Verdict:
        """Decide about a change that no subset of the actions spares."""
        kept = self._minimal
        if self._lucky is None and len(kept) > _MOST_ONE_BY_ONE:
            return Need.UNDECIDED, (), f"more than {_MOST_ONE_BY_ONE} actions seem to be needed"
        repetitions = [self._world.take(kept, number) for number in range(_REPETITIONS)]
        self._note_luck(repetitions)
        makers = {self._maker(one) for one in repetitions}
        maker = makers.pop()
        if self._lucky is not None:
            return Need.NEEDLESS, self._lucky, BY_CHANCE
        if makers or maker is None or not all(map(self._achieved, repetitions)):
            return Need.UNDECIDED, (), _CHANCE
        for action in self._replacements(kept, maker):
            numbers = range(self._repetitions)
            found = [self._world.take(kept, number, (maker, action)) for number in numbers]
            if all(self._shows(one) and not self._shifts(one) for one in found):
                return Need.NEEDLESS, kept, f"with {action} instead"[:_LONGEST_NOTE]
        both = {self._causes_both(one, maker) for one in repetitions}
        if len(both) > 1:
            return Need.UNDECIDED, (), _CHANCE
        # If not: without the action that made the change, a later one does not achieve the request.
        return Need.PART if both.pop() else Need.ON_THE_WAY, kept, ""

    def _replacements(self, kept: _Kept, maker: int) -> Iterator[Action]:
        own, others = self._world.others(kept, maker)
        if isinstance(own, ToolCall):
            from capscope.problem.shrunk_calls import shrunk_calls

            yield from shrunk_calls(own, self._change.named)
        yield from others

    def _causes_both(self, one: _Repetition, maker: int) -> bool:
        """Return whether the request begins to hold with an action that also makes the change."""
        after = one.taken.index(maker) + 1
        return self._change.holds(one.states[after]) and not self._change.holds(
            one.states[after - 1]
        )

    @property
    def _repetitions(self) -> int:
        return _REPETITIONS if self._world.random else 1

    def _try(self, kept: _Kept) -> list[_Repetition]:
        """Take some of the actions, several times if there is chance."""
        if kept not in self._tried:
            found = [self._world.take(kept, number) for number in range(self._repetitions)]
            self._note_luck(found)
            self._tried[kept] = found
        return self._tried[kept]

    def _note_luck(self, found: Sequence[_Repetition]) -> None:
        """Remember the first actions that spared the change in one repetition."""
        for one in found:
            if self._lucky is None and self._shows(one):
                self._lucky = one.taken

    def _achieved(self, one: _Repetition) -> bool:
        return self._change.holds(one.states[-1])

    def _shows(self, one: _Repetition) -> bool:
        return self._achieved(one) and self._maker_at(one) is None

    def _shifts(self, one: _Repetition) -> bool:
        """Return whether something else changes instead that the request does not name."""
        made = Effect.between(one.states[0], one.states[-1])
        return self._change.is_beyond(made.without(self._made))

    def _maker(self, one: _Repetition) -> int | None:
        """Return the action that makes the change first; None if none does."""
        number = self._maker_at(one)
        return None if number is None else one.taken[number - 1]

    def _maker_at(self, one: _Repetition) -> int | None:
        states = enumerate(one.states)
        return next((n for n, s in states if self._change.happened(one.states[0], s)), None)
