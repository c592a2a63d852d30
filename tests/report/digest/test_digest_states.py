"""States, the map and pictures."""

import base64
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope import load
from capscope.report.digest.build import digest_of, digest_run
from capscope.report.digest.size_budget import SizeBudget
from capscope.report.digest.states import StateListing, state_map
from support.small_runs import WISHES, draw, run_in_memory, small_run
from support.tiny_digests import by_attribute

TRIPLES = st.tuples(st.integers(0, 7), st.integers(0, 3), st.integers(0, 7))
PNG = b"\x89PNG\r\n\x1a\n"


@given(st.lists(TRIPLES, min_size=1, max_size=40))
def test_the_map_has_every_transition_between_two_states(triples):
    run = run_in_memory([[draw(*triples)]])
    listing = StateListing(run.graph.vocabulary, run.executions)
    drawn = by_attribute(state_map(run.graph, WISHES[::-1], listing, SizeBudget(10**6)))
    counts = Counter(triples)
    tries = Counter((before, c) for before, c, _ in triples)
    assert {listing.states[n] for n in drawn.states} == {s for b, _, a in triples for s in (b, a)}
    assert drawn.omitted == 0
    assert {
        (listing.states[source], 3 - capability, listing.states[target]): draws
        for source, target, capability, _, draws in drawn.edges
    } == {t: n for t, n in counts.items() if t[0] != t[2]}
    for source, _, capability, probability, draws in drawn.edges:
        pair = listing.states[source], 3 - capability
        assert probability == pytest.approx(draws / tries[pair], abs=1e-6)


def test_a_small_map_has_the_states_nearest_to_the_initial_state():
    # There are s executions from state s: distant states are visited more often, and an
    # unreachable one most often.
    triples = [(s, 0, (s + 1) % 7) for s in range(7) for _ in range(max(s, 1))]
    triples += [(7, 0, 7)] * 20
    run = run_in_memory([[draw(*triples)]])
    listing = StateListing(run.graph.vocabulary, run.executions)
    drawn = by_attribute(state_map(run.graph, WISHES, listing, SizeBudget(500)))
    kept = [listing.states[n] for n in drawn.states]
    assert 2 <= len(kept) < 8
    assert set(kept) == set(range(len(kept)))
    assert drawn.omitted == 8 - len(kept)
    assert len(drawn.edges) == len(kept) - 1


def shown(run, pictures=None):
    return by_attribute(digest_run(run, pictures))


def test_states_are_named_in_the_order_of_first_sight_and_s0_is_the_initial_state(tmp_path):
    digest = shown(load(small_run(tmp_path / "run", [[draw((0, 0, 5), (5, 1, 4), (4, 0, 0))]])))
    assert [(s.name, s.atoms, s.executions) for s in digest.states.values()] == [
        ("s0", (), 1),
        ("s1", ("lit(a)", "broken()"), 1),
        ("s2", ("broken()",), 1),
    ]


def test_atoms_that_always_held_are_listed_once(tmp_path):
    path = small_run(tmp_path / "run", [[draw((4, 0, 5), (5, 2, 4))]], snapshots={4: b""})
    digest = shown(load(path))
    assert digest.always == ("broken()",)
    assert {s.atoms for s in digest.states.values()} == {(), ("lit(a)",)}
    alone = shown(load(small_run(tmp_path / "alone", [], snapshots={4: b""})))
    assert (alone.always, alone.states[0].atoms) == ((), ("broken()",))


def address(png):
    return "data:image/png;base64," + base64.b64encode(png).decode()


SNAPSHOTS = {0: b"dark", 1: b"a", 2: b"b"}
WALK = [[draw((0, 0, 1), (1, 1, 2), (2, 1, 6))]]


def test_states_have_a_picture_of_a_kept_position(tmp_path):
    run = load(small_run(tmp_path / "run", WALK, snapshots=SNAPSHOTS))
    digest = shown(run, lambda snapshot: PNG + snapshot)
    looks = [s.picture for s in digest.states.values()]
    assert looks == [*(address(PNG + s) for s in SNAPSHOTS.values()), ""]
    assert all(s.picture == "" for s in shown(run).states.values())


def raising(snapshot):
    if snapshot == b"a":
        raise ZeroDivisionError("no ink")
    return PNG


@pytest.mark.parametrize(
    ("pictures", "drawn"),
    [
        (raising, 2),
        (lambda snapshot: b"<svg onload=alert(1)>", 0),
        (lambda snapshot: None, 0),
        (lambda snapshot: "text", 0),
    ],
)
def test_only_a_picture_that_cannot_be_drawn_is_omitted(tmp_path, pictures, drawn):
    run = load(small_run(tmp_path / "run", WALK, snapshots=SNAPSHOTS))
    digest = shown(run, pictures)
    assert sum(bool(s.picture) for s in digest.states.values()) == drawn
    assert digest.capabilities == shown(run).capabilities


def test_pictures_are_drawn_while_they_fit_starting_with_the_initial_state(tmp_path):
    noise = random.Random(1).randbytes(6_000)
    run = load(small_run(tmp_path / "run", WALK, snapshots=SNAPSHOTS))
    with run.open_journal() as journal:
        made = digest_of(run, journal, lambda snapshot: PNG + noise, SizeBudget(25_000))
    looks = [bool(s.picture) for s in by_attribute(made).states.values()]
    assert looks[0]
    assert 0 < sum(looks) < 3
