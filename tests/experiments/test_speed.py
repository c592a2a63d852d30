from capscope.problems import load_problem
from capscope_experiments.suites.speed import sampled_graph


def test_a_sampled_graph_has_its_share_of_the_pairs_with_all_draws():
    problem = load_problem("blocksworld")
    graph = sampled_graph(problem, problem.truth, share=0.5, draws=7)
    everything = len(problem.truth.reachable_states()) * len(list(problem.truth.intents()))
    assert 0.4 < graph.pairs_tried / everything < 0.6
    totals = {p.total for place in graph.nodes.values() for p in place.pairs if p is not None}
    assert totals == {7}
