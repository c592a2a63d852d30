"""The claims of the paper are judged by the rows that are there, whatever they are."""

import csv

import pytest

from capscope import Intent
from capscope.problems import load_problem
from capscope_experiments.claims import CLAIMS, Verdict, claims_table, results_in_words
from capscope_experiments.measured_numbers import NOT_MEASURED

POINT = ("problem", "strategy", "seed", "executions", "simulator_steps", "agreement", "filtered")


def write(folder, name, heads, rows):
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([heads, *rows])


def learned(folder, **steps):
    """Write curves that reach full agreement on first responders after so many steps."""
    rows = [
        ("first-responders", label, 0, spent, spent, agreement, agreement)
        for label, most in steps.items()
        for spent, agreement in ((1, 0.1), (most, 1.0))
    ]
    write(folder, "efficiency", POINT, rows)


def judged(folder, text):
    """Return the cells of the claim with a text: paper, literal, default, verdict, why."""
    lines = [line for line in claims_table(folder).splitlines() if text in line]
    assert len(lines) == 1, lines
    return [cell.strip() for cell in lines[0].split(" | ")][2:]


def test_nothing_measured_says_so_in_every_row(tmp_path):
    lines = claims_table(tmp_path).splitlines()[2:]
    assert len(lines) == len(CLAIMS)
    assert not any(f"**{Verdict.REPRODUCED}" in line for line in lines)
    assert not any(f"**{Verdict.CONTRADICTED}" in line for line in lines)
    assert all(NOT_MEASURED in line or Verdict.NOT_TESTABLE in line for line in lines)
    assert results_in_words(tmp_path).count(NOT_MEASURED) == 10


def test_missing_columns_are_no_error(tmp_path):
    for name in ("efficiency", "reachability", "ablation", "findings", "qace", "choice"):
        write(tmp_path, name, ("problem", "strategy"), [("tireworld", "mcqs-s")])
    assert claims_table(tmp_path).count(NOT_MEASURED) > len(CLAIMS) / 2
    assert NOT_MEASURED in results_in_words(tmp_path)


@pytest.mark.parametrize(
    ("printed", "verdict"), [(100, Verdict.REPRODUCED), (1000, Verdict.CONTRADICTED)]
)
def test_a_ratio_is_reproduced_from_half_the_papers_on(tmp_path, printed, verdict):
    learned(tmp_path, **{"random": 1800, "mcqs-s": 10, "mcqs-s, --paper": printed})
    _, literal, default, found, _ = judged(tmp_path, "MCQS-S reaches over 99 %")
    assert literal == f"{1800 / printed:.1f}×"
    assert default == "180.0×"
    assert found == f"**{verdict}**"


def test_a_ratio_to_a_baseline_that_was_ended_before_cannot_contradict(tmp_path):
    points = (("mcqs-s", 1000, 1.0), ("random", 1800, 0.9), ("nothing changes", 0, 0.991))
    rows = [("first-responders", label, 0, spent, spent, a, a) for label, spent, a in points]
    write(tmp_path, "efficiency", POINT, rows)
    _, _, default, found, why = judged(tmp_path, "MCQS-S reaches over 99 %")
    assert (default, found) == ("> 1.8×", f"**{Verdict.NOT_MEASURED}**")
    assert why.startswith("The constant predictor has 0.99.")


def test_the_defaults_decide_if_nothing_was_run_as_printed(tmp_path):
    learned(tmp_path, **{"random": 1800, "mcqs-s": 100})
    _, literal, _, found, _ = judged(tmp_path, "MCQS-S reaches over 99 %")
    assert (literal, found) == (NOT_MEASURED, f"**{Verdict.REPRODUCED}**")


def test_a_stronger_baseline_can_refute_the_abstract(tmp_path):
    learned(tmp_path, **{"random": 1800, "mcqs-s, --paper": 100, "mcqs-s": 50})
    assert judged(tmp_path, "(abstract)")[3] == f"**{Verdict.REPRODUCED}**"
    learned(
        tmp_path,
        **{"random": 1800, "random, --draws 1": 80, "mcqs-s, --paper": 100, "mcqs-s": 50},
    )
    _, literal, default, found, _ = judged(tmp_path, "(abstract)")
    assert literal == "0 of 1 problems, not first-responders"
    assert default == "1 of 1 problems"
    assert found == f"**{Verdict.CONTRADICTED}**"


FAST, SLOW = ((50, 0.95), (200, 1.0)), ((60, 0.95), (300, 1.0))


ONE_DRAW = "with one draw"


def against_one_draw(folder, **curves):
    """Write points on tireworld; return what is said of the defaults, and the verdict."""
    rows = [
        ("tireworld", label, 0, spent, steps, *agreements)
        for label, points in curves.items()
        for spent, steps, *agreements in points
    ]
    write(folder, "efficiency", POINT, rows)
    return judged(folder, ONE_DRAW)[2:4]


def alike(*points):
    """Make points with as many steps as executions, and the same agreement with the filter."""
    return [(spent, spent, agreement, agreement) for spent, agreement in points]


@pytest.mark.parametrize(
    ("own", "one_draw", "said"),
    [
        (FAST, SLOW, "1 of 1 problems"),
        (FAST, ((60, 0.95), (100, 1.0)), "0 of 1 problems, not tireworld 0.50×"),
        (((50, 0.95), (200, 0.95)), ((60, 0.95), (100, 1.0)), "not tireworld 0.00×"),
        (((50, 0.95), (80, 0.95)), ((60, 0.95), (100, 1.0)), "1 of 1 problems"),
        (FAST, ((60, 0.95), (100, 0.95)), "1 of 1 problems"),
        (((50, 0.2), (100, 0.6)), ((100, 0.5),), "1 of 1 problems"),
        (((50, 0.2), (100, 0.6)), ((100, 0.8),), "not tireworld 0.75×"),
        (((50, 0.2), (90, 0.6)), ((100, 0.8),), NOT_MEASURED),
    ],
    ids=[
        *("more", "fewer", "only it got there", "MCQS ended before", "it ended before"),
        *("neither got there", "neither did, and it knows more", "after other steps"),
    ],
)
def test_mcqs_is_compared_with_one_draw_at_the_worst_level(tmp_path, own, one_draw, said):
    curves = {"mcqs-s": alike(*own), "random, --draws 1": alike(*one_draw)}
    default, verdict = against_one_draw(tmp_path, **curves)
    assert default.startswith("mcqs-s ") and said in default
    assert f"mcqs-e {NOT_MEASURED}" in default
    measured = Verdict.CONTRADICTED if "not tireworld" in said else Verdict.REPRODUCED
    assert verdict == f"**{Verdict.NOT_MEASURED if said == NOT_MEASURED else measured}**"


def test_a_loss_to_one_draw_counts_if_it_is_one_with_the_filter_only(tmp_path):
    own = [(50, 50, 1.0, 0.2), (200, 200, 1.0, 1.0)]
    one_draw = [(100, 100, 0.2, 1.0), (300, 300, 1.0, 1.0)]
    default, _ = against_one_draw(tmp_path, **{"mcqs-s": own, "random, --draws 1": one_draw})
    assert "not tireworld 0.50×" in default


def test_several_starts_are_compared_with_one(tmp_path):
    learned(tmp_path, **{"mcqs-e": 100, "mcqs-e, --starts 1": 250})
    assert "chosen on: `mcqs-e` first-responders 2.5×." in results_in_words(tmp_path)


def test_agreement_at_the_stop_says_if_a_budget_came_first(tmp_path):
    learned(tmp_path, **{"mcqs-s, --paper": 100, "mcqs-s": 50})
    heads = ("problem", "strategy", "seed", "stopped_because")
    run = ("first-responders", "mcqs-s", 0)
    for reason, marked in (("no news", False), ("budget of executions spent", True)):
        write(tmp_path, "efficiency-runs", heads, [(*run, reason)])
        said = results_in_words(tmp_path)
        assert ("by default (a budget ended it before)" in said) == marked


@pytest.mark.parametrize(
    ("outcome", "reason", "verdict"),
    [
        ("no model", "outside the class", Verdict.REPRODUCED),
        ("no model", "budget of seconds spent", Verdict.NOT_TESTABLE),
        ("model learned", "", Verdict.CONTRADICTED),
    ],
)
def test_qace_without_a_model_counts_only_if_no_budget_ended_it(tmp_path, outcome, reason, verdict):
    heads = ("problem", "conditions", "outcome", "reason", "agreement")
    write(tmp_path, "qace", heads, [("tireworld", "compiled", outcome, reason, "0.5")])
    cells = judged(tmp_path, "Tireworld: no model")
    assert cells[1] == f"{outcome}, agreement 0.500"
    assert cells[3] == f"**{verdict}**"


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        (
            "Asked for agent-at(x), the agent also causes blue-door-open(): probability 0.59",
            Verdict.SUBSTITUTE,
        ),
        ("Asked for is-dead(), the agent stops: probability 0.40", Verdict.NOT_TESTABLE),
    ],
)
def test_a_quirk_of_an_agent_is_reproduced_by_a_finding_or_not_testable(
    tmp_path, sentence, verdict
):
    heads = ("problem", "strategy", "finding", "seen in", "runs")
    write(tmp_path, "findings", heads, [("minigrid-q", "adaptive", sentence, 2, 5)])
    cells = judged(tmp_path, "asked for the blue key")
    assert cells[3] == f"**{verdict}**"
    assert (cells[2] == "0.59, in 2 of 5 runs") == (verdict == Verdict.SUBSTITUTE)


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.74, Verdict.SUBSTITUTE), (0.6, Verdict.CONTRADICTED)]
)
def test_reachability_may_be_five_points_below_the_papers(tmp_path, share, verdict):
    heads = ("problem", "strategy", "seed", "sequences", "consistent", "deviation")
    problem = "crafter-steve:stochastic=yes"
    write(tmp_path, "reachability", heads, [(problem, "mcqs-s, --paper", 0, 100, share, 0.1)])
    assert judged(tmp_path, "Crafter, Θ = 4")[3] == f"**{verdict}**"


def test_reachability_as_printed_is_ours_as_printed_and_with_limited_doubt_by_default(tmp_path):
    heads = ("problem", "strategy", "seed", "sequences", "consistent", "deviation", "routes")
    found = ("minigrid-q", "mcqs-s", 0, 100)
    rows = [(*found, 0.9, 0.1, "as printed"), (*found, 0.7, 0.2, "limited doubt")]
    write(tmp_path, "reachability", heads, rows)
    row = judged(tmp_path, "MiniGrid: sequences of five")
    assert row[1:4] == ["90.0% ± 10.0%", "70.0% ± 20.0%", f"**{Verdict.SUBSTITUTE}**"]


def test_reachability_of_another_strategy_is_shown_and_decides_nothing(tmp_path):
    heads = ("problem", "strategy", "seed", "sequences", "consistent", "deviation")
    problem = "crafter-steve:stochastic=yes"
    write(tmp_path, "reachability", heads, [(problem, "adaptive", 0, 100, 0.9, 0.1)])
    cells = judged(tmp_path, "Crafter, Θ = 4")
    assert cells[2] == f"{NOT_MEASURED} (adaptive: 90.0% ± 10.0%)"
    assert cells[3] == f"**{Verdict.NOT_MEASURED}**"


def ablated(folder, without, end="no news"):
    """Write runs of MCQS-E that stop after 130 steps with ξ and after others without."""
    labels = {"mcqs-e": 130, "mcqs-e, --xi 0": without}
    rows = [("tireworld", label, 0, 1, steps, 1.0, 0.99) for label, steps in labels.items()]
    write(folder, "ablation", POINT, rows)
    runs = [("tireworld", label, 0, end) for label in labels]
    write(folder, "ablation-runs", ("problem", "strategy", "seed", "stopped_because"), runs)


@pytest.mark.parametrize(
    ("without", "verdict"), [(100, Verdict.REPRODUCED), (260, Verdict.CONTRADICTED)]
)
def test_the_cost_of_the_bonus_is_judged_by_its_sign(tmp_path, without, verdict):
    ablated(tmp_path, without)
    cells = judged(tmp_path, "MCQS-E stops after")
    change = f"{130 / without - 1:+.0%}".replace("-", "−")
    assert cells[2] == f"mcqs-e –, {change}, –"
    assert cells[3] == f"**{verdict}**"
    assert judged(tmp_path, "With ξ = 0, more than")[2] == "–, 0.990, –"
    assert judged(tmp_path, "more sensitive")[2] == f"0% to {abs(130 / without - 1):.0%}"


def test_a_run_that_a_budget_ended_says_nothing_about_the_stop(tmp_path):
    ablated(tmp_path, 100, end="budget of simulator_steps spent")
    assert judged(tmp_path, "MCQS-E stops after")[3] == f"**{Verdict.NOT_MEASURED}**"


def test_the_time_of_a_run_that_a_budget_ended_is_not_testable(tmp_path):
    problem = ("probabilistic-elevators", "mcqs-s", 0)
    write(tmp_path, "efficiency", POINT, [(*problem, 9, 9, 0.5, 0.5)])
    for reason, verdict in (
        ("budget spent", Verdict.NOT_TESTABLE),
        ("no news", Verdict.REPRODUCED),
    ):
        heads = ("problem", "strategy", "seed", "stopped_because")
        write(tmp_path, "efficiency-runs", heads, [(*problem, reason)])
        assert judged(tmp_path, "Elevators takes about 24 hours")[3] == f"**{verdict}**"


def test_the_sentences_have_the_numbers_of_the_rows(tmp_path):
    learned(
        tmp_path,
        **{"random": 1800, "random, --draws 1": 60, "mcqs-s, --paper": 100, "adaptive": 30},
    )
    heads = ("problem", "strategy", "seed", "executions", "table_agreement", "learned_agreement")
    write(
        tmp_path,
        "choice",
        heads,
        [
            ("tireworld", "random, --draws 1", 0, 500, 0.4, 0.8),
            ("tireworld", "adaptive, --audit 0", 0, 500, 0.5, 0.9),
            ("tireworld", "adaptive, --audit 0", 0, 100, 0.1, 0.2),
        ],
    )
    said = results_in_words(tmp_path).splitlines()
    assert len(said) == 10
    assert "after 100 simulator steps (100 to 100 in 1 seeds)" in said[0]
    assert "first-responders 30.0×" in said[1]
    assert "on 1 of 1 problems: first-responders 2.0×" in said[3]
    assert "tireworld: random 0.800, adaptive 0.900" in said[5]
    assert "tireworld 0.400 to 0.800 (random)" in said[6]


def test_the_planner_puts_block_a_on_the_table_as_the_table_says():
    pytest.importorskip("plado")
    truth, vocabulary = (problem := load_problem("blocksworld")).truth, problem.vocabulary
    held = [s for s in truth.reachable_states() if "holding(a)" in names(s, vocabulary)]
    assert held
    for state in held:
        (end,) = truth.outcomes(state, Intent.parse("not holding(a)"))
        assert "ontable(a)" in names(end, vocabulary)


def names(state, vocabulary):
    return {str(atom) for atom in vocabulary.holding(state)}
