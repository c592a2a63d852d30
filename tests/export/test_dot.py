"""The graph of states, read back by a small parser and, if installed, by Graphviz."""

import html
import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings

from capscope.export.dot import dot_graph
from capscope.model import LearnedModel, StateGraph
from capscope.sanitize import sanitize
from support.odd_names import BREAKOUT, ODD, odd_models, tossed_models
from support.processes import SECONDS

ATTRIBUTE = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|[\w.]+)')
NODE = re.compile(r"  s(\d+) \[(.*)\];")
EDGE = re.compile(r"  s(\d+) -> s(\d+) \[(.*)\];")


def attributes(text):
    """Read attributes as Graphviz does: a backslash before n ends a line, else it escapes."""
    assert re.fullmatch(rf"{ATTRIBUTE.pattern}(?:, {ATTRIBUTE.pattern})*", text), text
    return {name: value.strip('"') for name, value in ATTRIBUTE.findall(text)}


def lines_of(value):
    parts = re.findall(r"\\(.)|([^\\]+)", value)
    text = "".join(plain or {"n": "\n"}.get(escaped, escaped) for escaped, plain in parts)
    return [html.unescape(line) for line in text.split("\n")]


def read(text):
    first, title, _, _, *rest, last = text.splitlines()
    assert (first, last) == ("digraph capabilities {", "}")
    edges = {}
    nodes = {}
    for line in rest:
        if found := EDGE.fullmatch(line):
            edges[int(found[1]), int(found[2])] = attributes(found[3])
        else:
            found = NODE.fullmatch(line)
            nodes[int(found[1])] = attributes(found[2])
    label = attributes(re.fullmatch(r"  graph \[(.*)\];", title)[1])["label"]
    return nodes, edges, " ".join(lines_of(label))


def expected_ways(graph, loops):
    numbers = {state: i for i, state in enumerate(graph.nodes)}
    found, model = {}, LearnedModel.fitted(graph)
    for state, node in graph.nodes.items():
        for intent, pair in zip(graph.capabilities, node.pairs, strict=True):
            for after in {effect.apply(state) for effect in pair.counts} if pair else ():
                p = model.predict(state, intent)[after]
                if loops or after != state:
                    key = numbers[state], numbers[after]
                    found.setdefault(key, []).append((p, str(intent)))
    return found


@given(odd_models())
@pytest.mark.parametrize("loops", [False, True])
def test_every_transition_is_on_an_arrow_as_thick_as_it_is_likely(loops, graph):
    nodes, edges, _ = read(dot_graph(LearnedModel.fitted(graph), BREAKOUT, loops=loops))
    ways = expected_ways(graph, loops)
    assert nodes.keys() == set(range(len(graph.nodes)))
    assert edges.keys() == ways.keys()
    for key, found in ways.items():
        shown = lines_of(edges[key]["tooltip"])
        assert sorted(shown) == sorted(f"{sanitize(name)} {p:.2g}" for p, name in found)
        likeliest = max(p for p, _ in found)
        assert float(edges[key]["penwidth"]) == pytest.approx(0.5 + 3.5 * likeliest, abs=0.01)


@given(odd_models())
def test_a_state_shows_what_holds_in_it(graph):
    nodes, _, _ = read(dot_graph(LearnedModel.fitted(graph), "odd"))
    for number, state in enumerate(graph.nodes):
        shown = [line for line in lines_of(nodes[number]["tooltip"]) if line]
        assert shown == [sanitize(str(atom)) for atom in ODD.holding(state)]


def test_labels_omit_what_always_holds_and_the_first_state_is_bold():
    graph = tossed_models()
    nodes, _, title = read(dot_graph(LearnedModel.fitted(graph), "toss"))
    assert title == "toss: 4 states seen"
    assert lines_of(nodes[0]["label"]) == ["s0"]
    assert nodes[0]["penwidth"] == "3"
    assert lines_of(nodes[1]["label"]) == ["s1", "p()"]
    assert "dashed" not in nodes[1].get("style", "")
    assert "dashed" in nodes[2]["style"]  # nothing was tried there


def test_only_the_most_visited_states_are_drawn_and_the_title_says_so():
    graph = tossed_models()
    nodes, edges, title = read(dot_graph(LearnedModel.fitted(graph), "toss", limit=2))
    # 28 executions began in 0b001, none in 0b111.
    assert nodes.keys() == {0, 1}
    assert edges.keys() == {(0, 1), (1, 0)}
    assert title == (
        "toss: 4 states seen, the 2 most visited drawn; 3 arrows to or from others omitted"
    )


def test_an_empty_run_is_an_empty_graph():
    assert read(dot_graph(LearnedModel.fitted(StateGraph(ODD, [])), "empty")) == (
        {},
        {},
        "empty: 0 states seen",
    )


@pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed")
@given(odd_models())
@settings(max_examples=10)
@pytest.mark.parametrize("loops", [False, True])
def test_graphviz_draws_it(loops, graph):
    text = dot_graph(LearnedModel.fitted(graph), BREAKOUT, loops=loops)
    drawn = subprocess.run(
        ["dot", "-Tplain"], input=text, capture_output=True, text=True, check=True, timeout=SECONDS
    )
    assert not drawn.stderr
    kinds = [line.partition(" ")[0] for line in drawn.stdout.splitlines()]
    assert kinds.count("node") == len(graph.nodes)
    assert kinds.count("edge") == len(expected_ways(graph, loops))
