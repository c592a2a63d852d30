"""The atoms that matter: those that the conditions of rules mention most.

The heat map has columns for them, and the overview of states groups by them.
"""

from collections import defaultdict
from collections.abc import Sequence

from capscope.logic import Atom, Vocabulary
from capscope.report.text import CapabilityView


def splitting_atoms(views: Sequence[CapabilityView], vocabulary: Vocabulary) -> list[int]:
    """Return the positions of the atoms in the conditions of rules, the most important first.

    An atom counts for each rule by the share of the capability's states that the rule covers,
    divided among the literals of its condition: long conditions describe accidents.
    """
    position = {atom: i for i, atom in enumerate(vocabulary.atoms)}
    weights: defaultdict[int, float] = defaultdict(float)
    for view in views:
        tried = view.states_tried
        # A capability that does the same everywhere has no condition.
        for rule in view.rules if len(view.rules) > 1 else ():
            atoms: set[Atom] = {literal.atom for term in rule.when for literal in term}
            for atom in atoms:
                weights[position[atom]] += len(rule.rule.states) / tried / len(atoms)
    return sorted(weights, key=lambda i: (-weights[i], i))
