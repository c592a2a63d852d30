"""Our implementation of QACE: preconditions by flipping literals, effects by simulation.

After Verma et al. (2023), as the paper's appendix describes its use: predicates and capabilities
are supplied, disjunctive conditions are compiled into separate capabilities, and queries name the
state they start in, so the simulator must be able to set states. QACE's own code learns lifted
actions and answers precondition queries from the domain file; this one learns ground capabilities,
and every answer comes from the agent.
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
