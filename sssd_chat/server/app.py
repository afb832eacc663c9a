"""The routes: what is asked under which address."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sssd_chat.conversation.completions.fields import parse_json
from sssd_chat.conversation.completions.refusal import RequestRefused, failed_inside
from sssd_chat.conversation.completions.replies import Json
from sssd_chat.conversation.completions.request import (
    Asked,
    Defaults,
    read_chat,
    read_completion,
)
from sssd_chat.server.access import Access
from sssd_chat.server.answering import Desk
from sssd_chat.server.body import ClientDisconnect, read_body
from sssd_chat.server.metrics import CountingMiddleware, Metrics
from sssd_chat.server.settings import ServerSettings
from sssd_chat.server.streaming import EventStream, encoded, unless_gone

log = logging.getLogger(__name__)

_GONE = 499
"""The status, in the metrics alone, of requests whose clients went away."""

_Handler = Callable[[Request], Awaitable[Response]]
_Reader = Callable[[object, Defaults], Asked]


@dataclass(frozen=True, slots=True)
class Serving:
    """What the routes need."""

    settings: ServerSettings
    desk: Desk
    access: Access
    defaults: Defaults
    metrics: Metrics
    created: int
    """When the model file was made, in seconds since 1970."""


def create_app(serving: Serving) -> Starlette:
    """The ASGI application."""
    routes = [
        Route("/v1/chat/completions", _answers(serving, read_chat), methods=["POST"]),
        Route("/v1/completions", _answers(serving, read_completion), methods=["POST"]),
        Route("/v1/models", _guarded(serving, _models), methods=["GET"]),
        Route("/v1/models/{model:path}", _guarded(serving, _model), methods=["GET"]),
        Route("/metrics", _guarded(serving, _metrics), methods=["GET"]),
        Route("/health", _health(serving), methods=["GET"]),
    ]
    middleware = [Middleware(CountingMiddleware, metrics=serving.metrics)]
    if serving.settings.origin is not None:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=[serving.settings.origin],
                allow_methods=["GET", "POST"],
                allow_headers=["*"],
            )
        )
    handlers = {
        RequestRefused: _on_refused,
        HTTPException: _on_no_route,
        ClientDisconnect: _on_gone,
    }
    return Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)


def _reply(value: Json, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(encoded(value), status, headers, media_type="application/json")


# Refusals


def _refusal(refused: RequestRefused) -> Response:
    headers = {}
    if refused.retry_after is not None:
        headers["retry-after"] = str(refused.retry_after)
    if refused.status == 401:
        headers["www-authenticate"] = "Bearer"
    return _reply(refused.as_json(), refused.status, headers)


async def _on_refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestRefused)
    return _refusal(error)


async def _on_no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = "Unknown request URL" if error.status_code == 404 else "Not allowed"
    refused = RequestRefused(
        f"{said}: {request.method} {request.url.path}.",
        code="unknown_url" if error.status_code == 404 else "method_not_allowed",
        status=error.status_code,
    )
    return _reply(refused.as_json(), refused.status, dict(error.headers or {}))


async def _on_gone(_request: Request, _error: Exception) -> Response:
    return Response(status_code=_GONE)


def _guarded(
    serving: Serving, handler: Callable[[Serving, Request], Awaitable[Response]]
) -> _Handler:
    """A handler that only those may use who may ask."""

    async def guarded(request: Request) -> Response:
        serving.access.caller(request.headers)
        return await handler(serving, request)

    return guarded


# Answers


def _answers(serving: Serving, read: _Reader) -> _Handler:
    async def answer(request: Request) -> Response:
        try:
            return await _answer(serving, read, request)
        except (RequestRefused, ClientDisconnect):
            raise
        except Exception:
            log.exception("a request could not be answered")
            return _refusal(failed_inside())

    return answer


async def _answer(serving: Serving, read: _Reader, request: Request) -> Response:
    settings, desk = serving.settings, serving.desk
    caller = serving.access.caller(request.headers)
    body = await read_body(request, settings.most_body_bytes, settings.body_seconds)
    asked = await asyncio.to_thread(lambda: read(parse_json(body), serving.defaults))
    answering = await desk.take(asked)
    done = functools.partial(desk.done, answering, caller)
    if asked.wanted.stream:
        return EventStream(answering, asked.wanted.include_usage, settings.stalled_seconds, done)
    try:
        await unless_gone(request.receive, answering.mailbox.wait())
        return _reply(answering.whole())
    finally:
        done()


# Everything else


def _description(serving: Serving) -> Json:
    return {
        "id": serving.desk.model,
        "object": "model",
        "created": serving.created,
        "owned_by": "sssd-chat",
    }


async def _models(serving: Serving, _request: Request) -> Response:
    return _reply({"object": "list", "data": [_description(serving)]})


async def _model(serving: Serving, request: Request) -> Response:
    serving.desk.check_model(request.path_params["model"])
    return _reply(_description(serving))


async def _metrics(serving: Serving, _request: Request) -> Response:
    return Response(serving.metrics.text(), media_type=Metrics.MEDIA_TYPE)


def _health(serving: Serving) -> _Handler:
    async def health(_request: Request) -> Response:
        if serving.desk.is_well:
            return _reply({"status": "ok"})
        return _reply({"status": "failed"}, 503)

    return health
