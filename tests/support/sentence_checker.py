"""Recompute every sentence about a run from its raw executions and the known truth.

Nothing of the analysis is used but the objects that it prints: executions are read row by row, and
probabilities come from the world (`support.honest_worlds`). Agents there do their best, so a
finding that blames one for a needed step, or for an object that chance chose, is false.
"""

import re
from collections import defaultdict
from dataclasses import replace

from capscope.problem.attempt import Ending


def false_sentences(world, run):
    """Return why sentences about a run are false, with the sentences."""
    return false_findings(world, run, run.findings()) + false_lines(run)


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
    """Return which sentences about changes are false, missing, or denied."""
    findings = [f for f in run.findings() if f.change]
    changes = naive_changes(run)
    told = {(f.request, form) for f in findings for form in f.change.split(" and ")}
    wrong = [f"not said: {key}" for key in changes.keys() - told]
    wrong += [f"{reason}: {f.sentence}" for f in findings for reason in _wrong(run, f, changes)]
    said = " ".join(run.first_screen.nothing)
    number = sum(1 for _ in rows(run))
    right = (f"nothing changed beyond the requests in {number:,} " in said) is not bool(changes)
    if right and not changes:
        groups = "except what follows if exactly one of " in said
        right = groups is bool(naive_changes(run, with_groups=False))
    if not said:  # where there is something else to watch out for, nothing is said of changes
        right = any(one.watch for one in run.findings())
    return wrong if right else [*wrong, f"first screen: {said}"]


def naive_changes(run, *, with_groups=True):
    """Return, by the forms of request and change, each execution and whether it made the change.

    Executions are left out in which the change could not happen.
    """
    vocabulary, states = run.graph.vocabulary, list(run.graph.nodes)
    true = {s: set(map(str, vocabulary.holding(s))) for s in {*states, *run.executions.states}}
    groups = _exactly_one(vocabulary, [true[s] for s in states]) if with_groups else []
    every, made = list(rows(run)), defaultdict(dict)
    for number, (before, intent, after, _) in enumerate(every):
        request, form_of = _forms(vocabulary, intent)
        for atom, added in _beyond(vocabulary, intent, true[before], true[after], groups):
            own = made[request, form_of(atom, added)]
            own.setdefault(number, set()).add((atom, added))
    found = {}
    for (request, form), hits in made.items():
        victims = {atom.arguments for own in hits.values() for atom, _ in own}
        fixed = _always_the_same(form, victims)
        could = {}
        for number, (before, intent, _, _) in enumerate(every):
            asked, form_of = _forms(vocabulary, intent)
            mentioned = {(str(x.atom), x.positive) for x in intent.mentioned}
            if asked == request and any(
                form_of(atom, added) == form
                and all(atom.arguments[i] == name for i, name in fixed.items())
                and (str(atom) in true[before]) != added
                and (str(atom), added) not in mentioned
                for atom in vocabulary.atoms
                for added in (True, False)
            ):
                could[number] = hits.get(number, set())
        name, _, arguments = form[:-1].partition("(")
        shown = [fixed.get(i, shown) for i, shown in enumerate(arguments.split(","))]
        found[request, f"{name}({','.join(shown)})"] = could
    return found


def occurrences(run, finding, changes):
    """Return the executions in which the changes of a finding could happen, and those that made it.

    The condition does not count.
    """
    every, words = list(rows(run)), run.graph.vocabulary
    parts = [changes[finding.request, form] for form in finding.change.split(" and ")]
    could = set(parts[0]).intersection(*parts)
    made = {n for n in could if all(part[n] for part in parts)}
    held = {n for n in could if every[n][1].holds(every[n][0], words)}
    return could - (set() if made & held else held), made


def holding(run, numbers, literals):
    """Return the executions before which the literals of a condition held, read from their text."""
    every, words = list(rows(run)), run.graph.vocabulary
    return {n for n in numbers if all(_holds(str(x), *every[n][:2], words) for x in literals)}


def _wrong(run, finding, changes):
    """Yield what is false about a finding of changes, from the rows alone."""
    every, words = list(rows(run)), run.graph.vocabulary
    parts = [changes.get((finding.request, form)) for form in finding.change.split(" and ")]
    if None in parts:
        yield "nothing of the kind happened"
        return
    could, made = occurrences(run, finding, changes)
    inside = holding(run, could, finding.when)
    perhaps = holding(run, inside, finding.perhaps)
    if not made & inside <= perhaps or (finding.perhaps and perhaps == inside):
        yield f"not only when {finding.perhaps}"
    if (len(made & inside), len(inside)) != (finding.count, finding.possible):
        yield f"counted {len(made & inside)} of {len(inside)}"
    achieved = sum(every[n][1].holds(every[n][2], words) for n in made & inside)
    if ("instead in" in finding.sentence) is not (2 * achieved < len(made & inside)):
        yield f"achieved in {achieved}"
    reversed_ = {
        (atom, not added)
        for before, _, after, _ in every
        for atom, added in _changed(words, before, after)
    }
    lasting = any(not (set().union(*part.values()) & reversed_) for part in parts)
    if finding.lasting is not lasting or ("never undone" in finding.sentence) is not lasting:
        yield "never undone" if lasting else "undone"
    replayed = any(one.verdict == "on the way" for one in run.replays)
    if finding.need == "on the way" and 2 * achieved >= len(made & inside) and not replayed:
        yield "not on the way"
    for rate, part in ((finding.rate, inside), (finding.against, could - inside)):
        if rate is not None and rate.executions != len(part):
            yield f"a rate of {rate.executions} executions instead of {len(part)}"


def _changed(words, before, after):
    for atom in words.atoms:
        bit = words.bit[atom]
        if (before ^ after) & bit:
            yield atom, bool(after & bit)


def _holds(text, state, intent, words):
    """Return whether a literal of a condition holds before a request, read from its text."""
    bound = dict(zip("xyzuvw", intent.objects, strict=False))
    equal = re.fullmatch(r"(\S+) (!?=) (\S+)", text)
    if equal:
        return (bound[equal[1]] == equal[3]) is (equal[2] == "=")
    pair = re.fullmatch(r"(some|no) (\w+) with (\S.*\)) and (\S.*)", text)
    if pair:
        others = [o for o in words.objects if o not in intent.objects]
        both = (
            all(_some(atom, state, {**bound, pair[2]: o}, words) for atom in (pair[3], pair[4]))
            for o in others
        )
        return any(both) is (pair[1] == "some")
    positive = not text.startswith("not ")
    return _some(text.removeprefix("not "), state, bound, words) is positive


def _some(pattern, state, bound, words):
    """Return whether an atom of a pattern holds; what is no object stands for any other."""
    name, _, inside = pattern[:-1].partition("(")
    wanted = [bound.get(a.strip(), a.strip()) for a in inside.split(",") if a.strip()]
    return any(
        atom.predicate == name
        and all(
            a == w or (w not in words.objects and a not in bound.values())
            for a, w in zip(atom.arguments, wanted, strict=True)
        )
        for atom in words.holding(state)
    )


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

_SAME = 0.01
"""Two true probabilities closer than this do not make a condition."""
_NEEDED = 1 / 3
"""What the agent achieves its request without more often than this was not needed."""


def false_findings(world, run, findings):
    """Return why the sentences of findings are false, by the known truth."""
    return [
        f"{reason}: {finding.sentence}"
        for finding in findings
        for reason in _against_truth(world, run, finding)
    ]


def _against_truth(world, run, finding):
    if finding.kind in ("refuses", "succeeds less", "exception") and not finding.change:
        yield from _against_failures(world, run, finding)
        return
    if finding.kind == "prefers":
        state = world.states[finding.example.before]
        tied = replace(world, random_ties=True).best_actions(state, finding.example.intent)
        if world.random_ties or len(tied) < 2:
            yield "it has no choice, or no preference"
        return
    # Agents here never break down, never change, and treat all objects alike.
    if finding.kind not in ("does more", "does something else"):
        yield f"no {finding.kind} here"
        return
    words, changes = world.vocabulary, naive_changes(run)
    every = list(rows(run))
    parts = [changes[finding.request, form] for form in finding.change.split(" and ")]
    made = {n for n in set(parts[0]).intersection(*parts) if all(part[n] for part in parts)}
    sides = {True: [], False: []}
    for n in set(parts[0]).intersection(*parts):
        before, intent = every[n][:2]
        if not intent.holds(before, words):
            inside = all(_holds(str(x), before, intent, words) for x in finding.when)
            sides[inside].append(_true_rate(world, before, intent, finding, run))
    truths = [sum(own) / len(own) for own in (sides[True], sides[False]) if own]
    rate = finding.rate
    if rate and truths and not rate.low - 0.005 <= truths[0] <= rate.high + 0.005:
        yield f"the true rate is {truths[0]:.3f}"
    if finding.when and len(truths) > 1 and truths[0] < truths[1] + _SAME:
        yield f"the condition does not matter ({truths[0]:.3f}, {truths[1]:.3f})"
    if finding.need == "needless":
        needed = [n for n in made if _is_needed(world, every[n], finding, run)]
        if len(needed) == len(made):  # one execution that could do without suffices
            yield "it was needed"
    if finding.lasting and "never undone" not in finding.sentence:
        yield "it lasts"


def _against_failures(world, run, finding):
    """Check the counts, and rates and conditions by the true rates of the pairs tried."""
    words, pairs = world.vocabulary, {True: {}, False: {}}
    hits = draws = 0

    def shows(intent, before, after):
        if finding.kind == "refuses" or world.temporal_length == 1:
            return after == before
        return not intent.holds(after, words)

    for before, intent, after, _ in rows(run):
        request, _ = _forms(words, intent)
        if request == finding.request and not intent.holds(before, words):
            inside = all(_holds(str(x), before, intent, words) for x in finding.when)
            draws += inside
            hits += inside and shows(intent, before, after)
            ends = world.ends(before, intent).items()
            pairs[inside][before, intent] = sum(p for t, p in ends if shows(intent, before, t))
    if (hits, draws) != (finding.count, finding.possible):
        yield f"counted {hits} of {draws}"
    truths = [sum(own.values()) / max(len(own), 1) for own in pairs.values()]
    for rate, truth in zip((finding.rate, finding.against), truths, strict=True):
        if rate and not rate.low - 0.005 <= truth <= rate.high + 0.005:
            yield f"the true rate is {truth:.3f}"
    if finding.when and pairs[False] and truths[0] < truths[1] + _SAME:
        yield f"the condition does not matter ({truths[0]:.3f}, {truths[1]:.3f})"


def _event(world, intent, finding, run):
    """Return whether all changes of a finding happen between two states."""
    words = world.vocabulary
    _, form_of = _forms(words, intent)
    forms = finding.change.split(" and ")
    names = [set(words.objects) & set(re.findall(r"[\w-]+", form)) for form in forms]

    def happens(before, after):
        own = list(_changed(words, before, after))
        return all(
            any(_is_form(form, form_of(atom, added), atom, named) for atom, added in own)
            for form, named in zip(forms, names, strict=True)
        )

    return happens


def _is_form(wanted, form, atom, named):
    if wanted == form:
        return True
    same = wanted.partition("(")[0] == form.partition("(")[0]
    return same and bool(named) and named <= set(atom.arguments)


def _true_rate(world, state, intent, finding, run):
    event = _event(world, intent, finding, run)
    return sum(p for after, p in world.ends(state, intent).items() if event(state, after))


def _is_needed(world, row, finding, run):
    """Return whether it takes more actions to achieve the request without the change."""
    state, intent, *_ = row
    holds, event = intent.test(world.vocabulary), _event(world, intent, finding, run)
    ends = {t: p for t, p in world.ends(state, intent).items() if holds(t)}
    without = sum(p for t, p in ends.items() if not event(state, t))
    if without >= _NEEDED * sum(ends.values()):
        return False
    least = world.distance(state, holds)
    return world.distance(state, lambda t: holds(t) and not event(state, t)) > least
