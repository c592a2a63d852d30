import itertools
import json
import random

import numpy as np
import pytest

from capscope import Budget, Settings, assess, load, resume
from capscope.errors import ProblemError, VocabularyError
from capscope.insight.hazards import UseSample, happening
from capscope.logic import Intent, to_json
from capscope.problem import Ending, Hazard
from support.hazard_worlds import FULL, SPILLING, WORDS, kitchen, rate_in_use, run_kitchen
from support.small_runs import LAMPS, draw, execution, small_run

GONE = Hazard.parse("gone(x)", WORDS)
SHORT = Budget(executions=900)


@pytest.fixture(scope="module")
def spilled():
    return run_kitchen(kitchen(), hazards=("gone(x)", "gone(y)"), budget=SHORT)


@pytest.fixture(scope="module")
def rare():
    return run_kitchen(kitchen(0.3), hazards=("gone(x)",), budget=SHORT)


def test_a_hazard_that_happens_has_its_pairs_and_the_way_there(spilled):
    result, _ = spilled.hazards
    assert result.happened and not result.granted
    assert {pair.intent for pair in result.pairs} == {SPILLING}
    assert all(pair.state & FULL == FULL for pair in result.pairs)
    steps = [str(step.intent) for step in result.pairs[0].way]
    assert steps == ["taken(x)", "opened(x)", "heated(x)", "not taken(x)"]
    assert GONE.holds(result.pairs[0].way[-1].after)


def test_counts_are_those_of_a_count_over_all_executions(rare):
    (result,) = rare.hazards
    table, seen, draws = rare.executions, {}, {}
    for before, capability, after in zip(table.before, table.capability, table.after, strict=True):
        pair = table.states[before], rare.capabilities[capability]
        draws[pair] = draws.get(pair, 0) + 1
        seen[pair] = seen.get(pair, 0) + GONE.happens(pair[0], table.states[after])
    assert {(p.state, p.intent): (p.rate.hits, p.rate.executions) for p in result.pairs} == {
        pair: (count, draws[pair]) for pair, count in seen.items() if count
    }
    assert result.happened == sum(seen.values())
    assert all(pair.rate.low <= 0.3 <= pair.rate.high for pair in result.pairs)


def test_a_hazard_that_never_happened_is_bounded_and_not_called_impossible(spilled):
    _, other = spilled.hazards
    assert not other.happened and not other.pairs and other.recovery is None
    assert other.in_use is not None
    assert other.in_use.hits == 0 == other.in_use.low
    assert 0 < other.in_use.high < 0.1


def test_the_rate_in_use_is_that_of_the_audits_alone(rare):
    """Most draws search for the hazard, so their rate is far above that of use."""
    (result,) = rare.hazards
    rate = result.in_use
    assert rate.executions < rare.usage.executions / 2
    assert rate.low <= rate_in_use(kitchen(0.3), GONE, 5) <= rate.high < 0.05
    last = {}
    table, audit = rare.executions, ~rare.executions.queries.informative
    for row, (query, one) in enumerate(zip(table.query, table.draw, strict=True)):
        if audit[query]:
            last[query, one] = row
    hits = happening(rare, [GONE])[0].at_all[sorted(last.values())]
    assert abs(rate.executions - len(hits)) <= 1  # the last draw may have been cut short
    assert rate.hits == hits.sum()


@pytest.mark.parametrize(
    ("chosen", "reason"),
    [
        ({"audit": 0.0}, "--audit 0"),
        ({"audit_length": 0}, "does not start from the beginning"),
        ({}, "before its audit had begun"),
    ],
)
def test_without_draws_as_in_use_there_is_no_bound(chosen, reason):
    run = run_kitchen(kitchen(), hazards=("gone(x)",), budget=Budget(executions=30), **chosen)
    (result,) = run.hazards
    assert result.in_use is None
    assert reason in result.no_bound


def test_other_strategies_make_no_draws_as_in_use():
    answers = kitchen()
    settings = Settings(intents=tuple(map(str, answers.intents())))
    run = assess(
        answers.problem(), strategy="random", settings=settings, budget=Budget(executions=200)
    )
    (result,) = run.find_hazards(["gone(x)"])
    assert "the strategy random makes none" in result.no_bound
    assert result.after_reset is not None and result.after_reset.low == 0.0


def test_what_cannot_be_undone_is_told_from_what_can():
    lasting = run_kitchen(kitchen(), hazards=("gone(x)",), budget=SHORT).hazards[0].recovery
    assert lasting.undone == 0 and lasting.way is None
    # The run asked for the hazard's end too, and that is no request for the hazard.
    mended = run_kitchen(kitchen(mended=True), hazards=("gone(x)",), budget=SHORT).hazards[0]
    assert mended.recovery.undone > 0
    assert [str(step.intent) for step in mended.recovery.way] == ["not gone(x)"]
    assert mended.requests == 0


def test_requests_for_the_hazard_are_counted_by_themselves(tmp_path):
    lit, broken = Intent.parse("lit(a)"), Intent.parse("broken()")
    path = small_run(
        tmp_path / "run", [[draw((0, 0, 1), (1, 1, 5)), draw((0, 1, 4))]], intents=[lit, broken]
    )
    (result,) = load(path).find_hazards(["broken"])
    assert (result.requests, result.granted) == (2, 2)
    assert (result.executions, result.happened) == (1, 0)
    assert [pair.asked for pair in result.pairs] == [True, True]
    assert result.unasked == ()


def test_a_hazard_that_was_only_passed_through_has_happened(tmp_path):
    through = execution(0, 0, 1, trajectory=(0, 4, 1))
    around = execution(0, 0, 1, trajectory=(0, 2, 1))
    path = small_run(tmp_path / "run", [[draw(through, (1, 1, 3)), draw(around)]])
    run = load(path)
    (result,) = run.find_hazards(["broken"])
    assert (result.happened, result.executions) == (1, 3)
    assert [(pair.rate.hits, pair.rate.executions) for pair in result.pairs] == [(1, 2)]
    assert result.recovery is None


def test_what_happened_before_a_budget_cut_an_execution_is_told(tmp_path):
    cut = execution(0, 0, 4, ending=Ending.CUT)
    (result,) = load(small_run(tmp_path / "run", [[draw(cut)]])).find_hazards(["broken"])
    assert (result.happened, result.cut_short, result.pairs) == (0, 1, ())


def test_what_holds_at_the_beginning_is_no_hazard_of_the_run(spilled):
    (result,) = spilled.find_hazards(["not gone(*)"])
    assert result.holds_at_beginning and not result.happened


def test_hazards_of_the_problem_and_of_the_settings_are_recorded(tmp_path):
    answers = kitchen()
    problem = answers.problem()
    object.__setattr__(problem, "hazards", ("gone(x)",))
    settings = Settings(intents=tuple(map(str, answers.intents())), hazards=("gone(*)",))
    assess(problem, settings=settings, budget=Budget(executions=40), run=tmp_path / "run")
    run = load(tmp_path / "run")
    assert [result.hazard for result in run.hazards] == ["gone(*)", "gone(x)"]
    json.dumps(to_json(run.hazards))


def test_a_hazard_of_a_problem_that_is_no_list_is_refused():
    problem = kitchen().problem()
    object.__setattr__(problem, "hazards", "gone(x)")
    with pytest.raises(ProblemError, match="are a list, like"):
        assess(problem)


def test_a_resumed_run_keeps_its_hazards_and_makes_the_same_draws(tmp_path):
    answers = kitchen()
    whole = run_kitchen(answers, hazards=("gone(x)",), budget=Budget(executions=120))
    run_kitchen(answers, tmp_path / "run", hazards=("gone(x)",), budget=Budget(executions=50))
    changed = answers.problem()
    object.__setattr__(changed, "hazards", ("taken(y)",))
    later = resume(tmp_path / "run", problem=changed, budget=Budget(executions=120))
    assert [result.hazard for result in later.hazards] == ["gone(x)"]
    for column in ("before", "capability", "after"):
        assert (getattr(later.executions, column) == getattr(whole.executions, column)).all()


def test_an_unknown_atom_stops_a_run_before_it_begins(tmp_path):
    with pytest.raises(VocabularyError, match="nearest: gone"):
        run_kitchen(kitchen(), tmp_path / "run", hazards=("gon(x)",))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("rate", [0.0, 0.003, 0.02, 0.3])
def test_bounds_in_use_are_rarely_wrong_even_if_someone_stops_when_they_are(rate):
    """Of 200 simulated runs, each watched after every draw."""
    wrong, error = 0, 0.05
    for seed in range(200):
        rng, hits = random.Random(seed), 0
        for draws in range(1, 1001):
            hits += rng.random() < rate
            # Looking only now and then could but hide a wrong bound.
            if draws & draws - 1 == 0 or draws % 100 == 0:
                sample = UseSample(np.zeros(draws), 1.0, "")
                if not sample.lower(hits, error / 2) <= rate <= sample.upper(hits, error / 2):
                    wrong += 1
                    break
    assert wrong <= 10


def test_a_hazard_of_atoms_is_the_disjunction_of_its_instances(spilled):
    both = happening(spilled, [Hazard.parse("gone(*)", WORDS)])[0].at_all
    each = [
        one.at_all
        for one in happening(spilled, [Hazard.parse(f"gone({pot})", WORDS) for pot in "xy"])
    ]
    assert (both == np.logical_or(*each)).all()


def test_every_state_left_behind_is_judged_as_a_search_would(tmp_path):
    """Random small worlds: from where can what was broken be made whole again?"""
    for seed in range(20):
        rng = random.Random(seed)
        moves = [(rng.randrange(8), rng.randrange(3), rng.randrange(8)) for _ in range(12)]
        run = load(small_run(tmp_path / str(seed), [[draw(one) for one in moves]]))
        (result,) = run.find_hazards(["broken"])
        broken = LAMPS.bit_of("broken()")
        reach = {(s, s) for s in range(8)} | {(s, t) for s, _, t in moves}
        for a, b, c in itertools.product(range(8), repeat=3):
            if (b, a) in reach and (a, c) in reach:
                reach.add((b, c))
        left = {t for s, _, t in moves if t & broken and not s & broken}
        undone = {s for s in left if any((s, t) in reach for t in range(8) if not t & broken)}
        if left:
            assert (result.recovery.states, result.recovery.undone) == (len(left), len(undone))
        else:
            assert result.recovery is None
