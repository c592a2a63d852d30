"""Recompute every sentence about a run from its raw executions and the known truth.

Nothing of the analysis is used but the objects that it prints: executions are read row by row, and
probabilities come from the world (`support.honest_worlds`). Agents there do their best, so a
finding that blames one for a needed step, or for an object that chance chose, is false.
"""

import contextlib
import math
import re
from collections import Counter, defaultdict
from unittest import mock

from capscope.insight.changes import headline
from capscope.insight.earlier_findings import case
from capscope.insight.earlier_findings import families as families
from capscope.logic import Atom, Literal
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
    with _every_object_named():
        findings = run.findings()
    return false_findings(world, run, findings) + false_lines(run)


def false_findings(world, run, findings):
    """Return why the sentences of findings are false."""
    return [
        f"{reason}: {finding.sentence}"
        for finding in findings
        for reason in _FindingCheck(world, run, finding).reasons()
    ]


@contextlib.contextmanager
def _every_object_named():
    """Let sentences name all objects that variables stand for, not the first few."""
    with (
        mock.patch.object(families, "MOST_NAMED", 10**9),
        mock.patch.object(case, "MOST_NAMED", 10**9),
    ):
        yield


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
    listed = {(c.request, c.change): c.count_text for c in run.unrequested_changes}
    found = [
        f"line {key}: printed {listed.get(key)!r}, recomputed {expected.get(key)!r}"
        for key in expected.keys() | listed.keys()
        if listed.get(key) != expected.get(key)
    ]
    number = sum(1 for _ in rows(run))
    sentence = headline(run.unrequested_changes, number, run.groups_relied_on)
    if not expected:
        start, _, groups = sentence.partition(", except what follows if exactly one of ")
        right = (
            start.removesuffix(".")
            == f"Nothing changed beyond the requests in {number:,} executions"
        )
        right = right and bool(groups) is bool(naive_changes(run, with_groups=False))
    else:
        lasting = [key for key, text in expected.items() if "never undone" in text]
        named = [
            key for key in lasting or expected
            if f"Asked for {key[0]}, the agent also caused {key[1]} in {expected[key]}." in sentence
        ]  # fmt: skip
        told = sentence.count("Asked for ")
        more = f"{len(expected) - 1} more kind" in sentence or len(expected) == told <= 2
        right = bool(named) and more and ("each of them was undone" not in sentence or not lasting)
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
        parts.append("seen undone" if any(undone for *_, undone in hits) else "never undone")
        parts += ["maybe a step on the way"] if all(step for _, step, _ in hits) else []
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
        self._words = world.vocabulary
        self._rates = [tuple(float(x.replace(",", "")) for x in r)
                       for r in _RATE.findall(finding.sentence)]  # fmt: skip
        self._tried = defaultdict(Counter)
        for before, intent, after, _ in rows(run):
            if not intent.holds(before, self._words):
                self._tried[before, intent][after] += 1

    def reasons(self):
        kind = self._finding.kind
        checks = {
            "side effect": self._side_effect,
            "collateral change": self._side_effect,
            "failure": self._failure,
            "drop": self._drop,
        }
        # Agents here never break down, never change, and treat all objects alike.
        return list(checks[kind]()) if kind in checks else [f"no {kind} here"]

    def _bindings(self):
        """Return for each request what variables stand for; several if the sentence says so."""
        listed = re.search(r" \(for (\(?[\w, ]+\)?) = (.*?)\)(?:, the agent|, it|$)",
                           self._finding.sentence)  # fmt: skip
        if listed is None:
            return [{}]
        names = [n.strip() for n in listed[1].strip("()").split(",")]
        text = listed[2] + (")" if len(names) > 1 else "")
        one = r"\(([^)]*)\)" if len(names) > 1 else r"([^,\s]+)"
        values = re.findall(one, text.replace(" or ", ", ") if len(names) == 1 else text)
        return [dict(zip(names, map(str.strip, v.split(",")), strict=True)) for v in values]

    def _instances(self):
        """Yield intent, condition and literals with objects, for each that the sentence names."""
        finding = self._finding
        asked = re.match(r"Asked for (.*?)(?: when |, unless | \(for |, the agent)",
                         finding.sentence)  # fmt: skip
        forms = re.split(r", | or ", re.sub(r",(?! )", "\0", asked[1]))
        forms = [form.replace("\0", ",") for form in forms]
        for binding in self._bindings():

            def ground(atom, binding=binding):
                arguments = tuple(binding.get(o, o) for o in atom.arguments)
                return Atom(atom.predicate, arguments)

            wanted = {_ground_text(form, binding) for form in forms}
            when = [([Literal(ground(x.atom), x.positive) for x in c.term], c.holds)
                    for c in finding.when]  # fmt: skip
            literals = [Literal(ground(x.atom), x.positive) for x in finding.literals]
            for intent in finding.intents:
                if str(intent) in wanted:
                    yield intent, when, literals

    def _covers(self, when, state):
        return all(self._words.test(term)(state) is holds for term, holds in when)

    def _event(self, literals, intent):
        """Return whether a pair of states shows the change that the sentence names."""
        if self._finding.kind == "collateral change":
            (literal,) = literals
            named = set(intent.objects)
            literals = [
                Literal(atom, literal.positive)
                for atom in self._words.atoms
                if atom.predicate == literal.atom.predicate and named.isdisjoint(atom.arguments)
            ]
            tests = [self._words.test([x]) for x in literals]
            return lambda s, t: any(test(t) and not test(s) for test in tests), tests
        tests = [self._words.test([x]) for x in literals]
        return lambda s, t: all(test(t) and not test(s) for test in tests), tests

    def _side_effect(self):
        sides = {True: defaultdict(list), False: defaultdict(list)}
        blamed, hits, instead = Counter(), Counter(), Counter()
        undoable = False
        for intent, when, literals in self._instances():
            event, tests = self._event(literals, intent)
            for (state, asked), ends in self._tried.items():
                if asked != intent or not self._may_happen(state, intent, tests):
                    continue
                inside = self._covers(when, state)
                truth = self._true_rate(state, intent, event)
                seen = sum(n for t, n in ends.items() if event(state, t))
                sides[inside][state, intent].append((truth, seen, sum(ends.values())))
                for end, number in ends.items() if inside else ():
                    if event(state, end):
                        hits[intent] += number
                        blamed[intent] += number * self._is_innocent(state, intent, end, event)
                        instead[self._astray(state, intent, end)] += number
                        undoable |= self._can_undo(state, end, tests)
        yield from self._false_rates(sides)
        for intent, number in hits.items():
            if 2 * blamed[intent] > number:
                yield f"{intent} needs it"
        sentence = self._finding.sentence
        if " instead:" in sentence and 2 * instead[True] <= sum(instead.values()):
            yield "not instead"
        if "No known sequence undoes it" in sentence and undoable:
            yield "it can be undone"
        rates = [truth for row in sides[True].values() for truth, *_ in row]
        if " always " in sentence and min(rates) < 1 - 1e-6:
            yield "not always"

    def _may_happen(self, state, intent, tests):
        if self._finding.kind == "collateral change":
            # Where the request never succeeds, nothing comes with it.
            holds = intent.test(self._words)
            possible = any(holds(t) for t in self._world.ends(state, intent))
            return possible and not all(test(state) for test in tests)
        return not any(test(state) for test in tests)

    def _true_rate(self, state, intent, event):
        return sum(p for t, p in self._world.ends(state, intent).items() if event(state, t))

    def _false_rates(self, sides):
        """Check counts, intervals and the order of what was printed, inside first."""
        truths = []
        for printed, inside in zip(self._rates, (True, False), strict=False):
            pairs = sides[inside]
            draws = sum(r[0][2] for r in pairs.values())
            states = len({state for state, _ in pairs})
            if (draws, states) != printed[3:]:
                yield f"counted {draws} executions in {states} states"
            if not pairs:
                continue
            truth = math.fsum(sum(t for t, *_ in r) / len(r) for r in pairs.values()) / len(pairs)
            truths.append(truth)
            if not printed[1] - _ROUNDING <= truth <= printed[2] + _ROUNDING:
                yield f"the true rate is {truth:.3f}"
        if len(truths) > 1 and truths[0] < truths[1] + _SAME:
            yield f"the condition does not matter ({truths[0]:.3f}, {truths[1]:.3f})"

    def _achieving_ends(self, state, intent):
        holds = intent.test(self._words)
        return {t: p for t, p in self._world.ends(state, intent).items() if holds(t)}

    def _is_farther(self, state, intent, test):
        """Return whether it takes more actions to achieve an intent if a test must hold too."""
        holds = intent.test(self._words)
        least = self._world.distance(state, holds)
        return self._world.distance(state, lambda t: holds(t) and test(t)) > least

    def _is_innocent(self, state, intent, end, event):
        """Return whether what was done is the best step, or comes with the best path."""
        holds = intent.test(self._words)
        if not holds(end):
            return self._world.distance(end, holds) < self._world.distance(state, holds)
        ends = self._achieving_ends(state, intent)
        without = sum(p for t, p in ends.items() if not event(state, t))
        is_rare = without < _NEEDED * sum(ends.values())
        return is_rare and self._is_farther(state, intent, lambda t: not event(state, t))

    def _astray(self, state, intent, end):
        holds = intent.test(self._words)
        distance = self._world.distance
        return not holds(end) and distance(end, holds) >= distance(state, holds)

    def _can_undo(self, state, end, tests):
        changed = [test for test in tests if test(end) and not test(state)]
        return all(
            self._world.distance(end, lambda t, test=test: not test(t)) < math.inf
            for test in changed
        )

    def _success_sides(self):
        sides = {True: defaultdict(list), False: defaultdict(list)}
        for intent, when, _ in self._instances():
            holds = intent.test(self._words)
            for (state, asked), ends in self._tried.items():
                if asked != intent:
                    continue
                truth = self._true_rate(state, intent, lambda s, t, holds=holds: holds(t))
                pair = self._run.capabilities.index(intent), state
                inside = self._covers(when, state)
                if truth > 0 or pair in self._finding.pairs:
                    sides[inside][state, intent].append((truth, 0, sum(ends.values())))
        return sides

    def _failure(self):
        sides = self._success_sides()
        ways = re.search(r"although asking for (.*?) does at once", self._finding.sentence)[1]
        others = [i for i in self._run.capabilities if str(i) in re.split(r" or |, (?=\w)", ways)]
        for state, intent in sides[True]:
            holds = intent.test(self._words)
            best = max(
                self._true_rate(state, other, lambda s, t, holds=holds: holds(t))
                for other in others
            )
            if best < 0.5:
                yield f"{ways} does not achieve {intent} at once"
                break
        yield from self._false_success(sides)
        possible = any(t > 0 for r in sides[True].values() for t, *_ in r)
        if possible and " never " in self._finding.sentence:
            yield "not never"

    def _false_success(self, sides):
        # Printed intervals may leave out states in which nothing was known to succeed, so counts
        # are not compared: the true rate is that over the states in which success is possible.
        truths = []
        for printed, inside in zip(self._rates, (True, False), strict=False):
            if sides[inside]:
                rates = [r[0][0] for r in sides[inside].values()]
                truths.append(sum(rates) / len(rates))
                if not printed[1] - _ROUNDING <= truths[-1] <= printed[2] + _ROUNDING:
                    yield f"the true rate is {truths[-1]:.3f}"
        if len(truths) > 1 and truths[0] > truths[1] - _SAME:
            yield f"the condition does not matter ({truths[0]:.3f}, {truths[1]:.3f})"

    def _drop(self):
        sides = self._success_sides()
        yield from self._false_success(sides)
        failed, nearer = Counter(), Counter()
        for state, intent in sides[True]:
            holds = intent.test(self._words)
            for end, number in self._tried[state, intent].items():
                if not holds(end):
                    failed[intent] += number
                    nearer[intent] += number * (
                        self._world.distance(end, holds) < self._world.distance(state, holds)
                    )
        for intent, number in failed.items():
            if 2 * nearer[intent] > number:
                yield f"{intent} takes several steps there"


def _ground_text(form, binding):
    """Replace variables in the text of a request."""
    return re.sub(r"(?<=[(,])\w+(?=[,)])", lambda m: binding.get(m[0], m[0]), form)
