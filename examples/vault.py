"""Assess an agent in a grid of your own: here the one that learns by reinforcement, trained anew.

capscope check examples/vault.py:problem
capscope assess examples/vault.py:problem
capscope show runs/vault-problem-adaptive-0
"""

from pathlib import Path

from capscope.agents.grid_q import GridQAgent, Training, train
from capscope.environments.minigrid import GridAbstraction, grid_simulator, read_layout
from capscope.problems import grid_problem

LAYOUT = Path(__file__).with_name("vault.txt")


def problem():
    """Train the agent, which takes a second, and put it into the grid."""
    layout = read_layout(LAYOUT)
    words = GridAbstraction(layout)
    values = train(grid_simulator(layout), words, Training(episodes=3000))
    agent = GridQAgent(values, words, temperature=0.05)
    return grid_problem(LAYOUT, agent, "vault", agent.fingerprint)
