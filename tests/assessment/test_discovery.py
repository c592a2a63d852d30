from contextlib import closing

import pytest

from capscope import (
    Budget,
    CapscopeError,
    Effect,
    Intent,
    Predicate,
    Settings,
    Vocabulary,
    assess,
    load,
)
from capscope.assessment.discovery import intents_of, random_walks
from capscope.journal.journal import Journal
from support.toy_worlds import Board, Scripted, Seen, board_problem

WORDS = Vocabulary(
    [Predicate("on", ("block", "block")), Predicate("held", ("block",)), Predicate("done")],
    {"x": "block", "y": "block", "table": "thing"},
)
SMALL = Settings(draws=2, random_length=4, walks=2, walk_steps=8, patience=2)


def bits(*atoms):
    return sum(WORDS.bit[Intent.parse(atom).literals[0].atom] for atom in atoms)


def discovered(*effects):
    return [str(intent) for intent in intents_of(effects, WORDS)]


def test_an_added_atom_gives_the_intent_in_all_type_consistent_groundings():
    assert discovered(Effect(bits("on(x,y)"), 0)) == ["on(x,x)", "on(x,y)", "on(y,x)", "on(y,y)"]


def test_a_removed_atom_gives_the_negated_intent_in_all_groundings():
    assert discovered(Effect(0, bits("held(y)"))) == ["not held(x)", "not held(y)"]


def test_an_effect_gives_both_and_each_is_named_once():
    swap = Effect(bits("held(x)", "done"), bits("held(y)"))
    back = Effect(bits("held(y)"), bits("held(x)"))
    expected = ["held(x)", "held(y)", "done()", "not held(x)", "not held(y)"]
    assert discovered(swap, back) == discovered(back, swap) == expected


def test_no_change_gives_nothing():
    assert discovered() == discovered(Effect(0, 0)) == []


def test_walks_take_the_steps_they_say_and_report_each_effect_once():
    effects, steps = random_walks(board_problem(), Settings(walks=3, walk_steps=40), seed=0)
    assert steps == 120
    assert len(effects) == len(set(effects))
    assert set(effects) == {e for i in range(3) for e in (Effect(1 << i, 0), Effect(0, 1 << i))}


def test_a_walk_ends_with_its_world_and_the_next_begins_again():
    effects, steps = random_walks(
        board_problem(Board(ends_at=0b001)), Settings(walks=20, walk_steps=30), seed=0
    )
    assert steps < 600
    assert Effect(0b001, 0) in effects


@pytest.mark.parametrize("most", [0, 1, 7, 30])
def test_walks_stop_where_the_budget_does(most):
    assert random_walks(board_problem(), Settings(walks=3, walk_steps=9), 0, most)[1] == min(
        27, most
    )


def test_the_same_seed_walks_the_same_way():
    walks = [random_walks(board_problem(), Settings(walks=1, walk_steps=3), s) for s in (1, 1, 2)]
    assert walks[0] == walks[1] != walks[2]


def test_walks_cost_steps_and_are_not_executions(tmp_path):
    idle = board_problem(Board(), Scripted())
    result = assess(idle, strategy="random", settings=SMALL, run=tmp_path / "run")
    assert result.usage.simulator_steps == 16
    assert len(result.graph.nodes) == 1  # all changes were seen by the walks, none by the agent
    loaded = load(tmp_path / "run")
    assert (loaded.executions.before == loaded.executions.after).all()
    assert loaded.usage.simulator_steps == 16
    assert len(result.graph.capabilities) == 6


def test_what_an_agent_is_seen_to_achieve_is_assessed_too(tmp_path):
    class LightsOnly(Board):
        """At random only the first switch can be pressed, and only once."""

        def actions(self):
            return ("a",) if not self.lit & 1 else ("b",)

        def step(self, action):
            self.lit ^= 1 << "abc".index(action)
            return self.lit

    class Vandal:
        def begin(self, intent, seed):
            return Scripted("a").begin(intent, seed)

    settings = Settings(draws=2, random_length=4, walks=1, walk_steps=1, patience=2)
    problem = board_problem(LightsOnly(), Vandal())
    result = assess(problem, strategy="random", settings=settings, run=tmp_path / "run")
    names = [str(intent) for intent in result.graph.capabilities]
    assert names == [*(f"lit({s})" for s in "abc"), *(f"not lit({s})" for s in "abc")]
    with closing(Journal.open(tmp_path / "run" / "journal.sqlite")) as journal:
        meta = journal.read_meta()
        assert (meta.discovered, meta.discovery_steps) == (3, 1)
        assert journal.intents() == result.graph.capabilities


def test_given_intents_replace_discovery_and_are_not_extended():
    own = Settings(
        draws=2, random_length=6, patience=4, intents=("lit(b) and not lit(a)", "lit(a)", "lit(a)")
    )
    result = assess(board_problem(Board(slip=0.2)), strategy="random", settings=own)
    assert [str(i) for i in result.graph.capabilities] == ["not lit(a) and lit(b)", "lit(a)"]
    # No step was spent on walks: the first draws leave from the initial state.
    budget = Budget(simulator_steps=1)
    assert assess(board_problem(), settings=own, budget=budget).usage.executions >= 1


class StillBoard(Board):
    def step(self, action):
        return self.lit


def test_a_world_without_change_is_reported_in_one_line_with_what_to_do():
    with pytest.raises(CapscopeError) as refused:
        assess(board_problem(StillBoard()), strategy="random", settings=SMALL)
    message = str(refused.value)
    assert "no change was seen in 16 random steps of board" in message
    assert "--set walks" in message
    assert "--intents" in message


def test_a_run_without_budget_for_discovery_leaves_nothing_in_the_way_of_the_next(tmp_path):
    given = {"strategy": "random", "settings": SMALL}
    with pytest.raises(CapscopeError, match="no change was seen in 0 random steps"):
        assess(board_problem(), budget=Budget(simulator_steps=0), run=tmp_path / "run", **given)
    enough = Budget(simulator_steps=50)
    result = assess(board_problem(), budget=enough, run=tmp_path / "run", **given)
    whole = assess(board_problem(), budget=enough, **given)
    assert result.graph.capabilities == whole.graph.capabilities
    assert result.usage.simulator_steps == whole.usage.simulator_steps


def test_a_static_atom_never_becomes_an_intent():
    class WithAStaticAtom(Seen):
        vocabulary = Vocabulary.of_atoms(["wired", "a", "b", "c"])

        def __call__(self, observation):
            return observation << 1 | 1

    walked = random_walks(
        board_problem(abstraction=WithAStaticAtom()), Settings(walks=2, walk_steps=40), 0
    )[0]
    found = {str(intent) for intent in intents_of(walked, WithAStaticAtom.vocabulary)}
    assert found == {"a()", "b()", "c()", "not a()", "not b()", "not c()"}
