import pytest

from capscope import Budget
from capscope_experiments.baselines.aalpy import NOTE, PeerSettings
from capscope_experiments.plan import BenchCase
from capscope_experiments.suites import peers
from capscope_experiments.suites.peers import PeerJob, measure_peers
from support.markdown_rows import cells, links
from support.tiny_bench import section_and_jobs, tiny_bench

BLOCKS = BenchCase(
    "blocksworld", ("exhaustive", "random"), {"exhaustive": Budget(executions=1200)}, sequences=20
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return tiny_bench(tmp_path_factory.mktemp("bench"), cases=(BLOCKS,), seeds=(0,))


@pytest.fixture(scope="module")
def small():
    """Settings of AALpy with small limits."""

    def settings(method, seed):
        return PeerSettings(method=method, seed=seed, max_executions=400, traces=20)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peers, "PeerSettings", settings)
        yield


@pytest.fixture(scope="module")
def section(bench, small):
    return measure_peers(bench)


def test_our_strategies_and_those_of_aalpy_are_in_one_table(section):
    ours = cells(section.body, "blocksworld", "exhaustive")
    assert int(ours["executions to the exact model"].replace(",", "")) <= 1200
    assert ours["mean TV at the end"] == "0.0000"
    theirs = cells(section.body, "blocksworld", "l-star-mdp")
    assert theirs["executions to the exact model"] == "0 of 1 runs"
    assert theirs["seeds"] == "1"
    assert cells(section.body, "blocksworld", "alergia")["resets"] == "20"
    assert links(section.body) == list(section.files) == ["peers.csv"]


def test_the_section_says_what_aalpy_cannot_do(section):
    assert NOTE in " ".join(section.body.split())


def test_a_saved_run_of_aalpy_is_not_repeated(section, bench, small, monkeypatch):
    def refuse(*given):
        raise AssertionError("asked again")

    monkeypatch.setattr(peers, "learn_with_aalpy", refuse)
    assert section_and_jobs(measure_peers, bench)[0] == section
    with pytest.raises(AssertionError, match="asked again"):
        PeerJob(bench.runs, "blocksworld", PeerSettings(seed=9))(print)
