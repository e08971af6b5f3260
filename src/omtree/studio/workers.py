"""Worker processes as the server sees them: started when needed, interrupted, ended, and never left behind."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

from omtree.studio.source import Source
from omtree.studio.wishes import Wishes
from omtree.studio.worker import Job, Kin, Limits, main

#: A worker that has not heard of newer wishes after so many seconds is replaced.
_PATIENCE = 5.0
#: What becomes of a message: its kind, its revision, and what it holds.
Listener = Callable[[str, int, Any], None]


class WorkerProcess:
    """One worker; what it says goes to a listener, in a thread of its own.

    Parameters
    ----------
    source : Source
    limits : Limits
    """

    def __init__(self, source: Source, limits: Limits) -> None:
        self._source, self._limits = source, limits
        self._listener: Listener = lambda kind, revision, content: None
        self._context = multiprocessing.get_context("spawn")
        self._wanted = self._context.Value("q", 0, lock=False)
        self._stopped = self._context.Value("q", 0, lock=False)
        self._lock = threading.Lock()
        self._process: Any = None
        self._connection: Any = None
        self._job: Job | None = None
        self._busy: Job | None = None
        self._closed = False
        self._hears: Any = None

    @property
    def process_id(self) -> int | None:
        """Of the process that runs, None where there is none."""
        return None if self._process is None else self._process.pid

    def listen(self, listener: Listener) -> None:
        """Tell this one what the worker says."""
        self._listener = listener

    def prepare(self) -> None:
        """Start the process before it is asked for anything, so that the first answer comes sooner."""
        with self._lock:
            if self._process is None and not self._closed:
                self._start()

    def ask(self, revision: int, wishes: Wishes, kin: Sequence[Kin] = ()) -> None:
        """Work on these wishes from now on, and on nothing else; `kin` is what came of others."""
        with self._lock:
            if self._closed:
                return
            self._wanted.value = revision
            self._job = Job(revision, wishes, tuple(kin))
            if self._busy is None:
                self._next()
            else:
                self._signal()
                timer = threading.Timer(_PATIENCE, self._replace_if_deaf, [revision])
                timer.daemon = True
                timer.start()

    def stop(self, revision: int) -> None:
        """End the work on a revision; what is known by then is shown."""
        with self._lock:
            self._stopped.value = revision
            self._signal()

    def close(self) -> None:
        """End the process; nothing is left of it."""
        with self._lock:
            self._closed = True
            self._end()

    def _next(self) -> None:
        """Hand out the job that waits; the worker is free."""
        if self._job is None:
            return
        if self._process is None or not self._process.is_alive():
            self._start()
        self._busy, self._job = self._job, None
        try:
            self._connection.send(self._busy)
        except OSError:  # it ended just now; the thread that listens to it hands the job to the next one
            self._job, self._busy = self._busy, None

    def _start(self) -> None:
        self._connection, theirs = self._context.Pipe()
        self._process = self._context.Process(
            target=main,
            args=(self._source, self._limits, theirs, self._wanted, self._stopped),
            daemon=True,
            name="omtree studio worker",
        )
        self._process.start()
        theirs.close()
        threading.Thread(target=self._listen, args=(self._connection, self._process), daemon=True).start()

    def _listen(self, connection: Any, process: Any) -> None:
        while True:
            try:
                kind, revision, content = connection.recv()
            except (EOFError, OSError):
                break
            if kind == "ready":
                self._hears = process
                continue
            if kind == "done":
                with self._lock:
                    self._busy = None
                    if not self._closed:
                        self._next()
            self._listener(kind, revision, content)
        process.join()
        with self._lock:
            if self._closed or process is not self._process:
                return
            lost, self._busy, self._process = self._busy, None, None
            if self._job is not None:
                self._next()
        if lost is not None:
            self._listener("failed", lost.revision, "The fit ended without an answer; it may have needed more memory.")
            self._listener("done", lost.revision, None)

    def _signal(self) -> None:
        # A process that is still being set up would end; it looks at the numbers itself later.
        if self._process is not None and self._process is self._hears and self._process.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGINT)

    def _replace_if_deaf(self, revision: int) -> None:
        with self._lock:
            if self._closed or self._busy is None or self._busy.revision >= revision or self._job is None:
                return
            self._end()
            self._busy = None
            self._next()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.join()
        if self._connection is not None:
            self._connection.close()
