"""No draw is paid for twice, and no two draws share an answer."""

import itertools
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.adapters.llm import CallId, Completion, Sampling
from capscope.adapters.llm.answers import AnswerCache, cache_key
from capscope.errors import LlmError
from support.llm_agents import QUESTION
from support.llm_stub import fails, say
from support.processes import SECONDS, started

pytest_plugins = ["support.llm_fixtures"]
pytestmark = pytest.mark.usefixtures("own_cache")

ANSWER = Completion("yes", 10, 5, "stop", cost=0.25)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "below" / "answers.sqlite"


@pytest.fixture
def answers(path):
    with closing(AnswerCache(path)) as cache:
        yield cache


@pytest.fixture(scope="module")
def one_cache(tmp_path_factory):
    """One cache for many examples: creating it takes longer than using it."""
    with closing(AnswerCache(tmp_path_factory.mktemp("cache") / "answers.sqlite")) as cache:
        yield cache


def stored(cache):
    """Return the number of answers in a cache."""
    return cache._db.execute("SELECT count(*) FROM answers").fetchone()[0]


def test_two_draws_get_two_answers_and_a_repeat_is_free(ask, stub):
    stub.script.extend([say("heads"), say("tails"), say("edge")])
    assert [ask(0).text, ask(1).text, ask(0, call=1).text] == ["heads", "tails", "edge"]
    again = [ask(0), ask(1), ask(0, call=1)]
    assert [answer.text for answer in again] == ["heads", "tails", "edge"]
    assert all(answer.cached and not answer.cost for answer in again)
    assert len(stub.requests) == 3


def test_a_repeat_in_another_client_is_free(client, stub):
    for _ in range(2):
        asked = client()
        asked.complete(QUESTION, sampling=Sampling(), call=CallId(3))
        asked.close()
    assert len(stub.requests) == 1


def test_an_error_is_never_cached(client, stub):
    asked = client(tries=2)
    stub.script.extend([fails(500)] * 2 + [fails(401)])
    for _ in range(2):
        with pytest.raises(LlmError):
            asked.complete(QUESTION, sampling=Sampling(), call=CallId(0))
    assert stored(asked.cache) == 0
    assert asked.complete(QUESTION, sampling=Sampling(), call=CallId(0)).text == "hello"
    assert stored(asked.cache) == 1


def test_an_answer_is_on_disk_before_it_is_used(client, stub):
    asked = client()
    asked.complete(QUESTION, sampling=Sampling(), call=CallId(0))
    with closing(sqlite3.connect(asked.settings.cache)) as other:
        assert other.execute("SELECT text FROM answers").fetchall() == [("hello",)]


def test_the_key_contains_everything_that_an_answer_depends_on():
    questions = itertools.product(
        ["m", "n"],
        [QUESTION, QUESTION[:1], [*QUESTION, QUESTION[0]], QUESTION[::-1]],
        [
            Sampling(), Sampling(temperature=0.5), Sampling(temperature=None), Sampling(top_p=0.5),
            Sampling(max_tokens=9), Sampling(stop=("a",)), Sampling(stop=("a", "b")),
            Sampling(json_schema={"type": "object"}),
        ],
        [CallId(0), CallId(1), CallId(0, 1), CallId(2**64 - 1)],
    )  # fmt: skip
    keys = [cache_key(*question) for question in questions]
    assert len(set(keys)) == len(keys) == 2 * 4 * 8 * 4


seeds = st.integers(0, 2**64 - 1)


@given(seeds, seeds, st.integers(0, 99), st.integers(0, 99))
def test_two_calls_never_share_a_key(seed, other, number, later):
    calls = CallId(seed, number), CallId(other, later)
    first, second = (cache_key("m", QUESTION, Sampling(), call) for call in calls)
    assert (first == second) is (calls[0] == calls[1])
    assert 0 <= calls[0].sampling_seed < 2**31


text = st.text(st.characters(codec="utf-8"))


@given(text, st.integers(0, 2**40), st.integers(0, 2**40), text)
def test_an_answer_survives_a_round_trip(one_cache, said, prompt, completion, reason):
    key = str(stored(one_cache))
    answer = Completion(said, prompt, completion, reason, cost=0.5)
    assert one_cache.find(key) is None
    assert one_cache.add(key, "model", answer) == answer
    assert one_cache.find(key) == Completion(said, prompt, completion, reason, cached=True)


def test_the_first_stored_answer_is_used_although_both_were_paid_for(answers, path):
    with closing(AnswerCache(path)) as other:
        assert answers.add("key", "m", ANSWER) == ANSWER
        late = Completion("no", 10, 7, "stop", cost=0.5)
        assert other.add("key", "m", late) == Completion("yes", 10, 5, "stop", cost=0.5)
        assert stored(other) == 1


def test_threads_and_processes_share_a_cache(answers, path):
    writer = (
        "import sys; from pathlib import Path\n"
        "from capscope.adapters.llm.answers import AnswerCache\n"
        "from capscope.adapters.llm import Completion\n"
        "cache = AnswerCache(Path(sys.argv[1]))\n"
        "for i in range(200): cache.add(f'theirs {i}', 'm', Completion(str(i), 1, 1, 'stop'))\n"
    )
    begun = threading.Barrier(4)

    def write(thread):
        begun.wait(SECONDS)
        for i in range(50):
            answers.add(f"ours {thread} {i}", "m", ANSWER)

    with started([sys.executable, "-c", writer, str(path)]) as other:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))
        assert other.wait(SECONDS) == 0
    assert stored(answers) == 400
    assert answers.find("theirs 7").text == "7"


# Bad files.


def test_the_error_for_a_damaged_cache_says_what_to_do(path):
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is not a database, despite its name" * 100)
    with pytest.raises(LlmError, match=r"answers\.sqlite.*the answer cache is damaged; delete it"):
        AnswerCache(path)
    assert path.read_bytes().startswith(b"this is not")


def test_a_cache_that_is_damaged_in_the_middle_is_reported_too(path):
    with closing(AnswerCache(path)) as cache:
        for i in range(300):
            cache.add(f"key {i}", "m", Completion("words " * 50, 1, 1, "stop"))
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with closing(AnswerCache(path)) as cache, pytest.raises(LlmError, match="damaged; delete it"):
        cache.find("key 7")


def test_a_database_of_another_program_is_not_changed(path):
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE songs (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(LlmError, match="a database of another program and was not changed"):
        AnswerCache(path)
    assert path.read_bytes() == before


def test_a_directory_that_cannot_be_created_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LlmError, match=r"cannot create the cache directory .*set CAPSCOPE_CACHE"):
        AnswerCache(tmp_path / "file" / "answers.sqlite")


def test_a_full_disk_is_reported(answers):
    pages = answers._db.execute("PRAGMA page_count").fetchone()[0]
    answers._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LlmError, match="disk is full: check the disk, "):
        for i in range(1000):
            answers.add(f"key {i}", "m", Completion("words " * 100, 1, 1, "stop"))
    answers._db.execute("PRAGMA max_page_count = 100000")
    assert answers.add("later", "m", ANSWER) == ANSWER


OPENING = """
import sys
from pathlib import Path
from capscope.adapters.llm.answers import AnswerCache
sys.stdin.readline()  # all processes begin together
AnswerCache(Path(sys.argv[1])).close()
"""


def test_processes_may_open_a_new_cache_at_the_same_time(tmp_path):
    for number in range(5):
        path = str(tmp_path / f"answers-{number}.sqlite")
        command = [sys.executable, "-c", OPENING, path]
        pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with ExitStack() as stack:
            opening = [stack.enter_context(started(command, **pipes)) for _ in range(4)]
            for process in opening:
                process.stdin.write("now\n")
                process.stdin.flush()
            ended = [process.communicate(timeout=SECONDS)[1] for process in opening]
        assert ended == [""] * 4
