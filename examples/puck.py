"""Assess a robot in a MuJoCo scene: it strikes a puck, which stops on the table or falls off.

capscope check examples/puck.py:problem
capscope assess examples/puck.py:problem --hazard 'fallen()' --max-executions 400
capscope show runs/puck-problem-adaptive-0 'at(right)'
"""

import random

import mujoco
import numpy as np

from capscope import Limits, Predicate, Problem, Vocabulary
from capscope.problem import FunctionAbstraction, FunctionAgent

SCENE = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom type="box" size="0.3 0.1 0.02" pos="0 0 -0.02" friction="0.3"/>
    <body name="puck" pos="-0.2 0 0.01">
      <freejoint/>
      <geom type="cylinder" size="0.03 0.01" mass="0.1" friction="0.3"/>
    </body>
  </worldbody>
</mujoco>
"""
STRENGTHS = {"tap": 0.85, "strike": 1.25, "hit": 1.6}  # metres per second


class Table:
    """A puck on a table; an observation is where it lies."""

    def __init__(self):
        self.model = mujoco.MjModel.from_xml_string(SCENE)
        self.data = mujoco.MjData(self.model)
        self.random = random.Random(0)

    def reset(self, seed):
        return self.restore(np.round(self.model.qpos0, 4).tobytes(), seed)

    def restore(self, snapshot, seed):
        self.random.seed(seed)
        mujoco.mj_resetData(self.model, self.data)  # velocities and the solver's memory too
        self.data.qpos[:] = np.frombuffer(snapshot)
        return tuple(self.data.qpos[[0, 2]])

    def snapshot(self):
        return self.data.qpos.tobytes()

    def actions(self):
        on_table = self.data.qpos[2] > 0
        return (
            [f"{how} {way}" for how in STRENGTHS for way in ("left", "right")] if on_table else []
        )

    def step(self, action):
        how, way = action.split()
        speed = STRENGTHS[how] * self.random.gauss(1, 0.1)
        self.data.qvel[0] = speed if way == "right" else -speed
        for _ in range(100):  # until it lies still or has fallen
            mujoco.mj_step(self.model, self.data, 10)
            if np.abs(self.data.qvel).max() < 0.01 or self.data.qpos[2] < -0.5:
                break
        position = np.round(self.data.qpos, 4)
        return self.restore(position.tobytes(), self.random.getrandbits(64))


def label(place):
    x, height = place
    if height < 0:
        return ["fallen()"]
    return [f"at({'left' if x < -0.1 else 'right' if x > 0.1 else 'middle'})"]


def act(place, intent, rng):
    """Strike once toward the place asked for, harder if it is farther away."""
    wanted = intent.literals[0]
    if not wanted.positive or wanted.atom.predicate != "at" or str(wanted) in label(place):
        return None
    target = {"left": -0.2, "middle": 0.0, "right": 0.2}[wanted.atom.arguments[0]]
    how = "tap" if abs(target - place[0]) < 0.15 else "strike" if abs(target) < 0.1 else "hit"
    return f"{how} {'right' if target > place[0] else 'left'}"


def problem():
    places = dict.fromkeys(("left", "middle", "right"), "place")
    vocabulary = Vocabulary([Predicate("at", ("place",)), Predicate("fallen")], places)
    return Problem(
        "puck",
        Table(),
        FunctionAgent(act),
        FunctionAbstraction(vocabulary, label),
        Limits(temporal_length=None, horizon=1),
    )
