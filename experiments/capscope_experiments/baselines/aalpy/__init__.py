"""AALpy on the same black box: L*_MDP and Alergia, beside our own figures.

AALpy learns an automaton from a system that can be reset and asked for one input after another.
Here an input asks the agent for one capability and the output is the whole symbolic state in which
the attempt ended. So a state of the learned MDP is labelled by a symbolic state, and what the MDP
says can be held against the same truth as our own models.

AALpy cannot return to visited states. Every trace begins with a reset, so that it pays for the way
to each state again; capscope restores a snapshot instead. And it learns one state at a time, where
capscope pools the states in which a capability has the same effects. Both are differences of what
is assumed of the world, not faults: where there are no snapshots, AALpy still works.
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
