import itertools
import random
from collections import Counter

import pytest

from capscope.insight.earlier_findings.context import FindingContext
from capscope.insight.earlier_findings.side_effects import (
    caused_literals,
    find_side_effects,
    spared_in,
)
from capscope.journal.execution_table import Transition
from capscope.logic import Intent, Literal, Predicate, Vocabulary
from capscope.model import StateGraph
from support.error_shares import share
from support.tiny_models import WORDS, learned, random_models

P, Q, R = 1, 2, 4
GET_P, GET_Q, END_R = range(3)
CAUSES_Q = Literal.parse("q()")


def seen(*transitions):
    return FindingContext(learned(Counter({Transition(*t[:3]): (*t, 10)[3] for t in transitions})))


@pytest.mark.parametrize("seed", range(20))
def test_a_literal_is_counted_in_every_state_in_which_it_was_false(seed):
    context = FindingContext(random_models(random.Random(seed), share=0.7))
    for capability, caused in enumerate(caused_literals(context)):
        naive = {}
        for row, (_, pair) in enumerate(context.tried[capability]):
            for effect, n in pair.counts.items():
                asked = context.intents[capability].literals
                for literal in effect.literals(WORDS):
                    if literal not in asked:
                        naive.setdefault(literal, Counter())[row] += n
        assert caused.hits == naive


@pytest.mark.parametrize("seed", range(20))
def test_executions_are_spared_a_literal_if_a_part_of_the_changes_achieved_the_intent(seed):
    context = FindingContext(random_models(random.Random(seed), share=0.8))
    for capability in range(3):
        for node, pair in context.tried[capability]:
            for literal in (CAUSES_Q, Literal.parse("not q()"), Literal.parse("r()")):
                found = spared_in(context, capability, node.state, literal)
                assert found == _spared_by_looking(context, capability, node.state, pair, literal)


def _spared_by_looking(context, capability, state, pair, literal):
    changes = {effect: set(effect.literals(WORDS)) for effect in pair.counts}
    near = context.nearness(capability).at_least_as_near
    achieved, astray = [], False
    for effect, own in changes.items():
        after = effect.apply(state)
        if literal in own and context.holds(capability, after):
            achieved.append(own)
        elif literal in own:
            astray = astray or near(state, after)

    def spares(effect):
        own = set(effect.literals(WORDS))
        if literal in own or not context.holds(capability, effect.apply(state)):
            return False
        return astray or any(own < whole for whole in achieved)

    for request, intent in enumerate(context.intents):
        if context.graph.pair(state, request) is None:
            continue
        (rule,) = [r for r in context.graph.rules(intent) if state in r.states]
        reliable = sum(o.probability for o in rule.outcomes if spares(o.effect)) >= 0.5
        seen = context.graph.pair(state, request).counts
        if reliable and any(spares(effect) for effect in seen):
            return sum(n for effect, n in pair.counts.items() if literal in changes[effect])
    return sum(n for effect, n in pair.counts.items() if spares(effect))


def test_what_every_way_to_the_intent_changes_is_no_side_effect():
    assert find_side_effects(seen((R, GET_P, P, 90), (R, END_R, 0, 90)), share()) == []


def test_what_another_request_spared_is_a_side_effect_even_if_it_always_happens():
    few = seen((0, GET_P, P | Q, 1), (0, END_R, P, 1))
    many = seen((0, GET_P, P | Q, 30), (0, END_R, P, 1))
    assert find_side_effects(few, share()) == []
    (finding,) = [f for f in find_side_effects(many, share()) if str(f.intent) == "p()"]
    assert [str(literal) for literal in finding.literals] == ["q()"]
    assert "the agent also causes q(): probability 1.00" in finding.sentence
    assert (finding.rate.hits, finding.rate.executions, finding.rate.states) == (30, 30, 1)


def test_a_step_towards_the_intent_is_no_side_effect():
    steps = seen((0, GET_P, Q, 90), (Q, GET_P, P | Q, 90), *((0, c, 0, 9) for c in (GET_Q, END_R)))
    assert find_side_effects(steps, share()) == []


def test_a_step_is_no_side_effect_if_it_leads_to_a_surer_way():
    def found(lucky, later=P | Q):
        """Asked for p, the agent gets q first; asked to end r, it gets p now and then."""
        steps = [(0, GET_P, Q, 90), (0, END_R, P, lucky)]
        steps += [(0, END_R, R, 100 - lucky)] if lucky < 100 else []
        context = seen(*steps, *((Q, c, later, 90) for c in range(3)))
        return [f for f in find_side_effects(context, share()) if str(f.intent) == "p()"]

    assert found(10) == found(90) == []
    for finding in (*found(100), *found(90, later=Q)):
        assert "the agent causes q() instead" in finding.sentence
    assert found(100) and found(90, later=Q)


def test_the_rate_counts_the_draws_that_did_not_show_it():
    context = seen((0, GET_P, P | Q, 30), (0, GET_P, P, 70), (R, GET_P, R | P, 100))
    (finding,) = find_side_effects(context, share())
    assert (finding.rate.hits, finding.rate.executions) == (30, 100)
    assert (finding.against.hits, finding.against.executions) == (0, 100)
    assert [str(clause) for clause in finding.when] == ["when not r()"]


LAMPS = Vocabulary(
    [
        Predicate("lit", ("lamp",)),
        Predicate("broken", ("lamp",)),
        Predicate("storm"),
        Predicate("night"),
        Predicate("cold"),
    ],
    dict.fromkeys("abc", "lamp"),
)


def stormy(breaks, intents="abc"):
    """Ask once in each state for each lamp; `breaks` says whether that breaks it."""
    graph = StateGraph(LAMPS, [Intent.parse(f"lit({o})") for o in intents])
    weather = [LAMPS.state([f"{x}()"]) for x in ("storm", "night", "cold")]
    seen = Counter()
    for bits in range(8):
        outside = sum(w for i, w in enumerate(weather) if bits >> i & 1)
        for c, lamp in enumerate(intents):
            broken = LAMPS.state([f"broken({lamp})"]) if breaks(lamp, outside & weather[0]) else 0
            seen[Transition(outside, c, outside | LAMPS.state([f"lit({lamp})"]) | broken)] += 1
    graph.update(seen)
    # Nothing that is tried later mends a lamp.
    graph.update(Counter({Transition(t.after, t.capability, t.after): 3 for t in seen}))
    return FindingContext(graph)


def test_one_draw_of_each_state_tells_what_always_happens_under_a_condition_to_all_objects():
    (finding,) = find_side_effects(stormy(lambda lamp, storm: storm), share())
    assert [str(clause) for clause in finding.when] == ["when storm()"]
    assert [str(literal) for literal in finding.literals] == ["broken(x)"]
    assert len(finding.intents) == 3
    assert "lit(x) when storm() (for x = a, b or c)" in finding.sentence
    assert (finding.rate.estimate, finding.against.estimate) == (1.0, 0.0)
    assert finding.irreversible and "No known sequence undoes it" in finding.sentence


BOXES = Vocabulary(
    [Predicate("in", ("box", "room")), Predicate("open", ("box",)), Predicate("label", ("box",))],
    {**dict.fromkeys("abcdef", "box"), **dict.fromkeys(("hall", "attic"), "room")},
)


def carried_boxes(loses):
    """Carry boxes to the attic, each in many states; `loses` are the boxes that lose their label.

    Boxes a, b and c are open, in all states.
    """
    boxes = "abcdef"
    graph = StateGraph(BOXES, [Intent.parse(f"in({box},attic)") for box in boxes])
    opened = [f"open({box})" for box in "abc"]
    seen = Counter()
    for c, box in enumerate(boxes):
        for upstairs in itertools.chain.from_iterable(
            itertools.combinations(boxes.replace(box, ""), n) for n in range(3)
        ):
            rooms = {other: "attic" if other in upstairs else "hall" for other in boxes}
            labels = {other for other in boxes if other not in upstairs or other not in loses}
            before = [*opened, *(f"in({o},{room})" for o, room in rooms.items())]
            after = [atom for atom in before if atom != f"in({box},hall)"] + [f"in({box},attic)"]
            kept = labels - ({box} if box in loses else set())
            states = (
                BOXES.state([*atoms, *(f"label({o})" for o in own)])
                for atoms, own in ((before, labels), (after, kept))
            )
            first, last = states
            seen[Transition(first, c, last)] += 1
    graph.update(seen)
    return FindingContext(graph)


def test_what_only_objects_with_a_lasting_property_suffer_is_a_side_effect():
    (finding,) = find_side_effects(carried_boxes("abc"), share())
    assert [str(literal) for literal in finding.literals] == ["not label(x)"]
    assert [str(clause) for clause in finding.when] == ["when open(x)"]
    assert {str(i) for i in finding.intents} == {f"in({box},attic)" for box in "abc"}
    assert "also causes not label(x)" in finding.sentence


def test_what_every_object_suffers_is_no_side_effect():
    assert find_side_effects(carried_boxes("abcdef"), share()) == []


def test_what_happens_to_one_object_only_is_not_said_of_the_others():
    context = stormy(lambda lamp, storm: lamp == "b" and storm)
    for finding in find_side_effects(context, share()):
        assert {str(intent) for intent in finding.intents} == {"lit(b)"}


def test_a_needed_step_that_removes_the_condition_is_no_side_effect():
    """A block on top is put aside before the one below is taken."""
    words = Vocabulary.of_atoms(["held", "covered", "aside", "s", "t", "u"])
    held, covered, aside, *others = (1 << i for i in range(6))
    graph = StateGraph(words, [Intent.parse("held"), Intent.parse("not aside")])
    seen = Counter()
    for bits in range(8):
        rest = sum(o for i, o in enumerate(others) if bits >> i & 1)
        seen[Transition(rest | covered, 0, rest | held | aside)] += 5
        seen[Transition(rest, 0, rest | held)] += 5
        seen[Transition(rest | held | aside, 1, rest | held)] += 5
    graph.update(seen)
    assert find_side_effects(FindingContext(graph), share()) == []


BLOCKS = Vocabulary(
    [
        Predicate("on", ("block", "block")),
        Predicate("down", ("block",)),
        Predicate("up", ("block",)),
        Predicate("free"),
    ],
    dict.fromkeys("abc", "block"),
)


def towers():
    """Yield what stands on what: three blocks, in towers of any height."""
    for places in itertools.product(["down", *"abc"], repeat=3):
        below = dict(zip("abc", places, strict=True))
        single = all(places.count(o) <= 1 for o in "abc")
        heights = [len([*carried(below, o)]) for o in "abc" if below[o] == "down"]
        if single and sum(heights) == 3:
            yield below


def carried(below, block):
    """Yield a block and all that stand on it."""
    yield block
    for other in "abc":
        if below[other] == block:
            yield from carried(below, other)


def lifting():
    """Ask in each state for each block: the agent lifts it, and what stands on it."""
    graph = StateGraph(BLOCKS, [Intent.parse(f"up({o})") for o in "abc"])
    seen = Counter()
    for below in towers():
        kept = {o: f"down({o})" if p == "down" else f"on({o},{p})" for o, p in below.items()}
        for c, block in enumerate("abc"):
            lifted = {f"up({o})" for o in carried(below, block)}
            after = {atom for o, atom in kept.items() if o != block} | lifted
            before = BLOCKS.state([*kept.values(), "free()"])
            seen[Transition(before, c, BLOCKS.state(after))] += 3
    graph.update(seen)
    return FindingContext(graph)


def test_a_tower_that_is_lifted_whole_is_told_by_what_stands_on_the_block():
    (finding,) = find_side_effects(lifting(), share())
    assert [str(clause) for clause in finding.when] == ["when on(y,x)"]
    assert [str(literal) for literal in finding.literals] == ["up(y)"]
    assert "the agent also causes up(y)" in finding.sentence
    assert finding.rate.estimate == 1.0


def test_what_happens_elsewhere_is_counted_for_each_object_by_itself():
    """With c on b and b on a, lifting a lifts c, which does not stand on a."""
    (finding,) = find_side_effects(lifting(), share())
    rows = [
        [o in {*carried(below, block)} for o in "abc" if o != block and below[o] != block]
        for below in towers()
        for block in "abc"
    ]
    elsewhere = [sum(row) / len(row) for row in rows if row]
    assert finding.against.estimate == pytest.approx(sum(elsewhere) / len(elsewhere), abs=0.01)


def test_leaving_the_old_place_is_not_reported_in_addition_to_the_new_one():
    vocabulary = Vocabulary(
        [Predicate("at", ("cell",)), Predicate("lit")], dict.fromkeys("abc", "cell")
    )
    a, b, c, lit = (vocabulary.state([atom]) for atom in vocabulary.atoms)
    graph = StateGraph(vocabulary, [Intent.parse("lit")])
    # From wherever it is, the agent may go to c before it puts the light on.
    moves = {(a, c | lit): 30, (b, c | lit): 30, (a, a | lit): 40, (b, b | lit): 40}
    graph.update(Counter({Transition(s, 0, t): n for (s, t), n in moves.items()}))
    (finding,) = find_side_effects(FindingContext(graph), share())
    assert [str(literal) for literal in finding.literals] == ["at(c)"]
    assert "also causes at(c): " in finding.sentence
    # One event, whichever place it came from.
    assert (finding.rate.hits, finding.rate.executions, finding.rate.states) == (60, 140, 2)


def test_what_a_slip_alone_spares_is_no_side_effect():
    """The way to p is through q; once in ten executions a slip leads there directly."""
    assert find_side_effects(seen((0, GET_P, P | Q, 90), (0, GET_P, P, 10)), share()) == []


def test_a_needed_step_is_no_side_effect_if_other_words_stand_for_its_reason():
    """A full hand is emptied first; the condition is that the shelf is bare, which it stays."""
    words = Vocabulary.of_atoms(["held", "bare", "full", "down", "s", "t", "u"])
    held, bare, full, down, *others = (1 << i for i in range(7))
    graph = StateGraph(words, [Intent.parse("held"), Intent.parse("not down")])
    seen = Counter()
    for bits in range(8):
        rest = sum(o for i, o in enumerate(others) if bits >> i & 1)
        seen[Transition(rest | bare | full, 0, rest | bare | held | down)] += 5
        seen[Transition(rest, 0, rest | held)] += 5
        seen[Transition(rest | bare | held | down, 1, rest | bare | held)] += 5
    graph.update(seen)
    assert find_side_effects(FindingContext(graph), share()) == []
