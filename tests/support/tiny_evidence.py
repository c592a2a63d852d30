"""Small pieces of evidence, and naive counts of them."""

from scipy.stats import norm

from capscope.journal.execution_table import Transition
from capscope.journal.settings import Settings
from capscope.logic import Effect
from capscope.model.state_graph import OutcomeGroup

SETTINGS = Settings(epsilon=0.1, delta=0.05, precision=0.1)


def sure_of(rules, delta=SETTINGS.delta):
    """Return the standard errors within which all rules lie with probability 1 − δ/3."""
    return norm.isf(delta / 3 / max(rules, 1) / 2)


def coin(*counts):
    """Return a block of effects with their counts."""
    group = OutcomeGroup(tuple(Effect(i, 0) for i in range(len(counts))))
    group.counts, group.total = list(counts), sum(counts)
    return group


def untried(place):
    return [capability for capability, pair in enumerate(place.pairs) if pair is None]


def counted(*transitions):
    """Return transitions, written as (before, capability, after, count), as a mapping."""
    return {Transition(*transition): count for *transition, count in transitions}
