"""Groups of states, compared with grouping one by one."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.report.digest.size_budget import SizeBudget
from capscope.report.digest.states import NO_OVERVIEW, StateListing, group_overview, grouping_atoms
from support.small_runs import WISHES, draw, run_in_memory

TRIPLES = st.tuples(st.integers(0, 7), st.integers(0, 3), st.integers(0, 7))


def overview_of(run, atoms=(2, 0), space=10**6):
    listing = StateListing(run.graph.vocabulary, run.executions)
    made = group_overview(run.graph, WISHES[::-1], atoms, listing, SizeBudget(space))
    return listing, made


@given(st.lists(TRIPLES, min_size=1, max_size=40))
def test_groups_partition_the_states_and_edges_count_the_executions_between_them(triples):
    run = run_in_memory([[draw(*triples)]])
    listing, overview = overview_of(run)
    states = list(run.graph.nodes)
    chosen = grouping_atoms(states, (2, 0))
    key = {state: tuple(state >> atom & 1 for atom in chosen) for state in states}
    if len(set(key.values())) in (1, len(states)):
        assert overview == NO_OVERVIEW
        return
    assert sum(number for _, number, *_ in overview["groups"]) == len(states)
    of_key = {}
    for i, (_, number, executions, members, initial) in enumerate(overview["groups"]):
        (own,) = {key[listing.states[member]] for member in members}
        of_key[own] = i
        assert initial == (listing.states[0] in key and key[listing.states[0]] == own)
        assert executions == sum(key[before] == own for before, _, _ in triples)
        assert number == sum(k == own for k in key.values())
    assert len(of_key) == len(overview["groups"])
    led = Counter((of_key[key[b]], of_key[key[a]], 3 - c) for b, c, a in triples)
    asked = Counter((of_key[key[b]], 3 - c) for b, c, _ in triples)
    expected = {edge: n for edge, n in led.items() if edge[0] != edge[1]}
    assert {tuple(edge): draws for *edge, _, draws in overview["edges"]} == expected
    for source, _, capability, probability, draws in overview["edges"]:
        assert probability == pytest.approx(draws / asked[source, capability], abs=1e-5)


@given(st.sets(st.integers(0, 255), min_size=1), st.permutations(range(8)), st.integers(1, 40))
def test_there_are_never_more_groups_than_wanted_and_each_atom_adds_some(states, atoms, most):
    chosen = grouping_atoms(list(states), atoms, most)
    assert [atom for atom in atoms if atom in chosen] == chosen
    numbers = [
        len({tuple(s >> a & 1 for a in chosen[:n]) for s in states}) for n in range(len(chosen) + 1)
    ]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] <= max(most, 1)


def test_an_overview_that_does_not_fit_is_left_out():
    run = run_in_memory([[draw((0, 0, 1), (1, 3, 5), (5, 1, 7))]])
    assert overview_of(run)[1]["groups"]
    assert overview_of(run, space=50)[1] == NO_OVERVIEW


def test_an_atom_in_which_nearly_all_states_agree_is_passed_over():
    states = [*range(0, 400, 2), 1]  # atom 0 holds in one state of 201
    assert grouping_atoms(states, [0, 1]) == [1]
    assert grouping_atoms([0, 1, 2], [0, 1]) == [0, 1]
