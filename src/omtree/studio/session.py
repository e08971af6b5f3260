"""A session: what was asked for, one revision after the other, what came of each, and the worker on it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from omtree.export.saving import from_json
from omtree.studio.edits import edit_words, with_edit, without_columns
from omtree.studio.source import Source
from omtree.studio.wishes import Wishes
from omtree.studio.worker import Kin
from omtree.studio.workers import WorkerProcess

FORMAT = "omtree-studio"
#: Changes of the same thing that follow each other within so many seconds are one step of the history.
_ONE_MOVE = 1.5
_MOST_REVISIONS = 200


@dataclass(eq=False)
class Revision:
    """Wishes, and what came of them.

    Attributes
    ----------
    number : int
    parent : int or None
        The revision that it was changed from.
    wishes : Wishes
    words : str
        What was changed.
    view : dict or None
        What the page shows; None until there is a tree.
    model : str
        The model as JSON.
    failed : str
        Why there is none.
    found : bool
        Whether the tree is for these wishes, and the best one; until then an earlier one is shown.
    """

    number: int
    parent: int | None
    wishes: Wishes
    words: str
    made: float = field(default_factory=time.monotonic)
    view: dict[str, Any] | None = None
    model: str = ""
    failed: str = ""
    found: bool = False

    def line(self) -> dict[str, Any]:
        """The revision in the history."""
        view = self.view or {}
        return {
            "number": self.number,
            "parent": self.parent,
            "words": self.words,
            "leaves": view.get("leaves"),
            "loss": view.get("loss"),
            "value": view.get("value"),
            "proven": view.get("proven"),
            "expected": view["leads"][0]["figure"] if view else None,
            "failed": self.failed,
            "constraints": [dict(each) for each in self.wishes.constraints],
        }


class Session:
    """One window.

    Parameters
    ----------
    source : Source
    worker : WorkerProcess
        That nobody else uses.
    changed : callable
        Called when there is something new to show.
    later : callable
        Runs a function in the thread that the session lives in; the worker is heard in another.
    """

    def __init__(
        self,
        source: Source,
        worker: WorkerProcess,
        changed: Callable[[], None],
        later: Callable[[Callable[[], None]], Any],
    ) -> None:
        self.source = source
        self._changed = changed
        self._worker = worker
        worker.listen(lambda kind, ticket, content: later(lambda: self._hear(kind, ticket, content)))
        self.revisions: dict[int, Revision] = {}
        self._redo: list[int] = []
        self._last = 0
        # A revision may be worked on again after an undo, so the worker counts tickets.
        self._ticket = 0
        self.current = 0
        self.busy: int | None = None

    def ask(self, wishes: Wishes, words: str = "") -> Revision:
        """A change of the wishes, which is called so in the history."""
        before = self.revisions.get(self.current)
        if before is not None:
            # The last wish counts: a column that may not be asked about any more is kept nowhere in the tree.
            gone = [name for name in wishes.left_out if name not in before.wishes.left_out]
            wishes = replace(wishes, constraints=tuple(without_columns(wishes.constraints, gone))) if gone else wishes
            if before.wishes == wishes:
                return before
        parent = None if before is None else before.number
        if before is not None and before.parent is not None and self._is_one_move(before, wishes):
            parent = before.parent
            del self.revisions[before.number]
        self._last += 1
        origin = None if parent is None else self.revisions[parent].wishes
        revision = Revision(self._last, parent, wishes, words or wishes.words_from(origin))
        if before is not None:
            # Until there is a new tree the old one stays.
            revision.view, revision.model = before.view, before.model
        self.revisions[revision.number] = revision
        self.current, self._redo = revision.number, []
        self._forget()
        self._work(revision)
        return revision

    def edit(self, node: Any, action: Any, value: Any) -> Revision:
        """A change of one node of the tree that is shown."""
        here = self.revisions[self.current]
        if not here.model:
            raise ValueError("There is no tree yet to change.")
        tree = from_json(here.model).tree_
        if tree is None:
            raise ValueError("The rules that are shown are no tree.")
        tables = with_edit(here.wishes.constraints, tree, node, action, value)
        wishes = Wishes.of({**here.wishes.to_plain(), "constraints": tables}, self.source)
        return self.ask(wishes, edit_words(tree, node, action, value))

    def undo(self) -> None:
        """Back to what this was changed from."""
        parent = self.revisions[self.current].parent
        if parent is not None:
            self._redo.append(self.current)
            self._go(parent)

    def redo(self) -> None:
        """Forth again."""
        if self._redo:
            self._go(self._redo.pop())

    def visit(self, number: int) -> None:
        """To any revision of the history."""
        if number not in self.revisions:
            raise ValueError(f"There is no revision {number}.")
        self._redo = []
        self._go(number)

    def stop(self) -> None:
        """End the work that runs."""
        if self.busy is not None:
            self._worker.stop(self._ticket)

    def close(self) -> None:
        """End the worker."""
        self._worker.close()

    @property
    def process_id(self) -> int | None:
        """Of the worker."""
        return self._worker.process_id

    def snapshot(self) -> dict[str, Any]:
        """Everything the page shows."""
        here = self.revisions[self.current]
        before = None if here.parent is None else self.revisions[here.parent]
        return {
            "before": None if before is None or before.view is None else before.line(),
            "current": here.number,
            "wishes": here.wishes.to_plain(),
            "view": here.view,
            "failed": here.failed,
            "busy": self.busy == here.number,
            "undo": here.parent is not None,
            "redo": bool(self._redo),
            "history": [each.line() for each in sorted(self.revisions.values(), key=lambda each: each.number)],
        }

    def to_json(self) -> str:
        """The history as a file, which is safe to open: it holds wishes, and no code."""
        lines = [self.revisions[number] for number in sorted(self.revisions)]
        places = {each.number: place for place, each in enumerate(lines)}
        document = {
            "format": FORMAT,
            "version": 1,
            "data": {"name": self.source.name, "target": self.source.target, **dict(self.source.origin)},
            "current": places[self.current],
            "revisions": [
                {
                    "parent": None if each.parent is None else places[each.parent],
                    "wishes": each.wishes.to_plain(),
                }
                for each in lines
            ],
        }
        return json.dumps(document, ensure_ascii=False, indent=1) + "\n"

    def open(self, text: str, name: str) -> None:
        """Take over the history in a file; trees are sought when they are looked at."""
        try:
            document = json.loads(text)
            if document["format"] != FORMAT or document["version"] != 1:
                raise ValueError(f"{name} is no session of this studio.")
            lines = document["revisions"]
            for place, line in enumerate(lines):
                parent = line["parent"]
                if parent is not None and not (isinstance(parent, int) and 0 <= parent < place):
                    raise ValueError(f"{name} is a damaged session: a revision comes before its parent.")
                wishes = Wishes.of(line["wishes"], self.source)
                origin = None if parent is None else self.revisions[parent + 1].wishes
                self.revisions[place + 1] = Revision(
                    place + 1, None if parent is None else parent + 1, wishes, wishes.words_from(origin), made=0.0
                )
            self._last = len(lines)
            current = int(document["current"]) + 1
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError):
            raise ValueError(f"{name} is no session of this studio.") from None
        if current not in self.revisions:
            raise ValueError(f"{name} is a damaged session: its current revision is not there.")
        self._go(current)

    def _go(self, number: int) -> None:
        self.current = number
        revision = self.revisions[number]
        if revision.view is None or revision.view["around"] is None:
            self._work(revision)
        self._changed()

    def _work(self, revision: Revision) -> None:
        revision.failed = ""
        self.busy = revision.number
        self._ticket += 1
        self._worker.ask(self._ticket, revision.wishes, self._kin(revision))
        self._changed()

    def _kin(self, revision: Revision) -> list[Kin]:
        """What came of wishes that these imply, or that imply these: trees of the ones must not be better by chance."""
        found = []
        for each in self.revisions.values():
            looser, stricter = revision.wishes.implies(each.wishes), each.wishes.implies(revision.wishes)
            if each is revision or not each.found or each.view is None or not (looser or stricter):
                continue
            leaves, value = each.view["leaves"], each.view["value"]
            kin = Kin(each.number, each.wishes, leaves, value, each.model, looser)
            found += [kin, replace(kin, looser=False)] if looser and stricter else [kin]
        return found

    def _is_one_move(self, before: Revision, wishes: Wishes) -> bool:
        if before.parent is None or time.monotonic() - before.made > _ONE_MOVE:
            return False
        if any(each.parent == before.number for each in self.revisions.values()):
            return False  # what was changed from it, and undone, stays in the history
        origin = self.revisions[before.parent].wishes
        moved = before.wishes.changed_from(origin)
        return len(moved) == 1 and wishes.changed_from(before.wishes) == moved

    def _forget(self) -> None:
        """The oldest revisions, so that a long day does not fill the memory."""
        while len(self.revisions) > _MOST_REVISIONS:
            oldest = min(self.revisions)
            gone = self.revisions.pop(oldest)
            for each in self.revisions.values():
                if each.parent == oldest:
                    each.parent = gone.parent

    def _hear(self, kind: str, ticket: int, content: Any) -> None:
        """What the worker says; of older work nothing is taken any more."""
        if ticket != self._ticket or self.busy is None:
            return
        revision = self.revisions.get(self.busy)
        if kind == "done" or revision is None:
            self.busy = None
        elif kind == "view":
            # What is around a tree is found after it.
            revision.view = {**content["view"], "around": None}
            revision.model, revision.failed = content["model"], ""
            revision.found = content["view"]["phase"] in ("full", "validated")
        elif kind == "improved":
            other = self.revisions.get(content["number"])
            if other is not None:
                other.view, other.model = {**content["view"], "around": None}, content["model"]
        elif kind == "around" and revision.view is not None:
            revision.view = {**revision.view, "around": content}
        elif kind == "failed":
            revision.failed = content
        self._changed()
