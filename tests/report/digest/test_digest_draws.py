"""Which draws are shown for a rule, compared with choosing them one by one."""

from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from capscope import load
from capscope.problem import Ending
from capscope.report.digest.build import digest_of, digest_run
from capscope.report.digest.capabilities import Standings, capability_digests
from capscope.report.digest.draw_samples import (
    MOST,
    OMITTED,
    _with_transcript,
    chosen_draws,
)
from capscope.report.digest.size_budget import SizeBudget
from capscope.report.text import capability_views
from support.small_runs import draw, execution, executions_of, run_in_memory, small_run
from support.tiny_digests import by_attribute

EXECUTIONS = st.builds(
    lambda before, c, after, ending, words: execution(
        before, c, after, ending=ending, transcript=words
    ),
    st.integers(0, 3), st.integers(0, 1), st.integers(0, 3),
    st.sampled_from([Ending.STOPPED, Ending.CHANGED, Ending.CUT]), st.sampled_from(["", "", "hm"]),
)  # fmt: skip
QUERIES = st.lists(
    st.lists(st.lists(EXECUTIONS, max_size=6).map(lambda made: draw(*made)), max_size=3), max_size=6
)


def naive_choice(executions, states, capability, effect):
    """Choose places: with a transcript, then the first of a transition, then early."""
    rows = [
        (not attempt.transcript, (attempt.trajectory[0], attempt.trajectory[-1]), place)
        for place, (asked, attempt) in executions
        if attempt.ending is not Ending.CUT
        and asked == capability
        and attempt.trajectory[0] in states
        and attempt.trajectory[-1] == effect.apply(attempt.trajectory[0])
    ]
    first = {transition: place for _, transition, place in reversed(rows)}
    rows.sort(key=lambda row: (row[0], first[row[1]] != row[2], row[2]))
    return [place for _, _, place in rows[:MOST]]


@given(QUERIES)
@settings(max_examples=40)
def test_the_chosen_draws_are_those_that_the_naive_choice_gives(queries):
    executions = executions_of(queries)
    run = run_in_memory(queries)
    views = capability_views(run.model)
    digests = capability_digests(Standings.at_once(views), run.graph, SizeBudget(10**6))
    written = np.array([bool(made.attempt.transcript) for _, made in executions], dtype=bool)
    found = defaultdict(list)
    ranked = []
    for place, row in chosen_draws(run, views, digests, written):
        ranked.append(len(found[place]))
        found[place].append(row)
    # The best of every outcome comes before the second of any.
    assert ranked == sorted(ranked)
    for (c, r, o), chosen in found.items():
        rule, capability = views[c].rules[r].rule, run.graph.index[views[c].intent]
        expected = naive_choice(executions, rule.states, capability, rule.outcomes[o].effect)
        assert [executions[i][0] for i in chosen] == expected


def test_executions_with_a_transcript_are_found(tmp_path):
    spoken, silent = execution(0, 0, 1, transcript="hm"), execution(0, 0, 1)
    queries = [[draw(silent, spoken), draw(spoken)], [], [draw(silent), draw(spoken, silent)]]
    for name, asked, expected in [
        ("run", queries, [False, True, True, False, True, False]),
        ("mute", [[draw(silent)]], [False]),
    ]:
        run = load(small_run(tmp_path / name, asked))
        with run.open_journal() as journal:
            assert _with_transcript(run.executions, journal).tolist() == expected


def test_a_draw_is_shown_with_its_trajectory_and_its_ending(tmp_path):
    failed = execution(
        0b000, 0, 0b100, trajectory=(0b000, 0b010, 0b100), simulator_steps=9,
        ending=Ending.AGENT_RAISED, llm_tokens=70, detail="ValueError: <b>\x1b[2J",
        transcript="Hm.",
    )  # fmt: skip
    run = load(small_run(tmp_path / "run", [[draw((0, 1, 2), failed)]], length=None))
    digest = by_attribute(digest_run(run))
    (shown,) = digest.capabilities[0].rules[0].draws
    assert digest.capabilities[0].intent == "lit(a)"
    assert (shown.query, shown.draw, shown.execution, shown.outcome) == (0, 0, 1, 0)
    assert [digest.states[i].atoms for i in shown.trajectory] == [(), ("lit(b)",), ("broken()",)]
    assert (shown.ending, shown.simulator_steps, shown.llm_tokens) == ("agent raised", 9, 70)
    assert shown.detail == "ValueError: <b>\\x1b[2J"
    assert shown.transcript == "Hm."


def many_words(number, letters=20_000):
    beginning = [f"line {n} that is always the same" for n in range(30)]
    return "\n".join([*beginning, f"number {number}", "x" * letters, "the end"])


def talkative_run(path, outcomes=40, letters=20_000):
    words = iter(range(10**6))
    draws = [
        draw(*[execution(s, c, s ^ 1, transcript=many_words(next(words), letters))])
        for s in range(8)
        for c in range(4)
        for _ in range(outcomes // 8)
    ]
    return small_run(path, [draws])


def test_a_long_transcript_is_shortened_and_a_shared_beginning_is_shown_once(
    tmp_path,
):
    digest = by_attribute(digest_run(load(talkative_run(tmp_path / "run"))))
    texts = [d.transcript for c in digest.capabilities for r in c.rules for d in r.draws]
    whole = [text for text in texts if text.startswith("line 0 that is always the same")]
    assert len(whole) == 1
    for text in texts:
        assert "characters omitted" in text
        assert text.endswith("the end")
        assert len(text) < 8_100
    rest = [text for text in texts if text not in whole]
    assert all(text.startswith("(begins with the first 30 lines of query 0, ") for text in rest)
    assert all("\nnumber " in text for text in rest)


def test_transcripts_that_do_not_fit_are_counted(tmp_path):
    run = load(talkative_run(tmp_path / "run"))
    with run.open_journal() as journal:
        digest = by_attribute(digest_of(run, journal, None, SizeBudget(90_000)))
    texts = [d.transcript for c in digest.capabilities for r in c.rules for d in r.draws]
    omitted = texts.count(OMITTED)
    assert 0 < omitted < len(texts)
    assert any(note.startswith(f"{omitted} transcripts omitted") for note in digest.notes)


def test_draws_that_do_not_fit_are_counted(tmp_path):
    queries = [[draw(*[(s, c, (s + d) % 8) for s in range(8) for c in range(4)])] for d in range(8)]
    run = load(small_run(tmp_path / "run", queries))
    with run.open_journal() as journal:
        whole = by_attribute(digest_of(run, journal, None, SizeBudget(10**6)))
        digest = by_attribute(digest_of(run, journal, None, SizeBudget(75_000)))
    kept, all_of_them = (
        sum(len(r.draws) for c in d.capabilities for r in c.rules) for d in (digest, whole)
    )
    assert 0 < kept < all_of_them
    assert f"{all_of_them - kept} executions omitted (size limit)." in digest.notes
