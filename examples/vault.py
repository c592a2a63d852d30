"""Assess an agent in your own grid: here one that is trained by reinforcement learning.

capscope check examples/vault.py:problem
capscope assess examples/vault.py:problem
capscope show runs/vault-problem-adaptive-0
"""

from pathlib import Path

from train_grid_q import Training, train

from capscope_worlds.grid_q import GridQAgent
from capscope_worlds.minigrid import GridAbstraction, grid_simulator, read_layout
from capscope_worlds.problems import grid_problem

LAYOUT = Path(__file__).with_name("vault.txt")


def problem():
    """Train the agent, which takes a second, and place it in the grid."""
    layout = read_layout(LAYOUT)
    abstraction = GridAbstraction(layout)
    values = train(grid_simulator(layout), abstraction, Training(episodes=3000))
    agent = GridQAgent(values, abstraction, temperature=0.05)
    return grid_problem(LAYOUT, agent, "vault", agent.fingerprint)
