"""The page's requests: what is asked for, by whom, and what a browser may do with the answer.

Purpose: read-only; nothing can be changed from the page. Invariant: every answer carries a policy that lets
the page load scripts, styles and data from here alone and lets no other page show it; a request with another
host's name (as a rebound name of another site has) is refused; where a token is set, a request without it
sees nothing.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from windrow.cli.addresses import Address
from windrow.cli.charts.figures import chart_style
from windrow.cli.live.state import LiveState
from windrow.cli.live.views import keys_view, run_view, state_view, timeline_view

__all__ = ["COOKIE", "make_app"]

COOKIE = "windrow_token"
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
#: seconds between two looks for changes, and between two signs of life
_PAUSE, _BEAT = 0.25, 15.0


def make_app(
    state: LiveState, token: str | None = None, has_ended: Callable[[], bool] = lambda: False
) -> Any:
    """``token``: None for an address that only this machine reaches. ``has_ended``: the server is to stop."""

    def page(request: Request) -> Response:
        if "token" in request.query_params:  # out of the address, so that it is in no history
            answer: Response = RedirectResponse("./", status_code=303)
            if token is not None:
                answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", path="/")
            return answer
        return Response(_static("page.html"), media_type="text/html")

    def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name == "charts.css":
            return Response(chart_style(), media_type="text/css")
        kinds = {"live.css": "text/css", "live.js": "text/javascript", "icon.svg": "image/svg+xml"}
        if name not in kinds:
            return PlainTextResponse("there is no such file", status_code=404)
        return Response(_static(name), media_type=kinds[name])

    async def events(request: Request) -> Response:
        return StreamingResponse(_events(state, request, has_ended), media_type="text/event-stream")

    routes = [
        Route("/", page),
        Route("/static/{name}", asset),
        Route("/api/state", _answering(state, lambda _: state_view(state))),
        Route("/api/keys", _answering(state, lambda request: keys_view(state, *_key_arguments(request)))),
        Route("/api/timeline", _answering(state, lambda request: _timeline(state, request))),
        Route("/api/run", _answering(state, lambda _: run_view(state))),
        Route("/api/job", lambda _: JSONResponse({"text": _explained(state)})),
        Route("/events", events),
    ]
    return Starlette(routes=routes, middleware=[Middleware(_Guard, token=token)])


class _Guard:
    """Refuses who may not ask, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        refusal = self._refusal(Request(scope))
        await (refusal or self._app)(scope, receive, with_headers)

    def _refusal(self, request: Request) -> Response | None:
        if request.method not in ("GET", "HEAD"):
            return PlainTextResponse("this page can only be read", status_code=405)
        if self._token is None:
            if _is_local_name(request.headers.get("host", "")):
                return None
            return PlainTextResponse("this page is asked for by another name", status_code=421)
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        given = (request.query_params.get("token"), request.cookies.get(COOKIE), bearer)
        if any(hmac.compare_digest((each or "").encode(), self._token.encode()) for each in given):
            return None
        return PlainTextResponse(
            "a token is needed: open the address that windrow printed, with ?token=... (or that of "
            "$WINDROW_TOKEN, where that is set)",
            status_code=401,
        )


def _is_local_name(host: str) -> bool:
    """
    >>> [
    ...     _is_local_name(host)
    ...     for host in ("localhost:80", "[::1]:80", "127.0.0.1", "127.0.0.1.example:80", "")
    ... ]
    [True, True, True, False, False]
    """
    name = re.sub(r":\d+$", "", host) if not host.endswith("]") else host
    return Address(name.lower().removeprefix("[").removesuffix("]"), 0).is_local


def _answering(state: LiveState, view: Callable[[Request], Any]) -> Callable[[Request], Response]:
    """In a thread of its own, one at a time: what is drawn holds the state."""

    def answer(request: Request) -> Response:
        try:
            with state.lock:
                return JSONResponse(view(request))
        except ValueError as error:
            return JSONResponse({"error": str(error)}, status_code=400)

    return answer


def _key_arguments(request: Request) -> tuple[str, str, str, str, int]:
    given = request.query_params
    limit = min(max(int(given.get("limit", "200")), 1), 1_000)
    names = (given.get("window", ""), given.get("column", ""), given.get("search", ""))
    return (*names, given.get("order", "name"), limit)


def _timeline(state: LiveState, request: Request) -> Any:
    given = request.query_params
    between = None
    if "from" in given and "to" in given:
        between = int(given["from"]), int(given["to"])
        if not -(2**62) < between[0] < between[1] < 2**62:
            raise ValueError("from and to: give two times, the first before the second")
    width = min(max(int(given.get("width", "960")), 240), 4_000)
    keys = given.getlist("key")
    return timeline_view(state, given.get("window", ""), given.get("column", ""), keys, between, width)


def _explained(state: LiveState) -> str:
    """Without the lock: it may load a compiler, and a job does not change."""
    from windrow.cli.commands.explain import explained
    from windrow.cli.job.secrets import scrubbed

    job = state.job
    return "" if job is None else scrubbed("\n".join(explained(job)), job.settings)


async def _events(state: LiveState, request: Request, has_ended: Callable[[], bool]) -> AsyncIterator[str]:
    """A line for every change, and signs of life between."""
    seen, quiet = -1, 0.0
    while not await request.is_disconnected():
        if state.version != seen:
            seen, quiet = state.version, 0.0
            yield f"event: change\ndata: {json.dumps({'version': seen, 'status': state.status})}\n\n"
        elif quiet >= _BEAT:
            quiet = 0.0
            yield ": still here\n\n"
        if has_ended():
            yield "event: end\ndata: {}\n\n"
            return
        await asyncio.sleep(_PAUSE)
        quiet += _PAUSE


def _static(name: str) -> str:
    return files("windrow.cli.live").joinpath("static", name).read_text(encoding="utf-8")
