"""Runs that start from the rules of another instance, on agents whose every answer is known."""

import json
import shutil

import pytest

from capscope import Budget, Predicate, Settings, assess, load, resume
from capscope.assessment import RunSpec
from capscope.errors import JournalError, RunError
from capscope.insight.notes import claim_lines
from capscope.journal.experience import Experience
from capscope.journal.run_directory import JOURNAL, RunDirectory
from capscope.journal.run_meta import StopKind
from capscope.model.lifted_rules import lifted_name
from support import lamp_worlds
from support.answer_tables import surprise_rate
from support.journal_rows import dump
from support.lamp_worlds import BELL, DOORS, lamps, three_stubborn
from support.small_journals import change

FILE = lamp_worlds.__file__
RATE = 0.03


def settings(answers, **chosen):
    intents = tuple(map(str, answers.intents()))
    return Settings(intents=intents, **{"audit": RATE, **chosen})


def start(answers, source=None, run=None, most=None, **given):
    chosen = given.pop("settings", None) or settings(answers)
    budget = None if most is None else Budget(executions=most)
    return assess(
        answers.problem(), settings=chosen, budget=budget, run=run, start_from=source, **given
    )


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A run about two lamps."""
    return start(lamps(2), run=tmp_path_factory.mktemp("runs") / "small")


@pytest.fixture(scope="module")
def whole(small, tmp_path_factory):
    """Make a run about three lamps that starts from it; each once."""
    made = {}

    def finished(stubborn=False):
        if stubborn not in made:
            path = tmp_path_factory.mktemp("runs") / "large"
            made[stubborn] = start(lamps(3, stubborn), small, path)
        return made[stubborn]

    return finished


def predictions(run, answers):
    return {
        (state, intent): (dict(found := run.model.predict(state, intent)), found.doubt)
        for state in answers.reachable_states()
        for intent in run.capabilities
    }


def foreseen_by_family(run, known):
    """Count executions before the first question, and those that end as `known` answers say."""
    counts, table = {}, run.executions
    learning = table.queries.informative.tolist()
    first = learning.index(True) if True in learning else len(learning)
    columns = (table.query, table.before, table.capability, table.after)
    for query, before, capability, after in zip(*(c.tolist() for c in columns), strict=True):
        if query < first:
            intent = run.capabilities[capability]
            asked = counts.setdefault(lifted_name(intent, run.graph.vocabulary), [0, 0])
            asked[0] += 1
            asked[1] += table.states[after] in known.outcomes(table.states[before], intent)
    return counts


def told(run):
    return {f.family: [f.asked, f.foreseen] for f in run.carry_over.families if f.asked}


def test_what_was_learned_about_two_lamps_holds_for_three(small, whole):
    run = whole()
    assert run.stop_reason.kind is StopKind.AUDITED
    assert (run.audit.round, run.audit.since_query, run.audit.surprises) == (1, 0, 0)
    assert run.audit.executions == run.usage.executions == run.carry_over.asked
    assert run.carry_over.holds
    assert told(run) == foreseen_by_family(run, lamps(3))
    assert all(one.carried_over for one in run.carry_over.families)
    assert claim_lines(run)[0] == (
        f"What was learned about table ({small.usage.executions} executions) holds here: "
        f"{run.usage.executions} of {run.usage.executions} executions were foreseen before "
        "anything was learned here"
    )
    assert surprise_rate(run, lamps(3)) <= RATE


def test_a_family_carries_over_only_if_the_audited_executions_were_foreseen(whole):
    run = whole(stubborn=True)
    counts = foreseen_by_family(run, lamps(3))  # what an agent that is not stubborn would do
    assert told(run) == counts
    for family in run.carry_over.families:
        asked, foreseen = counts[family.family]
        assert family.carried_over == (asked - foreseen <= RATE * asked)
    assert not run.carry_over.holds
    assert "did not carry over: not open(X)" in " ".join(claim_lines(run)).replace("Did", "did")
    assert "holds here" not in " ".join(claim_lines(run))


def test_what_did_not_carry_over_is_learned(whole):
    run, truth = whole(stubborn=True), lamps(3, stubborn=True)
    assert run.stop_reason.kind is StopKind.AUDITED
    assert run.audit.since_query > 0
    assert surprise_rate(run, truth) <= RATE


def test_without_an_audit_nothing_is_said_to_carry_over(small):
    answers = lamps(3)
    run = start(answers, small, most=20, settings=settings(answers, audit=0.0))
    assert run.carry_over.asked == 0
    assert {one.carried_over for one in run.carry_over.families} == {None}
    assert "none of its rules was audited" in claim_lines(run)[0]


@pytest.mark.parametrize("stubborn", [False, True])
def test_an_interrupted_run_goes_on_without_the_run_that_it_started_from(
    stubborn, small, whole, tmp_path
):
    complete, answers = whole(stubborn), lamps(3, stubborn)
    gone, path = tmp_path / "small", tmp_path / "large"
    shutil.copytree(small.path, gone)
    first = start(answers, gone, path, most=20)
    assert first.stop_reason.kind is StopKind.BUDGET
    shutil.rmtree(gone)
    resume(path, problem=answers.problem(), budget=Budget(executions=40))
    resumed = resume(path, problem=answers.problem(), budget=Budget())
    assert dump(path) | {"meta": 0} == dump(complete.path) | {"meta": 0}
    loaded = load(path)
    expected = predictions(complete, answers)
    for run in (resumed, loaded, loaded.within()):
        assert predictions(run, answers) == expected
        assert run.carry_over == complete.carry_over
    early = loaded.within(executions=20)
    assert early.carry_over.asked <= 20
    assert early.carry_over.foreseen == sum(n for _, n in told(early).values())


def test_a_run_that_stops_within_the_first_audit_is_the_same_when_loaded(small, tmp_path):
    answers = lamps(3)
    stopped = start(answers, small, tmp_path / "large", most=15)
    loaded = load(tmp_path / "large")
    assert predictions(loaded, answers) == predictions(stopped, answers)
    assert loaded.carry_over == stopped.carry_over
    assert loaded.carry_over.asked == 15


def test_workers_do_not_change_what_is_found(small, tmp_path):
    answers = lamps(3, stubborn=True)
    batch = settings(answers, batch=4)
    for number in (1, 2):
        assess(
            three_stubborn,
            settings=batch,
            run=tmp_path / str(number),
            start_from=small,
            workers=number,
        )
    one, two = dump(tmp_path / "1"), dump(tmp_path / "2")
    assert one == two
    assert load(tmp_path / "1").carry_over == load(tmp_path / "2").carry_over


def test_a_run_may_start_from_one_that_started_from_another(small, whole):
    three, answers = whole(stubborn=True), lamps(4, stubborn=True)
    run = start(answers, three)
    assert run.carry_over.holds
    assert run.meta.experience.earlier.name == small.experience.name


def test_another_source_is_another_identity(small, whole):
    large = whole()
    other = start(lamps(2), seed=1, most=30)
    with RunDirectory.open(large.path, read_only=True) as opened:
        meta = opened.journal.read_meta()
        problem = lamps(3).problem()
        again = RunSpec.continuing(meta, problem)
        opened.require_same(again.identity)
        for source, now in ((other.experience, other.experience.name), (None, "")):
            spec = RunSpec(problem, again.source, settings=again.settings, experience=source)
            with pytest.raises(RunError) as refused:
                opened.require_same(spec.identity)
            was = f"started from was {small.experience.name!r}, now {now!r}"
            assert was in str(refused.value)


@pytest.mark.parametrize(
    "damage",
    [
        lambda stored: stored.update(seed="0"),
        lambda stored: stored.update(states=["0x1000000"]),
        lambda stored: stored.update(states=[]),
        lambda stored: stored.update(intents=["gone(l0)"]),
        lambda stored: stored["learned"].append([0, 99, 0, 1]),
        lambda stored: stored["learned"].append([0, 0, -1, 1]),
        lambda stored: stored["learned"].append([0, 0, 0]),
        lambda stored: stored.update(vocabulary={}),
        lambda stored: stored.update(earlier=[]),
        lambda stored: stored.pop("audited"),
        lambda stored: stored["learned"].pop(),
        lambda stored: stored.clear(),
    ],
)
def test_an_altered_source_is_refused_in_one_line(damage, whole, tmp_path):
    path = tmp_path / "run"
    shutil.copytree(whole().path, path)
    stored = whole().meta.experience.as_dict()
    damage(stored)
    row = (json.dumps(stored),)
    change(path / JOURNAL, ("UPDATE meta SET value = ? WHERE key = 'experience'", row))
    with pytest.raises(JournalError, match="it was left untouched") as refused:
        load(path)
    assert "\n" not in str(refused.value)


def test_what_a_run_observed_is_read_back_as_it_was(whole):
    for run in (whole(), whole(stubborn=True)):
        experience = run.experience
        again = Experience.from_dict(json.loads(json.dumps(experience.as_dict())))
        assert again.name == experience.name
        assert (again.learned, again.audited) == (experience.learned, experience.audited)
        assert again.executions == run.usage.executions


def test_predicates_of_one_instance_only_are_named(small):
    with_bell = start(lamps(3, predicates=(*DOORS, BELL)), small)
    assert with_bell.carry_over.holds
    assert claim_lines(with_bell)[2] == "Nothing was known about rang"
    without = start(lamps(3), with_bell)
    assert without.carry_over.holds
    assert claim_lines(without)[2] == (
        "Rules about rang were left behind: there is no such predicate here"
    )


def test_predicates_that_contradict_are_refused(small, tmp_path):
    others = (Predicate("lit", ("light",)), Predicate("open", ("light",)))
    with pytest.raises(Exception, match=r"the predicate lit\(lamp\) is lit\(light\) in the new"):
        start(lamps(2, predicates=others, kind="light"), small, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_strategies_that_learn_no_rules_cannot_start_from_another_run(small):
    with pytest.raises(RunError, match="exhaustive cannot start from another run; use adaptive"):
        start(lamps(2), small, strategy="exhaustive")


def test_the_command_line_starts_from_a_run_and_says_what_carried_over(capscope, refusal):
    given = [word for intent in lamps(2).intents() for word in ("--intents", str(intent))]
    more = [word for intent in lamps(3).intents() for word in ("--intents", str(intent))]
    coarse = ("--audit", str(RATE), "--json")
    made = capscope("assess", f"{FILE}:two", "--run", "small", *given, *coarse)
    assert json.loads(made.out)["carry_over"] is None
    command = ("assess", f"{FILE}:three_stubborn", "--from", "small", "--run", "large")
    found = json.loads(capscope(*command, *more, *coarse).out)["carry_over"]
    families = {one["family"]: one for one in found["families"]}
    assert families["lit(X)"]["carried_over"] is True
    assert families["not open(X)"]["carried_over"] is False
    assert found["asked"] == sum(one["asked"] for one in families.values())
    assert found["foreseen"] < found["asked"]
    assert json.loads(capscope("show", "large", "--json").out)["carry_over"] == found
    shown = capscope("show", "large", "--rules").out
    assert "id not carry over: not open(X)" in shown
    assert "tarted from what was learned about two-lamps" in shown
    assert "no run directory nowhere" in refusal("assess", f"{FILE}:two", "--from", "nowhere")


def test_a_run_without_a_source_names_none(small):
    assert small.meta.experience is None
    assert small.carry_over is None
    assert small.identity.started_from == ""
