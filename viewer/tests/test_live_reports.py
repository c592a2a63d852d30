"""When reports are made while a run goes on."""

import threading
from contextlib import closing

from capscope.errors import RunError
from capscope.journal.draws import QueryRecord, Start
from capscope.journal.journal import Journal
from capscope_view.runs import LiveReports, RenderedReport
from support.small_runs import DARK, draw, small_run
from support.view_client import eventually

ONE = [[draw((0, 0, 1))]]


class Renderer:
    """Makes reports that take as long as it is told, by a clock of its own."""

    def __init__(self):
        self.now, self.takes, self.made, self.failure = 0.0, 0.0, [], None
        self.go_on = threading.Event()
        self.go_on.set()

    def __call__(self, path):
        assert self.go_on.wait(30)
        self.made.append(path)
        self.now += self.takes
        if self.failure is not None:
            raise self.failure
        return RenderedReport(f"<p>{len(self.made)}", len(self.made))

    def clock(self):
        return self.now


def reports(renderer):
    return LiveReports(renderer, renderer.clock)


def grow(path, number):
    with closing(Journal.open(path / "journal.sqlite")) as journal:
        start = Start(0, DARK)
        journal.begin_query(number, QueryRecord(start, 0, 0.0, 1.0, True))
        journal.add_draw((number, 0), start, draw((0, 0, 1)), {})


def ready(live, path):
    return eventually(lambda: not (state := live.request(path)).rendering and state)


def test_the_first_report_is_made_at_once_and_in_the_background(tmp_path):
    path, renderer = small_run(tmp_path / "a", ONE), Renderer()
    renderer.go_on.clear()
    live = reports(renderer)
    assert live.request(path).rendering
    assert live.page(path) is None
    renderer.go_on.set()
    assert ready(live, path).version == 1
    assert live.page(path).html == "<p>1"


def test_a_run_that_does_not_change_has_one_report(tmp_path):
    path, renderer = small_run(tmp_path / "a", ONE), Renderer()
    live = reports(renderer)
    ready(live, path)
    renderer.now = 1e6
    assert ready(live, path).version == 1
    assert len(renderer.made) == 1


def test_reports_are_not_made_more_often_than_they_take(tmp_path):
    path, renderer = small_run(tmp_path / "a", ONE), Renderer()
    renderer.takes = 40.0
    live = reports(renderer)
    ready(live, path)
    ended = renderer.now
    grow(path, 1)
    for later in (1.0, 10.0, 39.0):
        renderer.now = ended + later
        assert not live.request(path).rendering
    renderer.now = ended + 40.0
    live.request(path)
    assert ready(live, path).version == 2


def test_a_quick_report_is_made_again_after_a_few_seconds(tmp_path):
    path, renderer = small_run(tmp_path / "a", ONE), Renderer()
    live = reports(renderer)
    ready(live, path)
    grow(path, 1)
    renderer.now += 1.0
    assert not live.request(path).rendering
    renderer.now += 2.0
    live.request(path)
    assert ready(live, path).version == 2


def test_one_long_report_does_not_keep_another_waiting(tmp_path):
    paths = [small_run(tmp_path / name, ONE) for name in "ab"]
    stuck = threading.Event()

    def render(path):
        if path == paths[0]:
            assert stuck.wait(30)
        return RenderedReport(path.name, 1)

    live = LiveReports(render)
    assert live.request(paths[0]).rendering
    assert ready(live, paths[1]).report.html == "b"
    assert live.request(paths[0]).rendering
    stuck.set()
    ready(live, paths[0])


def test_a_failure_is_told_and_tried_again_later_and_the_last_report_stays(tmp_path):
    path, renderer = small_run(tmp_path / "a", ONE), Renderer()
    live = reports(renderer)
    ready(live, path)
    grow(path, 1)
    renderer.now += 10
    renderer.failure = RunError("the disk is gone")
    live.request(path)
    state = ready(live, path)
    assert (state.version, state.error) == (1, "the disk is gone")
    assert live.page(path).html == "<p>1"
    renderer.failure = None
    renderer.now += 20
    live.request(path)
    assert ready(live, path).error == ""


def test_a_bug_is_told_as_one(tmp_path):
    path, renderer = small_run(tmp_path / "a", ONE), Renderer()
    renderer.failure = ZeroDivisionError("oops")
    assert "ZeroDivisionError: oops" in ready(reports(renderer), path).error


def test_few_reports_are_kept(tmp_path):
    renderer = Renderer()
    live = reports(renderer)
    paths = [small_run(tmp_path / str(number), ONE) for number in range(12)]
    for path in paths:
        ready(live, path)
    assert [live.page(path) is not None for path in paths] == [False] * 4 + [True] * 8


def test_a_report_is_delivered_when_a_page_has_the_latest(tmp_path):
    path, renderer = small_run(tmp_path / "a", ONE), Renderer()
    live = reports(renderer)
    assert live.delivered()
    ready(live, path)
    assert not live.delivered()
    live.page(path)
    assert live.delivered()
    grow(path, 1)
    assert not live.delivered()
