"""Eval logs of inspect_ai: what is said about two of them, and when an evaluation stops."""

import gc
import json
import math
import random
from types import SimpleNamespace

import numpy as np
import pytest

from capscope.errors import CapscopeError

pytest.importorskip("inspect_ai")
from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalSample,
    EvalSpec,
    write_eval_log,
)
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import solver

from capscope.adapters.inspect import StopWhenDecided, compare_logs
from capscope.adapters.inspect.comparison import score_change
from capscope.adapters.inspect.logs import numbers
from capscope_experiments.benchmarks.early_stopping import in_own_loop

DATASET = EvalDataset(name="questions", shuffled=True)


def logged(path, answers, text="question {}", metadata=None):
    """Write a log; `answers` has the scores of each sample in its epochs."""
    samples = [
        EvalSample(
            id=place, epoch=epoch, input=text.format(place), target="yes",
            metadata=(metadata or {}).get(place, {}),
            scores={name: Score(value=value) for name, value in scores.items()},
        )
        for place, epochs in enumerate(answers)
        for epoch, scores in enumerate(epochs, 1)
    ]  # fmt: skip
    spec = EvalSpec(
        created="2026-05-01T12:00:00+00:00", task="questions", model="mockllm/model",
        dataset=DATASET, config=EvalConfig(),
    )  # fmt: skip
    write_eval_log(EvalLog(eval=spec, status="success", samples=samples), str(path))
    return str(path)


def letters(rng, probabilities, epochs=1):
    return [
        [{"right": "C" if rng.random() < p else "I"} for _ in range(epochs)] for p in probabilities
    ]


LEVELS = {place: {"level": "hard" if place % 2 else "easy", "note": {}} for place in range(300)}


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("logs"), random.Random(0)
    even = [0.9, 0.7] * 150
    return {
        "v1": logged(folder / "v1.eval", letters(rng, even), metadata=LEVELS),
        "same": logged(folder / "same.eval", letters(rng, even, 2), metadata=LEVELS),
        "worse": logged(folder / "worse.json", letters(rng, [0.9, 0.4] * 150), metadata=LEVELS),
    }


def test_a_loss_in_one_group_is_named_with_what_was_counted(logs):
    found = compare_logs(logs["v1"], logs["worse"])
    verdicts = {one.group: one.verdict for one in found.changes}
    assert found.verdict == verdicts[""] == verdicts["level=hard"] == "changed"
    assert verdicts["level=easy"] != "changed"
    before, after = (json.loads(text) for text in (_plain(logs["v1"]), _plain(logs["worse"])))
    overall = found.changes[0]
    assert overall.samples == found.samples == 300
    assert overall.before == sum(before.values()) / 300
    assert overall.after == sum(after.values()) / 300
    assert overall.worse == sum(after[id] < before[id] for id in before)
    assert overall.better == sum(after[id] > before[id] for id in before)
    assert overall.low < -0.15 < overall.high < 0
    assert "right: changed, " in str(found) and "  level=hard: changed, " in str(found)


def _plain(path):
    """Return the scores of a log with one epoch, read without the adapter."""
    from inspect_ai.log import read_eval_log

    samples = read_eval_log(path).samples
    return json.dumps({s.id: s.scores["right"].value == "C" for s in samples})


def test_an_agent_compared_with_itself_is_unchanged_or_undecided(logs):
    found = compare_logs(logs["v1"], logs["same"], margin=0.15)
    assert found.verdict == "unchanged"
    assert "right: unchanged to within 0.15, " in str(found)
    narrow = compare_logs(logs["v1"], logs["same"], margin=0.01)
    assert narrow.verdict == "undecided"
    (overall, *_) = narrow.changes
    assert f"about {overall.more_samples:,} more samples like these would decide" in str(narrow)


@pytest.mark.parametrize("worse", [0.0, 0.06])
def test_as_many_more_samples_as_foreseen_decide_and_fewer_do_not(worse):
    rng = np.random.default_rng(5)
    pairs = (rng.random((200, 2)) < [0.8, 0.8 - worse]).astype(float)
    found = score_change("right", "", pairs, math.log(40), 0.05)
    assert found.verdict == "undecided"
    changes = pairs[:, 1] - pairs[:, 0]

    def shown(sign, bound, times):
        """Return whether bets on each side of the change, made that often, reach 40."""
        ratio = (1 + sign * changes) / (1 + bound) - 1
        logs = [np.log1p(f * ratio).sum() for f in 0.95 * 0.5 ** np.arange(5)]
        return np.mean(np.exp(times * np.array(logs))) >= 40

    def decided(samples):
        times = samples / 200
        changed = shown(1, 0, times) or shown(-1, 0, times)
        return changed or (shown(1, -0.05, times) and shown(-1, -0.05, times))

    needed = 200 + found.more_samples
    assert decided(needed + 1) and not decided(needed - 2)


def test_what_cannot_be_paired_is_left_out_and_counted(tmp_path):
    good = [[{"right": "C", "steps": 7, "f1": {"all": 0.5}}]] * 40
    a = logged(tmp_path / "a.eval", [*good, [{}]])
    b = logged(tmp_path / "b.eval", good[:30])
    found = compare_logs(a, b)
    assert found.samples == 30
    assert {one.scorer for one in found.changes} == {"right", "f1.all"}
    assert found.left_out == {
        "in the baseline alone": 10,
        "without a score in the baseline": 1,
        "with a steps that is not between 0 and 1": 30,
    }
    other = logged(tmp_path / "c.eval", good, text="another {}")
    with pytest.raises(CapscopeError, match="with an id for each sample"):
        compare_logs(a, other)
    with pytest.raises(CapscopeError, match="cannot be read as an eval log"):
        compare_logs(a, tmp_path / "nowhere.eval")


def test_groups_are_those_that_are_named(logs):
    found = compare_logs(logs["v1"], logs["same"], by=["level"])
    assert [one.group for one in found.changes] == ["", "level=easy", "level=hard"]
    assert not any(one.group for one in compare_logs(logs["v1"], logs["same"], by=[]).changes)
    with pytest.raises(CapscopeError, match="as colour"):
        compare_logs(logs["v1"], logs["same"], by=["colour"])


def test_words_and_letters_are_numbers_and_nothing_else_is():
    given = {"a": "C", "b": "P", "c": "no", "d": True, "e": 0.25, "f": "well", "g": float("nan")}
    assert dict(numbers("s", given)) == {"s.a": 1, "s.b": 0.5, "s.c": 0, "s.d": 1, "s.e": 0.25}


def test_the_command_says_the_same_and_its_exit_code_the_verdict(logs, capscope):
    done = capscope("diff", logs["v1"], logs["worse"])
    assert done.code == 1
    assert done.out == f"{compare_logs(logs['v1'], logs['worse'])}\n"
    same = capscope("diff", logs["v1"], logs["same"], "--margin", "0.15", "--json")
    assert same.code == 0
    assert json.loads(same.out)["verdict"] == "unchanged"
    assert capscope("diff", logs["v1"], logs["same"], "--margin", "0.01").code == 3
    assert "two at a time" in capscope("diff", logs["v1"]).err


# Early stopping


def planned(hook, number, epochs=1, shuffled=True):
    """Start a task with numbered samples."""
    task = SimpleNamespace(
        dataset=SimpleNamespace(shuffled=shuffled), config=SimpleNamespace(sample_shuffle=None)
    )
    samples = [Sample(id=n, input=f"question {n}", target="yes") for n in range(number)]
    in_own_loop(hook.start_task(task, samples, epochs))


def complete(hook, place, value, epoch=1):
    score = SimpleNamespace(score=Score(value=value))
    in_own_loop(hook.complete_sample(place, epoch, {"right": score}))
    return hook.decision


def test_a_finished_sample_decides_nothing_before_those_that_were_planned_earlier():
    hook = StopWhenDecided(at_least=0.5, margin=0.1)
    planned(hook, 100)
    for place in range(30, 60):  # the quick samples
        assert complete(hook, place, "C") is None
    decisions = [complete(hook, place, "C") for place in range(30)]
    in_order = StopWhenDecided(at_least=0.5, margin=0.1)
    planned(in_order, 100)
    assert decisions == [complete(in_order, place, "C") for place in range(30)]
    assert True in decisions
    assert in_own_loop(hook.schedule_sample(99, 1)).reason == "yes"
    assert in_own_loop(hook.complete_task())["decision"] == "yes"


def test_a_sample_without_a_score_counts_against_every_decision():
    whole, gap = (StopWhenDecided(at_least=0.5, margin=0.1) for _ in range(2))
    for hook in (whole, gap):
        planned(hook, 100)
    needed = next(n for n in range(100) if complete(whole, n, "C"))
    with_gap = next(n for n in range(1, 100) if complete(gap, n, "C"))
    assert needed < with_gap


@pytest.mark.parametrize(("probability", "decision"), [(0.85, True), (0.55, False)])
def test_a_comparison_with_a_baseline_stops_early(logs, probability, decision):
    hook = StopWhenDecided(baseline=logs["v1"], margin=0.1)
    planned(hook, 300)
    rng, order = random.Random(1), list(range(300))
    for place in order:
        if complete(hook, place, "C" if rng.random() < probability else "I") is not None:
            break
    assert hook.decision is decision
    assert place < 300


def test_samples_that_were_not_planned_decide_nothing():
    hook = StopWhenDecided(at_least=0.5, margin=0.1)
    planned(hook, 40)
    assert not any(complete(hook, n, "C", epoch=2) for n in range(40))
    assert not any(complete(hook, n, "C") for n in range(100, 140))
    assert in_own_loop(hook.complete_task())["scored"] == 0


def test_epochs_of_a_sample_are_averaged_and_divide_the_error_rate():
    hook = StopWhenDecided(at_least=0.5, margin=0.1)
    planned(hook, 10, epochs=4)
    decided = [(e, n) for e in range(1, 5) for n in range(10) if complete(hook, n, "C", e)]
    assert not decided  # ten samples, however often they are repeated
    planned(hook, 10)
    assert any(complete(hook, n, "C") for n in range(10))
    planned(hook, 40, epochs=4)
    assert any(complete(hook, n, "C") for n in range(40))


def test_what_cannot_be_decided_is_refused(logs, tmp_path):
    for given in ({}, {"at_least": 0.8, "baseline": logs["v1"]}):
        with pytest.raises(CapscopeError, match="either at_least or baseline"):
            StopWhenDecided(**given)
    with pytest.raises(CapscopeError, match="random order"):
        planned(StopWhenDecided(at_least=0.8), 10, shuffled=False)
    with pytest.raises(CapscopeError, match="one of right"):
        StopWhenDecided(baseline=logs["v1"], scorer="left")
    hook = StopWhenDecided(at_least=0.8)
    planned(hook, 10)
    with pytest.raises(CapscopeError, match="not between 0 and 1"):
        complete(hook, 0, 7)
    other = logged(tmp_path / "other.eval", [[{"right": "C"}]], text="another {}")
    with pytest.raises(CapscopeError, match="use the same dataset"):
        planned(StopWhenDecided(baseline=other), 10)


@solver
def guesses(probability):
    async def solve(state, generate):
        right = random.Random(str(state.sample_id)).random() < probability
        state.output.completion = "yes" if right else "no"
        return state

    return solve


@scorer(metrics=[accuracy()])
def right():
    async def judge(state, target):
        return Score(value="C" if state.output.completion == target.text else "I")

    return judge


# inspect leaves streams open, and says so when they are collected.
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_inspect_leaves_out_the_samples_after_the_decision(tmp_path):
    dataset = MemoryDataset([Sample(id=n, input=f"{n}?", target="yes") for n in range(150)])
    hook = StopWhenDecided(at_least=0.5, margin=0.1)
    task = Task(dataset=dataset, solver=guesses(0.9), scorer=right(), early_stopping=hook)
    (log,) = evaluate(
        task, model="mockllm/model", log_dir=str(tmp_path), display="none", sample_shuffle=3,
        max_samples=4,
    )  # fmt: skip
    gc.collect()
    assert log.status == "success"
    told = log.results.early_stopping
    assert told.metadata["decision"] == "yes" and hook.decision is True
    scored = [sample.scores["right"].value == "C" for sample in log.samples]
    assert len(scored) < 60 and len(scored) + len(told.early_stops) == 150
    assert told.metadata["scored"] <= len(scored) <= told.metadata["scored"] + 4
    assert np.mean(scored) > 0.6
