"""Build the independent dataset 𝒟′ once, in pieces, and find it again.

A sequence is 10 to 30 capabilities, each drawn uniformly, executed one after the other from the
initial state. All of its chance comes from its number, so it does not matter when or by whom it is
executed: a dataset whose building was interrupted is completed to the same dataset. What was built
is saved every few seconds, and when building ends for whatever reason; a kill loses the sequences
since. Saving takes longer as the dataset grows, so it waits until it costs a tenth of the time.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from capscope.analysis.evaluation.reference import Counts
from capscope.analysis.evaluation.sample import (
    LONGEST,
    SHORTEST,
    IndependentSample,
    Recipe,
    load,
    save,
)
from capscope.assessment.simulator_errors import report_simulator_errors
from capscope.errors import SampleError
from capscope.record.execution_table import Transition
from capscope.seeds import child_seed
from capscope.world import Position
from capscope.world.attempt import pursue

SECONDS_BETWEEN_SAVES = 5.0
Heard = Callable[[int, int], None]
"""Hears how many sequences are done, and of how many."""
Clock = Callable[[], float]


def unheard(done: int, of: int) -> None:
    """Listen to nothing."""


def build(
    recipe: Recipe,
    folder: Path,
    *,
    rebuild: bool = False,
    heard: Heard = unheard,
    clock: Clock = time.monotonic,
) -> IndependentSample:
    """Return the sample of a recipe: as it is in the folder, completed, or built.

    A change of the agent's code that its problem's fingerprint does not show cannot be noticed;
    `rebuild` forgets what there is.
    """
    if rebuild:
        _forget(folder / recipe.file_name)
    begun = load(recipe, folder)
    if begun is not None and begun.sequences == recipe.sequences:
        return begun
    site = _Site(recipe, folder, begun, clock)
    site.save()  # a folder that cannot be written to is found out before the work
    try:
        heard(site.done, recipe.sequences)
        for sequence in range(site.done, recipe.sequences):
            site.add(_walk(recipe, sequence))
            heard(site.done, recipe.sequences)
            if site.due:
                site.save()
    except BaseException:
        with suppress(SampleError):
            site.save()
        raise
    return site.save()


def _forget(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise SampleError(f"cannot replace {path}: {error.strerror}") from error


class _Site:
    """A dataset under construction."""

    def __init__(
        self, recipe: Recipe, folder: Path, begun: IndependentSample | None, clock: Clock
    ) -> None:
        self._recipe = recipe
        self._folder = folder
        self._clock = clock
        self._counts = begun.transitions() if begun else Counter()
        self._whole = True
        self._next_save = 0.0
        self.done = begun.sequences if begun else 0

    def add(self, sequence: list[Transition]) -> None:
        """Take a sequence in; one that is interrupted here must not be counted twice."""
        self._whole = False
        self._counts.update(sequence)
        self.done += 1
        self._whole = True

    @property
    def due(self) -> bool:
        """Whether it is time to save."""
        return self._clock() >= self._next_save

    def save(self) -> IndependentSample:
        """Write down what there is, unless an interrupt left it between two sequences."""
        begun = self._clock()
        counts = Counts.of(self._counts)
        name = self._recipe.file_name
        sample = IndependentSample(self._recipe.intents, self.done, counts, name)
        if self._whole:
            save(sample, self._recipe, self._folder)
        now = self._clock()
        self._next_save = now + max(SECONDS_BETWEEN_SAVES, 10 * (now - begun))
        return sample


def _walk(recipe: Recipe, sequence: int) -> list[Transition]:
    """Execute one sequence."""
    problem, intents = recipe.problem, recipe.intents
    place = child_seed(recipe.seed, sequence)
    rng = random.Random(place)
    with report_simulator_errors(problem, "when it was reset"):
        observation = problem.simulator.reset(child_seed(place, 0))
        position = Position(observation, problem.abstraction(observation))
    walked = []
    for i in range(1, 1 + rng.randint(SHORTEST, LONGEST)):
        capability = rng.randrange(len(intents))
        before = position.state
        _, position = pursue(problem, intents[capability], position, child_seed(place, i))
        walked.append(Transition(before, capability, position.state))
    return walked
