"""Is the beginning of an irreversible world asked about first? A mail assistant.

Three mails can be read, archived, deleted and forwarded; nothing can be undone (1,728 states). The
agent has two planted side effects: once the report was forwarded, it marks the newsletter as read
when it archives it; if the invoice was read, forwarding the report deletes the invoice. One forward
in ten fails. Target: after 3,000 executions, everything was asked at least once in the states
within two capabilities of the start.

    python -m capscope_experiments.benchmarks.mail_assistant [SEEDS]
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping

from capscope import Budget, Intent, Predicate, Problem, Settings, Vocabulary, assess
from capscope.assessment import Event
from capscope.logic import Atom, State
from capscope_experiments.benchmarks.tabulated_world import tabulated_problem

MAILS = ("newsletter", "invoice", "report")
DONE = ("read", "archived", "deleted", "forwarded")
VOCABULARY = Vocabulary([Predicate(name, ("mail",)) for name in DONE], dict.fromkeys(MAILS, "mail"))
NEAR = 2
_BIT = {(name, mail): VOCABULARY.bit_of(Atom(name, (mail,))) for name in DONE for mail in MAILS}


def outcomes(state: State, intent: Intent) -> Mapping[State, float]:
    """Return what the assistant does."""
    atom = intent.literals[0].atom
    name, mail = atom.predicate, atom.arguments[0]
    wanted = _BIT[name, mail]
    if state & (wanted | _BIT["deleted", mail]):
        return {state: 1.0}
    after = state | wanted
    if name == "deleted":
        after &= ~_BIT["archived", mail]
    if (name, mail) == ("archived", "newsletter") and state & _BIT["forwarded", "report"]:
        after |= _BIT["read", mail]
    if (name, mail) == ("forwarded", "report") and state & _BIT["read", "invoice"]:
        after = (after | _BIT["deleted", "invoice"]) & ~_BIT["archived", "invoice"]
    return {after: 0.9, state: 0.1} if name == "forwarded" else {after: 1.0}


def mail_assistant() -> Problem:
    intents = [Intent.parse(f"{name}({mail})") for name in DONE for mail in MAILS]
    return tabulated_problem("mail-assistant", VOCABULARY, 0, intents, outcomes)


def near_pairs(problem: Problem) -> dict[tuple[State, Intent], int]:
    """Return the pairs of the states that at most two capabilities lead to, with that number."""
    assert problem.truth is not None
    intents = problem.truth.intents()
    distance = {0: 0}
    for steps in range(NEAR):
        for state in [s for s, d in distance.items() if d == steps]:
            for intent in intents:
                for after in problem.truth.outcomes(state, intent):
                    distance.setdefault(after, steps + 1)
    return {(state, intent): d for state, d in distance.items() for intent in intents}


def measure(seed: int, executions: int, audit: float) -> str:
    """Assess the assistant; describe how far its beginning was asked about."""
    problem = mail_assistant()
    assert problem.truth is not None
    pairs = near_pairs(problem)
    missing = dict.fromkeys(pairs)
    complete: list[int] = []

    def listen(event: Event) -> None:
        for state, intent in list(missing):
            node = event.graph.nodes.get(state)
            if node is not None and node.pairs[event.graph.index[intent]] is not None:
                del missing[state, intent]
        if not missing and not complete:
            complete.append(event.usage.executions)

    run = assess(
        problem,
        seed=seed,
        settings=Settings(audit=audit),
        budget=Budget(executions=executions),
        listener=listen,
    )
    by_distance = Counter(pairs[pair] for pair in missing)
    start = sum(pair.total for pair in run.graph.nodes[0].pairs if pair is not None)
    return (
        f"audit {audit:g}, seed {seed}: {len(missing)} of {len(pairs)} near pairs missing "
        f"{dict(sorted(by_distance.items()))}, complete after {complete or 'never'}; "
        f"{start} executions in the start state, {len(run.graph.nodes)} states seen; "
        f"{run.usage.executions:,} executions, {run.stop_reason and run.stop_reason.kind}"
    )


def measure_all(seeds: int, executions: int = 3000) -> Iterator[str]:
    for audit in (Settings().audit, 0.0):
        for seed in range(seeds):
            yield measure(seed, executions, audit)


def main() -> None:
    for line in measure_all(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        print(line, flush=True)


if __name__ == "__main__":
    main()
