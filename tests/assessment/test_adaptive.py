"""Whole adaptive runs on agents whose every answer is known beforehand."""

import itertools
import random
from collections import Counter

import pytest

from capscope import Budget, Settings, assess, load, resume
from capscope.journal.run_meta import StopKind
from support.answer_tables import filing, surprise_rate, switching
from support.journal_rows import dump

WORLDS = {
    "switching": switching(),
    "mistaken": switching(mistaken=True),
    "slipping": switching(slip=0.1),
    "filing": filing(),
}
RATE = 0.1
COARSE = {"audit": RATE, "confidence": 0.9}


def run_world(world, run=None, seed=0, budget=None, listener=lambda event: None, **chosen):
    answers = WORLDS[world]
    settings = Settings(intents=tuple(map(str, answers.intents())), **{**COARSE, **chosen})
    return assess(
        answers.problem(), strategy="adaptive", seed=seed, settings=settings, budget=budget,
        run=run, listener=listener,
    )  # fmt: skip


def starts(run):
    """List the state before each execution, with whether it is the first of its draw."""
    table = run.executions
    return [
        (table.states[before], number == 0)
        for before, number in zip(table.before.tolist(), table.number.tolist(), strict=True)
    ]


def every_prediction(run, answers):
    predictions = {}
    for state, intent in itertools.product(answers.reachable_states(), run.capabilities):
        found = run.model.predict(state, intent)
        predictions[state, intent] = dict(found), found.provenance, found.doubt, found.support
    return predictions


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a finished run of each world, and make each once."""
    made = {}

    def finished(world, **chosen):
        key = world, *sorted(chosen.items())
        if key not in made:
            made[key] = run_world(world, tmp_path_factory.mktemp("runs") / "run", **chosen)
        return made[key]

    return finished


# What is found out.


@pytest.mark.parametrize("world", WORLDS)
def test_a_run_ends_with_an_audit_whose_statement_is_true(world, whole):
    run = whole(world)
    assert run.stop_reason.kind is StopKind.AUDITED
    assert str(run.stop_reason) == "audit passed"
    assert run.audit.passed
    assert run.audit.bound <= RATE
    assert "with 0.9 confidence, at most 10 % of executions" in run.audit.statement
    assert surprise_rate(run, WORLDS[world]) <= RATE


def test_most_statements_are_true_whatever_the_seed(whole):
    runs = [whole("mistaken"), *(run_world("mistaken", seed=seed) for seed in (1, 2))]
    assert [run.stop_reason.kind for run in runs] == [StopKind.AUDITED] * 3
    assert sum(surprise_rate(run, WORLDS["mistaken"]) <= RATE for run in runs) >= 2
    # A seed of its own is a run of its own.
    assert len({tuple(starts(run)) for run in runs}) == 3


def test_the_audit_counts_its_own_executions(whole):
    run = whole("switching")
    queries = run.executions.query >= run.audit.since_query
    assert run.audit.executions == queries.sum()
    assert run.audit.samples == len(set(run.executions.query[queries].tolist()))
    assert run.audit.surprises == 0
    longest = run.executions.number[queries].max() + 1
    assert 1 < longest <= run.audit.length == 5
    # A sequence begins where the run does; before the audit each draw is one execution.
    begun = [state for (state, first), late in zip(starts(run), queries, strict=True)
             if first and late]  # fmt: skip
    assert set(begun) == {0}
    assert run.executions.number[~queries].max() == 0


def test_a_stricter_audit_takes_more_executions(whole):
    strict = run_world("switching", audit=0.05)
    assert strict.stop_reason.kind is StopKind.AUDITED
    assert strict.audit.samples > whole("switching").audit.samples
    assert "at most 5 % of executions" in strict.audit.statement


def test_an_agent_that_slips_is_known_with_its_odds(whole):
    run, answers = whole("slipping"), WORLDS["slipping"]
    errors = []
    for (state, intent), odds in answers.odds.items():
        prediction = run.model.predict(state, intent)
        if prediction.provenance == "tried" and len(odds) > 1 and len(prediction) > 1:
            errors.append(sum(abs(prediction.get(end, 0.0) - p) for end, p in odds.items()) / 2)
    assert len(errors) > 20
    assert sum(errors) / len(errors) < 0.15


# The same model again.


@pytest.mark.parametrize("world", WORLDS)
def test_a_loaded_run_predicts_exactly_what_the_live_one_did(world, whole):
    live = whole(world)
    loaded = load(live.path)
    assert loaded.audit == live.audit
    assert every_prediction(loaded, WORLDS[world]) == every_prediction(live, WORLDS[world])
    assert loaded.coverage == live.coverage


@pytest.mark.parametrize("spent", [25, 110])
def test_a_run_that_was_cut_predicts_the_same_when_it_is_loaded(spent, tmp_path):
    live = run_world("mistaken", tmp_path / "run", budget=Budget(queries=spent))
    loaded = load(tmp_path / "run")
    assert (live.audit is None) == (spent == 25)
    predictions = every_prediction(live, WORLDS["mistaken"])
    assert every_prediction(loaded, WORLDS["mistaken"]) == predictions


# Budgets and resuming.


def test_a_budget_that_ends_before_an_audit_makes_no_statement(tmp_path):
    run = run_world("switching", tmp_path / "run", budget=Budget(executions=30))
    assert run.stop_reason.kind is StopKind.BUDGET
    assert run.audit is None
    assert load(run.path).audit is None


def test_a_budget_that_ends_within_an_audit_says_how_far_it_carries(tmp_path, whole):
    complete = whole("switching")
    allowed = complete.usage.executions - 12
    run = run_world("switching", tmp_path / "run", budget=Budget(executions=allowed))
    assert run.stop_reason.kind is StopKind.BUDGET
    assert not run.audit.passed
    assert RATE < run.audit.bound < 0.5
    assert f"at most {100 * run.audit.bound:.3g} % of executions" in run.audit.statement
    assert load(run.path).audit == run.audit
    assert surprise_rate(run, WORLDS["switching"]) <= run.audit.bound
    resumed = resume(run.path, problem=WORLDS["switching"].problem(), budget=Budget())
    assert resumed.stop_reason.kind is StopKind.AUDITED
    assert resumed.audit.passed


def assert_same_run(run, whole):
    left, right = dump(run.path), dump(whole.path)
    for table, rows in left.items():
        assert rows == right[table], table
    assert run.audit == whole.audit
    assert run.stop_reason == whole.stop_reason
    for name in ("model.json", "run.json"):
        assert (run.path / name).read_bytes() == (whole.path / name).read_bytes(), name


def cuts(run, number, seed=0):
    """Draw ends of draws, before the audit and in it: executions so far."""
    table = run.executions
    last = [*(table.number[1:] == 0).tolist(), True]
    ends = [i + 1 for i, ended in enumerate(last) if ended][:-1]
    audited = int((table.query < run.audit.since_query).sum())
    rng = random.Random(seed)
    return sorted([
        *rng.sample([end for end in ends if end < audited], number),
        *rng.sample([end for end in ends if end > audited], number),
    ])  # fmt: skip


def test_a_run_resumed_again_and_again_ends_like_one_never_stopped(tmp_path, whole):
    complete = whole("mistaken")
    first, *later = [Budget(executions=cut) for cut in cuts(complete, 2)]
    run = run_world("mistaken", tmp_path / "run", budget=first)
    for budget in [*later, Budget()]:
        run = resume(tmp_path / "run", problem=WORLDS["mistaken"].problem(), budget=budget)
    assert_same_run(run, complete)


def test_a_run_that_is_interrupted_within_an_audit_ends_like_one_never_interrupted(tmp_path, whole):
    complete = whole("switching")

    class Interrupted(Exception):
        pass

    def interrupt(event):
        if event.usage.queries == complete.audit.since_query + 9:
            raise Interrupted

    with pytest.raises(Interrupted):
        run_world("switching", tmp_path / "run", listener=interrupt)
    run = resume(tmp_path / "run", problem=WORLDS["switching"].problem())
    assert_same_run(run, complete)


def test_an_audited_run_has_nothing_left_to_ask(whole):
    run = whole("switching")
    before = dump(run.path)
    again = resume(run.path, problem=WORLDS["switching"].problem())
    assert dump(run.path) == before
    assert again.stop_reason == run.stop_reason
    assert again.audit == run.audit


# Workers.


def test_the_number_of_workers_changes_nothing_however_often_it_changes(tmp_path, request):
    source = f"{request.config.rootpath}/tests/support/answer_tables.py:switches"
    intents = tuple(map(str, WORLDS["slipping"].intents()))
    settings = Settings(intents=intents, batch=4, **COARSE)

    def begin(name, workers, budget=None):
        return assess(
            source, strategy="adaptive", seed=2, settings=settings, run=tmp_path / name,
            workers=workers, budget=budget,
        )  # fmt: skip

    one, two = begin("one", 1), begin("two", 2)
    assert one.stop_reason.kind is StopKind.AUDITED
    assert one.executions.draw.max() == 3
    assert_same_run(two, one)
    early, late = cuts(one, 1)
    begin("parts", 2, Budget(executions=early))
    resume(tmp_path / "parts", trust=True, budget=Budget(executions=late))
    parts = resume(tmp_path / "parts", trust=True, budget=Budget(), workers=2)
    assert_same_run(parts, one)


# Where it asks.


def test_an_irreversible_world_does_not_lose_its_beginning(whole):
    run = whole("filing")
    before = int((run.executions.query < run.audit.since_query).sum())
    asked = [state.bit_count() for state, _ in starts(run)][:before]
    # Everything was asked where at most two letters are filed.
    for state in (s for s in range(64) if s.bit_count() <= 2):
        assert run.graph.nodes[state].tried == 6, state
    # And in each quarter of the time something near the beginning.
    for quarter in range(4):
        part = asked[quarter * before // 4 : (quarter + 1) * before // 4]
        assert sum(filed <= 2 for filed in part) >= len(part) / 5
    assert max(asked) >= 4


def test_intents_that_are_discovered_on_the_way_are_audited_too(tmp_path):
    # Asked for one switch, the mistaken agent shows that there is another.
    answers, settings = WORLDS["mistaken"], Settings(walks=1, walk_steps=3, **COARSE)
    run = assess(answers.problem(), strategy="adaptive", settings=settings, run=tmp_path / "run")
    assert run.stop_reason.kind is StopKind.AUDITED
    assert run.meta.discovered < len(run.capabilities) == 4
    assert surprise_rate(run, answers) <= RATE
    assert every_prediction(load(run.path), answers) == every_prediction(run, answers)


def test_without_an_audit_a_run_goes_on_until_its_budget_is_spent():
    run = run_world("switching", audit=0, budget=Budget(executions=220))
    assert run.stop_reason.kind is StopKind.BUDGET
    assert run.usage.executions == 220
    assert run.audit is None
    # It learned all there is.
    assert run.graph.pairs_tried == len(WORLDS["switching"].odds)


def test_an_audit_of_length_zero_draws_pairs_of_the_states_seen(whole):
    run = whole("mistaken", audit_length=0)
    assert run.stop_reason.kind is StopKind.AUDITED
    assert run.audit.length == 0
    assert run.audit.samples == run.audit.executions
    assert run.executions.number.max() == 0
    late = run.executions.query >= run.audit.since_query
    asked = [state for (state, _), audited in zip(starts(run), late, strict=True) if audited]
    assert len(set(asked)) > 8
    assert max(Counter(asked).values()) < len(asked) / 3
    assert "of random capabilities in random seen states" in run.audit.statement


@pytest.mark.parametrize("audit_length", [5, 0])
@pytest.mark.parametrize("scope", [1, 3])
def test_a_scope_limits_where_executions_start(scope, audit_length):
    run = run_world("filing", scope=scope, audit_length=audit_length)
    assert run.stop_reason.kind is StopKind.AUDITED
    filed = [state.bit_count() for state, _ in starts(run)]
    assert max(filed) == scope - 1
    assert run.audit.length == min(scope, audit_length)
