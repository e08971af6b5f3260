"""Who may speak to the studio: this machine's own browser, on the page that was opened with the token."""

from __future__ import annotations

import hmac
from collections.abc import Collection
from typing import Any
from urllib.parse import parse_qs

#: A request that is larger is refused.
MOST_BYTES = 1 << 20
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Wraps an application: refuses foreign hosts and origins, wrong tokens and large bodies.

    Parameters
    ----------
    app : ASGI application
    token : str
        Known to who opened the studio.
    hosts : collection of str
        What the address may say, such as ``127.0.0.1:8000``; a page elsewhere that had its name lead here says another.
    free : collection of str
        Paths of files that anybody on this machine may have: the program, no data.
    """

    def __init__(self, app: Any, token: str, hosts: Collection[str], free: Collection[str] = ()) -> None:
        self._app, self._token, self._hosts, self._free = app, token, frozenset(hosts), frozenset(free)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer, or refuse."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        fault = self._fault(scope)
        if fault:
            await _refuse(send, *fault)
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in own]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await self._app(scope, receive, with_headers)

    def _fault(self, scope: Any) -> tuple[int, str] | None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if host not in self._hosts:
            return 421, "This studio answers to its own address only."
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return 403, "Another page may not speak to the studio."
        if scope["path"] in self._free and scope["method"] == "GET":
            return None
        query = parse_qs(scope["query_string"].decode("latin-1"))
        given = headers.get("x-omtree-token") or (query.get("token") or [""])[0]
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            return 403, "The token is missing or wrong; open the address that the terminal shows."
        if scope["method"] == "POST":
            if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                return 415, "The studio takes JSON."
            length = headers.get("content-length", "")
            if not length.isdigit() or int(length) > MOST_BYTES:
                return 413, "That is too much at once."
        return None


async def _refuse(send: Any, status: int, sentence: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *((n.encode(), v.encode()) for n, v in HEADERS.items())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": sentence.encode("utf-8")})
