"""Model files with something broken in them, and everything that can be done with a model that still loads."""

from __future__ import annotations

import copy
import json
import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import omtree
from omtree.constraints import MinSupport, Monotone, Recall
from omtree.export.saving import from_json

#: What the place of a damaged part may hold instead.
JUNK: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 10**6, 10**30, -(10**30), 0.5, -0.5, 1e308, -1e308, "", "junk", "tree", "0", [],
    [[]], [0], [None], ["a", "a"], {}, {"number": "nan"}, {"number": "inf"}, {"number": "junk"}, {"pairs": []},
    {"object": "omtree.constraints.rule:MinSupport", "fields": {}},
)  # fmt: skip


@dataclass(frozen=True)
class Saved:
    """The text of a model's file, and rows that it answers for."""

    name: str
    text: str
    X: pd.DataFrame
    y: np.ndarray


def _rows() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    n = 120
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(40, 12, n).round(1)),
            "colour": rng.choice(["red", "green", "blue", "grey"], n),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), ["S", "M", "L"], ordered=True),
            "price": [f"{x:.1f}".replace(".", ",") for x in rng.normal(5, 2, n)],
            "day": [str(d) for d in np.datetime64("2024-01-01") + rng.integers(0, 600, n)],
            "flag": rng.random(n) < 0.5,
        }
    )
    high = (frame["age"].fillna(50) > 42) ^ (frame["colour"] == "red") ^ frame["flag"]
    return frame, np.where(high, "yes", "no"), np.where(high, 3.0, 1.0) + rng.random(n).round(2)


@cache
def saved_models() -> tuple[Saved, ...]:
    """A tree, rules, a binary tree with a chosen size, one under constraints, and one of numbers."""
    X, y, amount = _rows()
    few = {"max_depth": 2, "min_samples_leaf": 3}
    classifier, regressor = omtree.OptimalTreeClassifier, omtree.OptimalTreeRegressor
    models = {
        "tree": classifier(**few).fit(X, y),
        "sizes": classifier(max_leaves="auto", cv=3, splits="binary", **few).fit(X, y),
        "rules": classifier(structure="rules", **few).fit(X[["age", "colour"]], y),
        "constraints": classifier(
            constraints=[Recall("yes", at_least=0.5), MinSupport(4), Monotone("age", 1)], positive="yes", **few
        ).fit(X[["age", "colour", "flag"]], y),
        "numbers": regressor(max_leaves=4, **few).fit(X[["age", "size", "flag"]], amount),
    }
    return tuple(
        Saved(name, model.to_json(), X[list(model.feature_names_in_)], amount if name == "numbers" else y)
        for name, model in models.items()
    )


def places(part: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all parts of a document."""
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, below in items:
        yield (*above, key)
        yield from places(below, (*above, key))


def damage(text: str, rng: np.random.Generator) -> tuple[str, str]:
    """The text with one to three parts broken, and what was done."""
    if rng.random() < 0.1:
        at = int(rng.integers(len(text)))
        byte = chr(int(rng.integers(32, 127)))
        return text[:at] + byte + text[at + 1 :], f"{byte!r} at {at}"
    document = json.loads(text)
    done = []
    for _ in range(1 if rng.random() < 0.8 else int(rng.integers(2, 4))):
        every = list(places(document))
        way = every[rng.integers(len(every))]
        place = document
        for key in way[:-1]:
            place = place[key]
        what = int(rng.integers(5))
        if what == 0:
            del place[way[-1]]
        elif what == 1 and isinstance(place, list):
            place.append(copy.deepcopy(place[way[-1]]))
        elif what == 2 and isinstance(place[way[-1]], int | float) and not isinstance(place[way[-1]], bool):
            place[way[-1]] = place[way[-1]] * int(rng.choice([-1, 2, 1000])) + int(rng.integers(-1, 2))
        else:
            place[way[-1]] = copy.deepcopy(JUNK[rng.integers(len(JUNK))])
        done.append(f"{what} at {'/'.join(map(str, way))}: {json.dumps(place)[:80]}")
        if not document:
            break
    return json.dumps(document), "; ".join(done)


def fault_of(saved: Saved, text: str) -> str:
    """What is wrong with how a damaged text is taken; empty where it is refused in a sentence, or the model works."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = from_json(text)
        except ValueError as error:
            message = str(error)
            return "" if re.fullmatch(r"The text [^\n]+\.", message) else f"no sentence: {message!r}"
        except Exception as error:
            return f"{type(error).__name__} on loading: {error}"
        return _use(model, saved)


def _use(model: Any, saved: Saved) -> str:
    """Use everything a model offers."""
    rows = saved.X.head(12)
    numbers = not hasattr(model, "classes_")
    uses = {
        "predict": lambda: model.predict(rows),
        "apply": lambda: model.apply(rows),
        "proba": lambda: None if numbers else model.predict_proba(rows),
        "explain": lambda: [str(each) + each._repr_html_() for each in model.explain(rows.head(3))],
        "texts": lambda: (str(model.certificate_), omtree.to_text(model.rules_), repr(model), str(model.notes_)),
        "html": lambda: (model.certificate_._repr_html_(), model.rules_._repr_html_(), model._repr_html_()),
        "certificate": lambda: (model.certificate_.gap, model.certificate_.lp_gap),
        "report": lambda: model.report(os.devnull),
        "svg": lambda: model.to_svg(),
        "sql": lambda: model.to_sql("rows"),
        "python": lambda: model.to_python(),
        "pmml": lambda: model.to_pmml(),
        "mermaid": lambda: model.to_mermaid(),
        "importances": lambda: None if model.tree_ is None else (model.feature_importances_, model.shap_values(rows)),
        "expectation": lambda: str(vars(model).get("expectation_")) + str(vars(model).get("cv_results_")),
        "sizes": lambda: [
            model.with_leaves(size + 1).predict(rows)
            for size in range(len(model.loss_by_leaves_) if "_family" in vars(model) else 0)
        ],
        "again": lambda: from_json(model.to_json()).predict(rows),
        "audit": lambda: [str(check) for check in model.audit(saved.X, saved.y)],
        "expect": lambda: str(model.expect(saved.X, saved.y)),
    }
    for name, use in uses.items():
        try:
            use()
        except (ValueError, AttributeError) as error:
            # A model may lack what some of them need, and says so.
            if not re.fullmatch(r"[^\n]{15,}[.)]", str(error)):
                return f"{name}: {type(error).__name__}: {error}"
        except Exception as error:
            return f"{name}: {type(error).__name__}: {error}"
    answers = np.asarray(model.predict(rows))
    known = np.isfinite(answers) if numbers else np.isin(answers, model.classes_)
    return "" if len(answers) == len(rows) and known.all() else f"answers {answers[:3]}"
