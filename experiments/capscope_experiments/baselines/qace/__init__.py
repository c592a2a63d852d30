"""QACE, of our own making: conjunctive preconditions by flipped literals, effects by simulation.

After Verma et al. (2023), as the paper's appendix describes its use: predicates and capabilities
are supplied, disjunctive conditions are compiled into separate capabilities, and queries name the
state they start in, so it runs where states can be set. Unlike QACE's own code, which learns lifted
actions and answers precondition queries from the domain file, it learns ground capabilities and
every answer comes from the agent.
"""

from capscope_experiments.baselines.qace.model import QaceCapability, QaceModel
from capscope_experiments.baselines.qace.run import QaceProgress, QaceRow, QaceRun, learn_qace
from capscope_experiments.baselines.qace.settings import QaceSettings

__all__ = [
    "QaceCapability",
    "QaceModel",
    "QaceProgress",
    "QaceRow",
    "QaceRun",
    "QaceSettings",
    "learn_qace",
]
