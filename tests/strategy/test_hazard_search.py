import numpy as np
import pytest

from capscope import Budget
from capscope.logic import Intent
from capscope.model import LearnedModel, StateGraph
from capscope.problem import Hazard
from capscope.strategy.hazard_search import HazardSearch
from support.hazard_worlds import BIT, FULL, SPILLING, WORDS, kitchen, run_kitchen

ANSWERS = kitchen()
INTENTS = ANSWERS.intents()


class Searching:
    """A model of some pairs, and the search for a hazard with it."""

    def __init__(self, pairs, hazard, intents=INTENTS):
        self.graph = StateGraph(WORDS, intents)
        self.graph.node(0)
        seen = {}
        for state, intent in pairs:
            (after,) = ANSWERS.outcomes(state, intent)
            seen[state, intents.index(intent), after] = 1
        self.graph.update(seen)
        self.model = LearnedModel.fitted(self.graph)
        self.search = HazardSearch(self.model, [Hazard.parse(hazard, WORDS)], seed=0)
        self.search.observe((state, capability) for state, capability, _ in seen)
        self.states = list(self.graph.nodes)
        self.rows = np.array(self.model.matrix.rows(self.states))
        self.intents = intents
        types = np.zeros((len(intents), len(self.states)), dtype=np.int64)
        for capability in range(len(intents)):
            types[capability] = self.model.experts.believed(capability, self.rows)[0]
        self.search.refresh(self.rows, types)
        self.tried = np.array(
            [[p is not None for p in self.graph.nodes[s].pairs] for s in self.states]
        ).T
        self.worth = self.search.weights(self.rows, self.tried, np.zeros_like(types, dtype=float))

    def of(self, state, intent):
        text = Intent.parse(intent) if isinstance(intent, str) else intent
        return self.worth[self.intents.index(text), self.states.index(state)]


def climb(*steps):
    """List the pairs on the way of x to some step."""
    state, pairs = 0, []
    for step in steps:
        pairs.append((state, Intent.parse(f"{step}(x)")))
        state |= BIT[step, "x"]
    return pairs


def test_capabilities_about_the_objects_are_worth_more():
    searching = Searching(climb("taken"), "gone(x)")
    assert searching.of(0, "opened(x)") > searching.of(0, "opened(y)") > 0


def test_a_condition_of_the_objects_that_is_known_is_worth_less_whatever_else_holds():
    taken_y = BIT["taken", "y"]
    known = [(0, Intent.parse("opened(x)")), (0, Intent.parse("taken(y)"))]
    searching = Searching([*known, *climb("taken")], "gone(x)")
    # Opening x was tried while x stood there; that y is in hand now makes no new condition of x.
    assert searching.of(taken_y, "opened(x)") < searching.of(taken_y, "heated(x)")
    assert searching.of(taken_y, "opened(x)") < searching.of(BIT["taken", "x"], "opened(x)")


def test_a_pair_that_is_believed_to_lead_into_it_is_worth_more():
    full_y = FULL | BIT["taken", "y"]
    asked = [
        *climb("taken", "opened", "heated"),
        (FULL, SPILLING),
        *((FULL | BIT["taken", "y"], intent) for intent in INTENTS if intent != SPILLING),
        (FULL, Intent.parse("taken(y)")),
    ]
    searching = Searching(asked, "gone(x)")
    assert searching.of(full_y, SPILLING) > searching.of(full_y, "not heated(x)")


def test_a_step_that_makes_more_of_a_conjunction_true_is_worth_more():
    asked = [*climb("taken", "opened"), (BIT["taken", "x"], Intent.parse("not taken(x)"))]
    searching = Searching(asked, "opened(x) and heated(x) and taken(y)")
    nearer = searching.of(BIT["taken", "x"], "opened(x)")
    farther = searching.of(BIT["taken", "x"], "not taken(x)")
    assert nearer > farther


def test_a_request_for_the_hazard_itself_is_never_drawn():
    asking = (*INTENTS, Intent.parse("gone(x)"))
    searching = Searching(climb("taken"), "gone(x)", asking)
    assert (searching.worth[-1] == 0).all()
    assert (searching.worth[:-1] > 0).all()


def test_the_search_is_unfinished_until_everything_was_tried_in_each_condition():
    states = [0, BIT["taken", "x"], BIT["taken", "x"] | BIT["opened", "x"], FULL]
    everything = [(state, intent) for state in states for intent in INTENTS]
    searching = Searching(everything, "gone(x)")
    assert searching.search.unfinished(searching.rows, len(INTENTS))  # x is gone since
    gone = BIT["gone", "x"]
    searching = Searching([*everything, *((gone, one) for one in INTENTS)], "gone(x)")
    assert not searching.search.unfinished(searching.rows, len(INTENTS))
    # y has been taken: for x that is nothing new, for y it is.
    other = Searching([*everything, *((gone, one) for one in INTENTS)], "gone(y)")
    assert other.search.unfinished(other.rows, len(INTENTS))


def test_a_deep_hazard_is_found_sooner_by_who_searches_for_it():
    def found(hazards):
        executions = []
        for seed in range(8):
            run = run_kitchen(
                kitchen(), seed=seed, hazards=hazards, audit=0.0, budget=Budget(executions=100)
            )
            gone = [bool(run.executions.states[i] & BIT["gone", "x"]) for i in run.executions.after]
            executions.append(gone.index(True) if any(gone) else 100)
        return sum(executions)

    assert found(("gone(x)",)) < 0.9 * found(())


def test_without_hazards_there_is_no_search(monkeypatch):
    def refuse(*given):
        raise AssertionError("a search without hazards")

    monkeypatch.setattr("capscope.strategy.hazard_search.HazardSearch", refuse)
    run = run_kitchen(kitchen(), budget=Budget(executions=40))
    assert run.hazards == ()
    with pytest.raises(AssertionError, match="a search without hazards"):
        run_kitchen(kitchen(), hazards=("gone(x)",), budget=Budget(executions=40))
