"""A small version of every benchmark."""

import random
import re
import statistics
from pathlib import Path

import numpy as np
import pytest

from capscope import Budget, Settings, assess
from capscope.insight.evaluation.metrics import compare
from capscope.insight.evaluation.reference import Reference
from capscope.problems import load_problem
from capscope_experiments.benchmarks import (
    __main__,
    backend_speedup,
    diff_error_rates,
    diff_power,
    exact_agreement,
    findings_speed,
    generalization,
    generated_domains,
    gets_there,
    graph_updates,
    hidden_modes,
    large_world,
    mail_assistant,
    million_executions,
    minigrid_steps,
    pddl_steps,
    permuted_intents,
    planted_deviations,
    rate_bias,
    stated_doubts,
    surprise_rate,
    worker_speedup,
)
from capscope_experiments.benchmarks.diff_error_rates import CASES, DiffCase, runs_of
from capscope_experiments.benchmarks.diff_power import PowerCase
from capscope_experiments.worlds import source_of

TOYS = Path(__file__).parents[1] / "support" / "toy_worlds.py"
IN_SMALL = {
    "pddl_steps": lambda: pddl_steps.measure(seconds=0.05),
    "graph_updates": lambda: graph_updates.measure(queries=3),
    "minigrid_steps": lambda: minigrid_steps.measure(rounds=1),
    "worker_speedup": lambda: worker_speedup.measure(draws=2, latency=0.0),
    "backend_speedup": lambda: backend_speedup.measure(
        "exhaustive", 40, 1, "processes", backend_speedup.idle_problem
    ),
}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(minigrid_steps, "WALK", 200)


@pytest.mark.parametrize("name", IN_SMALL)
@pytest.mark.usefixtures("small")
def test_a_speed_benchmark_gives_positive_numbers_with_a_ratio(name):
    numbers = IN_SMALL[name]()
    assert all(value > 0 for value in numbers.values())
    assert any("ratio" in measured or "times faster" in measured for measured in numbers)


@pytest.mark.parametrize("strategy", ["adaptive", "exhaustive"])
def test_a_long_run_is_measured_and_resumed(strategy):
    numbers = million_executions.measure(strategy, 100, 2)
    assert all(value > 0 for value in numbers.values())


def test_benchmarks_are_chosen_by_name(monkeypatch, capsys):
    assert {*IN_SMALL, "search"} == set(__main__.BENCHMARKS)
    monkeypatch.setattr(__main__, "BENCHMARKS", {"a": lambda: {"x": 1}, "b": lambda: {"y": 2000}})
    __main__.main(["b"])
    assert capsys.readouterr().out.split() == ["y", "2,000.00"]
    __main__.main([])
    assert capsys.readouterr().out.split()[::2] == ["x", "y"]
    with pytest.raises(SystemExit, match="no benchmark 'c'; choose from a, b"):
        __main__.main(["c"])


def measured(what, seed=0, most=60):
    return list(generalization.measure(what.split()[0], what.split()[1:], seed, most))


def test_learning_is_measured_at_checkpoints_and_repeats(capsys):
    lines = measured("learn ambiguous")
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "ambiguous seed 0: 52 pairs of 13 states"
    assert [line.split(":")[0].strip() for line in printed[1:]] == ["25", "40", "60"]
    assert "executions to " in lines[0]
    assert measured("learn ambiguous") == lines
    without_time = [line.rpartition(";")[0] for line in printed]
    assert [x.rpartition(";")[0] for x in capsys.readouterr().out.splitlines()] == without_time


def test_the_measured_accuracy_is_that_of_a_model_compared_pair_by_pair():
    problem = load_problem("tireworld")
    truth = exact_agreement.likely_truth(problem)
    run = assess("tireworld", settings=Settings(audit=0.0), budget=Budget(executions=60))
    reference = Reference.of_truth(truth, problem.vocabulary)
    compared = compare(run.model, reference)
    right = [
        run.model.predict(state, intent).keys() == outcomes.keys()
        for (state, intent), outcomes in truth.table.items()
    ]
    assert compared.right_pairs.tolist() == right
    rows = generalization.PlainRows(run.graph)
    tried = [pair for pair in truth.table if rows.predict(*pair)]
    assert len(tried) == sum(p is not None for n in run.graph.nodes.values() for p in n.pairs)
    assert all(sum(rows.predict(*pair).values()) == pytest.approx(1) for pair in tried)


def test_few_requests_teach_that_an_assistant_deletes_another_mail_now_and_then():
    lines = [measured("mail 6 200", seed)[0] for seed in range(4)]
    surprises = [float(line.partition(": ")[2].partition("%")[0]) for line in lines]
    assert sum(surprises) / len(surprises) <= 1.0


def test_probabilities_lamps_and_surprises_are_measured():
    [line] = measured("probabilities flags")
    assert "8 stochastic pairs" in line
    [line] = measured("lamps 5")
    assert "20 executions" in line
    lines = measured("mail 3 40 4")
    assert len(lines) == 4
    assert all("% surprises" in line for line in lines[::2])
    assert measured("mail 3 40 4") == lines
    with pytest.raises(SystemExit, match="cannot measure mail 3"):
        measured("mail 3")


def test_a_model_is_carried_over_to_a_larger_world(monkeypatch):
    monkeypatch.setattr(generalization, "SAMPLED_PAIRS", 50)
    large = load_problem(source_of("lift-large"))
    truth = generalization.walked_truth(large, 50)
    assert len(truth.table) == 50
    monkeypatch.setattr(generalization, "walked_truth", lambda problem: truth)
    [carried] = measured("transfer lift-small lift-large", most=200)
    right, constant = re.search(r"outcomes right ([\d.]+) \(constant ([\d.]+)\)", carried).groups()
    assert float(right) > float(constant)
    monkeypatch.setattr(generalization, "transferred", lambda *_: truth)
    [line] = measured("transfer lift-small lift-large")
    assert "agreement 1.0000" in line
    assert "outcomes right 1.0000" in line
    assert "of 50 pairs, 0.00% without a prediction" in line


def test_an_agent_is_compared_with_itself_and_with_one_that_lost_something():
    board = DiffCase(f"{TOYS}:slippery_board", 0.1, "lit(a)")
    lines = list(diff_error_rates.measure(board, ["random"], 500, 2, loss=0.85))
    assert lines[0].endswith("random against random: 0 of 1 identical pairs differ")
    assert "a loss of 0.85 is reported for 2 of 2 pairs" in lines[1]


def test_a_simulated_loss_is_reported_and_identical_agents_are_not_told_apart():
    lost = diff_power.measure(PowerCase(0.95, 10, capabilities=3, loss=0.4), 5)
    assert (lost.losses, lost.suspected, lost.false_alarms) == (5, 0, 0)
    same = diff_power.measure(PowerCase(0.9, 10, True, (60, 90), 2, loss=0.0), 20)
    assert same.losses == 0 and same.false_alarms <= 1


def test_the_power_of_a_test_of_fixed_size_is_that_of_the_textbook():
    """With 250 draws a side, 0.5 to 0.35 differ by 3.44 standard errors; 2.17 are needed."""
    assert PowerCase(0.5).fixed_size() == pytest.approx(0.89, abs=0.01)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.source.rpartition("/")[2])
def test_the_capability_to_lose_is_one_that_is_assessed(case):
    executions = 20 if case.intents else 300
    (run,) = runs_of(case, "random", executions, [0])
    assert case.lost in map(str, run.intents)


@pytest.mark.parametrize("clustered", [False, True])
def test_deviations_are_planted_just_above_the_claimed_rate(monkeypatch, clustered):
    monkeypatch.setattr(planted_deviations, "EXECUTIONS", 600)  # enough to begin an audit
    run = planted_deviations.audited_run(2, clustered)
    low, high = planted_deviations.PLANTED
    assert not run.passed
    assert low <= run.rates[0] <= high


def test_stated_doubts_are_true_in_a_world_that_its_predicates_capture():
    run = assess("blocksworld", budget=Budget(executions=300))
    checked = list(stated_doubts.check_doubts(run, load_problem("blocksworld"), 300, 1))
    for provenance in ("tried", "inferred"):
        here = [one for one in checked if one.provenance == provenance]
        assert len(here) > 30
        stated = statistics.fmean(one.doubt for one in here)
        missed = statistics.fmean(one.missed for one in here)
        # Pairs that were drawn once may be doubted too much, but not too little.
        assert missed - 0.05 < stated < missed + 0.15
    table = stated_doubts.table(checked)
    assert "| tried | a change | 0 to 0.03 |" in table
    assert sum(int(line.split(" | ")[3]) for line in table.splitlines()[2:]) == len(checked)


def test_the_agent_gets_there_as_often_as_a_run_says():
    run = assess("blocksworld", budget=Budget(executions=150))
    checked = list(gets_there.check_rates(run, load_problem("blocksworld"), 10))
    assert len(checked) > 20 and all(one.inside for one in checked)
    known = [one for one in checked if one.stated is not None]
    assert len(known) > len(checked) / 2
    stated = statistics.fmean(abs(one.stated - one.true) for one in known)
    measured = statistics.fmean(abs(one.measured - one.true) for one in known)
    assert stated < min(0.1, measured)
    assert f"{len(checked)} are inside their intervals" in gets_there.table(checked)


def test_the_surprise_rate_of_a_model_is_that_of_simulated_audits():
    problem = planted_deviations.random_world(3)
    intents = problem.truth.intents()
    run = assess(
        problem,
        settings=Settings(intents=tuple(map(str, intents)), audit=0.0),
        budget=Budget(executions=60),
    )
    outcomes, initial = problem.truth.outcomes, problem.truth.reachable_states()[0]
    exact = surprise_rate.surprise_rate(run.model, outcomes, intents, initial, 3)
    pairs = list(surprise_rate.scored_pairs(outcomes, intents, initial, 3))
    assert sum(pair.weight for pair in pairs) == pytest.approx(1.0)
    rng = random.Random(0)
    surprises, given = 0, 0.0
    for pair in rng.choices(pairs, [pair.weight for pair in pairs], k=2000):
        ends = outcomes(pair.state, pair.intent)
        end = rng.choices(list(ends), list(ends.values()))[0]
        surprises += not run.model.foresees(pair.state, run.graph.index[pair.intent], end)
        given += run.model.predict(pair.state, pair.intent).get(end, 0.0)
    assert surprises / 2000 == pytest.approx(exact, abs=0.04)
    exact = surprise_rate.mean_probability(run.model, outcomes, intents, initial, 3)
    assert given / 2000 == pytest.approx(exact, abs=0.04)


def test_what_is_stated_of_a_world_with_a_hidden_mode_is_compared_with_fresh_resets(monkeypatch):
    # With half of the resets in another mode, an audit from one position would have been wrong.
    monkeypatch.setattr(hidden_modes, "HIDDEN", 0.5)
    runs = [
        hidden_modes.checked_run(hidden_modes.modal_world(seed, share), seed, executions)
        for seed, share, executions in ((1, 0.0, 2000), (2, 0.5, 700))
    ]
    same, other = runs
    assert same is not None and same.passed
    assert same.surprises <= same.surprises_at_most == 0.01
    assert 0.5 < same.probability_at_least <= same.probability
    assert other is None or (not other.passed and not any(other.false_statements))
    assert hidden_modes.summary(runs).startswith("of 2 runs, 1 passed their audit after ")
    lying = same._replace(surprises=0.5, probability=0.0)
    assert "surprises: 1, about probabilities: 1" in hidden_modes.summary([lying])


def test_one_reset_in_ten_leads_to_the_hidden_mode():
    world = hidden_modes.modal_world(3, 0.3)
    simulator, sees = world.problem.simulator, world.problem.abstraction
    observed = [simulator.reset(seed) for seed in range(2000)]
    assert {sees(one) for one in observed} == {world.initial}
    hidden = sum(one != world.initial for one in observed) / 2000
    assert hidden == pytest.approx(hidden_modes.HIDDEN, abs=0.03)


def test_the_mail_assistant_has_1728_states_and_its_beginning_is_counted():
    problem = mail_assistant.mail_assistant()
    assert len(problem.truth.reachable_states()) == 1728
    line = mail_assistant.measure(0, 60, 0.0)
    assert "of 936 near pairs missing" in line
    assert "complete after never" in line


def test_the_cost_of_a_large_world_is_measured():
    assert len(large_world.switches().truth.reachable_states()) == 4096
    first, *stages = large_world.measure(executions=81, stage=80)
    assert "81 executions, budget" in first
    assert len(stages) == 1


def test_an_agent_with_permuted_intents_is_learned_with_and_without_pursuit():
    problem = permuted_intents.permuted(load_problem("blocksworld"), 0)
    heard = problem.agent.heard
    assert set(heard) == set(heard.values())
    assert not any(asked == pursued for asked, pursued in heard.items())
    assert "ratios 1.00" in permuted_intents.measure("blocksworld", [0], 60)


@pytest.mark.parametrize("name", generated_domains.GENERATED)
def test_inference_is_measured_on_generated_domains(name):
    assert "sure inferences right" in generated_domains.measure_learning(name, 0, 60)
    assert "60 executions" in generated_domains.measure_audit(name, 0, 60)


def test_outcomes_that_no_run_will_see_are_not_expected_of_a_model():
    problem = load_problem("couriers")
    table = exact_agreement.likely_truth(problem).table
    assert min(share for outcomes in table.values() for share in outcomes.values()) > 0.01


def test_the_best_bet_on_matched_draws_has_less_power_if_some_have_no_counterpart():
    even, scattered = (
        PowerCase(0.9, 100, random_states, capabilities=10).best_bet(np.random.default_rng(0), 200)
        for random_states in (False, True)
    )
    assert 0.5 < scattered < even < 0.95
    sure = PowerCase(1.0, 1, loss=0.3).best_bet(np.random.default_rng(0), 20)
    assert sure == 1.0


def test_the_bias_of_rates_is_measured_against_the_truth():
    names = [line.partition(":")[0] for line in rate_bias.measure_all(1, 60)]
    assert names[:2] == ["mean of the frequencies of pairs", "rate as findings print it"]
    assert names[-1] == "rate at once"


def test_findings_and_the_report_of_a_warehouse_are_timed():
    report = findings_speed.measure_report(executions=50)
    assert " states, 50 executions: " in report and " findings, " in report
