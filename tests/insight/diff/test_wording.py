import pytest

from capscope import Intent, Vocabulary
from capscope.insight.diff import compare_data
from capscope.insight.diff.wording import comparison_lines
from capscope.report.page.difference import difference_page
from support.tiny_run_data import drawn, run_data, tried

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e"


def lines(a, b, **options):
    return list(comparison_lines(compare_data(a, b, **options)))


@pytest.fixture
def pair():
    """A capability that became less reliable in a half of its states."""
    states = (0b000, 0b010, 0b100, 0b110)
    a = [r for s in states for r in drawn(0, s, s | 1, s, 0.95, 30, s)]
    b = [r for s in states for r in drawn(0, s, s | 1, s, 0.3 if s & 2 else 0.95, 30, s + 9)]
    return run_data(a), run_data(b)


def test_a_difference_is_shown_with_its_condition_and_both_estimates(pair):
    text = "\n".join(lines(*pair))
    assert "1 difference in 1 capability" in text
    assert "less reliable\n  p(), when q() [2 of 4 states compared]\n    A 0.9" in text
    assert "of 60 executions)" in text
    assert "change -0." in text
    assert "times only in A" in text
    assert "elsewhere: A 0.9" in text


def test_the_test_and_its_error_rate_are_named(pair):
    text = " ".join(lines(*pair, error_rate=0.01))
    assert "error rate 0.01." in text
    assert "any difference at all between two identical agents" in text
    assert "betting score" in text


def test_untried_capabilities_are_listed_as_unknown(pair):
    text = " ".join(line.strip() for line in lines(*pair))
    assert "unknown (not counted as differences): never tried on both sides" in text
    assert "q() and not r()" in text


def test_without_differences_the_largest_change_that_may_be_missed_is_given(pair):
    text = " ".join(lines(pair[0], pair[0]))
    assert "no difference that the evidence supports" in text
    assert "was found in 1 capability; over all states of one, a change of up to 0." in text


def slightly_worse():
    """A loss of 15 points over 80 draws: the interval excludes no change, the test does not."""
    return run_data(tried(0, 0, [*[1] * 9, 0] * 8)), run_data(tried(0, 0, [1, 1, 1, 0] * 20))


def test_a_change_that_only_the_interval_shows_is_called_suspected():
    text = " ".join(" ".join(lines(*slightly_worse())).split())
    assert "1 change suspected; no other difference that the evidence supports" in text
    assert "the 95 % interval excludes no change, the test does not exclude it" in text
    assert "p() [1 state compared] A 0.90 [0.82, 0.95] (72 of 80 executions); B 0.75" in text
    assert "change -0.15 [-0.26, -0.03]; p = " in text
    page = " ".join(difference_page(compare_data(*slightly_worse())).split())
    assert (
        "change -0.15 [-0.26, -0.03]" in page
        and '<article class="card unknown" id="suspected-0">' in page
    )


def test_nothing_is_suspected_of_identical_runs(pair):
    assert "suspected" not in " ".join(lines(pair[0], pair[0]))


def test_atoms_of_one_run_and_several_positions_are_mentioned():
    known = {0: {b"x", b"y"}}
    a = run_data(tried(0, 0, [1] * 9), known=known)
    b = run_data(tried(0, 0, [1] * 9), Vocabulary.of_atoms("pqrs"), known=known)
    text = " ".join(lines(a, b))
    assert "only B has s(); states are compared without these atoms" in text
    assert (
        "1 state of these was seen in several simulator positions; 0 of 18 executions there "
        "started from positions that occur in both runs" in text
    )
    assert (
        "the other executions count once per position; use --any-position to count all of them"
        in text
    )


def test_shared_positions_need_no_option():
    one = run_data(tried(0, 0, [1] * 9, b"x"), known={0: {b"x", b"y"}})
    text = " ".join(lines(one, one))
    assert (
        "18 of 18 executions there started from positions that occur in both runs and are" in text
    )
    assert "--any-position" not in text


def hostile_pair():
    words = Vocabulary.of_atoms([HOSTILE, "q"])
    intents = [Intent.parse("q")]
    a, b = tried(0, 0b00, [0b10] * 30), tried(0, 0b00, [0b01] * 30)
    return run_data(a, words, intents), run_data(b, words, intents)


def test_hostile_names_are_sanitized_in_the_text():
    text = "\n".join(lines(*hostile_pair()))
    assert "\\x1b[2J" in text
    assert "\x1b" not in text and "\u202e" not in text


def test_hostile_names_are_sanitized_in_the_page():
    page = difference_page(compare_data(*hostile_pair()))
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert "\x1b" not in page and "\u202e" not in page
    assert "script-src 'sha256-" in page


def test_the_page_says_what_the_text_says(pair):
    page = difference_page(compare_data(*pair))
    said = ["less reliable", "p(), when q()", "of 60 executions)", "The states compared"]
    said += ["never tried on both sides", "Error rate 0.05", "1 difference in 1 capability"]
    assert [words for words in said if words not in page] == []


def test_a_page_without_differences_says_so(pair):
    page = difference_page(compare_data(pair[0], pair[0]))
    assert "None that the evidence supports" in page


def test_different_strategies_in_aliased_states_are_mentioned():
    known = {0: {b"x", b"y"}}
    a, b = (
        run_data(tried(0, 0, [1] * 9), known=known, strategy=name) for name in ("random", "mcqs-s")
    )
    assert "may be due to the positions" in " ".join(lines(a, b))
    assert "may be due to the positions" not in " ".join(lines(a, a))
