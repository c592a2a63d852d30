"""Journals that the first release wrote (format 1): one of each kind."""

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from capscope import Budget, Settings, load, resume
from capscope.record.execution_table import UNKNOWN_POSITION
from capscope.record.stop_reason import StopKind

HERE = Path(__file__).parent / "format_1"
KINDS = sorted(file.name.removesuffix(".sqlite.gz") for file in HERE.glob("*.sqlite.gz"))


@pytest.fixture
def unpacked(tmp_path):
    def unpack(kind):
        folder = tmp_path / kind
        folder.mkdir()
        content = gzip.decompress((HERE / f"{kind}.sqlite.gz").read_bytes())
        (folder / "journal.sqlite").write_bytes(content)
        return folder

    return unpack


def document(name):
    return json.loads(gzip.decompress((HERE / f"{name}.json.gz").read_bytes()))


def facts_of(graph):
    """Return the groups of states that showed the same effects, with counts, as JSON has them."""
    names = graph.vocabulary.holding
    return [
        {
            (
                tuple(sorted(map(hex, group.states))),
                frozenset(
                    (tuple(map(str, names(effect.adds))), tuple(map(str, names(effect.deletes))), n)
                    for effect, n in zip(group.effects, group.counts, strict=True)
                ),
            )
            for node in graph.nodes.values()
            if (pair := node.pairs[capability]) is not None
            for group in [pair.group]
        }
        for capability in range(len(graph.capabilities))
    ]


def recorded_facts(recorded):
    """Return the same of a model that the first release exported: each group was a rule."""
    return [
        {
            (
                tuple(sorted(rule["states"])),
                frozenset(
                    (tuple(outcome["adds"]), tuple(outcome["deletes"]), outcome["count"])
                    for outcome in rule["outcomes"]
                ),
            )
            for rule in capability["rules"]
        }
        for capability in recorded["capabilities"]
    ]


def assert_same_facts(run, recorded):
    assert run.problem == recorded["problem"]
    assert [str(atom) for atom in run.graph.vocabulary.atoms] == recorded["vocabulary"]
    intents = [[str(literal) for literal in intent.literals] for intent in run.graph.capabilities]
    assert intents == [capability["intent"] for capability in recorded["capabilities"]]
    assert facts_of(run.graph) == recorded_facts(recorded)


def test_there_is_one_of_each_kind():
    assert KINDS == ["adaptive", "batch", "mcqs-s", "named"]


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_read_as_it_was_and_left_untouched(unpacked, kind):
    folder = unpacked(kind)
    before = (folder / "journal.sqlite").read_bytes()
    run = load(folder)
    assert (folder / "journal.sqlite").read_bytes() == before
    assert [file.name for file in folder.iterdir()] == ["journal.sqlite"]
    assert_same_facts(run, document(kind))
    assert run.stop_reason.kind is StopKind.BUDGET
    assert run.stop_reason.detail == "executions"
    assert run.usage.executions == run.meta.budget.executions
    assert run.identity.seed == 0
    assert run.verdict.tried == run.graph.pairs_tried


@pytest.mark.parametrize("kind", ["adaptive", "batch", "mcqs-s"])
def test_it_is_resumed_to_the_same_end_as_by_the_release_that_wrote_it(unpacked, kind):
    folder = unpacked(kind)
    run = resume(folder, budget=Budget(executions=130))
    assert_same_facts(run, document(f"{kind}.resumed"))
    assert run.usage.executions == 130
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)


@pytest.mark.parametrize("kind", ["adaptive", "batch", "named"])
def test_what_was_called_adaptive_before_there_were_audits_is_exhaustive(unpacked, kind):
    assert load(unpacked(kind)).identity.strategy == "exhaustive"


def test_names_of_positions_are_no_longer_part_of_their_snapshots(unpacked):
    run = load(unpacked("named"))
    assert {len(name) for name in run.executions.position_names} == {16}
    with run.open_journal() as journal:
        for state in journal.states:
            for snapshot, name in journal.positions(state):
                assert snapshot.startswith(b"recipe ")
                assert len(name) == 16


def test_of_a_batch_only_the_first_start_was_recorded(unpacked):
    table = load(unpacked("batch")).executions
    assert (table.position[table.draw > 0] == UNKNOWN_POSITION).all()
    assert (table.position[table.draw == 0] != UNKNOWN_POSITION).all()
    assert (table.draw > 0).any()


def test_settings_that_did_not_exist_yet_have_their_defaults(unpacked):
    folder = unpacked("adaptive")
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db:
        stored = json.loads(
            db.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()[0]
        )
        del stored["settings"]["resets"]
        db.execute("UPDATE meta SET value = ? WHERE key = 'identity'", (json.dumps(stored),))
        db.commit()
    assert load(folder).identity.settings == Settings()


def test_costs_are_kept_and_journals_from_before_there_were_costs_have_none(unpacked):
    folder = unpacked("adaptive")
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db:
        db.execute("INSERT INTO costs SELECT query, draw, 0.5 FROM draws")
        db.commit()
    before = load(folder)
    assert before.usage.llm_cost == 0.5 * before.executions.queries.draws.sum() > 0
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db:
        db.execute("DROP TABLE costs")
        (budget,) = db.execute("SELECT value FROM meta WHERE key = 'budget'").fetchone()
        earlier = budget.replace(', "llm_cost": null', "")
        assert earlier != budget
        db.execute("UPDATE meta SET value = ? WHERE key = 'budget'", (earlier,))
        db.commit()
    run = load(folder)
    assert run.usage.llm_cost == 0
    assert run.budget == before.budget
    assert run.graph.distinct_transitions == before.graph.distinct_transitions
    assert resume(folder).usage.llm_cost == 0
