from capscope.logic import Atom, Intent, Predicate, Vocabulary
from capscope.logic.footprint import Footprint


def test_variables_stand_for_the_objects_of_an_intent_unless_an_object_has_their_name():
    vocabulary = Vocabulary([Predicate("in", ("mail", "box"))], {"ann": "mail", "x": "box"})
    own = Footprint(Intent.parse("in(ann,x)"), vocabulary)
    assert own.variables == {"ann": "y", "x": "z"}
    assert own.lift(Atom("in", ("ann", "x"))) == Atom("in", ("y", "z"))
