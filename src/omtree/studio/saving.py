"""What a session can be taken away as: model, report, card, script, constraints, the session itself."""

from __future__ import annotations

import hashlib
import json
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from omtree.constraints import to_toml
from omtree.data.wording import text_of
from omtree.export.saving import from_json
from omtree.model.difference import diff
from omtree.papers.card import Evidence, make_card
from omtree.papers.card_pages import to_html, to_markdown
from omtree.studio.session import Revision, Session
from omtree.studio.source import Source
from omtree.studio.wishes import Wishes

#: What can be saved: name of the file and its type.
FILES = {
    "session": ("session.json", "application/json"),
    "model": ("model.json", "application/json"),
    "report": ("report.html", "text/html"),
    "card": ("card.html", "text/html"),
    "card-text": ("card.md", "text/markdown"),
    "script": ("fit.py", "text/x-python"),
    "constraints": ("constraints.toml", "application/toml"),
}


def saved(session: Session, what: str, limit: float) -> str:
    """The content of a file, of the revision that is looked at.

    Parameters
    ----------
    session : Session
    what : str
        One of `FILES`.
    limit : float
        Seconds that fits had.
    """
    revision, source = session.revisions[session.current], session.source
    if what == "session":
        return session.to_json()
    if what == "constraints":
        return to_toml(revision.wishes.constraint_objects()) or "# no constraints\n"
    if what == "script":
        return script(source, revision.wishes, limit)
    if not revision.model:
        raise ValueError("There is no tree yet; wait for one, or ask for something else.")
    if what == "model":
        return revision.model + "\n"
    return _paper(source, revision, what)


def _paper(source: Source, revision: Revision, what: str) -> str:
    model: Any = from_json(revision.model)
    rows = source.X.drop_columns(list(revision.wishes.left_out)) if revision.wishes.left_out else source.X
    X_test = y_test = None
    if source.test is not None:
        _, _, X_test, y_test = source.test
    if what == "report":
        with TemporaryDirectory() as folder:
            file = model.report(Path(folder) / "report.html", rows, source.y, X_test, y_test)
            return str(file.read_text(encoding="utf-8"))
    digest = hashlib.sha256((revision.model + "\n").encode("utf-8")).hexdigest()
    evidence = Evidence(model_hash=digest, today=date.today().isoformat()).with_training(rows, matches=True)
    if source.test is not None:
        name, sha256, X_test, y_test = source.test
        named = {column for constraint in model._constraints for column in constraint.group_columns}
        groups = X_test.select([column for column in X_test.column_names if column in named]) if named else None
        evidence = evidence.with_test(name, sha256, X_test, y_test, {}, groups)
    card = make_card(model, evidence)
    return to_html(card) if what == "card" else to_markdown(card)


def changed(source: Source, first: str, second: str) -> list[str]:
    """What changed from one model to another, both as JSON, in sentences."""
    return str(diff(from_json(first), from_json(second), source.X)).splitlines()


def script(source: Source, wishes: Wishes, limit: float) -> str:
    """A Python script that makes the same model without the studio."""
    kind = "OptimalTreeRegressor" if source.task == "regression" else "OptimalTreeClassifier"
    given = wishes.parameters(source)
    given["max_leaves"] = "auto" if wishes.leaves is None else wishes.leaves
    given["cv"] = 5
    given["time_limit"] = limit
    if not given["constraints"]:
        del given["constraints"]
    settings = "".join(f"    {name}={value!r},\n" for name, value in given.items())
    if source.command:
        load = f"source = read_source({source.command!r}, {source.target!r})\n"
        imports = "from omtree.studio.source import read_source\n"
    else:
        load, imports = "source = demo_source()\n", "from omtree.studio.source import demo_source\n"
    load += f"X = source.X.drop_columns({list(wishes.left_out)!r})\n" if wishes.left_out else "X = source.X\n"
    used = sorted({type(each).__name__ for each in wishes.constraint_objects()})
    constraints = f"from omtree.constraints import {', '.join(used)}\n" if used else ""
    return (
        f'"""The tree for {_doc(source.target)} that was asked for in the studio."""\n\n'
        f"from omtree import {kind}\n{imports}{constraints}\n"
        f"{load}model = {kind}(\n{settings})\nmodel.fit(X, source.y)\n"
        f"print(model.to_text())\nprint(model.certificate_)\nmodel.save('model.json')\n"
    )


def _doc(text: str) -> str:
    return json.dumps(text_of(text), ensure_ascii=True)[1:-1].replace('"', "'").replace("\\", " ")
