"""The registry of strategies, by the name used on the command line.

A strategy is registered by one entry here, or by an entry point of the group `capscope.strategies`
in another package that names a `RegisteredStrategy`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from capscope.errors import RunError
from capscope.record.settings import Settings
from capscope.registry import Registry
from capscope.strategy.adaptive import AdaptiveStrategy
from capscope.strategy.base import Strategy, StrategyContext
from capscope.strategy.exhaustive import ExhaustiveStrategy
from capscope.strategy.mcqs_e import McqsExact
from capscope.strategy.mcqs_s import McqsSampled
from capscope.strategy.random_query import RandomQuery
from capscope.strategy.repeated import RepeatedStrategy

DEFAULT_STRATEGY = "adaptive"
RANDOM = "random"
"""The baseline."""


@dataclass(frozen=True)
class RegisteredStrategy:
    """A strategy that can be chosen by name."""

    name: str
    summary: str
    make: Callable[[StrategyContext], Strategy]
    repeats_policy: bool
    """Whether all draws of a query execute one policy from one start."""
    check: Callable[[Settings, int], None] = lambda settings, workers: None
    """Raises if settings and number of workers are incompatible."""


def check_workers(settings: Settings, workers: int) -> None:
    """Refuse more workers than a batch has draws."""
    if workers > settings.batch_size:
        raise RunError(
            f"workers share the draws of a batch: {workers} workers need --batch {workers} or "
            f"more, not {settings.batch_size}"
        )


_BUILT_IN = (
    RegisteredStrategy(
        "adaptive",
        "ask what the model is unsure of and what matters, then audit the model",
        AdaptiveStrategy,
        repeats_policy=False,
        check=check_workers,
    ),
    RegisteredStrategy(
        "exhaustive",
        "ask where the expected gain is highest, as often as the evidence requires",
        ExhaustiveStrategy,
        repeats_policy=False,
        check=check_workers,
    ),
    RegisteredStrategy(
        "mcqs-s",
        "the paper's search by sampled states",
        lambda c: RepeatedStrategy(c, McqsSampled(c.settings), c.settings.depth),
        repeats_policy=True,
    ),
    RegisteredStrategy(
        "mcqs-e",
        "the paper's search by exact distributions",
        lambda c: RepeatedStrategy(c, McqsExact(c.settings), c.settings.depth),
        repeats_policy=True,
    ),
    RegisteredStrategy(
        RANDOM,
        "the paper's baseline: random sequences of capabilities",
        lambda c: RepeatedStrategy(c, RandomQuery(c.settings), c.settings.random_length),
        repeats_policy=True,
    ),
)
STRATEGIES = Registry("capscope.strategies", "strategy", RegisteredStrategy, _BUILT_IN)
