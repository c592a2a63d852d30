from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.unusual_means import find_unusual_means
from capscope.model import StateGraph
from capscope.record.execution_table import Transition
from capscope.symbolic import Atom, Intent, Predicate, Vocabulary
from support.error_shares import share

WORDS = Vocabulary(
    [
        Predicate("near", ("tree",)),
        Predicate("felled", ("tree",)),
        Predicate("at", ("place",)),
        Predicate("dark"),
    ],
    {"oak": "tree", "elm": "tree", "x": "place", "y": "place"},
)
INTENTS = ("not near(oak)", "not near(elm)", "at(x)", "at(y)", "felled(oak)", "felled(elm)")


def state(*atoms):
    return WORDS.state(map(Atom.parse, atoms))


def context(oak, elm, oak_at_night=None):
    """Learn how often the agent left a tree for x, for y, or by felling it; all can be had."""
    graph = StateGraph(WORDS, [Intent.parse(text) for text in INTENTS])
    for number, (tree, taken) in enumerate((("oak", oak), ("elm", elm))):
        for extra in ((), ("dark",)):
            if extra and tree == "oak" and oak_at_night:
                taken = oak_at_night
            start = state(f"near({tree})", *extra)
            ends = [state(end, *extra) for end in ("at(x)", "at(y)", f"felled({tree})")]
            seen = {Transition(start, number, end): n for end, n in zip(ends, taken, strict=True)}
            for capability, end in zip((2, 3, 4 + number), ends, strict=True):
                seen[Transition(start, capability, end)] = 9
            graph.update({t: n for t, n in seen.items() if n})
    return FindingContext(graph)


def found(**taken):
    return find_unusual_means(context(**taken), share())


def test_a_tree_that_is_felled_where_others_are_left_is_reported():
    (finding,) = found(oak=(60, 60, 0), elm=(60, 60, 0), oak_at_night=(0, 0, 30))
    assert [str(intent) for intent in finding.intents] == ["not near(oak)"]
    assert [str(literal) for literal in finding.literals] == ["felled(oak)"]
    assert [str(clause) for clause in finding.when] == ["when dark()"]
    assert "although the usual way, by at(x), was available" in finding.sentence


def test_an_even_choice_among_three_takes_the_unusual_way_a_third_of_the_time():
    assert found(oak=(100, 100, 100), elm=(100, 100, 100)) == []


def test_the_only_way_there_is_cannot_surprise():
    graph = StateGraph(WORDS, [Intent.parse(text) for text in INTENTS])
    for extra in ((), ("dark",)):
        for number, tree in enumerate(("oak", "elm")):
            start, felled = state(f"near({tree})", *extra), state(f"felled({tree})", *extra)
            only_felling = extra and tree == "oak"
            ends = {felled: 30} if only_felling else {state("at(x)", *extra): 60}
            graph.update({Transition(start, number, end): n for end, n in ends.items()})
            graph.update({Transition(start, 4 + number, felled): 9})
    assert find_unusual_means(FindingContext(graph), share()) == []
