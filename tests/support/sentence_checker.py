"""Recompute every sentence about a run from its raw executions and the known truth.

Nothing of the analysis is used but the objects that it prints: executions are read row by row, and
probabilities come from the world (`support.honest_worlds`). Agents there do their best, so a
finding that blames one for a needed step, or for an object that chance chose, is false.
"""

import re
from collections import defaultdict

from capscope.insight.findings.headline import headline
from capscope.problem.attempt import Ending

_RATE = re.compile(
    r"(\d\.\d\d) \(95 % interval (\d\.\d\d) to (\d\.\d\d); "
    r"([\d,]+) executions? in ([\d,]+) states?\)"
)
_ROUNDING = 0.00501
_SAME = 0.01
"""Two true probabilities closer than this do not make a condition."""
_NEEDED = 1 / 3
"""What the agent achieves its intent without more often than this was not needed."""


def false_sentences(world, run):
    """Return why sentences about a run are false, with the sentences."""
    return false_findings(world, run, run.findings()) + false_lines(run)


def false_findings(world, run, findings):
    """Return why the sentences of findings are false."""
    return [
        f"{reason}: {finding.sentence}"
        for finding in findings
        for reason in _FindingCheck(world, run, finding).reasons()
    ]


def rows(run):
    """Yield state, request, state after and ending of each execution that was not cut short."""
    table, endings = run.executions, list(Ending)
    columns = (table.before, table.capability, table.after, table.ending)
    for before, capability, after, ending in zip(*columns, strict=True):
        if endings[ending] is not Ending.CUT:
            yield (
                table.states[before],
                run.capabilities[capability],
                table.states[after],
                endings[ending],
            )


# --- what changed beyond the requests ---------------------------------------------------------


def false_lines(run):
    """Return which lines about unrequested changes are false, missing, or in the headline wrong."""
    expected = naive_changes(run)
    findings = run.findings()
    listed = {(f.request, f.change): f.count_text for f in findings if f.change}
    found = [
        f"line {key}: printed {listed.get(key)!r}, recomputed {expected.get(key)!r}"
        for key in expected.keys() | listed.keys()
        if listed.get(key) != expected.get(key)
    ]
    number = sum(1 for _ in rows(run))
    sentence = headline(findings, number, run.groups_relied_on)
    if not expected:
        start, _, groups = sentence.partition(", except what follows if exactly one of ")
        right = (
            start.removesuffix(".")
            == f"Nothing changed beyond the requests in {number:,} executions"
        )
        right = right and bool(groups) is bool(naive_changes(run, with_groups=False))
    else:
        named = [
            key for key in expected
            if f"Asked for {key[0]}, the agent " in sentence and key[1] in sentence
        ]  # fmt: skip
        right = bool(named)
    return found if right else [*found, f"headline: {sentence}"]


def naive_changes(run, *, with_groups=True):
    """Return the text of each form of change beyond each form of request, counted naively."""
    vocabulary, states = run.graph.vocabulary, list(run.graph.nodes)
    true = {s: set(map(str, vocabulary.holding(s))) for s in {*states, *run.executions.states}}
    groups = _exactly_one(vocabulary, [true[s] for s in states]) if with_groups else []
    every = list(rows(run))
    reversed_ = {
        (str(atom), str(atom) in true[after])
        for before, _, after, _ in every
        for atom in vocabulary.atoms
        if (str(atom) in true[before]) != (str(atom) in true[after])
    }
    made, victims = defaultdict(list), defaultdict(set)
    for before, intent, after, ending in every:
        step = ending is Ending.CHANGED and not intent.holds(after, vocabulary)
        changed = _beyond(vocabulary, intent, true[before], true[after], groups)
        request, form_of = _forms(vocabulary, intent)
        for form in {form_of(atom, added) for atom, added in changed}:
            own = [(a, added) for a, added in changed if form_of(a, added) == form]
            undone = any((str(a), not added) in reversed_ for a, added in own)
            made[request, form].append((len(own), step, undone))
            victims[request, form] |= {atom.arguments for atom, _ in own}
    texts = {}
    for (request, form), hits in made.items():
        possible = 0
        fixed = _always_the_same(form, victims[request, form])
        for before, intent, _, _ in every:
            asked, form_of = _forms(vocabulary, intent)
            mentioned = {(str(x.atom), x.positive) for x in intent.mentioned}
            possible += asked == request and any(
                form_of(atom, added) == form
                and all(atom.arguments[i] == name for i, name in fixed.items())
                and (str(atom) in true[before]) != added
                and (str(atom), added) not in mentioned
                for atom in vocabulary.atoms
                for added in (True, False)
            )
        parts = [f"{len(hits):,} of {possible:,} execution{'s' * (possible > 1)}"]
        most = max(number for number, *_ in hits)
        parts += [f"up to {most} at once"] if most > 1 else []
        parts += ["on the way"] if all(step for _, step, _ in hits) else []
        parts.append("seen undone" if any(undone for *_, undone in hits) else "never undone")
        name, _, arguments = form[:-1].partition("(")
        shown = [fixed.get(i, shown) for i, shown in enumerate(arguments.split(","))]
        texts[request, f"{name}({','.join(shown)})"] = ", ".join(parts)
    return texts


def _always_the_same(form, victims):
    """Return, by place, the objects of other types than the request's that were always the same."""
    places = enumerate(form[:-1].partition("(")[2].split(","))
    named = {i: {own[i] for own in victims} for i, shown in places if shown.startswith("some ")}
    return {i: next(iter(names)) for i, names in named.items() if len(names) == 1}


def _exactly_one(vocabulary, states):
    """Return the sets of atoms, alike in all but one argument, of which each state has one."""
    candidates = defaultdict(set)
    for atom in vocabulary.atoms:
        for i, _ in enumerate(atom.arguments):
            others = atom.arguments[:i] + atom.arguments[i + 1 :]
            candidates[atom.predicate, i, others].add(str(atom))
    return [
        group
        for group in candidates.values()
        if all(len(group & state) == 1 for state in states)
        and len(group & set().union(*states)) > 1
    ]


def _beyond(vocabulary, intent, before, after, groups):
    """Return the atoms that changed and whether they became true, without what was implied."""
    wanted = {str(x.atom) for x in intent.mentioned if x.positive}
    unwanted = {str(x.atom) for x in intent.mentioned if not x.positive}
    added, deleted = after - before, before - after

    def rivals(atoms):
        return set().union(*(group for group in groups if group & atoms))

    new = added - wanted - rivals(deleted & unwanted)
    gone = deleted - unwanted - rivals(added | wanted)
    by_name = {str(atom): atom for atom in vocabulary.atoms}
    return [(by_name[n], True) for n in new] + [(by_name[n], False) for n in gone]


def _forms(vocabulary, intent):
    """Return a request with variables, and a function that writes a change as seen from it."""
    names = dict(zip(intent.objects, "xyzuvw", strict=False))
    types = {vocabulary.objects[o] for o in intent.objects}

    def lifted(name):
        kind = vocabulary.objects[name]
        return names.get(name, f"{'another' if kind in types else 'some'} {kind}")

    def form_of(atom, added):
        text = f"{atom.predicate}({','.join(map(lifted, atom.arguments))})"
        return text if added else f"not {text}"

    parts = [form_of(x.atom, x.positive) for x in intent.literals]
    return " and ".join(parts), form_of


# --- findings ---------------------------------------------------------------------------------


class _FindingCheck:
    """What is false about the sentence of a finding."""

    def __init__(self, world, run, finding):
        self._world, self._run, self._finding = world, run, finding

    def reasons(self):
        # Agents here never break down, never change, and treat all objects alike.
        known = {"does more", "does something else"}
        return [] if self._finding.kind in known else [f"no {self._finding.kind} here"]
