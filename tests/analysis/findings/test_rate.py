import pytest

from capscope.analysis.findings.rate import Rate
from support.error_shares import share


def test_a_sure_but_small_excess_is_not_clearly_above():
    small = Rate(53_000, 100_000, 1)
    assert small.surely_above(0.5, 100)
    assert not small.clearly_above(0.5, 10)
    assert Rate(70_000, 100_000, 1).clearly_above(0.5, 10)


def test_three_draws_are_never_enough():
    assert not Rate(3, 3, 1).clearly_above(0.5, share().threshold(1))


def test_one_draw_is_written_in_the_singular():
    assert Rate(1, 1, 1).text.endswith("1 draw in 1 state)")


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        (Rate(500, 1000, 1), Rate(590, 1000, 1), True),  # close enough for a reader
        (Rate(1, 4, 1), Rate(3, 4, 1), True),  # the intervals overlap
        (Rate(100, 1000, 1), Rate(900, 1000, 1), False),
    ],
)
def test_rates_agree_if_they_are_close_or_uncertain(one, other, agree):
    assert one.agrees_with(other) is other.agrees_with(one) is agree
