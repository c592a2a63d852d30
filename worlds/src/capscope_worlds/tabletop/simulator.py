"""Simulate the table: an action is a skill, carried out where the robot's eyes see things.

A skill picks at the place where its block is seen and places where its target is seen, each missed
by a few millimetres. So it acts on the wrong block if the eyes take one for another. On the table
it places near the front edge, without a look at what is there.

Light, noise and inaccuracy follow from the seed of the reset or restore and the number of skills
since then.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from functools import cached_property

from capscope.problem import InvalidAction, Snapshot
from capscope.problem.positions import png
from capscope.seeds import child_seed
from capscope_worlds.tabletop.camera import Camera, Pixels
from capscope_worlds.tabletop.detector import Detector, Sighting
from capscope_worlds.tabletop.gripper import Gripper, Place, scene_text, table_model
from capscope_worlds.tabletop.poses import (
    TABLE_HALF_WIDTH,
    from_snapshot,
    random_layout,
    to_snapshot,
)
from capscope_worlds.tabletop.skills import SKILLS, TABLE, Skill

INACCURACY = 0.003
"""Standard deviation of where the hand goes, in metres, in each direction."""
_FRONT_X, _FRONT_Y = TABLE_HALF_WIDTH - 0.04, 0.14
"""On the table means this far to the front, and at most so far to the left or right."""
_LAYOUT, _VIEW, _SKILL = range(3)  # children of the seed


class Eyes:
    """A camera above the table and a detector."""

    def __init__(self, camera: Camera, detector: Detector) -> None:
        self.camera = camera
        self.detector = detector


class TableObservation:
    """What the robot sees, and the true position for the abstraction.

    The picture is taken when it is needed: much of what is observed is never looked at.
    """

    def __init__(self, snapshot: Snapshot, seed: int, eyes: Eyes) -> None:
        self.snapshot = snapshot
        self._seed = seed
        self._eyes = eyes

    @cached_property
    def view(self) -> Pixels:
        """The camera's picture."""
        return self._eyes.camera.view(from_snapshot(self.snapshot), self._seed)[0]

    @cached_property
    def sightings(self) -> Mapping[str, Sighting]:
        """Where the detector sees each thing, and how certainly."""
        return self._eyes.detector.look(self.view)

    @cached_property
    def affordances(self) -> Mapping[str, float]:
        """How feasible each skill looks: the certainty of its block times that of its target."""
        sure = {name: seen.certainty for name, seen in self.sightings.items()} | {TABLE: 1.0}
        return {text: sure[s.block] * sure[s.target] for text, s in SKILLS.items()}


class TabletopSimulator:
    """A robot at a table; an observation is a `TableObservation`, an action a skill."""

    def __init__(self, detector: Detector | None = None) -> None:
        model = table_model()
        self.eyes = Eyes(Camera(model), detector or Detector.load())
        self._gripper = Gripper(model)
        self._seed = 0
        self._skills_done = 0
        self._seen = self.reset(0)

    @property
    def fingerprint(self) -> str:
        """Identifies the scene and the weights of the detector."""
        scene = hashlib.sha256(scene_text().encode()).hexdigest()[:16]
        return f"{scene}-{self.eyes.detector.fingerprint}"

    def reset(self, seed: int) -> TableObservation:
        """Put everything on the table, in places that depend on the seed."""
        layout = self._gripper.settle(random_layout(child_seed(seed, _LAYOUT)))
        return self.restore(to_snapshot(layout), seed)

    def restore(self, snapshot: Snapshot, seed: int) -> TableObservation:
        """Go back to a position."""
        from_snapshot(snapshot)  # raises for a foreign one
        self._seed, self._skills_done = seed, 0
        return self._look(snapshot)

    def snapshot(self) -> Snapshot:
        """Return the current position."""
        return self._seen.snapshot

    def actions(self) -> Sequence[str]:
        """List the skills: the robot may always try each of them."""
        return tuple(SKILLS)

    def step(self, action: str) -> TableObservation:
        """Carry out a skill."""
        skill = SKILLS.get(action) if isinstance(action, str) else None
        if skill is None:
            raise InvalidAction(f"{action!r} is not a skill; one is {next(iter(SKILLS))!r}")
        rng = random.Random(child_seed(self._seed, _SKILL, self._skills_done))
        poses = from_snapshot(self._seen.snapshot)
        pick = _missed(self._seen.sightings[skill.block].place, rng)
        moved = self._gripper.pick_and_place(poses, pick, self._target(skill, rng))
        self._skills_done += 1
        return self._look(to_snapshot(moved))

    def picture(self, snapshot: Snapshot) -> bytes:
        """Draw a position as a PNG; the simulator stays where it is."""
        return png(self.eyes.camera.picture(from_snapshot(snapshot)))

    def _look(self, snapshot: Snapshot) -> TableObservation:
        seed = child_seed(self._seed, _VIEW, self._skills_done)
        self._seen = TableObservation(snapshot, seed, self.eyes)
        return self._seen

    def _target(self, skill: Skill, rng: random.Random) -> Place:
        if skill.target == TABLE:
            return _FRONT_X, rng.uniform(-_FRONT_Y, _FRONT_Y)
        return _missed(self._seen.sightings[skill.target].place, rng)


def _missed(place: Place, rng: random.Random) -> Place:
    """Return a place a little beside the one meant."""
    return place[0] + rng.gauss(0, INACCURACY), place[1] + rng.gauss(0, INACCURACY)
