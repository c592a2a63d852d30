import pytest

from capscope import Budget
from capscope_experiments.baselines.aalpy import NOTE, PeerSettings
from capscope_experiments.plan import BenchCase
from capscope_experiments.suites import peers
from capscope_experiments.suites.peers import PeerJob, measure_peers
from support.markdown_rows import cells, links
from support.tiny_bench import section_and_jobs, tiny_bench

BLOCKS = BenchCase("blocksworld", ("adaptive", "random"), {"adaptive": Budget(executions=1200)})


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return tiny_bench(tmp_path_factory.mktemp("bench"), cases=(BLOCKS,), seeds=(0,))


@pytest.fixture(scope="module")
def small():
    """Peers that may spend little."""

    def settings(method, seed):
        return PeerSettings(method=method, seed=seed, max_executions=400, traces=20)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peers, "PeerSettings", settings)
        yield


@pytest.fixture(scope="module")
def chapter(bench, small):
    return measure_peers(bench)


def test_ours_and_theirs_stand_in_one_table(chapter):
    ours = cells(chapter.body, "blocksworld", "adaptive")
    assert int(ours["executions to the exact model"].replace(",", "")) <= 1200
    assert ours["mean TV at the end"] == "0.0000"
    theirs = cells(chapter.body, "blocksworld", "l-star-mdp")
    assert theirs["executions to the exact model"] == "0 of 1 runs"
    assert theirs["ended by"] == "cut after 400 executions"
    assert cells(chapter.body, "blocksworld", "alergia")["resets"] == "20"
    assert links(chapter.body) == list(chapter.files) == ["peers.csv"]


def test_it_is_said_plainly_what_aalpy_cannot_do(chapter):
    assert NOTE in " ".join(chapter.body.split())


def test_a_kept_run_of_a_peer_is_not_made_again(chapter, bench, small, monkeypatch):
    def refuse(*given):
        raise AssertionError("asked again")

    monkeypatch.setattr(peers, "learn_with_aalpy", refuse)
    assert section_and_jobs(measure_peers, bench)[0] == chapter
    with pytest.raises(AssertionError, match="asked again"):
        PeerJob(bench.runs, "blocksworld", PeerSettings(seed=9))(print)
