"""Audits of worlds whose resets differ: each scored sequence begins with a reset of its own."""

from collections import Counter
from dataclasses import replace

import pytest

from capscope import Budget, Settings, assess, load, resume
from capscope.assessment.workers import WorkerSettings
from capscope.insight.run_facts import initial_graph
from capscope.journal.run_meta import StopKind
from capscope.logic import Intent, Vocabulary
from capscope.model import LearnedModel
from capscope.stats.audit import step_weights
from support.answer_tables import Answers, Modes, switching
from support.journal_rows import dump


def islands():
    """Return the answers of an agent in two parts of a world, which no request leads between."""
    words = Vocabulary.of_atoms("pqrt")
    intents = [Intent.parse(f"{sign}{name}") for name in "pqr" for sign in ("", "not ")]
    odds = {}
    for state in range(16):
        for number, intent in enumerate(intents):
            # Where t holds, the agent switches the next one instead.
            bit = 1 << (number // 2 + bool(state & 8)) % 3
            odds[state, intent] = {state & ~bit if number % 2 else state | bit: 1.0}
    return Answers(words, 0, odds)


USUAL = switching()
SAME = Modes((USUAL, USUAL), (0.9, 0.1))
HIDDEN = Modes((USUAL, switching(mistaken=True)), (0.9, 0.1))
ELSEWHERE = Modes((islands(), replace(islands(), start=0b1000)), (0.8, 0.2))
WORLDS = {"the same": SAME, "hidden": HIDDEN, "elsewhere": ELSEWHERE}
SETTINGS = Settings(audit=0.05, confidence=0.9)


def settings_for(answers, **chosen):
    return replace(SETTINGS, intents=tuple(map(str, answers.intents())), **chosen)


def run_world(world, run=None, *, seed=0, listener=lambda event: None, budget=None):
    modes = WORLDS[world]
    return assess(
        modes.problem(), strategy="adaptive", seed=seed, settings=settings_for(modes.answers[0]),
        run=run, budget=budget, listener=listener,
    )  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a finished run of each world, and make each once."""
    made = {}

    def finished(world):
        if world not in made:
            path = tmp_path_factory.mktemp("runs") / "run"
            made[world] = run_world(world, path, budget=Budget(executions=3000))
        return made[world]

    return finished


def starts(run, *, audited):
    """Count the state and the mode in which draws began, before the last audit or in it."""
    table = run.executions
    late = table.query >= run.audit.since_query
    return Counter(
        (table.states[before], table.position_names[position][4])
        for before, position, first, in_audit in zip(
            table.before.tolist(), table.position.tolist(), table.number == 0, late, strict=True
        )
        if first and in_audit == audited
    )


def audited_model(run):
    graph = initial_graph(run.meta, run.capabilities)
    graph.update(run.executions.first_queries(run.audit.since_query).transitions())
    return LearnedModel.fitted(graph, run.identity.seed)


def true_means(run, modes):
    """Return the rate of surprises and the mean probability, over resets and random sequences."""
    model, intents = audited_model(run), run.capabilities
    surprises = probability = 0.0
    for answers, weight in zip(modes.answers, modes.shares, strict=True):
        now = {answers.start: weight}
        for step in step_weights(run.audit.length):
            after = Counter()
            for state, share in now.items():
                for capability, intent in enumerate(intents):
                    given = model.predict(state, intent)
                    for end, odds in answers.outcomes(state, intent).items():
                        reached = share * odds / len(intents)
                        after[end] += reached
                        surprises += step * reached * (not model.foresees(state, capability, end))
                        probability += step * reached * given.get(end, 0.0)
            now = after
    return surprises, probability


# What is claimed.


@pytest.mark.parametrize("world", WORLDS)
def test_what_is_stated_is_true_of_fresh_resets(world, whole):
    run = whole(world)
    surprises, probability = true_means(run, WORLDS[world])
    assert surprises <= (SETTINGS.audit if run.audit.passed else run.audit.bound)
    assert run.audit.sharpness_bound <= probability


@pytest.mark.parametrize("world", ["the same", "elsewhere"])
def test_an_audit_that_surprises_nobody_passes(world, whole):
    assert whole(world).stop_reason.kind is StopKind.AUDITED


def test_a_hidden_mode_is_met_in_the_audit_as_often_as_after_a_reset(whole):
    run = whole("hidden")
    audited = starts(run, audited=True)
    assert set(audited) == {(0, 0), (0, 1)}
    share = audited[0, 1] / audited.total()
    assert 0.03 < share < 0.25
    # The run itself began in one position; from it alone, nothing would have been noticed.
    assert run.initial_positions.positions == 1


def test_states_that_only_resets_led_to_are_asked_in_after_a_lost_audit(whole):
    run = whole("elsewhere")
    assert run.audit.round > 1
    assert starts(run, audited=True).keys() == {(0, 0), (0b1000, 1)}
    learned_in = {state for state, mode in starts(run, audited=False) if mode}
    assert 0b1000 in learned_in
    assert len(learned_in) > 2


# The same run again.


def assert_same_run(run, whole):
    left, right = dump(run.path), dump(whole.path)
    for table, rows in left.items():
        assert rows == right[table], table
    assert run.audit == whole.audit
    assert (run.path / "model.json").read_bytes() == (whole.path / "model.json").read_bytes()


@pytest.mark.parametrize("world", ["hidden", "elsewhere"])
def test_a_run_interrupted_in_an_audit_ends_like_one_never_interrupted(world, tmp_path, whole):
    complete = whole(world)

    class Interrupted(Exception):
        pass

    def interrupt(event):
        if event.usage.queries in (complete.audit.since_query + 5, complete.audit.since_query - 30):
            raise Interrupted

    spent = Budget(executions=3000)
    with pytest.raises(Interrupted):
        run_world(world, tmp_path / "run", listener=interrupt, budget=spent)
    problem = WORLDS[world].problem()
    with pytest.raises(Interrupted):
        resume(tmp_path / "run", problem=problem, listener=interrupt)
    assert_same_run(resume(tmp_path / "run", problem=problem), complete)


def test_a_budget_that_cuts_a_sequence_of_the_audit_changes_nothing(tmp_path, whole):
    complete = whole("hidden")
    table, since = complete.executions, complete.audit.since_query
    second = [
        row for row in range(len(table)) if table.query[row] > since and table.number[row] == 1
    ]
    run = run_world("hidden", tmp_path / "run", budget=Budget(executions=second[0]))
    for allowed in (second[-1], 3000):
        budget = Budget(executions=allowed)
        run = resume(tmp_path / "run", problem=HIDDEN.problem(), budget=budget)
    assert_same_run(run, complete)


def test_workers_start_where_the_resets_led(tmp_path, request):
    source = f"{request.config.rootpath}/tests/support/answer_tables.py:hidden_switches"
    settings = settings_for(USUAL, batch=4)

    def begin(name, **how):
        return assess(
            source, strategy="adaptive", settings=settings, run=tmp_path / name,
            budget=Budget(executions=600), **how,
        )  # fmt: skip

    one, two = begin("one"), begin("two", workers=WorkerSettings(2, "processes"))
    assert (0, 1) in starts(one, audited=True)
    assert_same_run(two, one)


def test_a_loaded_run_states_and_predicts_what_the_live_one_did(whole):
    live = whole("hidden")
    loaded = load(live.path)
    assert loaded.audit == live.audit
    for state in range(16):
        for intent in live.capabilities:
            assert dict(loaded.model.predict(state, intent)) == dict(
                live.model.predict(state, intent)
            )


# How sharp the model is, and which one was audited.


def at_random():
    """Return the answers of an agent that does anything, whatever it is asked for."""
    words = Vocabulary.of_atoms("pqr")
    intents = [Intent.parse(f"{sign}{name}") for name in "pqr" for sign in ("", "not ")]
    return Answers(words, 0, {(s, i): dict.fromkeys(range(8), 1 / 8) for s in range(8)
                              for i in intents})  # fmt: skip


def test_a_model_of_an_agent_that_does_anything_is_not_surprised_and_not_sharp():
    answers = at_random()
    run = assess(
        answers.problem(), settings=settings_for(answers), strategy="adaptive",
        budget=Budget(executions=4000),
    )  # fmt: skip
    assert run.audit.passed
    assert run.audit.sharpness == pytest.approx(1 / 8, abs=0.03)
    assert run.audit.sharpness_bound < 1 / 8
    assert "is at least 0.0" in run.audit.statements[1]


def test_the_model_of_an_agent_that_always_does_the_same_is_sharp(whole):
    run = whole("the same")
    assert run.audit.sharpness > 0.98
    assert run.audit.sharpness_bound > 0.9


def test_a_probability_is_that_before_the_execution_that_it_is_about(whole):
    run = whole("hidden")
    table, late = run.executions, run.executions.query >= run.audit.since_query
    model = audited_model(run)
    ends = [*(table.number[1:] == 0).tolist(), True]
    given = sum(
        model.predict(table.states[before], run.capabilities[capability]).get(
            table.states[after], 0.0
        )
        for before, capability, after, audited, last, cut in zip(
            table.before.tolist(), table.capability.tolist(), table.after.tolist(),
            late.tolist(), ends, table.cut.tolist(), strict=True,
        )
        if audited and last and not cut
    )  # fmt: skip
    assert run.audit.probability == pytest.approx(given)


@pytest.mark.parametrize("world", WORLDS)
def test_the_pairs_are_counted_to_which_the_audit_added_outcomes(world, whole):
    run, model = whole(world), audited_model(whole(world))
    late = run.executions.query >= run.audit.since_query
    table = run.executions.only(late & ~run.executions.cut)
    added = {
        (before, capability)
        for before, capability, after in zip(
            table.before.tolist(), table.capability.tolist(), table.after.tolist(), strict=True
        )
        if not model.foresees(table.states[before], capability, table.states[after])
    }
    assert run.audit.added_to == len(added)
    assert len(run.audit.statements) == 2 + bool(added)
