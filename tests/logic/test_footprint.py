from capscope.logic import Effect, Intent, Predicate, Vocabulary
from capscope.logic.footprint import Footprint

VOCABULARY = Vocabulary(
    [Predicate("gone", ("mail",)), Predicate("in", ("mail", "box")), Predicate("full")],
    {"ann": "mail", "bob": "mail", "old": "box"},
)


def footprint(text):
    return Footprint(Intent.parse(text), VOCABULARY)


def effect(*atoms):
    return Effect(VOCABULARY.state(atoms), 0)


def test_only_changes_of_objects_that_are_not_mentioned_are_outside():
    own = footprint("gone(ann)")
    assert own.shapes(effect("gone(bob)", "in(ann,old)", "full()")) == {("gone", True)}
    assert own.shapes(Effect(0, VOCABULARY.state(["in(bob,old)"]))) == {("in", False)}
    assert footprint("in(ann,old)").shapes(effect("gone(bob)", "in(bob,old)")) == {("gone", True)}


def test_changes_of_objects_that_are_marked_as_distinct_are_not_outside():
    stages = Vocabulary(
        [Predicate("gone", ("mail",)), Predicate("stage", ("step",))],
        {"ann": "mail", "bob": "mail", "first": "step", "second": "step"},
        distinct_types=["step"],
    )
    change = Effect(stages.state(["gone(bob)", "stage(second)"]), stages.state(["stage(first)"]))
    assert Footprint(Intent.parse("gone(ann)"), stages).shapes(change) == {("gone", True)}


def test_intents_that_differ_in_objects_have_one_form():
    assert footprint("gone(ann)").form == footprint("gone(bob)").form
    assert footprint("gone(ann)").form != footprint("not gone(ann)").form
    assert footprint("in(ann,old)").form == footprint("in(bob,old)").form


def test_the_condition_of_an_intents_own_objects_ignores_all_others():
    state = VOCABULARY.state(["gone(bob)", "in(ann,old)", "full()"])
    assert footprint("gone(ann)").own_state(state) == (False,)
    assert footprint("gone(bob)").own_state(state) == (True,)
    names = [str(atom) for atom in footprint("in(ann,old)").own_atoms]
    assert names == ["gone(ann)", "in(ann,old)"]
