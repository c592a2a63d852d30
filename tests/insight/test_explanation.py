import json

import pytest
from typer.testing import CliRunner

from capscope import Budget, assess, load
from capscope.cli.commands import make_app
from capscope.errors import CapscopeError
from capscope.journal.run_directory import RunDirectory
from capscope.journal.settings import Settings
from capscope.model import LearnedModel, StateGraph
from capscope.problems import load_problem
from capscope.run import Run
from capscope.strategy.registry import STRATEGIES
from capscope.wording import counted
from support.toy_worlds import SWITCHES, Board, Scripted, board_problem

SETTINGS = Settings(draws=3, batch=3, iterations=30, depth=4, random_length=4)


@pytest.fixture(scope="module", params=STRATEGIES.all)
def run(request, tmp_path_factory):
    """A finished run of six queries on a board whose switches slip."""
    path = tmp_path_factory.mktemp("runs") / request.param
    assess(
        board_problem(Board(slip=0.3)),
        strategy=request.param, settings=SETTINGS, budget=Budget(queries=6), run=path,
    )  # fmt: skip
    return path


def lines_of(path, number=None):
    return load(path).explain(number).lines


def part(lines, head):
    """Return the lines below a heading, up to the next blank one."""
    begin = next(i for i, line in enumerate(lines) if line.startswith(head))
    end = lines.index("", begin) if "" in lines[begin:] else len(lines)
    return lines[begin + 1 : end]


def test_an_explanation_shows_what_was_asked_observed_and_learned(run):
    lines = lines_of(run, 0)
    assert lines[0].startswith("query 0: ")
    assert lines[1] == "start: no atom holds"
    assert part(lines, "asked:")
    assert part(lines, "observed (3 draws):")
    assert any(line.startswith("learned: ") for line in lines)


def test_the_answers_add_up_to_the_draws(run):
    for number in range(6):
        query = load(run).explain(number)
        answers = part(query.lines, "observed")
        counts = [int(line.split("×")[0]) for line in answers if "×" in line]
        assert sum(counts) == len(query.draws)


def test_the_last_query_is_explained_unless_another_is_named(run):
    assert lines_of(run) == lines_of(run, 5)
    assert lines_of(run)[0].startswith("query 5: ")


def test_the_models_are_those_from_before_the_query(run):
    loaded = load(run)
    graph = StateGraph(loaded.graph.vocabulary, loaded.capabilities)
    for number, transitions in enumerate(loaded.executions.transitions_by_query()):
        known = {
            (node.state, capability, effect.apply(node.state))
            for node in graph.nodes.values()
            for capability, pair in enumerate(node.pairs)
            if pair is not None
            for effect in pair.counts
        }
        query = loaded.explain(number)
        assert set(query.news) == set(transitions) - known
        assert query.learned == graph.update(transitions)


def test_what_was_learned_is_what_the_query_added(run):
    first = load(run).explain(0)
    transitions = next(load(run).executions.transitions_by_query())
    pairs = {(t.before, t.capability) for t in transitions}
    learned = next(line for line in first.lines if line.startswith("learned: "))
    pairs_told, transitions_told = learned.removeprefix("learned: ").split(", ")[:2]
    assert pairs_told == counted(len(pairs), "new pair")
    assert transitions_told == counted(len(transitions), "new transition")


def test_showing_an_explanation_twice_gives_the_same_lines(run):
    query = load(run).explain(3)
    assert query.lines == query.lines
    assert str(query) == "\n".join(query.lines)
    assert query.as_dict() == query.as_dict()


def test_a_first_try_is_compared_with_what_was_believed(run):
    lines = lines_of(run, 0)
    lessons = lines[[line.startswith("learned: ") for line in lines].index(True) + 1 :]
    assert lessons
    # Nothing was seen yet: the optimistic model predicts the intent, the learned one nothing.
    belief = "the optimistic model predicted it with 1.00"
    if load(run).identity.strategy == "adaptive":
        belief = "the model inferred nothing"
    for lesson in lessons:
        intent, outcome = lesson.strip().split(";")[0].split(": ")
        if "never tried here" in lesson and outcome == intent:
            assert belief in lesson


def test_an_informative_query_shows_the_choice_for_what_is_seen(run):
    query = load(run).explain(0)
    if query.record.informative:
        asked = part(query.lines, "asked:")
        assert asked[0].startswith("  1. seeing the start state: ")
        first = query.capabilities[query.draws[0].executions[0].capability]
        shown = [line.split(": ")[1].split(" (")[0] for line in asked if line.startswith("  1. ")]
        assert str(first) in shown


def test_an_unknown_query_is_refused_with_the_known_range(run):
    for number in (-1, 6, 99):
        with pytest.raises(CapscopeError, match=f"has queries 0 to 5; there is no query {number}"):
            load(run).explain(number)


def test_a_run_without_a_query_says_so(tmp_path):
    assess(board_problem(), settings=SETTINGS, budget=Budget(queries=0), run=tmp_path / "run")
    with pytest.raises(CapscopeError, match="has no query yet"):
        load(tmp_path / "run").explain()


def test_a_query_that_a_budget_cut_is_explained_as_far_as_it_went(tmp_path):
    path = tmp_path / "run"
    assess(board_problem(), settings=SETTINGS, budget=Budget(executions=1), run=path)
    lines = lines_of(path)
    assert "the query was not finished" in "\n".join(lines)
    assert part(lines, "observed (1 draw):")


def test_an_agent_that_never_does_anything_is_explained_too(tmp_path):
    problem = board_problem(agent=Scripted())
    intents = tuple(f"lit({switch})" for switch in SWITCHES)
    settings = Settings(draws=2, iterations=20, depth=3, intents=intents)
    assess(problem, settings=settings, budget=Budget(queries=8), run=tmp_path / "run")
    text = "\n".join(line for number in range(8) for line in lines_of(tmp_path / "run", number))
    assert "nothing changes" in text
    assert "largest change of a probability 0.000" in text


def test_an_outcome_that_earlier_executions_did_not_show_is_mentioned(tmp_path):
    # Switches slip half the time: some outcome of a pair is seen after another one.
    path = tmp_path / "run"
    settings = Settings(draws=1, random_length=1)
    assess(
        board_problem(Board(slip=0.5), horizon=1), strategy="random", settings=settings,
        budget=Budget(queries=60), run=path,
    )  # fmt: skip
    lines = [line for number in range(60) for line in lines_of(path, number)]
    assert any("not seen in " in line for line in lines)


def test_the_command_prints_the_explanation(run):
    result = CliRunner().invoke(make_app(), ["explain", str(run), "2"])
    assert result.exit_code == 0
    assert result.stdout.splitlines() == lines_of(run, 2)


def test_the_command_prints_one_json_object_if_asked_to(run):
    result = CliRunner().invoke(make_app(), ["explain", str(run), "--json"])
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["query"] == 5
    assert document["draws"] == len(load(run).explain().draws)
    assert document["explanation"] == lines_of(run)
    assert document["policy"]["kind"] in {"draws", "tree", "sequence", "targets"}


def test_explaining_changes_nothing_of_a_run(run):
    before = (run / "journal.sqlite").read_bytes()
    lines_of(run)
    assert (run / "journal.sqlite").read_bytes() == before
    # It is not locked either: a running assessment can be explained.
    with RunDirectory.open(run):
        lines_of(run)


def test_a_query_of_an_audit_is_called_one(tmp_path):
    path = tmp_path / "run"
    run = assess(board_problem(), settings=Settings(audit=0.2), run=path)
    begun = run.audit.since_query
    assert "audit" not in lines_of(path, begun - 1)[0]
    assert lines_of(path, begun)[0].startswith(f"query {begun}: part of an audit")


@pytest.fixture(scope="module")
def audited():
    return assess(load_problem("blocksworld"))


@pytest.fixture
def fits(monkeypatch):
    """The graphs that a model was fitted to."""
    made, fitted = [], LearnedModel.fitted

    def noted(graph, seed=0, lessons=None):
        made.append(graph)
        return fitted(graph, seed, lessons)

    monkeypatch.setattr(LearnedModel, "fitted", noted)
    return made


def fresh(run):
    """Return a run of which nothing was explained yet."""
    return Run(run.path, run.meta, run.executions, run.graph)


def test_the_queries_of_an_audit_share_the_model_that_was_audited(fits, monkeypatch):
    # Without asking for all pairs near the start, the audit comes to some that were never tried.
    monkeypatch.setattr("capscope.strategy.adaptive._MOST_NEAR", 0)
    made = assess(load_problem("first-responders"), settings=Settings(audit=0.2))
    fits.clear()
    run = fresh(made)
    queries = range(run.audit.since_query, len(run.executions.queries))
    news = [news for number in queries for news in run.explain(number).news.items()]
    assert len(fits) == 1
    assert fits[0].pairs_tried < run.graph.pairs_tried
    inferred = [(transition, belief) for transition, belief in news if "inferred it" in belief]
    assert inferred
    for (before, capability, after), belief in inferred:
        predicted = run.model.predict_untried(before, run.capabilities[capability])
        assert (
            f"inferred it with {predicted.get(after, 0.0):.2f}, doubt {predicted.doubt:.2g}"
            in belief
        )


def test_no_model_is_fitted_if_all_pairs_were_tried_before(audited, fits):
    run = fresh(audited)
    seen, repeats = set(), []
    for number, transitions in enumerate(run.executions.transitions_by_query()):
        pairs = {(before, capability) for before, capability, _ in transitions}
        repeats += [number] if pairs <= seen else []
        seen |= pairs
    assert len(repeats) > 100
    for number in repeats[:100]:
        run.explain(number)
    assert fits == []


def test_an_explanation_is_made_once(audited, fits):
    run = fresh(audited)
    assert run.explain(5) is run.explain(5)
    assert len(fits) == 1


def test_before_the_audit_the_model_knows_what_came_before_the_query(audited, fits):
    run, number = fresh(audited), audited.audit.since_query // 2
    while not run.explain(number).learned.new_pairs:
        number += 1
    (graph,) = fits
    known = StateGraph(graph.vocabulary, run.capabilities)
    known.update(run.executions.first_queries(number + 1).transitions())
    # The graph has taken in the query since.
    assert graph.pairs_tried == known.pairs_tried
