"""Pick and place with contact physics: a hand with two jaws, blocks and a cup, in MuJoCo.

The primitive does not look at what it does. It goes down to one height above the table, closes the
jaws, lifts, carries, lowers until what it carries touches something, and opens the jaws. So it
holds the lowest block at a place, and what stands on that block comes along.

Free flight is skipped: the empty hand appears above the place where it begins and vanishes where it
ends. Velocities and the solver's memory are cleared first, so that the same poses and places lead
to the same poses, bit for bit, in any process.
"""

import math
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

import mujoco
import numpy as np

from capscope_worlds.tabletop.poses import GONE_BELOW, THINGS, PoseArray

Place = tuple[float, float]
"""Metres from the centre of the table."""

GRASP_HEIGHT = 0.022
HOVER_HEIGHT = 0.2
_OPEN, _CLOSED = 0.035, 0.0
_PARKED = (2.0, 2.0, HOVER_HEIGHT)
_CARRIED_ABOVE = 0.07
"""What rises at least this far when the hand lifts, is carried."""
_DOWN_SPEED, _LOWERING_SPEED = 0.8, 0.35
_LIFTING, _CARRYING, _LEAVING = 6.0, 3.5, 12.0
"""Highest accelerations; slow enough that what stands on a carried block stays there."""
_LEAVING_HEIGHT = 0.06
_CLOSE_STEPS, _OPEN_STEPS, _REST_STEPS, _MOST_REST_STEPS = 30, 20, 20, 300
_TICK_STEPS = 2
"""Steps of the physics between two commands to the hand."""
_STILL = 0.02
"""Metres or radians per second below which a thing counts as lying still."""
_JAWS = ("left-jaw", "right-jaw")
_POSES = 7 * len(THINGS)
_SPEEDS = 6 * len(THINGS)


def scene_text() -> str:
    """Return the scene of the table, in MuJoCo's format."""
    return files(__package__).joinpath("table.xml").read_text(encoding="utf-8")


def table_model() -> mujoco.MjModel:
    """Compile the scene."""
    return mujoco.MjModel.from_xml_string(scene_text())


class Gripper:
    """Moves things on the table; it keeps nothing from one call to the next."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model
        self._data = mujoco.MjData(model)
        bodies = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name) for name in THINGS]
        # The thing that each geom is part of; -1 for the table and the hand.
        self._thing_of_geom = np.array(
            [bodies.index(body) if body in bodies else -1 for body in model.geom_bodyid]
        )
        hand = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, name) for name in _JAWS]
        self._tick = _TICK_STEPS * model.opt.timestep
        self._is_hand = np.isin(np.arange(model.ngeom), hand)

    def pick_and_place(self, poses: PoseArray, pick: Place, place: Place) -> PoseArray:
        """Take hold of what is at one place and put it down at another."""
        self._begin(poses, pick)
        self._descend(pick)
        self._jaws(_CLOSED, _CLOSE_STEPS)
        before = self._heights()
        self._move((*pick, GRASP_HEIGHT), (*pick, HOVER_HEIGHT), _LIFTING)
        carried = self._heights() - before > _CARRIED_ABOVE
        self._move((*pick, HOVER_HEIGHT), (*place, HOVER_HEIGHT), _CARRYING)
        height = self._lower(place, carried)
        self._jaws(_OPEN, _OPEN_STEPS)
        self._move((*place, height), (*place, height + _LEAVING_HEIGHT), _LEAVING)
        self._park()
        return self._settled()

    def settle(self, poses: PoseArray) -> PoseArray:
        """Let everything come to rest, without a hand."""
        self._begin(poses, _PARKED[:2])
        return self._settled()

    def _settled(self) -> PoseArray:
        """Wait until nothing on the table moves, and return where everything is."""
        data = self._data
        for _ in range(_MOST_REST_STEPS // _REST_STEPS):
            mujoco.mj_step(self._model, data, _REST_STEPS)
            speeds = np.abs(data.qvel[:_SPEEDS].reshape(-1, 6)).max(axis=1)
            if not np.any((speeds > _STILL) & (self._heights() > GONE_BELOW)):
                break
        return np.array(data.qpos[:_POSES]).reshape(-1, 7)

    def _begin(self, poses: PoseArray, above: tuple[float, ...]) -> None:
        data = self._data
        mujoco.mj_resetData(self._model, data)
        data.qpos[:_POSES] = poses.ravel()
        data.qpos[_POSES:] = data.ctrl[:] = (*above, HOVER_HEIGHT, _OPEN, _OPEN)

    def _park(self) -> None:
        data = self._data
        data.qpos[_POSES:] = data.ctrl[:] = (*_PARKED, _OPEN, _OPEN)
        data.qvel[_SPEEDS:] = 0

    def _heights(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array(self._data.qpos[2:_POSES:7])

    def _jaws(self, opening: float, steps: int) -> None:
        self._data.ctrl[3:] = opening
        mujoco.mj_step(self._model, self._data, steps)

    def _descend(self, pick: Place) -> None:
        fall = HOVER_HEIGHT - GRASP_HEIGHT
        for part in _smooth(fall / _DOWN_SPEED / self._tick):
            self._go((*pick, HOVER_HEIGHT - part * fall))

    def _move(self, start: tuple[float, ...], end: tuple[float, ...], acceleration: float) -> None:
        """Move in a straight line."""
        seconds = math.sqrt(6 * math.dist(start, end) / acceleration)
        for part in _smooth(seconds / self._tick):
            self._go([a + part * (b - a) for a, b in zip(start, end, strict=True)])

    def _lower(self, place: Place, carried: np.ndarray[Any, np.dtype[np.bool_]]) -> float:
        """Go down until the hand or what it carries touches something; return the height."""
        drop = _LOWERING_SPEED * self._tick
        height = HOVER_HEIGHT
        while height > GRASP_HEIGHT and not self._touches(carried):
            height = max(GRASP_HEIGHT, height - drop)
            self._go((*place, height))
        height = float(self._data.qpos[_POSES + 2])
        self._go((*place, height))
        return height

    def _touches(self, carried: np.ndarray[Any, np.dtype[np.bool_]]) -> bool:
        """Return whether the hand or what it carries is in contact with anything else."""
        pairs = np.array(self._data.contact.geom[: self._data.ncon])
        if not len(pairs):
            return False
        thing = self._thing_of_geom[pairs]
        held = self._is_hand[pairs] | ((thing >= 0) & carried[thing])
        return bool(np.any(held[:, 0] != held[:, 1]))

    def _go(self, target: Sequence[float]) -> None:
        self._data.ctrl[:3] = target
        mujoco.mj_step(self._model, self._data, _TICK_STEPS)


def _smooth(ticks: float) -> Iterator[float]:
    """Yield the share of a way that is done after each tick, slow at both ends."""
    steps = max(1, math.ceil(ticks))
    for step in range(1, steps + 1):
        part = step / steps
        yield part * part * (3 - 2 * part)
