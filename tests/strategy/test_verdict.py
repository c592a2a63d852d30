import pytest

from capscope.strategy.verdict import Verdict

MISSED = "an outcome with probability above 0.1 may have been missed with probability up to"
SETTLED_AT = "(settled at 0.013; the least-tried pair was tried 38 times)"


def verdict(untried=0, hidden=0.0, imprecise=0, tried=9, thin=0, least_draws=38):
    wanted = {"epsilon": 0.1, "delta": 0.02, "precision": 0.05}
    return Verdict(tried, untried, hidden, imprecise, thin, least_draws, **wanted)


def test_a_verdict_that_is_reached_says_what_was_asked_for():
    text = str(verdict(hidden=0.013))
    assert verdict(hidden=0.013).reached
    assert "open" not in text
    for part in ("probability 0.98", "above 0.1", "within 0.05"):
        assert part in text


def test_a_claim_states_what_needs_no_assumption_about_other_pairs():
    escapes = "an outcome of probability 0.1 escapes that with probability"
    assert f"tried at least 38 times; {escapes} 0.018)" in verdict().claim
    assert f"tried at least once; {escapes} 0.9)" in verdict(least_draws=1).claim


@pytest.mark.parametrize(
    ("open_", "text"),
    [
        ({"untried": 1200}, "1,200 pairs of a state and a capability never tried"),
        ({"untried": 1}, "1 pair of a state and a capability never tried"),
        ({"hidden": 0.0201}, f"{MISSED} 0.02 {SETTLED_AT}"),
        ({"hidden": 0.0134}, f"{MISSED} 0.013 {SETTLED_AT}"),
        ({"hidden": 1.0}, f"{MISSED} 1 {SETTLED_AT}"),
        ({"imprecise": 7}, "7 rules not yet known to within 0.05"),
        ({"imprecise": 1}, "1 rule not yet known to within 0.05"),
        ({"thin": 12}, "12 pairs tried less often than --min-draws asks for"),
        (
            {"untried": 5, "hidden": 0.5, "imprecise": 3},
            f"5 pairs of a state and a capability never tried, {MISSED} 0.5 {SETTLED_AT}, "
            "3 rules not yet known to within 0.05",
        ),
    ],
)
def test_a_verdict_that_is_not_reached_names_what_is_open_and_nothing_else(open_, text):
    assert not verdict(**open_).reached
    assert str(verdict(**open_)) == f"still open: {text}"


def test_where_nothing_was_tried_nothing_is_settled():
    assert not verdict(tried=0).reached
    assert str(verdict(tried=0)) == "still open: nothing was tried yet"


def test_a_verdict_is_written_down_with_its_answer():
    assert verdict(hidden=0.5).as_dict() == {
        "tried": 9, "untried": 0, "hidden": 0.5, "imprecise": 0, "thin": 0, "least_draws": 38,
        "epsilon": 0.1, "delta": 0.02, "precision": 0.05, "reached": False,
    }  # fmt: skip
