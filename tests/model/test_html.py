"""Models in a notebook."""

import re
from collections import Counter
from html.parser import HTMLParser

from hypothesis import given

from capscope.model import StateGraph
from capscope.model.html import MOST_ROWS
from capscope.record.execution_table import Transition
from capscope.symbolic import Intent, Vocabulary
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
    heading, *rows = Cells(graph._repr_html_()).rows
    assert heading == ["capability", "success", "states tried", "draws", "rules"]
    # p holds in 0b001 already, and so does the last intent in the only state it was tried in.
    assert rows == [
        ["p()", "0.67", "2 of 4", "8", "2"],
        ["not q()", "1.00", "2 of 4", "10", "2"],
        ["p() and not r()", "unknown", "1 of 4", "23", "1"],
    ]


def test_where_the_world_has_ended_failing_does_not_count_unless_there_is_nothing_else():
    intents = [Intent.parse("p"), Intent.parse("q")]
    graph = StateGraph(Vocabulary.of_atoms("pqr"), intents)
    graph.update(Counter({Transition(0b000, 0, 0b001): 1, Transition(0b000, 0, 0b100): 3}))
    graph.update(Counter({Transition(0b100, capability, 0b100): 2 for capability in (0, 1)}))
    rows = Cells(graph._repr_html_()).rows[1:]
    assert [row[:3] for row in rows] == [["p()", "0.25", "2 of 3"], ["q()", "0.00", "1 of 3"]]


def test_both_models_say_which_they_are():
    graph = tossed_models()
    table = graph._repr_html_()
    assert graph.pessimistic._repr_html_() == (
        f"<p>The pessimistic model: what was seen, and nothing else.</p>{table}"
    )
    assert re.match("<p>The optimistic model: .*</p>", graph.optimistic._repr_html_())


@given(odd_models())
def test_no_name_is_taken_for_markup(graph):
    cells = Cells(graph.pessimistic._repr_html_())
    assert cells.tags == {"p", "table", "thead", "tbody", "tr", "th", "td"}
    names = [row[0] for row in cells.rows[1:]]
    shown = ["".join(c if c.isprintable() else repr(c)[1:-1] for c in str(i))
             for i in graph.capabilities]  # fmt: skip
    assert names == shown


def test_of_many_capabilities_the_first_are_told():
    words = Vocabulary.of_atoms(f"p{i}" for i in range(MOST_ROWS + 7))
    graph = StateGraph(words, [Intent.parse(str(atom)) for atom in words.atoms])
    text = graph._repr_html_()
    assert len(Cells(text).rows) == 1 + MOST_ROWS
    assert text.endswith("<p>and 7 more</p>")
    assert Cells(StateGraph(ODD)._repr_html_()).rows[1:] == []
