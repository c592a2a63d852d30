"""Prior distributions of a probability, for scores that bet on how it differs or changes."""

from typing import NamedTuple

from capscope.stats.log_space import log_beta


class RatePrior(NamedTuple):
    """A beta distribution of a probability."""

    hits: float
    misses: float

    def log_likelihood(self, hits: int, draws: int) -> float:
        """Return the log likelihood of a sequence of draws, averaged over the prior."""
        misses = draws - hits
        return log_beta(self.hits + hits, self.misses + misses) - log_beta(self.hits, self.misses)


ALWAYS, NEVER, ANY = RatePrior(1.0, 0.002), RatePrior(0.05, 1.0), RatePrior(0.5, 0.5)
# Narrow: if many probabilities are alike, none of them has to pay for what the others have shown.
MOSTLY, OFTEN, HALF = RatePrior(45.0, 5.0), RatePrior(35.0, 15.0), RatePrior(25.0, 25.0)
SOMETIMES, RARELY = RatePrior(15.0, 35.0), RatePrior(5.0, 45.0)
