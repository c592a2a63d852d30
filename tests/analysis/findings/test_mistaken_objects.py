"""Objects that are mistaken for others, in worlds whose truth is known."""

import random
from collections import Counter
from itertools import combinations

import pytest

from capscope.analysis.findings import find_findings
from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.mistaken_objects import MISTAKEN_OBJECT, find_mistaken_objects
from capscope.analysis.findings.object_swap import swaps
from capscope.analysis.findings.slips import ObjectPair, SlipTable
from capscope.model import StateGraph
from capscope.statistics.error_budget import ERROR_RATE, ErrorBudget
from capscope.symbolic import Atom, Intent, Predicate, Vocabulary

NAMES = ("ann", "bob", "cat", "dan", "eve")
MAIL = Vocabulary(
    [Predicate("filed", ("mail",)), Predicate("hurried")], dict.fromkeys(NAMES, "mail")
)
HURRIED = MAIL.bit[Atom.parse("hurried()")]
ASKED = [Intent.parse(f"filed({name})") for name in NAMES]


def filed(*names):
    return MAIL.state([f"filed({name})" for name in names])


def mail_states():
    """All states in which at most two mails are filed, in a hurry or not."""
    few = [filed(*some) for number in range(3) for some in combinations(NAMES, number)]
    return [*few, *(state | HURRIED for state in few)]


class MailAgent:
    """Files what it is asked for, or what `confused(name, state)` says with some probability."""

    def __init__(self, confused):
        self.confused = confused

    def after(self, state, capability, rng):
        name = NAMES[capability]
        for other, probability in self.confused(name, state):
            if rng.random() < probability:
                return state | filed(other)
        return state | filed(name)


def worst_first(agent, draws, seed, looks=1):
    """Draw half of the time where the agent has failed most, as strategies do; yield graphs."""
    rng = random.Random(seed)
    graph, failed = StateGraph(MAIL, ASKED), Counter()
    pairs = [
        (s, c) for s in mail_states() for c in range(len(NAMES)) if not ASKED[c].holds(s, MAIL)
    ]
    for _ in range(looks):
        seen = Counter()
        for _ in range(draws // looks):
            state, capability = rng.choice(pairs)
            if failed and rng.random() < 0.5:
                state, capability = max(failed, key=failed.__getitem__)
            after = agent.after(state, capability, rng)
            failed[state, capability] += 1 if not ASKED[capability].holds(after, MAIL) else -1
            seen[state, capability, after] += 1
        graph.update(seen)
        yield graph


def mistaken(graph):
    context = FindingContext(graph)
    return find_mistaken_objects(context, ErrorBudget(ERROR_RATE, 11).share("mistaken"), ())


def twins(name, state, probability=0.2):
    """Ann and bob are mistaken for each other."""
    return [({"ann": "bob", "bob": "ann"}[name], probability)] if name in ("ann", "bob") else []


def test_two_mails_that_are_mistaken_for_each_other_are_told_once():
    (graph,) = worst_first(MailAgent(twins), 600, seed=0)
    (found,) = [f for f in find_findings(graph) if f.kind == MISTAKEN_OBJECT.label]
    assert found.sentence.startswith(
        "The agent mistakes ann and bob for each other: asked for filed(x) (for (x, y) = "
        "(ann, bob) or (bob, ann)), it does so with y instead: probability 0."
    )
    assert found.sentence.count("with any other mail in the same situation, 0.00") == 1
    assert [str(intent) for intent in found.intents] == ["filed(ann)", "filed(bob)"]
    assert found.instead and found.against.hits == 0
    low, high = found.rate.interval
    assert low <= 0.2 <= high
    example = found.examples[0]
    asked, taken = ("ann", "bob") if "ann" in str(example.intent) else ("bob", "ann")
    assert example.after == example.state | filed(taken) != example.state | filed(asked)


@pytest.mark.parametrize("probability", [0.2, 0.4])
def test_a_mail_that_is_mistaken_for_one_other_only_is_told_so(probability):
    agent = MailAgent(lambda name, state: [("bob", probability)] if name == "ann" else [])
    (graph,) = worst_first(agent, 1500, seed=0)
    (found,) = mistaken(graph)
    assert found.sentence.startswith(
        "The agent mistakes bob for ann: asked for filed(ann), it does"
    )
    assert [str(literal) for literal in found.literals] == ["filed(bob)"]


def test_the_condition_says_where_mails_are_mistaken():
    agent = MailAgent(lambda name, state: twins(name, state, 0.5 if state & HURRIED else 0.0))
    (graph,) = worst_first(agent, 1500, seed=1)
    (found,) = mistaken(graph)
    assert [str(clause) for clause in found.when] == ["when hurried()"]
    low, high = found.rate.interval
    assert low <= 0.5 <= high and "; otherwise 0.00 (" in found.sentence


def test_intervals_contain_the_truth():
    missed = 0
    for seed in range(5):
        for graph in worst_first(MailAgent(twins), 500, seed):
            for found in mistaken(graph):
                low, high = found.rate.interval
                missed += not low <= 0.2 <= high
    assert missed == 0


class RandomAgent:
    """Takes some other mail in one of four draws, and does nothing in another."""

    def after(self, state, capability, rng):
        name = NAMES[capability]
        others = [n for n in NAMES if n != name and not state & filed(n)]
        chosen = rng.choice([name, name, rng.choice(others), None])
        return state if chosen is None else state | filed(chosen)


@pytest.mark.parametrize("agent", [MailAgent(lambda name, state: []), RandomAgent()])
def test_an_agent_that_does_not_tell_mails_apart_mistakes_none(agent):
    alarms = sum(
        any(mistaken(graph) for graph in worst_first(agent, 900, seed, looks=6))
        for seed in range(12)
    )
    assert alarms == 0


BLOCKS = "abcde"
TOWERS = Vocabulary([Predicate("on", ("block", "block"))], dict.fromkeys(BLOCKS, "block"))
STACKING = [Intent.parse(f"on({x},{y})") for x in BLOCKS for y in BLOCKS if x != y]


def test_a_tower_that_is_lifted_whole_is_no_mistake_however_often_one_of_them_was_drawn():
    """Asked for the upper block of a tower, the agent moves the lower one, whichever it is."""
    rng, graph = random.Random(0), StateGraph(TOWERS, STACKING)
    for number in range(1500):
        upper, lower = ("b", "a") if number % 3 else rng.sample(BLOCKS, 2)
        state = TOWERS.state([f"on({upper},{lower})"])
        capability = rng.randrange(len(STACKING))
        moved, target = STACKING[capability].objects
        if moved == upper and target != lower and rng.random() < 0.7:
            moved = lower
        after = state | TOWERS.state([f"on({moved},{target})"])
        graph.update(Counter({(state, capability, after): 1}))
    assert mistaken(graph) == []


def test_a_needed_step_with_a_free_choice_of_objects_is_no_mistake():
    """Only a second lamp can be lit as asked; the first one lit is always the same."""
    lamps = Vocabulary([Predicate("lit", ("lamp",))], dict.fromkeys("abcd", "lamp"))
    graph = StateGraph(lamps, [Intent.parse(f"lit({lamp})") for lamp in "abcd"])
    for first in (0, *lamps.bit.values()):
        for capability, lit in enumerate(lamps.bit.values()):
            after = first | lit if first else lamps.bit[Atom.parse("lit(b)")]
            graph.update(Counter({(first, capability, after): 40}))
    assert mistaken(graph) == []


def renamed(atoms, one, other):
    image = {one: other, other: one}
    return frozenset((p, *(image.get(o, o) for o in objects)) for p, *objects in atoms)


def naive_slips(graph, pair):
    """Count draws, hits and slips to others by sets of atoms, for each capability and state."""
    asked, taken = pair
    found = {}
    for state, node in graph.nodes.items():
        before = frozenset((a.predicate, *a.arguments) for a in MAIL.holding(state))
        for capability, stats in enumerate(node.pairs):
            goal = frozenset({("filed", NAMES[capability])})
            if stats is None or goal <= before or NAMES[capability] != asked:
                continue
            peers = [
                name
                for name in NAMES
                if name not in (asked, taken) and renamed(before, taken, name) == before
            ]
            if not peers or renamed(goal, asked, taken) <= before:
                continue
            rows = []
            for effect, number in stats.counts.items():
                after = frozenset(
                    (a.predicate, *a.arguments) for a in MAIL.holding(effect.apply(state))
                )
                slipped = [o for o in (taken, *peers) if renamed(goal, asked, o) <= after]
                rows += [slipped if not goal <= after else []] * number
            hits = sum(taken in row for row in rows)
            others = sum(any(o != taken for o in row) for row in rows)
            found[capability, state] = len(rows), hits, others
    return found


@pytest.mark.parametrize("seed", range(3))
def test_slips_are_those_that_sets_of_atoms_show(seed):
    (graph,) = worst_first(RandomAgent(), 300, seed)
    context = FindingContext(graph)
    table = SlipTable(context, swaps(context))
    for asked in NAMES:
        for taken in NAMES:
            pair = ObjectPair(asked, taken)
            rows = table.rows.get(pair, ()) if asked != taken else ()
            counted = {(r.capability, r.state): (r.draws, r.hits, r.others) for r in rows}
            assert counted == (naive_slips(graph, pair) if asked != taken else {})


def test_one_state_alone_does_not_show_that_mails_are_mistaken():
    """What the predicates do not capture may favour one object in a state."""
    empty = filed()
    agent = MailAgent(lambda name, state: [("bob", 0.5)] * (name == "ann" and state == empty))
    (graph,) = worst_first(agent, 600, seed=0)
    draws = graph.pair(empty, 0).counts
    assert sum(draws.values()) > 50 and mistaken(graph) == []


@pytest.mark.parametrize("seed", range(4))
def test_what_was_never_seen_in_one_direction_is_not_said_of_both(seed):
    agent = MailAgent(lambda name, state: [("bob", 0.1)] if name == "ann" else [])
    (graph,) = worst_first(agent, 1500, seed)
    assert not any("for each other" in found.sentence for found in mistaken(graph))
