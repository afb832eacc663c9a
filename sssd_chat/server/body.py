"""Reading the body of a request, as far as it is not too large."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect, Request

from sssd_chat.conversation.completions.refusal import RequestRefused

__all__ = ["ClientDisconnect", "read_body"]

_DRAINED = 16
"""A body that is too large is read up to so many times the limit, and thrown away: a client that
still sends does not look at the reply."""


async def read_body(request: Request, most_bytes: int, seconds: float) -> bytes:
    """The body. Raises RequestRefused when it is too large (413) or takes too long (408), and
    ClientDisconnect."""
    try:
        return await asyncio.wait_for(_read(request, most_bytes), seconds)
    except TimeoutError:
        raise RequestRefused(
            f"The request did not come within {seconds:g} seconds.", code="timeout", status=408
        ) from None


async def _read(request: Request, most_bytes: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= most_bytes:
            chunks.append(chunk)
        else:
            chunks.clear()
        if size > _DRAINED * most_bytes:
            break
    if size > most_bytes:
        raise RequestRefused(
            f"The request is larger than {most_bytes:,} bytes.", code="too_large", status=413
        )
    return b"".join(chunks)
