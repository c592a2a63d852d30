"""The local page over real requests."""

import json
import re
import socket
import sqlite3
import threading
from contextlib import closing
from urllib.parse import quote, urlsplit

import pytest

from capscope import Budget, assess
from capscope.errors import CapscopeError
from capscope.journal.draws import QueryRecord, Start
from capscope.journal.journal import Journal
from capscope_view.runs import LiveReports, RenderedReport
from support import view_server
from support.small_runs import DARK, draw, execution, small_run
from support.toy_worlds import slippery_board
from support.view_client import asked, eventually, request

served = view_server.served  # a fixture

SAID = execution(0, 0, 1, llm_tokens=9, detail="a <b>detail</b>", transcript="user: <i>hello</i>")
QUERIES = [
    [draw((0, 0, 1))],
    [draw((0, 1, 2), (2, 0, 3)), draw(SAID)],
]


@pytest.fixture
def runs(tmp_path):
    small_run(tmp_path / "runs" / "one", QUERIES)
    return tmp_path / "runs"


def run_id(address, name="one"):
    return next(one["id"] for one in asked(address, "runs.json")["runs"] if one["name"] == name)


def contents(folder):
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def report_of(address, run):
    eventually(lambda: asked(address, f"run/{run}/status.json")["report"]["version"])
    return request(address, f"run/{run}/report.html")


def test_the_list_names_every_run(served, runs):
    address = served(runs).address
    page = request(address)
    assert page.code == 200
    assert "text/html" in page.headers["content-type"]
    (listed,) = asked(address, "runs.json")["runs"]
    assert (listed["name"], listed["activity"], listed["executions"]) == ("one", "incomplete", 4)
    assert listed["id"] in page.text


def test_a_report_is_the_one_that_the_command_writes_and_nothing_is_written(served, tmp_path):
    made = assess(slippery_board(), budget=Budget(executions=40), run=tmp_path / "runs" / "board")
    before = contents(tmp_path / "runs")
    address = served(tmp_path / "runs").address
    page = report_of(address, run_id(address, "board"))
    assert page.text == made.report(tmp_path / "again.html").read_text(encoding="utf-8")
    asked(address, f"run/{run_id(address, 'board')}/draw.json")
    asked(address, f"run/{run_id(address, 'board')}/draws.json")
    assert contents(tmp_path / "runs") == before


def test_a_report_follows_the_run(served, runs):
    address = served(runs).address
    run = run_id(address)
    assert "4 executions" in report_of(address, run).text
    first = asked(address, f"run/{run}/status.json")
    with closing(Journal.open(runs / "one" / "journal.sqlite")) as journal:
        start = Start(0, DARK)
        journal.begin_query(2, QueryRecord(start, 0, 0.0, 1.0, True))
        journal.add_draw((2, 0), start, draw((0, 3, 4)), {})
        later = eventually(
            lambda: (
                (s := asked(address, f"run/{run}/status.json"))["report"]["executions"] == 5 and s
            )
        )
    assert later["executions"] == 5
    assert later["report"]["version"] > first["report"]["version"]


def test_a_run_that_has_asked_nothing_has_a_report_and_no_draw(served, tmp_path):
    small_run(tmp_path / "empty", [])
    address = served(tmp_path).address
    run = run_id(address, "empty")
    assert "no executions yet" in report_of(address, run).text
    answer = request(address, f"run/{run}/draw.json")
    assert (answer.code, json.loads(answer.text)) == (409, {"error": "nothing was asked yet"})


def test_other_pages_are_answered_while_a_report_is_being_made(served, runs):
    server = served(runs)
    stuck = threading.Event()

    def render(path):
        assert stuck.wait(60)
        return RenderedReport("<main>late</main>", 4)

    server.viewer.reports = LiveReports(render)
    run = run_id(server.address)
    assert asked(server.address, f"run/{run}/status.json")["report"]["rendering"]
    assert request(server.address, f"run/{run}/report.html").code == 503
    assert request(server.address).code == 200
    assert asked(server.address, f"run/{run}/draw.json")["query"] == 1
    stuck.set()
    assert report_of(server.address, run).text == "<main>late</main>"


# Who is answered


@pytest.mark.parametrize("path", ["/", "/wrong/", "/runs.json", "/wrong/runs.json", "//", "/%2e/"])
def test_a_request_without_the_token_is_refused(served, runs, path):
    address = served(runs).address
    answer = request(address, raw_path=path)
    assert answer.code == 403
    assert "one" not in answer.text
    token = urlsplit(address).path.strip("/")
    assert token not in answer.text


@pytest.mark.parametrize("change", [lambda t: t[:-1], lambda t: t + "x", str.swapcase])
def test_a_token_that_is_nearly_right_is_refused(served, runs, change):
    address = served(runs).address
    token = urlsplit(address).path.strip("/")
    assert request(address, raw_path=f"/{change(token)}/runs.json").code == 403


def test_tokens_are_long_and_differ(served, runs):
    tokens = {urlsplit(served(runs).address).path.strip("/") for _ in range(3)}
    assert len(tokens) == 3
    assert all(re.fullmatch(r"[\w-]{32}", token) for token in tokens)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_request_for_another_host_is_refused(served, runs, host):
    answer = request(served(runs).address, "runs.json", host=host)
    assert answer.code == 400
    assert "one" not in answer.text


def test_this_machine_may_be_called_localhost(served, runs):
    address = served(runs).address
    assert request(address, "runs.json", host=f"localhost:{urlsplit(address).port}").code == 200


def test_the_server_listens_on_this_machine_only(served, runs):
    address = urlsplit(served(runs).address)
    assert address.hostname == "127.0.0.1"
    with socket.socket() as outside:
        outside.settimeout(5)
        # Another address of the loopback interface stands for any other interface.
        with pytest.raises(OSError):
            outside.connect(("127.0.0.2", address.port))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(served, runs, method):
    address = served(runs).address
    for path in ("", "runs.json", f"run/{run_id(address)}/report.html"):
        assert request(address, path, method=method).code == 405


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "../..",
        "%2e%2e",
        "..%2f..%2fetc",
        "one",
        "one/../one",
        "../runs/one",
        "%00",
        "0" * 16,
        "x" * 5000,
    ],
)
@pytest.mark.parametrize("page", ["report.html", "status.json", "draw.json", "journal.sqlite", ""])
def test_only_runs_that_were_found_can_be_asked_for(served, runs, name, page):
    address = served(runs).address
    token_path = urlsplit(address).path
    answer = request(address, raw_path=f"{token_path}run/{name}/{page}")
    assert answer.code == 404
    assert "SQLite" not in answer.text


def test_files_of_a_run_are_not_served(served, runs):
    address = served(runs).address
    for file in ("journal.sqlite", "run.json", "../one/journal.sqlite", ".lock"):
        assert request(address, f"run/{run_id(address)}/{file}").code == 404


@pytest.mark.parametrize("text", ["-1", "x", "1.5", "9" * 30, "٣", "1;drop"])
def test_what_is_no_number_is_refused(served, runs, text):
    address = served(runs).address
    for ask in ("draw.json?query=", "draws.json?capability="):
        assert request(address, f"run/{run_id(address)}/{ask}{quote(text)}").code == 400


def test_answers_are_neither_stored_nor_framed_elsewhere(served, runs):
    address = served(runs).address
    for path in ("", "runs.json", f"run/{run_id(address)}/", "nowhere"):
        headers = request(address, path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["content-security-policy"] == "frame-ancestors 'self'"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers


# What cannot be read


def test_a_broken_run_is_told_and_does_not_disturb_the_others(served, runs):
    (runs / "broken").mkdir()
    (runs / "broken" / "journal.sqlite").write_text("not a database" * 100)
    with closing(sqlite3.connect(runs / "one" / "journal.sqlite")) as source:
        (runs / "foreign").mkdir()
        with closing(sqlite3.connect(runs / "foreign" / "journal.sqlite")) as copy:
            source.backup(copy)
            copy.execute("PRAGMA application_id = 1")
    address = served(runs).address
    found = {one["name"]: one for one in asked(address, "runs.json")["runs"]}
    assert {name: one["activity"] for name, one in found.items()} == {
        "one": "incomplete",
        "broken": "unreadable",
        "foreign": "unreadable",
    }
    for name in ("broken", "foreign"):
        at = f"run/{found[name]['id']}/"
        state = eventually(
            lambda at=at: (s := asked(address, f"{at}status.json"))["report"]["error"] and s
        )
        assert "left untouched" in state["report"]["error"]
        assert request(address, f"{at}draw.json").code == 409
        assert request(address, at).code == 200
    assert report_of(address, found["one"]["id"]).code == 200


def test_a_folder_without_runs_has_an_empty_list(served, tmp_path):
    assert asked(served(tmp_path).address, "runs.json")["runs"] == []


def test_a_run_that_does_not_exist_yet_is_listed_once_it_does(served, tmp_path):
    address = served(tmp_path / "run").address
    assert asked(address, "runs.json")["runs"] == []
    small_run(tmp_path / "run", QUERIES)
    eventually(lambda: asked(address, "runs.json")["runs"])
    assert asked(address, "runs.json")["single"]


def test_a_port_that_is_taken_is_refused(served, runs):
    port = urlsplit(served(runs).address).port
    with pytest.raises(CapscopeError, match=f"cannot listen on port {port}"):
        served(runs, port=port)
