"""Mutated PPDDL files: each is loaded or refused with one line, in limited time.

The mutations are of texts (bytes, tokens, brackets) and of meaning (probabilities, parameters,
arguments, objects), several at a time.
"""

import random
import re
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from capscope.adapters.pddl import SHIPPED_PROBLEMS, PddlSimulator, load_task, shipped_files
from capscope.errors import CapscopeError

LONGEST = 20.0
"""CPU seconds after which a file counts as a hang."""
_TOKEN = re.compile(r"[()]|[^\s()]+")
_NUMBERS = ("0", "1", "-1", "2", "0.5e-99999999", "1e999", "9" * 5000, "1/3", "1/0", "nan", "0.3.3")
_ODD = ("(", ")", "?x", "-", "object", "and", "not", "forall", "when", "probabilistic", "or", "=",
        "exists", ":typing", "é", "\0", "\ud7ff", ";", "define", "total-cost", "()")  # fmt: skip
Tokens = list[str]
Mutation = Callable[[Tokens, random.Random], None]


def _delete(tokens: Tokens, rng: random.Random) -> None:
    del tokens[rng.randrange(len(tokens))]


def _duplicate(tokens: Tokens, rng: random.Random) -> None:
    first = rng.randrange(len(tokens))
    some = tokens[first : first + rng.randint(1, 30)]
    tokens[first:first] = some * rng.choice((1, 1, 3, 50))


def _swap(tokens: Tokens, rng: random.Random) -> None:
    i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    tokens[i], tokens[j] = tokens[j], tokens[i]


def _replace(tokens: Tokens, rng: random.Random) -> None:
    tokens[rng.randrange(len(tokens))] = rng.choice((*_ODD, *_NUMBERS, rng.choice(tokens)))


def _number(tokens: Tokens, rng: random.Random) -> None:
    places = [i for i, token in enumerate(tokens) if token[0].isdigit()]
    if places:
        tokens[rng.choice(places)] = rng.choice(_NUMBERS)


def _variables(tokens: Tokens, rng: random.Random) -> None:
    """Declare more parameters, variables or arguments, or objects."""
    places = [i for i, token in enumerate(tokens) if token.startswith("?")] or [len(tokens) // 2]
    at = rng.choice(places)
    tokens[at:at] = [f"?v{i}" for i in range(rng.choice((1, 4, 12)))]


def _objects(tokens: Tokens, rng: random.Random) -> None:
    if ":objects" in tokens:
        at = tokens.index(":objects") + 1
        tokens[at:at] = [f"extra{i}" for i in range(rng.choice((1, 8, 300)))]


def _nest(tokens: Tokens, rng: random.Random) -> None:
    at, depth = rng.randrange(len(tokens)), rng.choice((1, 50, 5000))
    tokens[at : at + 1] = ["(", "and"] * depth + [tokens[at]] + [")"] * depth


_MUTATIONS: tuple[Mutation, ...] = (
    _delete, _duplicate, _swap, _replace, _number, _variables, _objects, _nest,
)  # fmt: skip


def mutated(text: str, rng: random.Random) -> bytes:
    """Return a mutation of a file."""
    tokens = _TOKEN.findall(re.sub(r";.*", "", text))
    for _ in range(rng.choice((1, 1, 2, 5))):
        rng.choice(_MUTATIONS)(tokens, rng)
    data = bytearray(" ".join(tokens).replace("( :", "\n(:").encode(errors="replace"))
    if rng.random() < 0.2 and data:
        data[rng.randrange(len(data))] = rng.randrange(256)
    if rng.random() < 0.05:
        del data[rng.randrange(len(data) + 1) :]
    return bytes(data)


class _Hang(BaseException):
    """The time for a file is over."""


def outcome_of(domain: Path, problem: Path) -> str:
    """Load two files and take some steps; return `loaded`, `refused`, `hang` or what escaped."""
    timed = threading.current_thread() is threading.main_thread()

    def end(*_: object) -> None:
        raise _Hang

    if timed:
        before = signal.signal(signal.SIGVTALRM, end)
        signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    try:
        simulator = PddlSimulator(load_task(domain, problem))
        simulator.reset(0)
        rng = random.Random(0)
        for _ in range(5):
            if actions := simulator.actions():
                simulator.step(rng.choice(actions))
        return "loaded"
    except CapscopeError as error:
        return "refused" if "\n" not in str(error) else "several lines"
    except _Hang:
        return "hang"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:200]
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)


def measure(files: int, seed: int = 0) -> tuple[Counter[str], float]:
    """Load mutated files; return how often each outcome came, and the CPU seconds of the slowest.

    Every other time the domain is mutated, otherwise the problem.
    """
    outcomes: Counter[str] = Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(files):
            rng = random.Random(f"{seed} {number}")
            originals = shipped_files(rng.choice(SHIPPED_PROBLEMS))
            paths = Path(folder, "domain.pddl"), Path(folder, "problem.pddl")
            for which, (original, path) in enumerate(zip(originals, paths, strict=True)):
                text = original.read_text(encoding="utf-8")
                path.write_bytes(mutated(text, rng) if which == number % 2 else text.encode())
            begun = time.process_time()
            outcomes[outcome_of(*paths)] += 1
            slowest = max(slowest, time.process_time() - begun)
    return outcomes, slowest


def main(files: int = 3000) -> None:
    """Print the outcomes of mutated files."""
    outcomes, slowest = measure(files)
    for outcome, number in outcomes.most_common():
        print(f"{number:6,} {outcome}", flush=True)
    print(f"slowest: {slowest:.1f} s of CPU")


if __name__ == "__main__":
    main()
