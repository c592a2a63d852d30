"""Show, report, notebook, diff and assertions print the same number for one quantity."""

import re

import pytest

from capscope import load
from capscope.logic import Intent
from capscope.report.digest import digest_run
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
    assert (found.count, found.possible) == (20, 160)
    (harm,) = run.diff(baseline=careful).new_side_effects
    assert (str(harm.change), harm.where.of) == ("new side effect", 2)
    assert (harm.b.hits, harm.b.executions) == (20, 160)
    with pytest.raises(AssertionError) as failed:
        assert_no_side_effect(run, WISH, "broken()")
    assert mean_in(str(failed.value)) == pytest.approx(found.rate.estimate, abs=1e-3)
