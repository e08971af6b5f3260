"""The studio's server: a page, a few questions and answers in JSON, and a stream of what is new."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from omtree.report.page_data import script_json
from omtree.studio.cards import page_facts
from omtree.studio.guard import Guard
from omtree.studio.saving import FILES, changed, saved
from omtree.studio.session import Session
from omtree.studio.source import Source
from omtree.studio.wishes import Wishes
from omtree.studio.worker import Limits
from omtree.studio.workers import WorkerProcess

_ASSETS = Path(__file__).parent / "assets"
_REPORT = Path(__file__).parents[1] / "report" / "templates"
#: Windows beyond these many end the one that was used longest ago.
_MOST_SESSIONS = 8
#: Seconds after which a stream says that it is still there.
_STILL_THERE = 15.0
#: What documents that make no sense lead to.
_FAULTS = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


@dataclass(eq=False)
class Window:
    """A session and the streams that show it."""

    session: Session
    changes: int = 0
    news: asyncio.Condition = field(default_factory=asyncio.Condition)
    used: int = 0


class Studio:
    """Sessions over one table.

    Parameters
    ----------
    source : Source
    limits : Limits
    opened : str
        The text of a saved session that a first window starts with.
    """

    def __init__(self, source: Source, limits: Limits, opened: tuple[str, str] | None = None) -> None:
        self.source, self.limits, self._opened = source, limits, opened
        self.windows: dict[str, Window] = {}
        self._clock = 0
        self._spare: WorkerProcess | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.ended = False

    def window(self, name: str) -> Window:
        """The window of this name."""
        if name not in self.windows:
            raise ValueError("The studio does not know this window any more; reload the page.")
        window = self.windows[name]
        self._clock += 1
        window.used = self._clock
        return window

    def open(self, name: str | None) -> str:
        """The window of this name, or a new one where it is not known; its name."""
        if name is not None and name in self.windows:
            return name
        if len(self.windows) >= _MOST_SESSIONS:
            oldest = min(self.windows, key=lambda each: self.windows[each].used)
            self.windows.pop(oldest).session.close()
        name = secrets.token_urlsafe(12)
        loop = asyncio.get_running_loop()

        def later(work: Callable[[], None]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(work)

        worker, self._spare = self._spare or WorkerProcess(self.source, self.limits), None
        session = Session(self.source, worker, lambda: self._changed(name), later)
        self.windows[name] = Window(session)
        try:
            if self._opened is not None:
                session.open(*self._opened)
            else:
                session.ask(Wishes.first(self.source))
        except ValueError:
            self.windows.pop(name).session.close()
            raise
        return name

    def prepare(self) -> None:
        """Start a worker for the first window."""
        self._spare = WorkerProcess(self.source, self.limits)
        self._spare.prepare()

    async def end(self) -> None:
        """Let the streams end, which would keep the server waiting."""
        self.ended = True
        for window in self.windows.values():
            async with window.news:
                window.news.notify_all()

    def close(self) -> None:
        """End every worker."""
        if self._spare is not None:
            self._spare.close()
        for window in self.windows.values():
            window.session.close()
        self.windows.clear()

    def _changed(self, name: str) -> None:
        window = self.windows.get(name)
        if window is None:
            return
        window.changes += 1

        async def tell() -> None:
            async with window.news:
                window.news.notify_all()

        task = asyncio.ensure_future(tell())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @cached_property
    def page(self) -> str:
        """The page; what it knows of the table is in it, as text."""
        environment = Environment(
            loader=FileSystemLoader(str(_ASSETS)), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )
        return environment.get_template("studio.html.j2").render(
            name=self.source.name, target=self.source.target, rows=f"{len(self.source.y):,}"
        )

    @cached_property
    def style(self) -> str:
        """The look of the report, and what the studio adds."""
        environment = Environment(loader=FileSystemLoader([str(_REPORT), str(_ASSETS)]), undefined=StrictUndefined)
        return environment.get_template("report.css.j2").render(print_note="omtree studio") + (
            _ASSETS / "studio.css"
        ).read_text(encoding="utf-8")


def make_app(studio: Studio, token: str, hosts: list[str]) -> Any:
    """The application, guarded.

    Parameters
    ----------
    studio : Studio
    token : str
    hosts : list of str
        What the address of a request may say.
    """

    scripts = [file.name for file in sorted(_ASSETS.glob("*.js"))]

    async def page(request: Request) -> Response:
        return HTMLResponse(studio.page)

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name == "studio.css":
            return Response(studio.style, media_type="text/css")
        if name not in scripts:
            return Response("There is no such file.", 404)
        return Response((_ASSETS / name).read_bytes(), media_type="text/javascript")

    async def facts(request: Request) -> Response:
        return Response(script_json(page_facts(studio.source)), media_type="application/json")

    async def enter(request: Request) -> Response:
        document = await request.json()
        name = studio.open(document.get("window"))
        return JSONResponse({"window": name, **studio.window(name).session.snapshot()})

    async def act(request: Request) -> Response:
        document = await request.json()
        session = studio.window(str(document.get("window"))).session
        match request.path_params["action"]:
            case "ask":
                session.ask(Wishes.of(document["wishes"], studio.source))
            case "edit":
                session.edit(document.get("node"), document.get("action"), document.get("value"))
            case "undo":
                session.undo()
            case "redo":
                session.redo()
            case "visit":
                session.visit(document["revision"])
            case "stop":
                session.stop()
            case _:
                return Response("There is no such action.", 404)
        return JSONResponse({"current": session.current})

    async def compare(request: Request) -> Response:
        session = studio.window(request.query_params["window"]).session
        states, models = [], []
        for key in ("a", "b"):
            revision = session.revisions.get(int(request.query_params[key]))
            if revision is None or revision.view is None:
                raise ValueError("There is no tree to compare; wait for it.")
            states.append({"line": revision.line(), "view": revision.view, "wishes": revision.wishes.to_plain()})
            models.append(revision.model)
        changes = await run_in_threadpool(changed, studio.source, *models)
        return JSONResponse({"states": states, "changes": changes})

    async def save(request: Request) -> Response:
        what = request.path_params["what"]
        if what not in FILES:
            return Response("There is no such file.", 404)
        session = studio.window(request.query_params["window"]).session
        text = await run_in_threadpool(saved, session, what, studio.limits.seconds)
        name, kind = FILES[what]
        # A report has scripts of its own: it is handed over as a file, not opened here.
        disposition = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(text.encode("utf-8", errors="replace"), media_type=kind, headers=disposition)

    async def events(request: Request) -> Response:
        window = studio.window(request.query_params["window"])

        async def stream() -> AsyncIterator[str]:
            seen, shown = -1, None
            while window.session.revisions and not studio.ended:
                if seen != window.changes:
                    seen, news = window.changes, window.session.snapshot()
                    # A dozen pictures are not sent again for a word that changed.
                    if news["view"] is not None and news["view"] is shown:
                        del news["view"]
                    else:
                        shown = news["view"]
                    yield f"data: {json.dumps(news, allow_nan=False)}\n\n"
                try:
                    async with asyncio.timeout(_STILL_THERE), window.news:
                        if seen == window.changes:
                            await window.news.wait()
                except TimeoutError:
                    yield ": still here\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def fault(request: Request, error: Exception) -> Response:
        sentence = str(error) if isinstance(error, ValueError) else "That was not understood."
        return JSONResponse({"fault": sentence}, 400)

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        yield
        studio.close()

    app = Starlette(
        routes=[
            Route("/", page),
            Route("/assets/{name}", asset),
            Route("/api/facts", facts),
            Route("/api/enter", enter, methods=["POST"]),
            Route("/api/do/{action}", act, methods=["POST"]),
            Route("/api/compare", compare),
            Route("/api/save/{what}", save),
            Route("/api/events", events),
        ],
        exception_handlers=dict.fromkeys(_FAULTS, fault),
        lifespan=lifespan,
    )
    return Guard(app, token, hosts, [f"/assets/{name}" for name in ("studio.css", *scripts)])
