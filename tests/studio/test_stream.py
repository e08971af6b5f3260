"""What the server tells a page of a change."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode


def news(stream: Any) -> Iterator[dict[str, Any]]:
    """The messages of an open stream."""
    while line := stream.readline():
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


def test_a_tree_is_not_sent_again(running):
    """A page gets the tree that it opens with; while it waits for the next one nothing that it has comes once more."""
    headers = {"Content-Type": "application/json", "X-Omtree-Token": running.token}

    def tell(path: str, **content: Any) -> Any:
        connection = http.client.HTTPConnection(running.host, timeout=60)
        connection.request("POST", path, json.dumps(content), headers)
        found = json.loads(connection.getresponse().read())
        connection.close()
        return found

    opened = tell("/api/enter")
    connection = http.client.HTTPConnection(running.host, timeout=60)
    connection.request("GET", f"/api/events?{urlencode({'token': running.token, 'window': opened['window']})}")
    with connection.getresponse() as stream:
        messages = news(stream)
        last, size = None, 0
        for message in messages:
            last = message.get("view", last)
            size = max(size, len(json.dumps(message)))
            if not message["busy"]:
                break
        assert last is not None
        assert last["around"]["trees"]
        tell("/api/do/ask", window=opened["window"], wishes={**opened["wishes"], "depth": 1})
        first = next(messages)
        assert first["busy"]
        assert "view" not in first
        assert len(json.dumps(first)) < size / 10
        assert any(message.get("view") for message in messages)
    connection.close()
