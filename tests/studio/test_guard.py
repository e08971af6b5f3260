"""Who may speak to the studio, and what it hands out."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest


def request(running: Any, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str, Any]:
    """Status, text and headers of an answer."""
    host, _, port = running.host.partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=20)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    content = None
    if body is not None:
        content = body if isinstance(body, str) else json.dumps(body)
        sent.setdefault("Content-Type", "application/json")
    connection.request(method, path, content, sent)
    response = connection.getresponse()
    text = response.read().decode("utf-8")
    connection.close()
    return response.status, text, response.headers


@pytest.mark.parametrize(
    "path", ["/", "/api/facts", "/api/save/model?window=x", "/api/events?window=x", "/api/compare"]
)
def test_wrong_token(running, path):
    """Without the token, or with another, nothing of the table is handed out."""
    mark = "&" if "?" in path else "?"
    for given in (path, f"{path}{mark}token=", f"{path}{mark}token=another"):
        status, text, _ = request(running, "GET", given)
        assert status == 403
        assert "target" not in text
    assert request(running, "GET", path, X_Omtree_Token="the-toke")[0] == 403
    assert request(running, "POST", "/api/enter", {})[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost.evil.example:80", ""])
def test_foreign_host(running, host):
    """A name that was made to lead here is refused, the token notwithstanding."""
    status, text, _ = request(running, "GET", f"/?token={running.token}", Host=host)
    assert status == 421
    assert "target" not in text


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1"])
def test_foreign_origin(running, origin):
    """A page from elsewhere may not speak to the studio, the token notwithstanding."""
    given = {"Origin": origin, "X_Omtree_Token": running.token}
    assert request(running, "POST", "/api/enter", {}, **given)[0] == 403
    assert request(running, "GET", "/api/facts", **given)[0] == 403


def test_only_its_own_files(running):
    """Nothing but the parts of the page can be read, however the path is written."""
    for path in ("/assets/../server.py", "/assets/%2e%2e/server.py", "/assets/studio.html.j2", "/assets//etc/passwd"):
        assert request(running, "GET", path)[0] == 403
        status, text, _ = request(running, "GET", f"{path}?token={running.token}")
        assert status == 404
        assert "import" not in text


def test_headers(running):
    """The page may load and run nothing but the studio's own files, and cannot be framed."""
    status, text, headers = request(running, "GET", f"/?token={running.token}")
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["Cache-Control"] == "no-store"
    assert "<u>target</u>" not in text
    assert running.token not in text


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/do/ask", "no json", 400),
        ("/api/do/ask", {"window": "unknown"}, 400),
        ("/api/do/ask", "[" * 100_000, 400),
        ("/api/enter", "[]", 400),
        ("/api/enter", "x" * 2_000_000, 413),
    ],
)
def test_bodies_that_make_no_sense(running, path, body, status):
    """What cannot be understood is refused, and the studio goes on."""
    assert request(running, "POST", path, body, X_Omtree_Token=running.token)[0] == status
    assert request(running, "GET", "/api/facts", X_Omtree_Token=running.token)[0] == 200


def test_other_types_are_refused(running):
    """A form of another page could send texts without asking; those are not taken."""
    given = {"X_Omtree_Token": running.token, "Content_Type": "text/plain"}
    assert request(running, "POST", "/api/enter", "{}", **given)[0] == 415
