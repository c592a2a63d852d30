"""The table of a model in a notebook."""

from collections import Counter
from html.parser import HTMLParser

from hypothesis import given

from capscope.journal.execution_table import Transition
from capscope.logic import Intent, Vocabulary
from capscope.model import StateGraph
from capscope.report.notebook import MOST_ROWS, graph_html
from capscope.sanitize import sanitize
from support.odd_names import ODD, odd_models, tossed_models


class Cells(HTMLParser):
    """Collects tags and the texts of cells."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.rows = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def test_a_row_tells_success_where_the_intent_did_not_hold_and_what_is_behind_it():
    graph = tossed_models()
    heading, *rows = Cells(graph_html(graph)).rows
    assert heading == ["capability", "success", "states tried", "executions"]
    # p holds in 0b001 already, and so does the last intent in the only state it was tried in.
    assert rows == [
        ["p()", "0.67", "2 of 4", "8"],
        ["not q()", "1.00", "2 of 4", "10"],
        ["p() and not r()", "unknown", "1 of 4", "23"],
    ]


def test_where_the_world_has_ended_failing_does_not_count_unless_there_is_nothing_else():
    intents = [Intent.parse("p"), Intent.parse("q")]
    graph = StateGraph(Vocabulary.of_atoms("pqr"), intents)
    graph.update(Counter({Transition(0b000, 0, 0b001): 1, Transition(0b000, 0, 0b100): 3}))
    graph.update(Counter({Transition(0b100, capability, 0b100): 2 for capability in (0, 1)}))
    rows = Cells(graph_html(graph)).rows[1:]
    assert [row[:3] for row in rows] == [["p()", "0.25", "2 of 3"], ["q()", "0.00", "1 of 3"]]


@given(odd_models())
def test_no_name_is_taken_for_markup(graph):
    cells = Cells(graph_html(graph))
    assert cells.tags == {"table", "thead", "tbody", "tr", "th", "td"}
    names = [row[0] for row in cells.rows[1:]]
    assert names == [sanitize(str(intent)) for intent in graph.capabilities]


def test_only_the_first_of_many_capabilities_are_listed():
    vocabulary = Vocabulary.of_atoms(f"p{i}" for i in range(MOST_ROWS + 7))
    graph = StateGraph(vocabulary, [Intent.parse(str(atom)) for atom in vocabulary.atoms])
    text = graph_html(graph)
    assert len(Cells(text).rows) == 1 + MOST_ROWS
    assert text.endswith("<p>and 7 more</p>")
    assert Cells(graph_html(StateGraph(ODD))).rows[1:] == []
