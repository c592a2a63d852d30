import io
import json
import os
import zipfile
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.errors import CapscopeError
from capscope.insight.evaluation.sample import IndependentSample, Recipe, load, save
from capscope.journal.execution_table import Transition
from capscope.logic import Intent
from capscope.problem import Limits
from support.toy_worlds import board_problem

INTENTS = [Intent.parse(text) for text in ("lit(c)", "lit(a)", "not lit(b)")]


def recipe(intents=INTENTS, sequences=2, **changes):
    problem = replace(board_problem(), **changes)
    return Recipe.of(problem, "board", intents, 5, sequences)


COUNTS = {Transition(0, 0, 1): 15, Transition(1, 2, 7): 9, Transition(7, 1, 7): 3}


def sample_of(counts, made_of, done=2):
    return IndependentSample(made_of.intents, done, counts, made_of.file_name)


@pytest.fixture
def kept(tmp_path):
    """A folder with one dataset."""
    save(sample_of(COUNTS, recipe()), recipe(), tmp_path)
    return tmp_path


def test_what_was_saved_is_loaded(kept):
    found = load(recipe(), kept)
    assert found.transitions == COUNTS
    assert found.intents == tuple(sorted(INTENTS))
    assert (found.sequences, found.executions) == (2, 27)
    assert [path.name for path in kept.iterdir()] == [recipe().file_name]


@given(
    st.dictionaries(
        st.builds(Transition, st.integers(0, 2**130), st.integers(0, 2), st.integers(0, 2**130)),
        st.integers(1, 9),
        max_size=6,
    )
)
def test_wide_states_survive_the_file(tmp_path_factory, counts):
    folder = tmp_path_factory.mktemp("kept")
    executions = sum(counts.values())
    # As many sequences as make such a number of executions believable.
    counts = Counter(counts) + Counter({Transition(1, 1, 1): 10 + executions})
    done = counts.total() // 10
    made_of = recipe(sequences=100)
    save(sample_of(counts, made_of, done), made_of, folder)
    assert load(made_of, folder).transitions == counts


def test_the_file_needs_no_pickle_and_says_what_it_is(kept):
    with np.load(kept / recipe().file_name, allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes())
        assert archive["states"].tolist() == [b"", b"\x01", b"\x07"]
    assert header["format"] == "capscope independent sample"
    assert header["made of"]["intents"] == [str(intent) for intent in sorted(INTENTS)]
    assert header["made of"]["sequences"] == header["done"] == 2


def test_there_is_nothing_where_nothing_was_begun(tmp_path):
    assert load(recipe(), tmp_path) is None
    assert load(recipe(), tmp_path / "nowhere") is None


def test_the_order_in_which_intents_were_found_does_not_matter():
    assert recipe(INTENTS[::-1]).file_name == recipe().file_name
    assert recipe([*INTENTS, INTENTS[0]]).intents == recipe().intents


@pytest.mark.parametrize(
    "other",
    [
        recipe(INTENTS[:2]),
        recipe(sequences=3),
        recipe(fingerprint="changed"),
        recipe(limits=Limits(horizon=3)),
        recipe(limits=Limits(temporal_length=None)),
        replace(recipe(), seed=6),
        replace(recipe(), source="elsewhere.py:board"),
    ],
)
def test_another_dataset_has_another_file(other):
    assert other.file_name != recipe().file_name


def rewritten(path, **changes):
    """Change arrays of a dataset file; None takes one away."""
    with np.load(path) as archive:
        arrays = {**archive, **changes}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


def with_header(path, **changes):
    with np.load(path) as archive:
        header = {**json.loads(archive["header"].tobytes()), **changes}
    rewritten(path, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))


def _pickled():
    file = io.BytesIO()
    np.savez(file, header=np.array([{"a": 1}], dtype=object))
    return file.getvalue()


DAMAGES = {
    "nothing": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("hello"),
    "a half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "a flipped byte": lambda path: path.write_bytes(
        bytes(b ^ (i == 120) for i, b in enumerate(path.read_bytes()))
    ),
    "another archive": lambda path: zipfile.ZipFile(path, "w").close(),
    "a pickle": lambda path: path.write_bytes(_pickled()),
    "a foreign format": lambda path: with_header(path, format="something"),
    "a later version": lambda path: with_header(path, version=3),
    "another recipe": lambda path: with_header(path, **{"made of": recipe([]).identity()}),
    "a header of text": lambda path: with_header(path, done="two"),
    "too many sequences": lambda path: with_header(path, done=3),
    "too few sequences": lambda path: with_header(path, done=0),
    "no counts": lambda path: rewritten(path, times=None),
    "a count of nothing": lambda path: rewritten(path, times=np.array([27, 0, 0])),
    "a state that is not there": lambda path: rewritten(path, after=np.array([0, 1, 3])),
    "an intent that is not there": lambda path: rewritten(path, capability=np.array([0, 3, 0])),
    "a column too short": lambda path: rewritten(path, before=np.array([0, 1])),
    "states of text": lambda path: rewritten(path, states=np.array(["a", "b", "c"])),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_foreign_file_is_told_with_what_to_do(kept, damage):
    path = kept / recipe().file_name
    DAMAGES[damage](path)
    with pytest.raises(CapscopeError, match=r"damaged or not .* delete it, or .* --rebuild"):
        load(recipe(), kept)


def test_a_folder_in_place_of_the_file_is_told(tmp_path):
    (tmp_path / recipe().file_name).mkdir()
    with pytest.raises(CapscopeError, match="cannot read"):
        load(recipe(), tmp_path)


def test_a_pipe_in_place_of_the_file_is_told_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / recipe().file_name)
    with pytest.raises(CapscopeError, match="it is not a regular file"):
        load(recipe(), tmp_path)


def test_a_draft_that_is_a_link_is_not_followed(kept):
    precious = kept / "precious"
    precious.write_text("mine")
    (kept / f".{recipe().file_name}.{os.getpid()}.draft").symlink_to(precious)
    save(load(recipe(), kept), recipe(), kept)
    assert precious.read_text() == "mine"


def test_a_failed_write_is_told_and_leaves_what_was_there(kept, monkeypatch):
    def full(path, data):
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    more = sample_of(COUNTS | {Transition(7, 0, 7): 1}, recipe())
    with pytest.raises(CapscopeError, match="No space left on device"):
        save(more, recipe(), kept)
    assert load(recipe(), kept).transitions == COUNTS
    assert len(list(kept.iterdir())) == 1
