"""The pages and what their scripts ask for, as a Starlette application.

| address | answer |
|---|---|
| `/TOKEN/` | the list of runs |
| `/TOKEN/runs.json` | the same for its script |
| `/TOKEN/run/ID/` | the report of a run in a frame, exchanged when there is a newer one |
| `/TOKEN/run/ID/status.json` | how far the run and its report are |
| `/TOKEN/run/ID/report.html` | the latest report |
| `/TOKEN/run/ID/draws` | the draws of a run, step by step |
| `/TOKEN/run/ID/draws.json`, `draw.json` | the latest draws, and one draw |

A foreign web page in the user's browser can send requests to this machine as well. It cannot know
the token, and if its own domain name resolves to this machine, the `Host` header gives it away.
"""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from capscope.errors import CapscopeError
from capscope.report.digest import digest_run
from capscope.report.page import render, report_page
from capscope.run import load
from capscope.sanitize import sanitize
from capscope_view.replay import PictureBook, capability_names, find_draws, replayed_draw
from capscope_view.runs import LiveReports, RenderedReport, RunFolder

HOSTS = ("127.0.0.1", "localhost")
_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"frame-ancestors 'self'"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
_SECONDS_WATCHED = 4.0
"""A page that asked within this time is open."""
_LARGEST_NUMBER = 2**62
_FOLDER = Path(__file__).parent


class Viewer:
    """What is behind the pages of one folder."""

    def __init__(self, root: Path, pictures: bool | None = None) -> None:
        self.folder = RunFolder(root)
        self.pictures = PictureBook(pictures)
        self.reports = LiveReports(self._rendered)
        self._asked = -_SECONDS_WATCHED

    def _rendered(self, path: Path) -> RenderedReport:
        run = load(path)
        page = report_page(digest_run(run, self.pictures.of(run.identity.source)))
        return RenderedReport(page, run.usage.executions)

    def application(self, token: str) -> Starlette:
        """Return the application that answers requests with this token."""
        routes = [
            Route("/", self.list_page),
            Route("/runs.json", self.list_data),
            Route("/run/{run}/", self.report_frame),
            Route("/run/{run}/status.json", self.status),
            Route("/run/{run}/report.html", self.report),
            Route("/run/{run}/draws", self.draws_page),
            Route("/run/{run}/draws.json", self.draws_data),
            Route("/run/{run}/draw.json", self.draw_data),
        ]
        guards = [
            Middleware(WithHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False),
            Middleware(RequireToken, token=token),
        ]
        handlers: Any = {CapscopeError: _explained}
        return Starlette(routes=routes, middleware=guards, exception_handlers=handlers)

    def watched(self) -> bool:
        """Return whether a page is open that has yet to get the latest report."""
        recent = time.monotonic() - self._asked < _SECONDS_WATCHED
        return recent and not self.reports.delivered()

    def _path(self, request: Request) -> Path:
        path = self.folder.find(request.path_params["run"])
        if path is None:
            raise HTTPException(404, "no such run")
        return path

    def list_page(self, request: Request) -> Response:
        """Return the list of runs."""
        return _page(
            "view_runs.html.j2",
            "view_runs.js",
            root=sanitize(str(self.folder.root)),
            data=self._list(),
        )

    def list_data(self, request: Request) -> Response:
        """Return the runs as JSON."""
        return JSONResponse(self._list())

    def _list(self) -> dict[str, Any]:
        return {
            "runs": [one.as_dict() for one in self.folder.statuses()],
            "single": self.folder.is_run,
            "complete": self.folder.complete,
        }

    def report_frame(self, request: Request) -> Response:
        """Return the page around the report of a run."""
        self._path(request)
        status = self.folder.status(request.path_params["run"])
        return _page(
            "view_report.html.j2",
            "view_report.js",
            status=status,
            data={"single": self.folder.is_run},
        )

    def status(self, request: Request) -> Response:
        """Return how far a run is, and have its report made if that is due."""
        path = self._path(request)
        self._asked = time.monotonic()
        report = self.reports.request(path)
        document = {
            **self.folder.status(request.path_params["run"]).as_dict(),
            "report": {
                "version": report.version,
                "executions": report.report and report.report.executions,
                "rendering": report.rendering,
                "error": report.error,
            },
        }
        return JSONResponse(document)

    def report(self, request: Request) -> Response:
        """Return the latest report of a run."""
        path = self._path(request)
        report = self.reports.page(path)
        if report is None:
            self.reports.request(path)
            return PlainTextResponse("the report is being made; load this page again", 503)
        return HTMLResponse(report.html)

    def draws_page(self, request: Request) -> Response:
        """Return the page that replays draws."""
        path = self._path(request)
        return _page(
            "view_draws.html.j2",
            "view_draws.js",
            status=self.folder.status(request.path_params["run"]),
            data={"capabilities": capability_names(path)},
        )

    def draws_data(self, request: Request) -> Response:
        """Return the latest draws, or those of a capability."""
        return JSONResponse(find_draws(self._path(request), _number(request, "capability")))

    def draw_data(self, request: Request) -> Response:
        """Return one draw with pictures and transcripts."""
        query, draw = _number(request, "query"), _number(request, "draw")
        place = None if query is None else (query, draw or 0)
        return JSONResponse(replayed_draw(self._path(request), place, self.pictures.of))


def _page(template: str, script: str, **values: Any) -> HTMLResponse:
    scripts = ("dom.js", "view.js", script)
    return HTMLResponse(render(template, scripts, served=True, folder=_FOLDER, **values))


def _number(request: Request, name: str) -> int | None:
    """Return a number of the query string; None if it is not there."""
    text = request.query_params.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text[:20]) < _LARGEST_NUMBER):
        raise HTTPException(400, f"{name} must be a number")
    return int(text)


def _explained(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": sanitize(str(error))}, 409)


class RequireToken:
    """Answers only requests whose path begins with the token, and hides it from the routes."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        given, slash, rest = scope["path"].removeprefix("/").partition("/")
        if not slash or not secrets.compare_digest(given.encode(), self._token):
            answer = PlainTextResponse("the address needs the token that capscope printed", 403)
            await answer(scope, receive, send)
            return
        await self._app({**scope, "path": f"/{rest}", "root_path": ""}, receive, send)


class WithHeaders:
    """Adds the headers that keep answers from being stored, framed or read elsewhere."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with these headers."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        await self._app(scope, receive, with_headers)
