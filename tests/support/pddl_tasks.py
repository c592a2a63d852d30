"""Which atoms of a compiled task can change."""


def dynamic_mask(task):
    """Return the bits of all atoms whose predicate some operator changes."""
    changed = 0
    for operator in task.operators:
        changed |= operator.may_add | operator.may_delete
    predicates = {atom.predicate for atom in task.vocabulary.holding(changed)}
    return task.vocabulary.state(a for a in task.vocabulary.atoms if a.predicate in predicates)
