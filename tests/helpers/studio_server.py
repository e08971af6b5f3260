"""A studio in a thread."""

from __future__ import annotations

import socket
import threading
import time

import uvicorn

from omtree.studio.server import Studio, make_app
from omtree.studio.source import Source
from omtree.studio.worker import Limits

TOKEN = "the-token"


class Running:
    """A server in a thread."""

    def __init__(self, source: Source, limits: Limits) -> None:
        self.studio = Studio(source, limits)
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self.address = f"http://{self.host}/?token={TOKEN}"
        app = make_app(self.studio, TOKEN, [self.host])
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def close(self) -> list[int]:
        """End the server; the ids of the workers it had."""
        ids = [window.session.process_id for window in self.studio.windows.values()]
        self._server.should_exit = True
        self._thread.join(20)
        assert not self._thread.is_alive()
        self._socket.close()
        return [number for number in ids if number is not None]
