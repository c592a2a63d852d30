"""The faults of a model server, those that take no time: the benchmark plays all of them."""

import pytest

from capscope_experiments.benchmarks.server_faults import FAULTS, measure

SLOW = {
    "no answer", "headers byte by byte", "body byte by byte", "body in chunks, for ever",
    "200 MB", "200 MB of headers",
}  # fmt: skip
USABLE = {
    "content in odd parts", "lone surrogate in the text", "lone surrogate in the reason",
    "NUL in the text", "a reason of a megabyte", "tokens beyond 64 bits", "negative tokens",
    "tokens as text", "usage is a list",
}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def package():
    pytest.importorskip("openai")


@pytest.mark.parametrize("fault", sorted(FAULTS.keys() - SLOW))
def test_a_fault_of_a_server_is_an_answer_or_an_error_of_the_run(fault):
    expected = "answer" if fault in USABLE else "error of the run"
    assert measure(fault).outcome == expected


@pytest.mark.parametrize("fault", ["headers byte by byte", "200 MB"])
def test_a_server_is_not_waited_for_without_end(fault):
    assert measure(fault).outcome == "error of the run"


def test_there_are_forty_faults():
    assert len(FAULTS) == 40
