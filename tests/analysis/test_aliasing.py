import math
import random
from collections import Counter, defaultdict

import numpy as np
import pytest

from capscope.analysis.aliasing import Aliasing, aliasing_in, outcome_counts
from support.tiny_sides import side, tried

FROM = (b"here", b"there", b"yonder", b"anywhere", b"somewhere")


def run_of(rows, draws=None, moved=None, starts=FROM):
    """Make a run of (capability, before, after, position), each a draw of its own."""
    walks = (
        np.arange(len(rows)) if draws is None else np.array(draws, dtype=np.int64),
        np.ones(len(rows), dtype=bool) if moved is None else np.array(moved, dtype=bool),
        starts,
    )
    return side(rows, walks=walks)


def looked_at(*args, **options):
    """Look for aliasing in a run."""
    run = run_of(*args, **options)
    return aliasing_in(run.executions, run.states, run.intents, run.vocabulary)


def at(position, capability, before, ends):
    return [(*row, position) for row in tried(capability, before, ends)]


def naive_ratios(rows, draws, moved):
    """Walk through the draws one by one; bet on each answer by what its position showed before."""
    kept, stood_still = [], {}
    for row, draw, step in zip(rows, draws, moved, strict=True):
        if stood_still.setdefault(draw, True) and row[3] < len(FROM):
            kept.append(row)
        stood_still[draw] &= not step
    seen = defaultdict(list)
    for capability, before, after, position in kept:
        seen[before, capability].append((position, after))
    for pair, answers in seen.items():
        often = [at for at, times in Counter(at for at, _ in answers).items() if times >= 2]
        if len(often) < 2:
            continue
        shares, ratio = Counter(after for _, after in answers), 0.0
        shown = defaultdict(Counter)
        for position, after in answers:
            before = shown[position]
            ratio += math.log((before[after] + 0.5) / (before.total() + len(shares) / 2))
            ratio -= math.log(shares[after] / len(answers))
            before[after] += 1
        yield pair, ratio


@pytest.mark.parametrize("seed", range(20))
def test_the_ratio_is_that_of_betting_answer_by_answer(seed):
    rng = random.Random(seed)
    rows, draws, moved = [], [], []
    for draw in range(rng.choice([3, 30, 120])):
        position = rng.randrange(len(FROM) + 1)  # the last one has no name
        for _ in range(rng.randint(1, 3)):
            rows.append((rng.randrange(2), rng.randrange(2), rng.randrange(4), position))
            draws.append(draw)
            moved.append(rng.random() < 0.5)
    run = run_of(rows, draws, moved)
    counts = outcome_counts(run.executions)
    pairs = zip((run.states[i] for i in counts.before), counts.capability.tolist(), strict=True)
    found = dict(zip(pairs, counts.evidence.tolist(), strict=True))
    assert found == pytest.approx(dict(naive_ratios(rows, draws, moved)))


def test_two_positions_that_always_differ_are_reported_with_their_numbers():
    rows = [*at(0, 0, 0, [1] * 6), *at(1, 0, 0, [2] * 7), *at(2, 0, 0, [1]), *at(0, 1, 0, [0] * 9)]
    found = looked_at(rows)
    (dependence,) = found.aliased_pairs
    assert found.pairs == 1
    assert (str(dependence.intent), dependence.state, dependence.positions) == ("p()", 0, 3)
    assert [position.outcomes for position in dependence.contrast] == [{2: 7}, {1: 6}]
    assert dependence.as_dict()["contrast"] == [
        [{"after": "0x2", "changes": ["q()"], "count": 7}],
        [{"after": "0x1", "changes": ["p()"], "count": 6}],
    ]


def test_a_few_draws_or_one_position_show_nothing():
    few = [*at(0, 0, 0, [1, 1]), *at(1, 0, 0, [2, 2])]
    assert looked_at(few) == Aliasing(1)
    assert looked_at(at(0, 0, 0, [1, 2] * 50)) == Aliasing(0)
    assert looked_at([]) == Aliasing()


def test_the_more_pairs_are_asked_about_the_more_it_takes():
    differing = [*at(0, 0, 0, [1] * 5), *at(1, 0, 0, [2] * 5)]
    alike = [row for s in range(1, 8) for at_ in (0, 1) for row in at(at_, 1, s, [s] * 2)]
    assert len(looked_at(differing).aliased_pairs) == 1
    assert looked_at([*differing, *alike]) == Aliasing(8)


def test_executions_after_a_step_do_not_count():
    rows, draws, moved = [], [], []
    for draw in range(20):
        position = draw % 2
        rows += [(1, 4, 0, position), (0, 0, 1 + position, position)]
        draws += [draw] * 2
        moved += [True, True]
    assert looked_at(rows, draws, moved) == Aliasing(1)
    # An execution without a step leaves the world where it is.
    assert len(looked_at(rows, draws, [False, True] * 20).aliased_pairs) == 1


def test_of_many_positions_two_that_differ_are_named():
    rows = [row for position in range(4) for row in at(position, 0, 0, [1, 1, 1, 2] * 10)]
    rows += at(4, 0, 0, [2] * 20)
    (dependence,) = looked_at(rows).aliased_pairs
    assert [position.outcomes for position in dependence.contrast] == [{1: 30, 2: 10}, {2: 20}]


def fair(rng, shares):
    """Draw a world in which positions do not matter, again wherever an answer surprises."""
    rows = []
    for pair in range(4):
        told = Counter()
        position = 0
        for _ in range(150):
            after = rng.choices(range(len(shares)), shares)[0]
            rows.append((0, pair, after, position))
            told[after] += 1
            # Whoever draws on while the rarest comes makes its position look odd.
            if after != min(told, key=told.get):
                position = rng.randrange(len(FROM))
    return rows


@pytest.mark.parametrize(
    "shares", [(1, 1), (9, 1), (99, 1), (5, 3, 2), (90, 5, 2, 1, 1, 1), (1,) * 8]
)
def test_identical_positions_are_rarely_reported_however_draws_are_chosen(shares):
    rng = random.Random(8)
    told = sum(bool(looked_at(fair(rng, shares)).aliased_pairs) for _ in range(60))
    assert told <= 3  # 5 %


def test_positions_that_were_drawn_again_for_what_they_showed_first_are_not_held_to_differ():
    rng = random.Random(2)
    starts = [b"%d" % number for number in range(200)]
    told = 0
    for _ in range(20):
        rows = [(0, 0, int(rng.random() < 0.02), 0) for _ in range(400)]
        for position in range(1, len(starts)):
            rows.append((0, 0, int(rng.random() < 0.02), position))
            if rows[-1][2]:
                rows.append((0, 0, int(rng.random() < 0.02), position))
        told += bool(looked_at(rows, starts=starts).aliased_pairs)
    # Most would be told if only positions drawn twice counted: all their first answers are rare.
    assert told <= 1


def test_probabilities_that_depend_on_the_position_are_found():
    rng = random.Random(4)
    found = 0
    for _ in range(40):
        often = [rng.choice([0.1, 0.9]) for _ in FROM]
        spots = [rng.randrange(len(FROM)) for _ in range(100)]
        rows = [(0, 0, int(rng.random() < often[spot]), spot) for spot in spots]
        found += bool(looked_at(rows).aliased_pairs) == (len(set(often)) > 1)
    assert found >= 38
