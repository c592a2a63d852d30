import dataclasses
import json
import math
import re

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from capscope.cli.commands import make_app
from capscope.cli.options import with_settings
from capscope.errors import CapscopeError
from capscope.journal.settings import PAPER, OptionGroup, Settings, named
from capscope.logic import from_json, to_json

FIELDS = dataclasses.fields(Settings)
NUMBERS = [field for field in FIELDS if not isinstance(field.default, tuple)]
OPTIONS = [field for field in FIELDS if field.metadata["group"]]


@pytest.fixture(scope="module", params=["assess", "bench"])
def help_text(request):
    result = CliRunner().invoke(make_app(), [request.param, "--help"])
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


@pytest.mark.parametrize("field", OPTIONS, ids=names_of(OPTIONS))
def test_some_settings_are_options_of_the_command_line(field, help_text):
    assert re.search(rf"{named(field)} (<|/ --no-)", help_text)
    assert field.metadata["help"] in help_text


def test_the_other_settings_are_listed_with_their_defaults(capscope):
    listed = capscope("settings").out.splitlines()
    others = [field for field in FIELDS if field not in OPTIONS]
    assert listed[1::2] == [f"  {field.metadata['help']}" for field in others]
    assigned = [text for line in listed[::2] for text in ("--set", line)]
    chosen = []

    @with_settings
    def command(settings):
        chosen.append(settings)

    app = typer.Typer()
    app.command()(command)
    CliRunner().invoke(app, assigned, catch_exceptions=False)
    CliRunner().invoke(app, ["--set", "draws=3", "--set", "starts=2"])
    CliRunner().invoke(app, ["--set", "xi=0.5"])
    assert chosen[0] == dataclasses.replace(Settings(), exploration=chosen[0].exploration)
    assert chosen[0].exploration == pytest.approx(math.sqrt(2), abs=1e-5)
    assert chosen[1:] == [Settings(draws=3, starts=2), Settings(xi=0.5)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("draws", "--set takes name=value, not 'draws'; `capscope settings` lists them"),
        ("audit=0", "--set takes name=value, not 'audit=0'; `capscope settings` lists them"),
        ("draws=many", "--set draws takes a whole number, not 'many'"),
        ("xi=much", "--set xi takes a number, not 'much'"),
    ],
)
def test_a_mistake_after_set_is_told(text, message):
    result = CliRunner().invoke(make_app(), ["assess", "blocksworld", "--set", text])
    assert str(result.exception) == message


def test_the_options_of_assess_are_few_and_grouped():
    text = CliRunner().invoke(make_app(), ["assess", "--help"]).output
    assert len(re.findall(r"^  --", text, re.MULTILINE)) <= 27
    assert [title for title in OptionGroup if f"\n{title}:\n" in text] == list(OptionGroup)


@pytest.mark.parametrize("field", NUMBERS, ids=names_of(NUMBERS))
def test_a_number_in_a_help_text_is_the_one_of_the_code(field):
    named = set(map(float, re.findall(r"\d+(?:\.\d+)?", field.metadata["help"])))
    known = {0.0}  # what switches something off
    if field.name in PAPER:
        known.add(float(f"{PAPER[field.name]:g}"))
    if field.name == "batch":
        known |= {Settings().with_batch_for(n).batch / n for n in (1, 2, 3)}
        assert named == known
    assert named <= known


@pytest.mark.parametrize("field", NUMBERS, ids=names_of(NUMBERS))
def test_a_value_below_the_minimum_is_refused_by_the_name_of_its_named(field):
    low = field.metadata["minimum"] - 1
    with pytest.raises(CapscopeError, match=f"^{named(field)} must be at least .*, not {low}$"):
        Settings(**{field.name: low})


@pytest.mark.parametrize("field", NUMBERS, ids=names_of(NUMBERS))
def test_a_value_above_the_maximum_is_refused_by_the_name_of_its_named(field):
    high = field.metadata["maximum"] + 1
    if math.isfinite(high):
        with pytest.raises(CapscopeError, match=f"^{named(field)} must be at most .*, not {high}"):
            Settings(**{field.name: high})


@pytest.mark.parametrize("field", NUMBERS, ids=names_of(NUMBERS))
def test_what_is_not_a_number_is_refused(field):
    with pytest.raises(CapscopeError, match=f"^{named(field)} must be"):
        Settings(**{field.name: math.nan})


@pytest.mark.parametrize("field", NUMBERS, ids=names_of(NUMBERS))
def test_a_value_at_a_bound_is_accepted(field):
    for bound in (field.metadata["minimum"], field.metadata["maximum"]):
        if math.isfinite(bound):
            assert getattr(Settings(**{field.name: bound}), field.name) == bound


@pytest.mark.parametrize("command", [["assess", "blocksworld"], ["bench", "efficiency"]])
def test_the_command_line_refuses_what_python_refuses(command):
    result = CliRunner().invoke(make_app(), [*command, "--set", "draws=0"])
    assert isinstance(result.exception, CapscopeError)
    assert str(result.exception) == "--set draws must be at least 1, not 0"


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
    written = to_json(chosen)
    assert list(written) == names_of(FIELDS)
    assert from_json(Settings, json.loads(json.dumps(written))) == chosen


def test_missing_settings_have_their_defaults():
    assert from_json(Settings, {}) == Settings()
    assert from_json(Settings, {"draws": 3}) == Settings(draws=3)


def test_the_settings_are_those_of_the_paper_if_asked_for():
    paper = {
        "draws": 25, "depth": 20, "iterations": 1000, "exploration": math.sqrt(2), "xi": 1e-5,
        "random_length": 30, "patience": 25, "shift": 0.05, "reuse_changes": 100, "starts": 1,
    }  # fmt: skip
    printed = Settings().as_in_paper()
    assert {name: getattr(printed, name) for name in paper} == paper


def test_the_paper_switches_every_departure_off_and_nothing_else():
    chosen = Settings(depth=3, xi=0.0).as_in_paper()
    assert chosen == Settings(depth=3, xi=0.0, **PAPER)
    assert set(chosen.changed()) == {"depth", "xi", *PAPER}


def test_every_setting_that_says_what_the_paper_has_is_switched_by_it():
    said = {field.name for field in FIELDS if "paper" in field.metadata["help"]}
    assert said == set(PAPER)


def test_values_of_ones_own_hold_beside_those_of_the_paper():
    assert Settings(starts=3).as_in_paper() == Settings(starts=3, draws=25, patience=25, replays=0)
    chosen = []

    @with_settings
    def command(settings):
        chosen.append(settings)

    app = typer.Typer()
    app.command()(command)
    default = str(Settings().draws)
    CliRunner().invoke(app, ["--paper", "--set", f"draws={default}"], catch_exceptions=False)
    assert chosen == [Settings(starts=1, patience=25, replays=0)]


def test_settings_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().draws = 3
