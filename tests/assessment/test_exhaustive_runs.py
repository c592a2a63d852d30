"""Whole exhaustive runs on agents whose every answer is known beforehand.

The world is a table: what an agent brings about, and how likely, by state and intent.
"""

import itertools
import random
from collections import Counter
from contextlib import closing
from statistics import mean

import pytest

from capscope import Budget, Settings, Vocabulary, assess, resume
from capscope.assessment import RunSpec, run_assessment
from capscope.assessment.loop import recall
from capscope.journal.journal import Journal
from capscope.journal.run_directory import RunDirectory
from capscope.journal.run_meta import StopKind, StopReason
from capscope.problem import Limits, Problem

WORDS = Vocabulary.of_atoms("pqr")
INTENTS = ("p()", "q()", "r()")
PAIRS = list(itertools.product(range(8), INTENTS))


class Table:
    """The odds of each pair, as a mapping from end states to probabilities."""

    def __init__(self, odds):
        self.odds = odds
        self.state = 0
        self.rng = random.Random(0)

    def reset(self, seed):
        return self.restore(b"\0", seed)

    def actions(self):
        return INTENTS

    def step(self, action):
        odds = self.odds[self.state, action]
        (self.state,) = self.rng.choices(list(odds), odds.values())
        return self.state

    def snapshot(self):
        return bytes([self.state])

    def restore(self, snapshot, seed):
        self.rng.seed(seed)
        (self.state,) = snapshot
        return self.state


class WornTable(Table):
    """Wears out with each step, which is not seen: then less and less comes about."""

    worn = 0

    def step(self, action):
        self.worn = (self.worn + 1) % 5
        return super().step(action) if self.rng.random() > self.worn / 6 else self.state

    def snapshot(self):
        return bytes([self.state, self.worn])

    def restore(self, snapshot, seed):
        self.worn = snapshot[-1]
        return super().restore(snapshot[:1], seed)


class Once:
    """Names what it is asked for, or what it is asked to end, once."""

    def begin(self, intent, seed):
        return Saying([str(intent).removeprefix("not ")])


class Saying:
    def __init__(self, words):
        self.words = words

    def act(self, observation):
        return self.words.pop() if self.words else None


class Seen:
    vocabulary = WORDS

    def __call__(self, observation):
        return observation


def table(odds, simulator=Table):
    return Problem("table", simulator(odds), Once(), Seen(), limits=Limits())


def toggles(state, intent, p=1.0):
    """Toggle the switch of the intent with probability p, else do nothing."""
    after = state ^ 1 << INTENTS.index(intent)
    return {after: 1.0} if p == 1.0 else {after: p, state: 1 - p}


DETERMINISTIC = {pair: toggles(*pair) for pair in PAIRS}
# One rule for each capability and each thing that it does.
STOCHASTIC = {pair: toggles(*pair, p=(0.3, 0.5, 0.8)[INTENTS.index(pair[1])]) for pair in PAIRS}
# q is never certain, r is not while p holds, and p is.
MIXED = {
    (state, intent): toggles(
        state, intent, p=0.6 if intent == "q()" else 0.75 if intent == "r()" and state & 1 else 1.0
    )
    for state, intent in PAIRS
}


def odd_in(odd):
    """Do all things for certain, but for one state: there each is a toss of a coin."""
    return {(state, c): toggles(state, c, 0.5 if state == odd else 1.0) for state, c in PAIRS}


def tangled(seed):
    """Draw odds that differ from pair to pair, so that there are many rules and few likes."""
    rng = random.Random(seed)
    odds = {}
    for state, intent in PAIRS:
        if rng.random() < 0.3:
            ends = rng.sample(
                [state, state ^ 1, state ^ 2, state ^ 4, state ^ 3], rng.choice([2, 3])
            )
            odds[state, intent] = {end: 1 / len(ends) for end in ends}
        else:
            odds[state, intent] = {state ^ rng.choice([0, 1, 2, 4]): 1.0}
    return odds


WORLDS = {
    "deterministic": DETERMINISTIC,
    "stochastic": STOCHASTIC,
    "mixed": MIXED,
    "odd": odd_in(5),
    "tangled": tangled(0),
}
COARSE = {"epsilon": 0.2, "delta": 0.1, "precision": 0.2}
SURE = {"epsilon": 0.2, "delta": 0.01, "precision": 0.2}


def run_table(odds, run=None, seed=0, budget=None, **chosen):
    settings = Settings(intents=INTENTS, **{**COARSE, **chosen})
    return assess(
        table(odds), strategy="exhaustive", seed=seed, settings=settings, budget=budget, run=run
    )


def queries(run):
    """Read the executions of each draw of each query."""
    with closing(Journal.open(run / "journal.sqlite", read_only=True)) as journal:
        found = []
        while journal.query(len(found)) is not None:
            found.append([draw.executions for draw in journal.draws(len(found))])
        return found


def pairs_of(draw):
    return [(attempt.trajectory[0], INTENTS[capability]) for capability, attempt in draw]


def asked(run):
    """List the pairs that were asked, in order."""
    return [pair for query in queries(run) for draw in query for pair in pairs_of(draw)]


def learned_odds(result):
    return {
        (state, str(intent)): result.models.pessimistic.predict(state, intent)
        for state in result.graph.nodes
        for intent in result.graph.capabilities
    }


def assert_settled(result):
    assert result.stop_reason.kind is StopKind.SETTLED
    assert result.verdict.reached, str(result.verdict)


def assert_close(result, odds, within):
    """Every pair was tried, every outcome found, and its probability is about right."""
    found = learned_odds(result)
    assert found.keys() == odds.keys()
    for pair, ends in odds.items():
        assert found[pair].keys() == ends.keys(), pair
        assert found[pair] == pytest.approx(ends, abs=within), pair


# What is found out.


def test_a_deterministic_agent_is_known_exactly(tmp_path):
    run = tmp_path / "run"
    result = run_table(DETERMINISTIC, run)
    assert_settled(result)
    assert learned_odds(result) == DETERMINISTIC
    pairs = asked(run)
    # Each pair once before any twice, and then a few times more to be sure.
    assert set(pairs[: len(PAIRS)]) == set(PAIRS)
    assert 2 <= min(Counter(pairs).values()) <= max(Counter(pairs).values()) <= 15


def test_a_stricter_criterion_takes_more_executions():
    spent = [
        run_table(DETERMINISTIC, epsilon=epsilon, delta=delta).usage.executions
        for epsilon, delta in [(0.5, 0.5), (0.2, 0.5), (0.2, 0.1), (0.05, 0.1)]
    ]
    assert spent == sorted(set(spent))


def test_a_stochastic_agent_is_known_to_the_precision_asked_for():
    result = run_table(STOCHASTIC, epsilon=0.1, delta=0.01, precision=0.05)
    assert_settled(result)
    assert_close(result, STOCHASTIC, within=0.05)


@pytest.mark.parametrize("seed", [0, 1])
def test_an_agent_that_is_partly_deterministic_is_known_in_both_parts(seed, tmp_path):
    run = tmp_path / "run"
    result = run_table(MIXED, run, seed=seed, **{**SURE, "precision": 0.12})
    assert_settled(result)
    assert_close(result, MIXED, within=0.12)
    # What is certain is asked less often than what is not.
    times = Counter(asked(run))
    certain = [times[pair] for pair, ends in MIXED.items() if len(ends) == 1]
    chancy = [times[pair] for pair, ends in MIXED.items() if len(ends) > 1]
    assert mean(certain) < mean(chancy)


@pytest.mark.parametrize("odd", [0, 3, 6])
def test_the_one_state_in_which_an_agent_is_unreliable_is_found(odd):
    odds = odd_in(odd)
    result = run_table(odds, seed=odd, **SURE)
    assert_settled(result)
    assert_close(result, odds, within=0.2)


def test_intents_that_are_discovered_on_the_way_are_settled_too():
    counting = {(state, intent): {(state + 1) % 8: 1.0} for state, intent in PAIRS}
    settings = Settings(**COARSE, walks=1, walk_steps=1)
    result = assess(table(counting), strategy="exhaustive", settings=settings)
    assert_settled(result)
    names = {str(intent) for intent in result.graph.capabilities}
    assert names == {*INTENTS, *(f"not {intent}" for intent in INTENTS)}
    # From 0 to 1 a walk of one step sees p come true, and nothing else.
    assert str(result.graph.capabilities[0]) == "p()"
    assert learned_odds(result) == {
        (state, name): {(state + 1) % 8: 1.0} for state in range(8) for name in names
    }


# Batches.


@pytest.mark.parametrize(
    ("world", "batch"), [("mixed", 1), ("mixed", 3), ("mixed", 7), ("tangled", 7)]
)
def test_a_batch_of_any_size_settles_everything_with_different_pairs(world, batch, tmp_path):
    run = tmp_path / "run"
    result = run_table(WORLDS[world], run, batch=batch, **SURE)
    assert_settled(result)
    found = learned_odds(result)
    assert {pair: set(ends) for pair, ends in found.items()} == {
        pair: set(WORLDS[world][pair]) for pair in found
    }
    for number, query in enumerate(queries(run)):
        assert 1 <= len(query) <= batch, number
        firsts = [pairs_of(draw)[0] for draw in query]
        assert len(set(firsts)) == len(query), number
        # Where the draws go on, they do not do each other's work either.
        pairs = [pair for draw in query for pair in pairs_of(draw)]
        assert len(set(pairs)) == len(pairs), number


# Seeds.


@pytest.mark.parametrize(("world", "batch"), [("mixed", 1), ("tangled", 3)])
def test_one_seed_one_journal(world, batch, tmp_path):
    runs = [tmp_path / name for name in ("one", "again", "other")]
    for run, seed in zip(runs, (4, 4, 5), strict=True):
        run_table(WORLDS[world], run, seed=seed, batch=batch, budget=Budget(executions=60))
    one, again, other = map(queries, runs)
    assert one == again
    assert one != other


def test_the_seed_also_chooses_among_positions_of_one_state(tmp_path):
    settings = Settings(intents=INTENTS, **COARSE, batch=3, depth=1)
    for name, executions in [("whole", 90), ("again", 90), ("parts", 50)]:
        assess(
            table(DETERMINISTIC, WornTable), strategy="exhaustive", settings=settings,
            budget=Budget(executions=executions), run=tmp_path / name,
        )  # fmt: skip
    problem = table(DETERMINISTIC, WornTable)
    resume(tmp_path / "parts", problem=problem, budget=Budget(executions=90))
    whole = queries(tmp_path / "whole")
    assert whole == queries(tmp_path / "again") == queries(tmp_path / "parts")


# Budgets and resuming.


def ends_of_draws(run):
    """List (executions so far, whether the query goes on) at the end of each draw."""
    ends, spent = [], 0
    for query in queries(run):
        for index, draw in enumerate(query):
            spent += len(draw)
            ends.append((spent, index < len(query) - 1))
    return ends


def run_in_parts(odds, run, budgets, **chosen):
    result = run_table(odds, run, budget=budgets[0], **chosen)
    for budget in budgets[1:]:
        result = resume(run, problem=table(odds), budget=budget)
    return result


def assert_same_end(result, run, whole, whole_run):
    assert queries(run) == queries(whole_run)
    assert result.stop_reason == whole.stop_reason
    assert (run / "model.json").read_bytes() == (whole_run / "model.json").read_bytes()


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("allowed", [1, 10, 57])
def test_a_budget_ends_a_run_that_has_not_settled_everything(batch, allowed, tmp_path):
    result = run_table(MIXED, tmp_path / "run", batch=batch, budget=Budget(executions=allowed))
    assert result.stop_reason == StopReason.budget("executions")
    assert result.usage.executions == len(asked(tmp_path / "run")) == allowed
    assert not result.verdict.reached
    assert str(result.verdict).startswith("still open: ")


@pytest.mark.parametrize(("world", "batch"), [("odd", 1), ("mixed", 4)])
def test_a_run_resumed_between_two_draws_ends_like_one_never_stopped(world, batch, tmp_path):
    whole = run_table(WORLDS[world], tmp_path / "whole", batch=batch)
    ends = ends_of_draws(tmp_path / "whole")
    # In the middle of a batch, if there is more than one draw in it.
    cuts = [spent for spent, goes_on in ends[:-1] if goes_on or batch == 1]
    for cut in random.Random(world).sample(cuts, 2):
        run = tmp_path / str(cut)
        budgets = [Budget(executions=cut), Budget()]
        result = run_in_parts(WORLDS[world], run, budgets, batch=batch)
        assert_same_end(result, run, whole, tmp_path / "whole")


@pytest.mark.parametrize("batch", [1, 4])
def test_a_run_resumed_again_and_again_ends_like_one_never_stopped(batch, tmp_path):
    # One execution to a draw: then a budget cuts between draws only.
    chosen = {"batch": batch, "depth": 1}
    whole = run_table(DETERMINISTIC, tmp_path / "whole", **chosen)
    assert_settled(whole)
    cuts = range(13, whole.usage.executions, 40)
    budgets = [*(Budget(executions=cut) for cut in cuts), Budget()]
    result = run_in_parts(DETERMINISTIC, tmp_path / "parts", budgets, **chosen)
    assert_same_end(result, tmp_path / "parts", whole, tmp_path / "whole")


@pytest.mark.parametrize("batch", [1, 4])
def test_a_run_cut_within_a_draw_settles_everything_nevertheless(batch, tmp_path):
    run = tmp_path / "run"
    whole = run_table(DETERMINISTIC, tmp_path / "whole", batch=batch)
    ends = {spent for spent, _ in ends_of_draws(tmp_path / "whole")}
    within = [spent for spent in range(1, whole.usage.executions) if spent not in ends]
    cuts = sorted(random.Random(batch).sample(within, 4))
    budgets = [*(Budget(executions=cut) for cut in cuts), Budget()]
    result = run_in_parts(DETERMINISTIC, run, budgets, batch=batch)
    # A draw that was cut is made again, so the run ends like one that was never stopped.
    assert_same_end(result, run, whole, tmp_path / "whole")
    assert_settled(result)
    assert learned_odds(result) == DETERMINISTIC


@pytest.mark.parametrize("batch", [2, 3])
def test_a_batch_whose_draws_all_start_in_one_position_is_resumed(batch, tmp_path):
    run, whole = tmp_path / "run", tmp_path / "whole"
    budgets = [Budget(executions=1), Budget(executions=30)]
    run_in_parts(DETERMINISTIC, run, budgets, batch=batch, depth=1)
    assert {pair[0] for pair in asked(run)[:batch]} == {0}
    run_table(DETERMINISTIC, whole, budget=budgets[1], batch=batch, depth=1)
    assert queries(run) == queries(whole)


def test_a_settled_run_has_nothing_left_to_ask(tmp_path):
    run = tmp_path / "run"
    first = run_table(DETERMINISTIC, run)
    before = queries(run)
    again = resume(run, problem=table(DETERMINISTIC))
    assert queries(run) == before
    assert again.stop_reason == first.stop_reason
    assert_settled(again)


def test_a_resumed_run_would_ask_what_this_one_asked(tmp_path):
    settings = Settings(intents=INTENTS, **COARSE, batch=3)
    spec = RunSpec(table(WORLDS["tangled"]), "table", "exhaustive", 0, settings)
    expected = {}

    def note(event):
        number = event.usage.queries
        if number % 7 == 0:
            strategy = recall(run.journal, spec)[0].strategy
            if strategy.finished() is None:
                targets = [task.policy.target for task in strategy.next(number).tasks]
                expected[number] = [(t.state, INTENTS[t.capability]) for t in targets]

    with RunDirectory.create(tmp_path / "run", spec.meta()) as run:
        run_assessment(run.journal, spec, note)
    found = queries(tmp_path / "run")
    assert len(expected) >= 5
    for number, targets in expected.items():
        assert [pairs_of(draw)[0] for draw in found[number]] == targets, number
