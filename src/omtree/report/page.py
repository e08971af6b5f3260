"""The report: one HTML file that shows a fitted model, and needs nothing but a browser."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from omtree.constraints.audit import ConstraintCheck
from omtree.data.wording import amount, number, show_level, show_number
from omtree.model.certificate import Certificate
from omtree.model.rules import RuleSet
from omtree.problem.graph import Level
from omtree.report.charts import residual_scene, tradeoff_scene
from omtree.report.figures import MOST_CLASSES, Confusion, score
from omtree.report.page_data import page_data, script_json, used_features
from omtree.report.summary import Summaries
from omtree.report.svg import model_scene, render_svg
from omtree.report.words import answer, condition_words, percent, shorten

#: Features, and values of one, beyond these many or this long, are counted, not listed.
MOST_FEATURES, MOST_VALUES, MOST_LETTERS = 200, 40, 600
#: Rules beyond this many are not in the table of leaves.
MOST_LEAVES = 400
#: Where the picture is wider than this, everything else goes below it.
_NARROW = 860.0

_TEMPLATES = Path(__file__).parent / "templates"


def write_report(
    model: Any,
    path: str | Path,
    X: Any = None,
    y: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    *,
    title: str = "",
) -> Path:
    """Write the report of a fitted model.

    Parameters
    ----------
    model : fitted model
    path : str or Path
    X, y : array or data frame, and array, optional
        The training data; with them the report shows how the model does on it.
    X_test, y_test : array or data frame, and array, optional
        Data that the model has not seen.
    title : str
        Heading of the report.

    Returns
    -------
    Path
        The file.
    """
    page = render_report(model, X, y, X_test, y_test, title=title)
    file = Path(path)
    # Half a surrogate in a name is no reason to have no report.
    file.write_text(page, encoding="utf-8", errors="replace", newline="\n")
    return file


def render_report(
    model: Any, X: Any = None, y: Any = None, X_test: Any = None, y_test: Any = None, *, title: str = ""
) -> str:
    """The report as text; see `write_report`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from omtree import OptimalTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    >>> "Proven best for its cut points" in render_report(model, X, y)
    True
    """
    scores = []
    for name, rows, targets, parameters in (
        ("training data", X, y, "X and y"),
        ("test data", X_test, y_test, "X_test and y_test"),
    ):
        if (rows is None) != (targets is None):
            raise ValueError(f"The report needs {parameters} together; give both or neither.")
        if rows is not None:
            scores.append(score(model, name, rows, targets))
    scene = model_scene(model)
    certificate: Certificate = model.certificate_
    rules: RuleSet = model.rules_
    features = _features(model)
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, percent=percent, picture=_picture)
    return environment.get_template("report.html.j2").render(
        title=title or ("Decision tree" if model.tree_ is not None else "Decision rules"),
        kind="tree" if model.tree_ is not None else "rules",
        size=_size(certificate),
        rows=amount(rules.support, Summaries.of(rules).rows),
        counted="Rows" if Summaries.of(rules).rows else "Weight",
        classes=rules.classes,
        wide=scene.width > _NARROW,
        picture=Markup(render_svg(scene)),
        badge=_badge(certificate),
        proof=_proof(certificate),
        facts=_facts(certificate),
        constraints=[_constraint(check) for check in certificate.constraints],
        leaves=_leaves(rules),
        n_leaves=len(rules),
        tradeoff=_tradeoff(model),
        scores=[(s, isinstance(s, Confusion)) for s in scores],
        residual_scene=residual_scene,
        most_classes=MOST_CLASSES,
        used=[f for f in features if f["used"]],
        unused=[f for f in features if not f["used"]],
        n_features=len(model.graph_),
        settings=[(name, shorten(repr(value))) for name, value in sorted(model.get_params(deep=False).items())],
        data=Markup(script_json(page_data(model))),
        script=Markup((_TEMPLATES / "report.js").read_text(encoding="utf-8")),
    )


def _picture(scene: Any) -> Markup:
    return Markup(render_svg(scene))


def _size(certificate: Certificate) -> str:
    word = ("leaf", "leaves") if certificate.structure == "tree" else ("rule", "rules")
    size = f"{certificate.leaves} {word[certificate.leaves != 1]}"
    return f"{size}, depth {certificate.depth}" if certificate.structure == "tree" else size


def _badge(certificate: Certificate) -> str:
    if certificate.status == "optimal":
        return "Proven best for its cut points" if certificate.cuts == "some" else "Proven optimal"
    return f"Not proven optimal, gap {_gap(certificate)}"


def _gap(certificate: Certificate) -> str:
    return f"{100 * certificate.gap:.1f} %"


def _proof(certificate: Certificate) -> list[str]:
    """What is proven, in plain sentences."""
    value, bound, weight = (number(x) for x in (certificate.value, certificate.bound, certificate.weight))
    limit = f"go below {bound}"
    if certificate.counted:
        share = f" ({100 * certificate.value / certificate.weight:.1f} %)" if certificate.weight > 0 else ""
        sentences = [
            f"On the training data the model makes {value} {certificate.unit_of(certificate.value)} in {weight}{share}."
        ]
        less = "makes fewer"
    elif certificate.score:
        sentences = [f"On the training data the {certificate.score} is {number(1.0 - certificate.value)}."]
        less, limit = "has a higher one", f"have one above {number(1.0 - certificate.bound)}"
    else:
        sentences = [f"On the training data the {certificate.unit} of the model is {value}."]
        less = "has a lower one"
    among = f" Compared were {certificate.search_space}." if certificate.search_space else ""
    if certificate.status == "optimal":
        if certificate.cuts == "some":
            sentences.append(
                f"It is proven that no other model of its kind with the same {certificate.n_cuts:,} cut points of "
                f"numbers {less}; other cut points are not excluded.{among}"
            )
        else:
            over = ", wherever it cuts numbers," if certificate.cuts == "all" else ""
            sentences.append(f"It is proven that no other model of its kind{over} {less}.{among}")
        sentences.append("The proof is about the training data; new data can only be judged by a test on new data.")
        return sentences
    why = {
        "gap_reached": "the gap that was asked for was reached",
        "time_limit": "the time limit was reached",
        "stopped": "a limit on the work was reached",
        "interrupted": "it was interrupted",
    }.get(certificate.status, certificate.status)
    sentences.append(
        f"It is not proven to be the best: the search ended because {why}. What is proven is that no model of "
        f"its kind can {limit}: at most {_gap(certificate)} of the loss could be saved by a better one.{among}"
    )
    return sentences


def _facts(certificate: Certificate) -> list[tuple[str, str]]:
    if certificate.score:
        ends = [(certificate.score, 1.0 - certificate.value), ("upper bound", 1.0 - certificate.bound)]
    else:
        ends = [(certificate.unit, certificate.value), ("lower bound", certificate.bound)]
    facts = [
        *((name, number(end)) for name, end in ends),
        ("gap", _gap(certificate)),
        ("status", certificate.status.replace("_", " ")),
        ("weight of all rows", number(certificate.weight)),
    ]
    if certificate.lp_value is not None and certificate.lp_gap is not None:
        facts.append(("linear relaxation", f"{number(certificate.lp_value)} (gap {100 * certificate.lp_gap:.1f} %)"))
    if certificate.columns:
        pricing = {True: ", priced out exactly", False: ", not priced out", None: ""}[certificate.exact_pricing]
        facts.append(("rules generated", f"{number(certificate.columns)}{pricing}"))
    if certificate.ended:
        facts.append(("ended", certificate.ended))
    facts.append(("seconds", f"{certificate.total_seconds:.2f}"))
    return facts


def _constraint(check: ConstraintCheck) -> dict[str, Any]:
    """A line of the table; a value that cannot be measured, and a limit that is none, are a dash."""

    def shown(value: float) -> str:
        return number(value) if math.isfinite(value) else "–"

    return {
        "name": shorten(check.name),
        "value": shown(check.value),
        "limit": f"{check.sense} {shown(check.limit)}" if math.isfinite(check.limit) else "none",
        "slack": shown(check.slack),
        "rule": "" if check.rule is None else str(check.rule + 1),
        "met": check.met,
    }


def _leaves(rules: RuleSet) -> list[dict[str, Any]]:
    summaries = Summaries.of(rules)
    total = rules.support or 1.0
    return [
        {
            "number": i,
            "words": [condition_words(c, rules.features[c.feature]) for c in rule.conditions],
            "answer": answer(rule.prediction, rules.classes),
            "sort": rule.prediction if isinstance(rule.prediction, (int, float)) else "",
            "support": rule.support,
            "amount": number(rule.support),
            "share": rule.support / total,
            "loss": rule.loss,
            "certainty": rule.class_weights[rule.label] / rule.support if rule.class_weights and rule.support else None,
            "deviation": rule.targets.deviation if rule.targets is not None else None,
            "content": summaries.words(rule),
        }
        for i, rule in enumerate(rules[:MOST_LEAVES])
    ]


def _tradeoff(model: Any) -> dict[str, Any] | None:
    losses = getattr(model, "loss_by_leaves_", None)
    if losses is None or len(losses) < 2:
        return None
    unit = model.certificate_.unit
    values = [float(loss) for loss in losses]
    return {
        "scene": tradeoff_scene(values, len(model.rules_), unit),
        "unit": unit,
        "sentence": f"The fewest {unit} that a tree with at most so many leaves can make."
        if model.certificate_.counted
        else f"The smallest loss ({unit}) that a tree with at most so many leaves can have.",
        "rows": list(enumerate(values[:MOST_LEAVES], start=1)),
        "chosen": len(model.rules_),
    }


def _features(model: Any) -> list[dict[str, Any]]:
    """How every feature was cut; those that the model uses come first."""
    used = set(used_features(model))
    levels = sorted(model.graph_, key=lambda level: (level.position not in used, level.index))
    return [_feature(level, model.rules_, level.position in used) for level in levels[:MOST_FEATURES]]


def _feature(level: Level, rules: RuleSet, used: bool) -> dict[str, Any]:
    feature = level.feature
    if feature.thresholds is not None:
        cuts = feature.thresholds.tolist()
        values = [(show_number(cut), i + 1 in _cuts_in_use(level, rules)) for i, cut in enumerate(cuts)]
    else:
        assert feature.levels is not None
        values = [(shorten(show_level(value)), False) for value in feature.levels]
    lengths = itertools.accumulate(len(text) for text, _ in values)
    shown = max(1, sum(length <= MOST_LETTERS for length in itertools.islice(lengths, MOST_VALUES)))
    return {
        "name": shorten(feature.name),
        "kind": feature.kind,
        "numeric": feature.thresholds is not None,
        "bins": feature.n_values,
        "missing": feature.has_missing,
        "used": used,
        "values": values[:shown],
        "more": max(0, len(values) - shown),
    }


def _cuts_in_use(level: Level, rules: RuleSet) -> set[int]:
    """Codes at which some condition of the model begins or ends."""
    ends: set[int] = set()
    for rule in rules:
        for condition in rule.conditions:
            if condition.feature == level.position:
                codes = set(condition.codes)
                ends |= {c for c in codes if c - 1 not in codes} | {c + 1 for c in codes if c + 1 not in codes}
    return ends
