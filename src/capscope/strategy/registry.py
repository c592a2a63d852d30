"""The registry of strategies, by the name used on the command line.

A strategy is registered by one entry here, or by an entry point of the group `capscope.strategies`
in another package that names a `RegisteredStrategy`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from inspect import getattr_static

from capscope.errors import RunError
from capscope.journal.draws import QueryRecord
from capscope.journal.settings import Settings
from capscope.registry import Registry
from capscope.strategy.adaptive import AdaptiveStrategy
from capscope.strategy.base import Strategy, StrategyContext

DEFAULT_STRATEGY = "adaptive"
RANDOM = "random"
"""The baseline."""


class Claim(StrEnum):
    """What a run has shown when its strategy stops by itself, as `--until` names it."""

    AUDITED = "audited"
    """How often the model is surprised is bounded."""
    SETTLED = "settled"
    """Every pair of the states seen was tried often enough."""


@dataclass(frozen=True)
class RegisteredStrategy:
    """A strategy that can be chosen by name."""

    name: str
    summary: str
    make: Callable[[StrategyContext], Strategy]
    repeats_policy: bool
    """Whether all draws of a query execute one policy from one start."""
    claim: Claim | None = None
    """The claim of a run that stopped by itself; None for no claim."""
    infers: bool = False
    """Whether statements about a run use predictions for untried pairs."""
    reason: Callable[[QueryRecord], str] | None = None
    """Says why a query was asked; None: only that the strategy chose it."""
    compares: bool = False
    """Whether it compares with the run that it starts from, and draws after resets."""
    takes_lessons: bool = False
    """Whether it can start from what was learned about another instance."""
    check: Callable[[Settings, int], None] = lambda settings, workers: None
    """Raises if settings and number of workers are incompatible."""

    def begin(self, context: StrategyContext) -> Strategy:
        """Make the strategy; raise if it lacks anything, before an execution is spent on it."""
        strategy = self.make(context)
        needed = (*Strategy.__annotations__, *(n for n in vars(Strategy) if n[0] != "_"))
        lacking = [n for n in needed if getattr_static(strategy, n, needed) is needed]
        if lacking:
            raise RunError(
                f"the strategy {self.name!r} cannot be used: it has no {', no '.join(lacking)}; "
                "capscope.strategy.Strategy says what a strategy needs"
            )
        return strategy


def check_workers(settings: Settings, workers: int) -> None:
    """Refuse more workers than a batch has draws."""
    if workers > settings.batch_size:
        raise RunError(
            f"workers share the draws of a batch: {workers} workers need --set batch={workers} or "
            f"more, not {settings.batch_size}"
        )


def reason_by_doubt(record: QueryRecord) -> str:
    """Say why the adaptive strategy asked a query."""
    if not record.informative:
        return "part of an audit; drawn at random, and its last execution is scored"
    return f"score {record.predicted:.2g} (doubt and novelty, weighed by relevance)"


def reason_by_draws(record: QueryRecord) -> str:
    """Say why the exhaustive strategy asked a query."""
    if record.predicted == 1.0:
        return "its first pair was never tried"
    return "its first pair was among the least executed of those that need more executions"


def reason_by_disagreement(record: QueryRecord) -> str:
    """Say why a strategy that compares the extreme models asked a query."""
    kind = "informative" if record.informative else "not expected to be informative"
    bonus = f", ξ {record.xi:.2g}" if record.xi else ""
    return f"{kind}, predicted disagreement {record.predicted:.4g}{bonus}"


def _exhaustive(context: StrategyContext) -> Strategy:
    from capscope.strategy.exhaustive import ExhaustiveStrategy

    return ExhaustiveStrategy(context)


def _comparison(context: StrategyContext) -> Strategy:
    from capscope.strategy.comparison import ComparisonStrategy

    return ComparisonStrategy(context)


def _of_paper(
    name: str, summary: str, longest: Callable[[Settings], int] = lambda settings: settings.depth
) -> RegisteredStrategy:
    def make(context: StrategyContext) -> Strategy:
        from capscope.strategy.paper.mcqs_e import mcqs_exact
        from capscope.strategy.paper.mcqs_s import mcqs_sampled
        from capscope.strategy.paper.repeated import RepeatedStrategy, random_query

        searches = {"mcqs-s": mcqs_sampled, "mcqs-e": mcqs_exact, RANDOM: random_query}
        return RepeatedStrategy(context, searches[name], longest(context.settings))

    return RegisteredStrategy(
        name, summary, make, repeats_policy=True, reason=reason_by_disagreement
    )


COMPARISON = RegisteredStrategy(
    "compare",
    "execute as in use, then what may differ from the baseline",
    _comparison,
    repeats_policy=False,
    compares=True,
    takes_lessons=True,
    check=check_workers,
)
"""What `capscope compare` runs; it needs a baseline, so it is not offered by name."""
_BUILT_IN = (
    RegisteredStrategy(
        "adaptive",
        "ask what the model is unsure of and what matters, then audit the model",
        AdaptiveStrategy,
        repeats_policy=False,
        claim=Claim.AUDITED,
        infers=True,
        reason=reason_by_doubt,
        takes_lessons=True,
        check=check_workers,
    ),
    RegisteredStrategy(
        "exhaustive",
        "try every pair, and repeat the least tried ones as often as the evidence requires",
        _exhaustive,
        repeats_policy=False,
        claim=Claim.SETTLED,
        reason=reason_by_draws,
        check=check_workers,
    ),
    _of_paper("mcqs-s", "the paper's search by sampled states"),
    _of_paper("mcqs-e", "the paper's search by exact distributions"),
    _of_paper(
        RANDOM,
        "the paper's baseline: random sequences of capabilities",
        lambda settings: settings.random_length,
    ),
)
STRATEGIES = Registry("capscope.strategies", "strategy", RegisteredStrategy, _BUILT_IN)
STRATEGIES.add(COMPARISON)


def claim_of(strategy: str) -> Claim | None:
    """Return what runs of a strategy claim; None also if it is not installed here."""
    known = STRATEGIES.get(strategy)
    return None if known is None else known.claim
