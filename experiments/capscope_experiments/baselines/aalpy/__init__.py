"""AALpy on the same agents: L*_MDP and Alergia.

AALpy learns an automaton from a system that can be reset and asked for one input after another.
Here an input asks the agent for one capability, and the output is the whole symbolic state in which
the attempt ended. So a state of the learned MDP is labeled by a symbolic state, and its predictions
can be compared with the same truth as our own models.

AALpy cannot return to visited states: every trace begins with a reset, so it pays for the way to
each state again, while capscope restores a snapshot. It also learns one state at a time, while
capscope pools the states in which a capability has the same effects. Both are differences in what
is assumed of the simulator: AALpy also works without snapshots.
"""

from capscope_experiments.baselines.aalpy.learning import learn_with_aalpy
from capscope_experiments.baselines.aalpy.peer_run import (
    METHODS,
    NOTE,
    PeerPoint,
    PeerRun,
    PeerSettings,
)

__all__ = ["METHODS", "NOTE", "PeerPoint", "PeerRun", "PeerSettings", "learn_with_aalpy"]
