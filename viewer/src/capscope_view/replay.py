"""The steps of a draw: what was asked, the states it passed through, what the agent said.

A draw is read from the journal directly, which takes no longer for a large run. The journal keeps
the position that a draw started from, and some positions of each state, but not every position on
the way. So the first picture shows where the draw really was, and the others a position in the same
symbolic state; the page says so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from capscope.errors import RunError
from capscope.journal.draws import Draw
from capscope.journal.journal import Journal
from capscope.journal.run_directory import RunDirectory
from capscope.logic import Effect, Intent, State, Vocabulary
from capscope.model.state_graph import constant_atoms
from capscope.problem.positions import SavedPosition
from capscope.problems import picture_drawer
from capscope.report.digest.size_budget import shortened
from capscope.report.digest.states import picture_address
from capscope.sanitize import sanitize, sanitize_text

Drawer = Callable[[bytes], bytes]
_MOST_PROBLEMS = 8


class PictureBook:
    """Draws positions of any problem; each problem is loaded once.

    A simulator draws one position at a time: it has to be put there first.
    """

    def __init__(self, wanted: bool | None = None) -> None:
        self._wanted = wanted
        self._lock = threading.Lock()
        self._drawers: dict[str, Drawer | None] = {}

    def of(self, source: str) -> Drawer | None:
        """Return a function that draws positions of a problem; None if it cannot be drawn."""
        with self._lock:
            if source not in self._drawers:
                self._drawers = dict(list(self._drawers.items())[1 - _MOST_PROBLEMS :])
                self._drawers[source] = self._load(source)
            draw = self._drawers[source]
        if draw is None:
            return None

        def drawn(snapshot: bytes) -> bytes:
            with self._lock:
                return draw(snapshot)

        return drawn

    def _load(self, source: str) -> Drawer | None:
        try:
            return picture_drawer(source, self._wanted)
        except Exception:  # whatever a problem does when it is loaded, the page has no pictures
            return None


_LONGEST_TRANSCRIPT = 100_000
_MOST_FOUND = 50
_MOST_SEARCHED = 20_000


def capability_names(run: Path) -> list[str]:
    """Return the intents of a run, by number."""
    with RunDirectory.open(run, read_only=True) as opened:
        return [sanitize(str(intent)) for intent in opened.journal.intents()]


def replayed_draw(
    run: Path, place: tuple[int, int] | None, drawer_of: Callable[[str], Drawer | None]
) -> dict[str, Any]:
    """Return a draw as JSON-ready values, the latest if no query and draw are named."""
    with RunDirectory.open(run, read_only=True) as opened, opened.journal.at_one_moment():
        journal = opened.journal
        meta, intents = journal.read_meta(), journal.intents()
        latest = journal.latest_draws(1)
        if not latest:
            raise RunError("nothing was asked yet")
        query, number = place or latest[0]
        draws = journal.draws(query)
        if not 0 <= number < len(draws):
            raise RunError(f"there is no query {query}, draw {number}")
        states = _States(journal, meta.vocabulary, drawer_of(meta.identity.source))
        if draws[number].executions:
            states.begin(draws[number].executions[0].attempt.trajectory[0], (query, number))
        executions = list(_executions(journal, (query, number), draws[number], intents, states))
        return {
            "query": query,
            "draw": number,
            "draws": len(draws),
            "queries": latest[0][0] + 1,
            "cut": draws[number].cut,
            "executions": executions,
            "states": states.listed,
        }


class _States:
    """The states that a draw passes through, listed once each."""

    def __init__(self, journal: Journal, vocabulary: Vocabulary, drawer: Drawer | None) -> None:
        self.listed: list[dict[str, Any]] = []
        self.vocabulary = vocabulary
        self._journal = journal
        self._drawer = drawer
        self._always = constant_atoms(journal.states)
        self._index: dict[State, int] = {}

    def begin(self, state: State, place: tuple[int, int]) -> None:
        """List where the draw started, with a picture of just that position."""
        start = self._journal.start_of(*place)
        self.listed.append(self._described(state, start, exact=start is not None))

    def index(self, state: State) -> int:
        """Return where a state is in the list."""
        if state not in self._index:
            self._index[state] = len(self.listed)
            self.listed.append(self._described(state, None, exact=False))
        return self._index[state]

    def _described(
        self, state: State, position: SavedPosition | None, *, exact: bool
    ) -> dict[str, Any]:
        atoms = self.vocabulary.holding(state & ~self._always)
        picture = ""
        if self._drawer is not None:
            here = self._journal.positions(state) if position is None else [position]
            picture = picture_address(here, self._drawer)
        return {
            "name": f"s{self._journal.state_number(state)}",
            "atoms": [sanitize(str(atom)) for atom in atoms],
            "picture": picture,
            "exact": exact,
        }


def _executions(
    journal: Journal,
    place: tuple[int, int],
    draw: Draw,
    intents: Sequence[Intent],
    states: _States,
) -> Iterator[dict[str, Any]]:
    for number, (capability, attempt) in enumerate(draw.executions):
        intent = intents[capability]
        holds = intent.test(states.vocabulary)
        transcript = journal.transcript(*place, number)
        # The draw began in the state that is listed first.
        first = states.index(attempt.trajectory[0]) if number else 0
        yield {
            "intent": sanitize(str(intent)),
            "trajectory": [first, *map(states.index, attempt.trajectory[1:])],
            "held": holds(attempt.trajectory[0]),
            "achieved": holds(attempt.trajectory[-1]),
            "ending": str(attempt.ending),
            "simulator_steps": attempt.simulator_steps,
            "llm_tokens": attempt.llm_tokens,
            "detail": sanitize_text(shortened(attempt.detail, _LONGEST_TRANSCRIPT)),
            "transcript": sanitize_text(shortened(transcript, _LONGEST_TRANSCRIPT)),
        }


def find_draws(run: Path, capability: int | None) -> dict[str, Any]:
    """Return the latest executions, or those of one capability, as JSON-ready values."""
    found: list[dict[str, Any]] = []
    with RunDirectory.open(run, read_only=True) as opened, opened.journal.at_one_moment():
        journal = opened.journal
        vocabulary, intents = journal.read_meta().vocabulary, journal.intents()
        for place, draw in _latest_draws(journal):
            for number, (asked, attempt) in enumerate(draw.executions):
                if capability in (None, asked):
                    before, after = attempt.trajectory[0], attempt.trajectory[-1]
                    changes = Effect.between(before, after).literals(vocabulary)
                    found.append(
                        {
                            "query": place[0],
                            "draw": place[1],
                            "execution": number,
                            "intent": sanitize(str(intents[asked])),
                            "achieved": intents[asked].holds(after, vocabulary),
                            "ending": str(attempt.ending),
                            "changes": [sanitize(str(literal)) for literal in changes],
                        }
                    )
            if len(found) >= _MOST_FOUND:
                break
    return {"draws": found[:_MOST_FOUND]}


def _latest_draws(journal: Journal) -> Iterator[tuple[tuple[int, int], Draw]]:
    """Yield the draws of a run, latest first, up to a number."""
    read: tuple[int, list[Draw]] = (-1, [])
    for query, number in journal.latest_draws(_MOST_SEARCHED):
        if query != read[0]:
            read = query, journal.draws(query)
        yield (query, number), read[1][number]
