"""CSV that is read back exactly, and runs nothing in a spreadsheet."""

import csv
import io

import pytest
from hypothesis import given, settings

from capscope.export.tables import Table, csv_text, model_tables
from capscope.model import LearnedModel
from support.odd_names import odd_models

NAMES = ["=1+1", "+a", "-a", "@a", "'=", "\tx", "\rx", "a", "a,b", 'a "b"', "a\nb", "a\r\nb", ""]


def read_back(text, columns):
    """Read CSV as its description says."""
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header == list(columns)

    def value(cell, kind):
        if kind is str:
            return cell[1:] if cell.startswith("'") else cell
        return {"true": True, "false": False}[cell] if kind is bool else kind(cell)

    return [tuple(map(value, row, columns.values())) for row in rows]


@given(odd_models())
@settings(max_examples=50)
@pytest.mark.parametrize("which", [0, 1])
def test_any_table_is_read_back_exactly(which, graph):
    model = LearnedModel.fitted(graph)
    table = model_tables(model)[which]
    assert read_back(csv_text(table), table.columns) == [*model_tables(model)[which].rows]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_is_taken_for_a_formula(name):
    row = (name, 1, name, name, 1, 1, 1, 1, 0.5, True, name, name, name, name)
    table = Table("rules", [row])
    text = csv_text(table)
    assert read_back(text, table.columns) == [row]
    _, cells = csv.reader(io.StringIO(text, newline=""))
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) for cell in cells)


def test_numbers_are_written_in_full_and_booleans_in_lower_case():
    row = (0, "0x1", "p()", 1, 2, 3, 4, 0.1 + 0.2, 1e-9, -0.5, True, False, 5, 6)
    line = csv_text(Table("queries", [row])).splitlines()[1]
    assert line == "0,0x1,p(),1,2,3,4,0.30000000000000004,1e-09,-0.5,true,false,5,6"
