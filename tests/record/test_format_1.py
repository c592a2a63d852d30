"""Journals that the first release wrote (format 1): one of each kind."""

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from capscope import Budget, Settings, load, resume
from capscope.export.conditions import readable_conditions
from capscope.record.execution_table import UNKNOWN_POSITION
from capscope.record.journal_file import FORMAT_VERSION
from capscope.record.stop_reason import StopKind
from capscope.symbolic import Intent

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


def document_of(run):
    """Return the model as the first release exported it: a rule for each set of effects seen."""
    graph = run.graph
    return {
        "format": "capscope-model",
        "version": 1,
        "problem": run.problem,
        "vocabulary": list(map(str, graph.vocabulary.atoms)),
        "capabilities": [capability_of(graph, intent) for intent in graph.capabilities],
    }


def capability_of(graph, intent):
    rules = graph.extreme_rules(intent)
    conditions = readable_conditions(rules, graph.vocabulary)
    return {
        "intent": list(map(str, intent.literals)),
        "executions": sum(rule.executions for rule in rules),
        "rules": [
            {
                "states": list(map(hex, rule.states)),
                "when": [list(map(str, term)) for term in condition],
                "outcomes": [outcome_of(one, graph.vocabulary) for one in rule.outcomes],
            }
            for rule, condition in zip(rules, conditions, strict=True)
        ],
    }


def outcome_of(outcome, vocabulary):
    return {
        "probability": outcome.probability,
        "count": outcome.count,
        "interval": list(outcome.interval),
        "adds": list(map(str, vocabulary.holding(outcome.effect.adds))),
        "deletes": list(map(str, vocabulary.holding(outcome.effect.deletes))),
    }


def without_conditions(model):
    return {
        **model,
        "capabilities": [
            {**one, "rules": [{**rule, "when": None} for rule in one["rules"]]}
            for one in model["capabilities"]
        ],
    }


def assert_equally_good_conditions(found, recorded, vocabulary):
    """Of equally short conditions another one may be preferred now; each must be right."""
    for mine, theirs in zip(found["capabilities"], recorded["capabilities"], strict=True):
        tried = [state for rule in theirs["rules"] for state in rule["states"]]
        for rule, before in zip(mine["rules"], theirs["rules"], strict=True):
            assert list(map(len, rule["when"])) == list(map(len, before["when"]))
            for condition in (rule["when"], before["when"]):
                terms = [Intent.parse(" and ".join(term)) if term else None for term in condition]
                holding = [
                    state
                    for state in tried
                    if any(term is None or term.holds(int(state, 16), vocabulary) for term in terms)
                ]
                assert sorted(holding) == sorted(rule["states"])


def test_there_is_one_of_each_kind():
    assert KINDS == ["adaptive", "batch", "mcqs-s", "named"]


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_read_as_it_was_and_left_untouched(unpacked, kind):
    folder = unpacked(kind)
    before = (folder / "journal.sqlite").read_bytes()
    run = load(folder)
    assert (folder / "journal.sqlite").read_bytes() == before
    assert [file.name for file in folder.iterdir()] == ["journal.sqlite"]
    assert document_of(run) == document(kind)
    assert run.stop_reason.kind is StopKind.BUDGET
    assert run.stop_reason.detail == "executions"
    assert run.usage.executions == run.meta.budget.executions
    assert run.identity.seed == 0
    assert run.verdict.tried == run.graph.pairs_tried


@pytest.mark.parametrize("kind", ["adaptive", "batch", "mcqs-s"])
def test_it_is_resumed_to_the_same_end_as_by_the_release_that_wrote_it(unpacked, kind):
    folder = unpacked(kind)
    run = resume(folder, budget=Budget(executions=130))
    found, recorded = document_of(run), document(f"{kind}.resumed")
    assert_equally_good_conditions(found, recorded, run.graph.vocabulary)
    assert without_conditions(found) == without_conditions(recorded)
    assert run.usage.executions == 130
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (FORMAT_VERSION,)


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
        del stored["settings"]["resets"], stored["settings"]["batch"]
        db.execute("UPDATE meta SET value = ? WHERE key = 'identity'", (json.dumps(stored),))
        db.commit()
    assert load(folder).identity.settings == Settings(batch=1)


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
