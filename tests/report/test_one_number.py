"""Each command and each export has the same number for one quantity."""

import re

import pytest

from capscope import load
from capscope.export.model_json import model_of_run
from capscope.export.rules import GroundModel
from capscope.export.tables import COLUMNS, model_tables
from capscope.insight.repeated_requests import outcomes_tried
from capscope.logic import Effect, Intent
from capscope.report.digest import digest_run
from capscope.report.notebook import shown_rules
from capscope.testing import assert_capability, assert_no_side_effect
from support.small_runs import draw, small_run
from support.tiny_digests import by_attribute

WISH = Intent.parse("lit(b)")
A, B, BROKEN = 0b001, 0b010, 0b100
SUCCESS, HARM = 0.75, 0.25


def mean_in(message):
    return float(re.search(r"a mean of (0\.\d+), between", message).group(1))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """An agent that lights the lamp in 3 of 4 cases, and breaks another in 1 of 4.

    Where the lamp is lit there is nothing to do, and nothing happens. The other agent never breaks
    anything.
    """
    folder = tmp_path_factory.mktemp("runs")

    def run(name, harm):
        ends = [0, B, B, B | harm]
        made = [draw((s, 1, s | end)) for _ in range(10) for s in (0, A) for end in ends]
        made += [draw((s, 1, s)) for _ in range(40) for s in (B, A | B)]
        return load(small_run(folder / name, [made]))

    return run("careful", 0), run("careless", BROKEN)


def test_the_success_of_a_capability_is_the_same_number_everywhere(runs):
    _, run = runs
    rate = run.rates[WISH].at_once.estimate
    assert rate == pytest.approx(SUCCESS, abs=0.01)
    digest = by_attribute(digest_run(run))
    intents = [one.intent for one in digest.capabilities]
    assert digest.capabilities[intents.index(str(WISH))].success == pytest.approx(rate, abs=1e-4)
    assert not digest.heat.repeated
    (row,) = (one for one in digest.heat.rows if intents[one.capability] == str(WISH))
    assert row.cells[0].rate == pytest.approx(rate, abs=1e-4)
    (row,) = (one for one in run.first_screen.rows if WISH in one.achieved)
    assert (row.anywhere.lowest, row.anywhere.bound) == (rate, run.rates[WISH].at_once.low)
    assert row.anywhere.text in run._repr_html_()
    (same,) = (one for one in run.diff(baseline=run).unchanged if one.capability == WISH)
    assert same.a.estimate == same.b.estimate == pytest.approx(rate)
    with pytest.raises(AssertionError) as failed:
        assert_capability(run, WISH, at_least=0.95)
    assert mean_in(str(failed.value)) == pytest.approx(rate, abs=1e-3)


def test_the_rate_of_a_side_effect_counts_where_it_could_happen_and_is_the_same_everywhere(runs):
    careful, run = runs
    (found,) = (one for one in run.findings() if one.change == "broken()")
    assert (found.count, found.possible) == (20, 80)
    (harm,) = run.diff(baseline=careful).new_side_effects
    assert (str(harm.change), harm.where.of) == ("new side effect", 2)
    assert (harm.b.hits, harm.b.executions) == (20, 80)
    with pytest.raises(AssertionError) as failed:
        assert_no_side_effect(run, WISH, "broken()")
    assert mean_in(str(failed.value)) == pytest.approx(harm.b.estimate, abs=1e-3)


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    """An agent that lights the lamp in 7 of 10 and in 34 of 40 cases, in two states."""
    path = tmp_path_factory.mktemp("uneven") / "run"
    made = [draw((0, 1, B if n < 7 else 0)) for n in range(10)]
    made += [draw((A, 1, A | B if n < 34 else A)) for n in range(40)]
    made += [draw((s, 1, s)) for _ in range(5) for s in (B, A | B)]
    return load(small_run(path, [made]))


@pytest.mark.parametrize(("state", "tried"), [(0, 0.7), (A, 0.85)])
def test_the_probability_of_a_tried_pair_is_the_same_number_everywhere(uneven, state, tried):
    pytest.importorskip("stormpy")
    model = uneven.model
    expected = model.predict(state, WISH)[state | B]
    assert expected != pytest.approx(tried, abs=1e-3)  # it is drawn towards the other state
    (row,) = (
        row
        for row in model_tables(model)[0].rows
        if row[:3] == (hex(state), str(WISH), hex(state | B))
    )
    assert row[list(COLUMNS["transitions"]).index("probability")] == expected
    start = "not lit(a)" if state == 0 else "lit(a)"
    plan = uneven.plan("lit(b)", start=f"{start} and not lit(b)")
    (branch,) = (p for p, after in plan.steps[state].branches if after == state | B)
    assert branch == pytest.approx(expected)
    (rule,) = (r for r in GroundModel.of(model).rules[WISH] if state in r.states)
    (written,) = (share for effect, share in rule.outcomes if effect.adds == B)
    assert float(written) == pytest.approx(expected, abs=1e-11)
    assert f"{written} : (lit_b'=true)" in uneven.export("prism")
    assert f"{written} (lit b)" in uneven.export("ppddl", ground=True)["domain.pddl"]
    assert f"lit(b) {expected:.2g}" in uneven.export("dot")
    (outcome,) = (one for one in outcomes_tried(model, WISH) if one.state == state)
    assert outcome.shares[Effect(B, 0)] == expected


def test_the_page_and_the_rules_give_the_mean_over_the_same_pairs(uneven):
    predicted = [uneven.model.predict(state, WISH)[state | B] for state in (0, A)]
    (row,) = (
        one for one in by_attribute(digest_run(uneven)).capabilities if one.intent == str(WISH)
    )
    (rule,) = (rule for rule in row.rules if not rule.held_already)
    (lit,) = (one for one in rule.outcomes if one.mark == "achieved")
    assert lit.probability == pytest.approx(sum(predicted) / 2, abs=1e-4)
    assert (lit.count, rule.draws_count) == (41, 50)
    assert lit.low <= min(predicted) and max(predicted) <= lit.high


def test_a_printed_share_is_that_of_the_exported_rules(uneven):
    (family,) = (one for one in uneven.model.families if WISH in one.members)
    document = model_of_run(uneven)
    (exported,) = (one for one in document["families"] if one["name"] == family.name)
    rules = [row for row in model_tables(uneven.model)[1].rows if row[0] == family.name]
    names = list(COLUMNS["rules"])
    written = [(row[names.index("times")], row[names.index("probability")]) for row in rules]
    shares = [
        (effect["count"], effect["probability"])
        for rule in exported["rules"]
        for effect in rule["effects"]
    ]
    assert shares == written
    text = str(shown_rules(uneven))
    several = [rule for rule in family.rules if len(rule.meant) > 1]
    assert several
    for effect in several[0].meant:
        assert f"{effect.probability:.2f} ({effect.count:,} of" in text
