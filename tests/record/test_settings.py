import dataclasses
import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from capscope.cli.main import app
from capscope.errors import CapscopeError
from capscope.record.identity import RunIdentity
from capscope.record.settings import PAPER, Settings

FIELDS = dataclasses.fields(Settings)
NUMBERS = [field for field in FIELDS if not isinstance(field.default, tuple)]


def option(field):
    return field.metadata.get("option", f"--{field.name.replace('_', '-')}")


@pytest.fixture(scope="module", params=["assess", "bench"])
def help_text(request):
    result = CliRunner().invoke(app, [request.param, "--help"])
    assert result.exit_code == 0
    return " ".join(result.output.split())


def names_of(fields):
    return [field.name for field in fields]


@pytest.mark.parametrize("field", FIELDS, ids=names_of(FIELDS))
def test_every_setting_has_a_help_text_and_bounds(field):
    text = field.metadata["help"]
    assert text.endswith(".")
    assert text[0].isupper() or text.startswith("λ")
    assert 0 <= field.metadata["minimum"] < field.metadata["maximum"]
    if field in NUMBERS:
        assert field.metadata["minimum"] <= field.default <= field.metadata["maximum"]


@pytest.mark.parametrize("field", FIELDS, ids=names_of(FIELDS))
def test_the_command_line_has_an_option_for_every_setting(field, help_text):
    assert re.search(rf"{option(field)} (<|/ --no-)", help_text)
    assert field.metadata["help"] in help_text


@pytest.mark.parametrize("field", NUMBERS, ids=names_of(NUMBERS))
def test_a_value_below_the_minimum_is_refused_by_the_name_of_its_option(field):
    low = field.metadata["minimum"] - 1
    with pytest.raises(CapscopeError, match=f"^{option(field)} must be at least .*, not {low}$"):
        Settings(**{field.name: low})


@pytest.mark.parametrize("field", NUMBERS, ids=names_of(NUMBERS))
def test_a_value_above_the_maximum_is_refused_by_the_name_of_its_option(field):
    high = field.metadata["maximum"] + 1
    if math.isfinite(high):
        with pytest.raises(CapscopeError, match=f"^{option(field)} must be at most .*, not {high}"):
            Settings(**{field.name: high})


@pytest.mark.parametrize("field", NUMBERS, ids=names_of(NUMBERS))
def test_what_is_not_a_number_is_refused(field):
    with pytest.raises(CapscopeError, match=f"^{option(field)} must be"):
        Settings(**{field.name: math.nan})


@pytest.mark.parametrize("field", NUMBERS, ids=names_of(NUMBERS))
def test_a_value_at_a_bound_is_accepted(field):
    for bound in (field.metadata["minimum"], field.metadata["maximum"]):
        if math.isfinite(bound):
            assert getattr(Settings(**{field.name: bound}), field.name) == bound


@pytest.mark.parametrize("command", [["assess", "blocksworld"], ["bench", "efficiency"]])
def test_the_command_line_refuses_what_python_refuses(command):
    result = CliRunner().invoke(app, [*command, "--draws", "0"])
    assert isinstance(result.exception, CapscopeError)
    assert str(result.exception) == "--draws must be at least 1, not 0"


@st.composite
def some_settings(draw):
    chosen = {
        field.name: draw(
            st.integers(int(field.metadata["minimum"]), int(min(field.metadata["maximum"], 1e6)))
            if isinstance(field.default, int)
            else st.floats(field.metadata["minimum"], min(field.metadata["maximum"], 1e6))
        )
        for field in NUMBERS
    }
    return Settings(**chosen, intents=tuple(draw(st.lists(st.text(), max_size=3))))


@given(some_settings())
def test_settings_survive_the_way_through_json(chosen):
    written = chosen.as_dict()
    assert list(written) == names_of(FIELDS)
    assert Settings.from_dict(json.loads(json.dumps(written))) == chosen


def test_missing_settings_have_their_defaults():
    assert Settings.from_dict({}) == Settings()
    assert Settings.from_dict({"draws": 3}) == Settings(draws=3)


def test_the_defaults_are_those_of_the_paper():
    paper = {
        "draws": 25, "depth": 20, "iterations": 1000, "exploration": math.sqrt(2), "xi": 1e-5,
        "random_length": 30, "patience": 25, "shift": 0.05, "reuse_changes": 100,
    }  # fmt: skip
    assert {name: getattr(Settings(), name) for name in paper} == paper


def test_the_paper_switches_every_departure_off_and_nothing_else():
    chosen = Settings(draws=3, xi=0.0).as_in_paper()
    assert chosen == Settings(draws=3, xi=0.0, **PAPER)
    assert set(chosen.changed()) == {"draws", "xi", *PAPER}


def test_every_setting_that_says_what_the_paper_has_is_switched_by_it():
    said = {field.name for field in FIELDS if "paper" in field.metadata["help"]}
    assert said == set(PAPER)


def test_the_paper_and_a_departure_of_ones_own_contradict_each_other():
    with pytest.raises(CapscopeError, match=r"^--paper sets --starts to 1, not 3$"):
        Settings(starts=3).as_in_paper()
    result = CliRunner().invoke(app, ["assess", "blocksworld", "--paper", "--discount", "0.5"])
    assert str(result.exception) == "--paper sets --discount to 1, not 0.5"


@pytest.mark.parametrize(("strategy", "shared"), [("mcqs-s", 0), ("mcqs-e", 0), ("random", 3)])
def test_in_runs_made_before_draws_could_share_pairs_they_do_not(strategy, shared):
    stored = RunIdentity("blocksworld", "f", "v", strategy, 0).as_dict()
    del stored["settings"]["draws_per_pair"]
    assert RunIdentity.from_dict(stored).settings.draws_per_pair == shared


def test_settings_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().draws = 3
