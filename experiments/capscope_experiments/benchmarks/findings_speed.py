"""How long do findings take in a large run? 50,000 states, 50 intents, 130 objects.

A warehouse has 120 boxes in ten rooms, and 100,000 executions were made, most pairs once; no
simulator is involved. Target: at most 30 s of CPU.

    python -m capscope_experiments.benchmarks.findings_speed
"""

import random
import time
from collections import Counter

from capscope import Intent, Predicate, Vocabulary
from capscope.analysis.findings import FINDING_KINDS, find_findings
from capscope.model import StateGraph
from capscope.record.execution_table import Transition
from capscope.symbolic import State

BOXES, ROOMS = 120, 10
STATES, INTENTS, EXECUTIONS = 50_000, 50, 100_000


def warehouse(seed: int, states: int = STATES, executions: int = EXECUTIONS) -> StateGraph:
    """Make a graph of boxes that are carried between rooms, one request in ten without success.

    Boxes that are open when they are moved lose their label.
    """
    rng = random.Random(seed)
    boxes, rooms = [f"box{i}" for i in range(BOXES)], [f"room{i}" for i in range(ROOMS)]
    vocabulary = Vocabulary(
        [
            Predicate("in", ("box", "room")),
            Predicate("open", ("box",)),
            Predicate("label", ("box",)),
        ],
        {**dict.fromkeys(boxes, "box"), **dict.fromkeys(rooms, "room")},
    )
    bit = {str(atom): b for atom, b in vocabulary.bit.items()}
    wanted = [(boxes[i % 25], rooms[i % ROOMS]) for i in range(INTENTS)]
    graph = StateGraph(vocabulary, [Intent.parse(f"in({b},{r})") for b, r in wanted])
    places = {b: sum(bit[f"in({b},{r})"] for r in rooms) for b in boxes}
    start = sum(bit[f"in({b},{rng.choice(rooms)})"] | bit[f"label({b})"] for b in boxes)
    for box in boxes[::2]:
        start |= bit[f"open({box})"]

    def carried(state: State, capability: int) -> State:
        box, room = wanted[capability]
        if rng.random() < 0.1 or state & bit[f"in({box},{room})"]:
            return state
        after = state & ~places[box] | bit[f"in({box},{room})"]
        return after & ~bit[f"label({box})"] if state & bit[f"open({box})"] else after

    known, seen = [start], {start}
    counts: Counter[Transition] = Counter()
    for _ in range(executions):
        state, capability = rng.choice(known), rng.randrange(INTENTS)
        after = carried(state, capability)
        if after not in seen and len(seen) >= states:
            after = state
        counts[Transition(state, capability, after)] += 1
        if after not in seen:
            seen.add(after)
            known.append(after)
    graph.update(counts)
    return graph


def measure(graph: StateGraph) -> str:
    """Time all kinds of findings together, and each alone."""
    objects = len(graph.vocabulary.objects)
    parts = []
    for name, kind in FINDING_KINDS.all.items():
        started = time.process_time()
        find_findings(graph, kinds=[kind])
        parts.append(f"{name} {time.process_time() - started:.1f}")
    started = time.process_time()
    found = find_findings(graph)
    seconds = time.process_time() - started
    return (
        f"{len(graph.nodes):,} states × {len(graph.capabilities)} intents × {objects} objects: "
        f"{seconds:.1f} s of CPU for {len(found)} findings ({', '.join(parts)})"
    )


def main() -> None:
    print(measure(warehouse(0)))


if __name__ == "__main__":
    main()
