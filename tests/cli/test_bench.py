"""`capscope bench` hands over to the experiments in a clone, and says where they are elsewhere."""

import pytest

from capscope.cli import commands


@pytest.fixture
def outside_a_clone(monkeypatch, tmp_path):
    monkeypatch.setattr(commands, "EXPERIMENTS", tmp_path / "experiments")


@pytest.mark.usefixtures("outside_a_clone")
@pytest.mark.parametrize("given", [[], ["efficiency"], ["speed", "--seeds", "3", "--json"]])
def test_outside_a_clone_one_line_says_where_the_experiments_are(refusal, given):
    line = refusal("bench", *given)
    assert "the experiments are in capscope's repository" in line
    assert "pip install --editable '.[all,experiments]' && capscope bench" in line


@pytest.mark.usefixtures("outside_a_clone")
def test_outside_a_clone_the_help_says_what_is_needed(capscope):
    done = capscope("bench", "--help")
    assert (done.code, done.err) == (0, "")
    assert "needs a clone of the repository" in done.out
    assert "--seeds" not in done.out


def test_in_a_clone_help_and_mistakes_are_those_of_the_experiments(capscope):
    done = capscope("bench", "--help")
    assert done.code == 0
    assert "capscope bench [OPTIONS] [suite]" in done.out.splitlines()[0]
    assert "--levels" in done.out
    done = capscope("bench", "--nonsense")
    assert done.code == 2
    assert "No such option: --nonsense" in done.err
    assert "capscope bench --help' for help." in done.err
