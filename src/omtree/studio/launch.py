"""``omtree studio``: opens the page, says where it is, and leaves nothing behind when it ends."""

from __future__ import annotations

import secrets
import socket
import webbrowser
from pathlib import Path
from typing import Any

import uvicorn

from omtree.cli.tables import FileOptions
from omtree.studio.server import Studio, make_app
from omtree.studio.source import Source, demo_source, read_source
from omtree.studio.worker import Limits

#: Nobody else on the network can reach this address.
HOST = "127.0.0.1"
_MEGABYTE = 1 << 20


def run_studio(
    data: str | None,
    target: str | None,
    test: str | None,
    session: str | None,
    *,
    port: int,
    browser: bool,
    seconds: float,
    memory: int,
    options: FileOptions,
) -> None:
    """Serve the studio until Ctrl-C.

    Parameters
    ----------
    data, target : str or None
        The file and the column to predict; the demonstration without a file.
    test : str or None
        Rows to try models on.
    session : str or None
        A saved session to go on with.
    port : int
        0 is any that is free.
    browser : bool
        Whether to open a browser.
    seconds, memory : float and int
        Of a fit, and megabytes beyond the rows.
    options : FileOptions
    """
    source = _source(data, target, test, options)
    opened = None if session is None else (Path(session).read_text(encoding="utf-8"), session)
    studio = Studio(source, Limits(seconds, memory * _MEGABYTE if memory else None), opened)
    token = secrets.token_urlsafe(24)
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        # From here on a browser that is quicker than the server waits.
        listener.listen(128)
        number = listener.getsockname()[1]
        address = f"http://{HOST}:{number}/?token={token}"
        app = make_app(studio, token, [f"{HOST}:{number}", f"localhost:{number}"])
        print(f"omtree studio: {source.name}, {len(source.y):,} rows, target {source.target}")
        print(f"open  {address}")
        print("stop  Ctrl-C", flush=True)
        if browser:
            webbrowser.open(address)
        try:
            studio.prepare()
            serve(app, studio, listener)
        finally:
            studio.close()
    print("the studio has ended")


class _Server(uvicorn.Server):
    """A server that tells the streams of its pages when it ends; else they are cut off, with a complaint each."""

    def __init__(self, settings: uvicorn.Config, studio: Studio) -> None:
        super().__init__(settings)
        self._studio = studio

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End streams, then connections."""
        await self._studio.end()
        await super().shutdown(sockets)


def serve(app: Any, studio: Studio, listener: socket.socket) -> None:
    """Answer requests until a signal ends it; open streams do not delay the end."""
    settings = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1, lifespan="on")
    try:
        _Server(settings, studio).run(sockets=[listener])
    except KeyboardInterrupt:  # uvicorn hands on the signal that ended it
        return


def _source(data: str | None, target: str | None, test: str | None, options: FileOptions) -> Source:
    if data is None:
        if target is not None or test is not None:
            raise ValueError("--target and --test go with a file; name it, or leave them out for the demonstration.")
        return demo_source()
    if target is None:
        raise ValueError("--target is needed: name the column to predict.")
    print(f"reading {data}", flush=True)
    return read_source(data, target, test, options)
