"""Whole digests: of runs as they are made, and of directories that are odd in some way."""

import json
import shutil
from dataclasses import asdict

import pytest

from capscope import Budget, Settings, assess, load
from capscope.assessment.run_state import RunSpec
from capscope.errors import CapscopeError
from capscope.insight.first_screen import run_screen_lines
from capscope.journal.run_directory import RunDirectory
from capscope.logic import Intent, Predicate, Vocabulary
from capscope.report.digest import digest_run
from capscope.report.digest.capabilities import ACHIEVED
from capscope.report.digest.size_budget import WHOLE
from capscope.strategy.registry import STRATEGIES
from support.quirky_worlds import HOUSE, problem, slack_with_the_key
from support.small_runs import draw, execution, small_run
from support.tiny_digests import by_attribute
from support.toy_worlds import Board, board_problem, board_with_a_diary

SMALL = Settings(draws=3, iterations=20, depth=5, random_length=6, walks=2, walk_steps=10)


def made(path, strategy="exhaustive", problem=None, **limits):
    assess(
        problem or board_problem(Board(slip=0.3)), strategy=strategy, settings=SMALL,
        budget=Budget(**limits or {"executions": 150}), run=path,
    )  # fmt: skip
    return path


def check(made):
    """Every position points somewhere, and all of it is JSON and UTF-8."""
    digest = by_attribute(made)
    states, capabilities = digest.states.keys(), range(len(digest.capabilities))
    assert all(i in states for i in digest.map.states)
    for source, target, capability, _, _ in digest.map.edges:
        assert {source, target} <= set(digest.map.states)
        assert capability in capabilities
        assert source != target
    for card in digest.cards:
        assert all(node.state in states for node in card.way.nodes)
        assert len(card.way.nodes) == len(card.way.arrows) + 1
    for _, _, _, members, _ in digest.overview.groups:
        assert all(i in states for i in members)
    for row in digest.heat.rows:
        rules = range(len(digest.capabilities[row.capability].rules))
        assert all(rule in rules for cell in row.cells for rule in cell.rules)
    for capability in digest.capabilities:
        for rule in capability.rules:
            for one in rule.draws:
                assert all(i in states for i in one.trajectory)
                assert one.outcome in range(len(rule.outcomes))
            nodes = [(d.query, d.draw, d.execution) for d in rule.draws]
            assert nodes == sorted(set(nodes))
    text = written(made, ensure_ascii=False, allow_nan=False)
    assert json.loads(text.encode().decode()) == json.loads(written(made))
    assert len(written(made)) < WHOLE + 100_000
    return digest


def written(digest, **options):
    parts = {name: part for name, part in digest.items() if name != "screen"}
    return json.dumps(parts, default=asdict, **options)


@pytest.mark.parametrize("strategy", STRATEGIES.all)
@pytest.mark.parametrize("limit", [{"executions": 150}, {"simulator_steps": 77}])
def test_a_digest_agrees_with_the_run(tmp_path, strategy, limit):
    run = load(made(tmp_path / "run", strategy, **limit))
    digest, graph, complete = check(digest_run(run)), run.graph, run.executions.complete
    assert {c.intent for c in digest.capabilities} == set(map(str, graph.capabilities))
    assert sum(c.executions for c in digest.capabilities) == len(complete)
    executions, agreement, *found = digest.learning[-1]
    assert agreement == 1.0
    assert executions == run.usage.executions
    assert tuple(found) == (
        graph.pairs_tried, graph.distinct_transitions, len({*complete.before, *complete.after}),
    )  # fmt: skip
    assert sum(part.executions for part in digest.spending) == run.usage.executions
    assert digest.spending[0].executions == graph.pairs_tried
    with run.open_journal() as journal:
        start = journal.query(0).start.state
    assert digest.states[0].atoms == tuple(map(str, graph.vocabulary.holding(start)))
    assert digest.coverage.pairs_seen == len(graph.nodes) * len(graph.capabilities)
    assert sum(number for _, number in digest.coverage.draws_per_pair) == digest.coverage.pairs_seen
    untried = digest.coverage.pairs_seen - digest.coverage.pairs_tried
    assert digest.coverage.draws_per_pair[0] == ("0", untried)
    facts = dict(digest.facts)
    assert facts["strategy"] == strategy
    assert facts["setting: iterations"] == "20"


def test_the_draws_shown_are_in_the_journal_and_show_their_outcome(tmp_path):
    run = load(made(tmp_path / "run", problem=board_with_a_diary()))
    digest, words = check(digest_run(run)), run.graph.vocabulary
    shown = [(c, rule, one) for c in digest.capabilities for rule in c.rules for one in rule.draws]
    assert shown
    with run.open_journal() as journal:
        for capability, rule, one in shown:
            made_then = journal.draws(one.query)[one.draw].executions[one.execution]
            assert str(journal.intents()[made_then.capability]) == capability.intent
            seen = [tuple(map(str, words.holding(s))) for s in made_then.attempt.trajectory]
            assert [digest.states[i].atoms for i in one.trajectory] == seen
            outcome = rule.outcomes[one.outcome]
            before, after = set(seen[0]), set(seen[-1])
            changed = (after - before) | {f"not {x}" for x in before - after}
            assert {change.literal for change in outcome.changes} == changed
            intent = Intent.parse(capability.intent)
            holds = intent.holds(made_then.attempt.trajectory[-1], words)
            assert (outcome.mark == ACHIEVED) is holds
            assert one.transcript


def test_findings_come_with_an_example_and_their_error_rate(tmp_path):
    house = problem(HOUSE, slack_with_the_key, 1.0, 1)
    run = load(made(tmp_path / "run", problem=house, executions=2400))
    digest = check(digest_run(run))
    assert [f.sentence for f in digest.cards] == [f.sentence for f in run.findings()]
    finding = next(one for one in digest.cards if one.intents == ("open()",))
    assert finding.example.startswith("For example ")
    assert "asked for open() in s" in finding.example
    assert "share an error rate of 5%" in digest.findings_note.replace(" %", "%")


# Runs that are odd in some way.


def test_a_run_that_was_only_created(tmp_path):
    RunDirectory.create(tmp_path / "run", RunSpec(board_problem(), "board").meta()).close()
    digest = check(digest_run(load(tmp_path / "run")))
    assert (digest.capabilities, digest.learning, digest.cards) == ((),) * 3
    assert digest.states == {}
    assert digest.coverage.pairs_seen == 0


def test_a_run_that_has_asked_nothing_yet(tmp_path):
    digest = check(digest_run(load(made(tmp_path / "run", simulator_steps=20))))
    assert digest.capabilities
    assert all(not c.rules and c.success is None for c in digest.capabilities)
    assert [state.name for state in digest.states.values()] == ["s0"]
    assert (digest.learning, digest.spending, digest.map.edges) == ((), (), ())


def test_a_run_in_which_no_capability_was_found(tmp_path):
    digest = check(digest_run(load(small_run(tmp_path / "run", [], intents=[]))))
    assert digest.capabilities == ()


def test_a_run_under_way_is_read_as_it_is_at_one_moment(tmp_path):
    seen = []

    def look(event):
        if event.usage.queries % 20 == 1:
            seen.append((check(digest_run(load(tmp_path / "run"))), event))

    assess(
        board_problem(Board(slip=0.3)), settings=SMALL, budget=Budget(executions=150),
        run=tmp_path / "run", listener=look,
    )  # fmt: skip
    assert len(seen) > 1
    for digest, event in seen:
        assert digest.learning[-1][0] == event.usage.executions
        assert digest.coverage.pairs_tried == event.pairs_tried


def test_the_problem_is_not_needed_and_nothing_is_written(tmp_path):
    path = made(tmp_path / "run")
    shutil.rmtree(tmp_path / "elsewhere", ignore_errors=True)
    before = {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}
    assert digest_run(load(path))["capabilities"]
    after = {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}
    assert {n: after[n] for n in before} == before
    assert not {n for n in after.keys() - before.keys() if not n.startswith("journal.sqlite-")}


def test_a_directory_without_a_run_is_refused(tmp_path):
    with pytest.raises(CapscopeError, match="no run directory"):
        load(tmp_path / "nowhere")


# Untrusted text.

HOSTILE = "</script><script>alert(1)</script>\x00\x1b[2J\u202e\ud800 &amp; ünï"


def test_hostile_text_passes_and_breaks_neither_json_nor_utf8(tmp_path):
    said = execution(0, 0, 1, detail=HOSTILE, transcript=HOSTILE * 2, llm_tokens=3)
    digest = check(digest_run(load(small_run(tmp_path / "run", [[draw(said)]]))))
    (one,) = digest.capabilities[0].rules[0].draws
    for text in (one.detail, one.transcript):
        assert "</script><script>alert(1)</script>" in text
        assert "&amp; ünï" in text
        assert "\\x1b[2J\\u202e" in text
        assert text.replace("\n", "").isprintable()


def test_hostile_names_pass_too(tmp_path):
    words = Vocabulary([Predicate("<img/src=x>", ("lamp",))], {"\x1b]0;\x07\u202e": "lamp"})
    (atom,) = words.atoms
    path = small_run(
        tmp_path / "run", [[draw((0, 0, 1))]], intents=[Intent.parse(str(atom))], vocabulary=words
    )
    run = load(path)
    digest = check(digest_run(run))
    assert digest.capabilities[0].intent == "<img/src=x>(\\x1b]0;\\x07\\u202e)"
    assert all(line.isprintable() for line in run_screen_lines(run))
    assert "<img" not in run._repr_html_()


def test_a_run_with_huge_transcripts_and_many_rules_stays_small(tmp_path):
    words = Vocabulary.of_atoms([f"a-rather-long-name-{n}" for n in range(40)])
    intents = [
        Intent.parse(f"{sign}a-rather-long-name-{n}") for n in range(40) for sign in ("", "not ")
    ]
    said = "\u00fc\x01" * 40_000
    draws = [
        draw(*[
            execution((s * 7919 + c) % 2**40, c, (s * c * 104_729 + 1) % 2**40, transcript=said)
            for c in range(80)
        ])
        for s in range(6)
    ]  # fmt: skip
    path = small_run(tmp_path / "run", [draws], intents=intents, vocabulary=words)
    noise = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
    made = digest_run(load(path), lambda snapshot: noise)
    digest = check(made)
    assert len(written(made)) > 1_000_000
    assert any("omitted (size limit)" in note for note in digest.notes)
    assert digest.map.omitted > 0
