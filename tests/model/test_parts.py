"""Independent parts of outcomes, in worlds where it is known which there are."""

import itertools
import random

import pytest

from capscope.logic import Effect, Intent, Literal, Predicate, Vocabulary
from capscope.model import LearnedModel, StateGraph
from capscope.model.decomposition import Decomposition, tried
from capscope.model.part_search import find_parts
from capscope.model.parts import Part, PartRate
from support.pursuing_agents import PURSUED, drawn_pairs, graph_of, transitions

MACHINES = ("m1", "m2", "m3", "m4")
FARM = Vocabulary(
    [Predicate("running", ("machine",)), Predicate("worn", ("machine",))],
    dict.fromkeys(MACHINES, "machine"),
)
RUNNING = [FARM.bit_of(f"running({m})") for m in MACHINES]
WORN = [FARM.bit_of(f"worn({m})") for m in MACHINES]
FAILS = {True: 0.4, False: 0.1}
MAILS = tuple(f"mail{i}" for i in range(8))
POST = Vocabulary(
    [Predicate("read", ("mail",)), Predicate("deleted", ("mail",))], dict.fromkeys(MAILS, "mail")
)


def farm(state, number):
    """Start or service a machine; every other one that runs may fail, a worn one more often."""
    wanted = (RUNNING + WORN)[number]
    if state & wanted:
        return {state: 1.0}
    ends = {state | wanted: 1.0}
    for place in set(range(4)) - {number % 4}:
        if state & RUNNING[place]:
            p = FAILS[bool(state & WORN[place])]
            ends = _added(
                (end & ~RUNNING[place] if fails else end, share * (p if fails else 1.0 - p))
                for end, share in ends.items()
                for fails in (True, False)
            )
    return ends


def post(victims, favorite=None):
    """Reading a mail deletes one of the others with a probability of 0.4 if `victims`."""

    def outcomes(state, number):
        wanted = POST.bit_of(f"read({MAILS[number]})")
        if state & wanted:
            return {state: 1.0}
        gone = [POST.bit_of(f"deleted({m})") for i, m in enumerate(MAILS) if i != number]
        left = [bit for bit in gone if not state & bit]
        after = state | wanted
        if not (victims and left):
            return {after: 1.0}
        weights = [12.0 if bit == favorite else 1.0 for bit in left]
        chosen = {
            after | bit: 0.4 * weight / sum(weights)
            for bit, weight in zip(left, weights, strict=True)
        }
        return {after: 0.6, **chosen}

    return outcomes


def _added(ends):
    total = {}
    for end, share in ends:
        total[end] = total.get(end, 0.0) + share
    return total


def seen(vocabulary, names, outcomes, rows, seed=0):
    """Return the graph of random requests in random states."""
    rng = random.Random(seed)
    graph = StateGraph(vocabulary, [Intent.parse(name) for name in names])
    for _ in range(rows):
        state, number = rng.getrandbits(len(vocabulary.atoms)), rng.randrange(len(names))
        ends = outcomes(state, number)
        (after,) = rng.choices(list(ends), list(ends.values()))
        graph.update({(state, number, after): 1})
    return graph


FARM_REQUESTS = [f"{p}({m})" for p in ("running", "worn") for m in MACHINES]
POST_REQUESTS = [f"read({m})" for m in MAILS]


@pytest.fixture(scope="module")
def farm_graph():
    return seen(FARM, FARM_REQUESTS, farm, 600)


def test_machines_that_fail_by_themselves_are_one_part(farm_graph):
    (part,) = find_parts(farm_graph).parts
    assert part.literals == (Literal.parse("not running(?z)"),)
    assert not part.choice
    assert not part.requested


def test_a_part_counts_how_often_it_happened_and_could_have(farm_graph):
    (part,) = find_parts(farm_graph).parts
    happened = possible = 0
    for state, _, pair in tried(farm_graph):
        possible += pair.total * bool(state & sum(RUNNING))
        for effect, times in pair.counts.items():
            happened += times * (effect.deletes & sum(RUNNING)).bit_count()
    assert part.occurrences == happened
    assert part.executions == possible


def test_the_rates_of_a_part_are_those_of_the_world(farm_graph):
    (part,) = find_parts(farm_graph).parts
    found = sorted(rate.probability for rate in part.rates if rate.hits > 10)
    assert found == pytest.approx(sorted(FAILS.values()), abs=0.06)


def test_a_model_with_parts_is_near_the_truth_in_pairs_never_tried(farm_graph):
    model = LearnedModel.fitted(farm_graph)
    apart = []
    for state in range(0, 256, 5):
        for number, name in enumerate(FARM_REQUESTS):
            truth = farm(state, number)
            if farm_graph.pair(state, number) is None and len(truth) > 1:
                predicted = model.predict_untried(state, Intent.parse(name))
                ends = {*truth, *predicted}
                apart.append(sum(abs(truth.get(e, 0) - predicted.get(e, 0)) for e in ends) / 2)
                assert predicted.keys() == truth.keys()
                assert all(model.foresees(state, number, end) for end in truth)
                assert sum(predicted.values()) == pytest.approx(1.0)
    assert len(apart) > 50
    assert sum(apart) / len(apart) < 0.08


def test_what_no_part_and_no_core_does_is_not_foreseen(farm_graph):
    model = LearnedModel.fitted(farm_graph)
    state = RUNNING[0] | RUNNING[1]
    number = FARM_REQUESTS.index("running(m3)")
    assert model.foresees(state, number, RUNNING[0] | RUNNING[2])
    assert not model.foresees(state, number, RUNNING[0] | RUNNING[1] | RUNNING[2] | WORN[0])


def test_one_of_several_mails_is_one_choice():
    graph = seen(POST, POST_REQUESTS, post(victims=True), 200)
    (part,) = find_parts(graph).parts
    assert part.choice
    assert part.literals == (Literal.parse("deleted(?z)"),)
    assert not part.preferences
    model = LearnedModel.fitted(graph)
    fresh = seen(POST, POST_REQUESTS, post(victims=True), 300, seed=1)
    missed = [
        effect
        for state, node in fresh.nodes.items()
        for number, pair in enumerate(node.pairs)
        if pair is not None
        for effect in pair.counts
        if not model.foresees(state, number, effect.apply(state))
    ]
    assert len(missed) <= 3


def test_a_choice_that_prefers_one_object_says_so():
    favorite = POST.bit_of("deleted(mail3)")
    graph = seen(POST, POST_REQUESTS, post(victims=True, favorite=favorite), 800)
    (part,) = find_parts(graph).parts
    weights = dict(part.preferences)
    assert max(weights, key=weights.get) == ("mail3",)


@pytest.mark.parametrize("seed", range(20))
def test_an_even_choice_hardly_ever_seems_to_prefer(seed):
    graph = seen(POST, POST_REQUESTS, post(victims=True), 150, seed)
    assert not any(part.preferences for part in find_parts(graph).parts)


def test_a_world_without_chance_has_no_parts():
    assert not find_parts(graph_of(transitions(PURSUED, drawn_pairs(400)))).parts
    assert not find_parts(seen(POST, POST_REQUESTS, post(victims=False), 300)).parts


def workshop(flies_off):
    """Cutting a piece blunts the blade and succeeds with 0.7; selling one begins with cutting it.

    Or, if a chip `flies_off`, any use of the blade damages each piece with 0.3, asked for or not.
    """

    def outcomes(state, number):
        bits = [SHOP.bit_of(name) for name in SHOP_REQUESTS]
        sharp, wanted, cut = bits[0], bits[number], bits[1:4]
        if number == 0 or not state & sharp:
            return {state | sharp: 1.0}
        if state & wanted:
            return {state: 1.0}
        piece = cut[(number - 1) % 3]
        if not flies_off:
            blunt = state & ~sharp
            return {state | wanted: 1.0} if state & piece else {blunt: 0.3, blunt | piece: 0.7}
        ends = {state & ~sharp | (0 if wanted in cut else wanted): 1.0}
        for bit in cut:
            if not state & bit:
                ends = {e | bit * hit: p * (0.3, 0.7)[not hit] for e, p in ends.items()
                        for hit in (0, 1)}  # fmt: skip
        return ends

    return outcomes


PIECES = ("p1", "p2", "p3")
SHOP = Vocabulary(
    [Predicate("sharp"), Predicate("cut", ("piece",)), Predicate("sold", ("piece",))],
    dict.fromkeys(PIECES, "piece"),
)
SHOP_REQUESTS = ["sharp()", *(f"{p}({x})" for p in ("cut", "sold") for x in PIECES)]


@pytest.mark.parametrize("seed", range(3))
def test_what_is_caused_on_request_is_no_part_even_on_the_way_to_another_request(seed):
    graph = seen(SHOP, SHOP_REQUESTS, workshop(flies_off=False), 400, seed)
    assert not find_parts(graph).parts


@pytest.mark.parametrize("seed", range(3))
def test_what_happens_no_more_often_on_request_is_a_part(seed):
    (part,) = find_parts(seen(SHOP, SHOP_REQUESTS, workshop(flies_off=True), 400, seed)).parts
    assert part.literals == (Literal.parse("cut(?z)"),)


# Against naive twins.


def naive_spread(chances, after):
    """Multiply out all subsets of what may happen."""
    ends = {}
    for happened in itertools.product((True, False), repeat=len(chances)):
        end, share = after, 1.0
        for (bit, p), happens in zip(chances, happened, strict=True):
            end, share = (end & ~bit, share * p) if happens else (end, share * (1.0 - p))
        ends[end] = ends.get(end, 0.0) + share
    return ends


def test_independent_parts_multiply():
    part = Part(
        (Literal.parse("not running(?z)"),), (("?z", "machine"),), rates=(PartRate((), 30, 99),)
    )
    graph = StateGraph(FARM, [Intent.parse(name) for name in FARM_REQUESTS])
    p = part.rates[0].probability
    for state in range(256):
        core = Effect(WORN[0] & ~state, 0)
        found = Decomposition(graph, [part]).spread(state, 4, {core.apply(state): 1.0})
        chances = [(bit, p) for bit in RUNNING if state & bit]
        assert found == pytest.approx(naive_spread(chances, core.apply(state)))


def test_a_core_is_what_remains_without_every_part(farm_graph):
    parts = find_parts(farm_graph)
    for state, node in farm_graph.nodes.items():
        for number, pair in enumerate(node.pairs):
            for effect in () if pair is None else pair.counts:
                core = parts.core(state, number, effect)
                assert core == Effect(effect.adds, 0)


def test_without_parts_nothing_changes():
    graph = graph_of(transitions(PURSUED, drawn_pairs(100)))
    nothing = Decomposition(graph)
    assert nothing.of_cores(graph) is graph
    for state, node in graph.nodes.items():
        for number, pair in enumerate(node.pairs):
            if pair is not None:
                assert nothing.pair(state, number, pair) is pair
