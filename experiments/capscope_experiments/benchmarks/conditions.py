"""How soon is a planted condition found, and how often one where none is?

The executions are drawn from a random walk over mails and flags. Every condition that is found at a
checkpoint counts, so a spurious one counts even if it is dropped later.

    PYTHONPATH=experiments python -m capscope_experiments.benchmarks.conditions \\
        [--seeds N] [--planted | --none]
"""

import argparse
import random
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np

from capscope import Predicate, Vocabulary
from capscope.insight.conditions import LiftedFeatures, find_condition
from capscope.logic import Atom, State
from capscope.stats.arrays import Mask

MAILS = ("alice", "bob", "carol", "dave", "erin")
WORDS = Vocabulary(
    [
        Predicate("starred", ("mail",)), Predicate("opened", ("mail",)),
        Predicate("above", ("mail", "mail")), Predicate("night"), Predicate("calm"),
    ],
    dict.fromkeys(MAILS, "mail"),
)  # fmt: skip
CHECKPOINTS = (10, 20, 40, 80, 160, 320, 640)
Truth = Callable[[State, str], float]
"""The probability of the event, by the state and the mail that is asked about."""


def holds(state: State, predicate: str, *arguments: str) -> bool:
    """Return whether an atom holds."""
    return bool(state & WORDS.bit[Atom(predicate, arguments)])


def rate(condition: Callable[[State, str], bool], inside: float, outside: float) -> Truth:
    """Return a probability that depends on a condition only."""
    return lambda state, mail: inside if condition(state, mail) else outside


def _any_above(state: State, mail: str) -> bool:
    return any(holds(state, "above", other, mail) for other in MAILS if other != mail)


PLANTED: dict[str, tuple[str, Callable[[State, str], bool], float, float]] = {
    "always when starred": ("starred(x)", lambda s, m: holds(s, "starred", m), 1.0, 0.0),
    "never at night": ("not night()", lambda s, m: not holds(s, "night"), 1.0, 0.0),
    "0.6 if not calm, else 0.9": ("calm()", lambda s, m: holds(s, "calm"), 0.9, 0.6),
    "0.3 if starred, else 0.02": ("starred(x)", lambda s, m: holds(s, "starred", m), 0.3, 0.02),
    "only erin": ("x = erin", lambda s, m: m == "erin", 1.0, 0.0),
    "erin in 40 %": ("x = erin", lambda s, m: m == "erin", 0.4, 0.0),
    "below another one": ("above(another mail,x)", _any_above, 1.0, 0.0),
    "starred at night": (
        "starred(x) and night()",
        lambda s, m: holds(s, "starred", m) and holds(s, "night"),
        1.0,
        0.0,
    ),
    "three": (
        "starred(x) and night() and not opened(x)",
        lambda s, m: holds(s, "starred", m) and holds(s, "night") and not holds(s, "opened", m),
        1.0,
        0.0,
    ),
}


def _random(seed: int, key: object, low: float = 0.0) -> float:
    return max(random.Random(f"{seed} {key}").random(), low)


NONE: dict[str, Callable[[int], Truth]] = {
    "one rate, 0.5": lambda seed: lambda s, m: 0.5,
    "one rate, 0.1": lambda seed: lambda s, m: 0.1,
    "one rate, 0.95": lambda seed: lambda s, m: 0.95,
    "states differ": lambda seed: lambda s, m: _random(seed, s),
    "states differ wholly": lambda seed: lambda s, m: round(_random(seed, s)),
    "pairs differ wholly": lambda seed: lambda s, m: round(_random(seed, (s, m))),
    "mails differ": lambda seed: lambda s, m: _random(seed, m),
}


def executions(
    truth: Truth, number: int, seed: int, flips: float = 1.0
) -> tuple[list[State], list[tuple[str, ...]], Mask]:
    """Draw executions on a walk that changes one atom at a time.

    Args:
        truth: The probability of the event.
        number: How many to draw.
        seed: Draws them.
        flips: How often the state changes before an execution.

    Returns:
        The state and the mail of each, and whether the event happened.
    """
    rng = random.Random(seed)
    atoms = [a for a in WORDS.atoms if len(set(a.arguments)) == len(a.arguments)]
    state = sum(WORDS.bit[atom] for atom in atoms if rng.random() < 0.3)
    states: list[State] = []
    mails: list[tuple[str, ...]] = []
    hits = []
    for _ in range(number):
        if rng.random() < flips:
            state ^= WORDS.bit[rng.choice(atoms)]
        mail = rng.choice(MAILS)
        states.append(state)
        mails.append((mail,))
        hits.append(rng.random() < truth(state, mail))
    return states, mails, np.array(hits, dtype=bool)


def told(truth: Truth, seed: int, flips: float = 1.0) -> Iterator[tuple[int, str]]:
    """Yield the condition that is found at each checkpoint; empty if there is none."""
    states, mails, hits = executions(truth, CHECKPOINTS[-1], seed, flips)
    features = LiftedFeatures.of(WORDS, states, mails)
    for number in CHECKPOINTS:
        found = find_condition(features.where(np.arange(number)), hits[:number])
        yield number, " and ".join(map(str, found.when)) if found else ""


def measure_planted(name: str, seeds: int) -> str:
    """Describe when a condition is found for good, and what is told at the end otherwise."""
    wanted, condition, inside, outside = PLANTED[name]
    first, others = [], []
    for seed in range(seeds):
        right = -1
        for number, text in told(rate(condition, inside, outside), seed):
            if sorted(text.split(" and ")) != sorted(wanted.split(" and ")):
                right = -1
            elif right < 0:
                right = number
        if right > 0:
            first.append(right)
        else:
            others.append(text)
    when = f"median {median(first):.0f}, worst {max(first)}" if first else "–"
    return f"{name}: {len(first)}/{seeds} by {CHECKPOINTS[-1]}, {when}; else {others[:5]}"


def measure_none(name: str, seeds: int) -> str:
    """Describe how often a condition is found where there is none."""
    spurious = []
    for seed in range(seeds):
        flips = 1.0 if seed % 2 else 0.2
        texts = {text for _, text in told(NONE[name](seed), seed, flips) if text}
        spurious += [f"{seed}: {'; '.join(sorted(texts))}"] if texts else []
    return f"{name}: {len(spurious)} of {seeds} {spurious[:8]}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the search for conditions.")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--none", action="store_true")
    given = parser.parse_args()
    for name in PLANTED if not given.none else ():
        print(measure_planted(name, given.seeds), flush=True)
    for name in NONE if not given.planted else ():
        print(measure_none(name, given.seeds), flush=True)


if __name__ == "__main__":
    main()
