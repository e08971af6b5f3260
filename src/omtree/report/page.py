"""The report: one HTML file that shows a fitted model, and needs nothing but a browser."""

from __future__ import annotations

import functools
import itertools
import math
from datetime import date
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from omtree.constraints.audit import ConstraintCheck
from omtree.constraints.words import constraint_words, missed_sentences
from omtree.data.wording import amount, number, shorten, show_level, show_value
from omtree.model.certificate import Certificate
from omtree.model.leading import expectation_on, leads, warning
from omtree.model.policy_value import PolicyValue
from omtree.model.rules import RuleSet
from omtree.problem.graph import Level
from omtree.report import sections
from omtree.report.charts import residual_scene, tradeoff_scene
from omtree.report.curves import calibration_scene, decision_scene, roc_scene
from omtree.report.figures import MOST_CLASSES, Confusion, score
from omtree.report.other_trees import other_trees
from omtree.report.page_data import page_data, script_json, used_features
from omtree.report.probabilities import Probabilities
from omtree.report.proof import badge_words, proof_facts, proof_sentences
from omtree.report.summary import Summaries, spread_of
from omtree.report.survival_chart import pairs_of_leaves, survival_leaves
from omtree.report.svg import model_scene, render_svg
from omtree.report.words import answer, condition_words, percent

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
    groups_test: Any = None,
    title: str = "",
    alternatives: int = 0,
    evaluated: PolicyValue | None = None,
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
    groups_test : array, series or data frame, optional
        The group columns of constraints for the test data, as in `audit`.
    title : str
        Heading of the report.
    alternatives : int
        How many other good trees to show.
    evaluated : PolicyValue, optional
        Of a policy, in place of test data: what `evaluate` found on rows that it was not fitted to.

    Returns
    -------
    Path
        The file.
    """
    shown: dict[str, Any] = {"title": title, "alternatives": alternatives, "evaluated": evaluated}
    page = render_report(model, X, y, X_test, y_test, groups_test=groups_test, **shown)
    file = Path(path)
    # Half a surrogate in a name is no reason to have no report.
    file.write_text(page, encoding="utf-8", errors="replace", newline="\n")
    return file


def render_report(
    model: Any,
    X: Any = None,
    y: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    *,
    groups_test: Any = None,
    title: str = "",
    alternatives: int = 0,
    evaluated: PolicyValue | None = None,
) -> str:
    """The report as text; see `write_report`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from omtree import OptimalTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    >>> "Proven optimal" in render_report(model, X, y)
    True
    """
    from omtree import __version__

    scores: list[Any] = []
    lifetimes: list[str] = []
    for name, rows, targets, parameters in (
        ("training data", X, y, "X and y"),
        ("test data", X_test, y_test, "X_test and y_test"),
    ):
        if (rows is None) != (targets is None):
            raise ValueError(f"The report needs {parameters} together; give both or neither.")
        if rows is not None and model.rules_.are_curves:
            lifetimes.append(sections.on_lifetimes(model, name, rows, targets))
        elif rows is not None and not model.rules_.are_actions:
            scores.append(score(model, name, rows, targets))
    scene = model_scene(model)
    certificate: Certificate = model.certificate_
    rules: RuleSet = model.rules_
    features = _features(model)
    new = X_test is not None
    target = vars(model).get("target_name_", "")
    tested = sections.tested_constraints(model, X_test, y_test, groups_test) if new else None
    wanted = vars(model).get("_constraints", ())
    expected = expectation_on(model, X_test, y_test, None, "") if new else vars(model).get("expectation_")
    missed = missed_sentences(model.certificate_.constraints, tested, wanted)
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, percent=percent, picture=_picture)
    lines = environment.get_template("leaves.html.j2").module.lines  # type: ignore[attr-defined]
    rows_of = functools.partial(_leaf_lines, lines, X_test=X_test, y_test=y_test)
    choices, shown = sections.other_sizes(model, rows_of)
    kind = "tree" if model.tree_ is not None else "rules"
    return environment.get_template("report.html.j2").render(
        title=title or (f"Decision {kind} for {target}" if target else f"Decision {kind}"),
        target=target,
        origin=sections.origin_facts(model),
        made=f"Made with omtree {__version__} on {date.today().isoformat()}",
        print_note=f"omtree {__version__}, {date.today().isoformat()}",
        leads=leads(model, expected),
        warnings=[*filter(None, [warning(model, expected)]), *missed],
        outline=sections.outline(model.tree_) if model.tree_ is not None and len(rules) <= MOST_LEAVES else "",
        lines=lines,
        loss_name="Errors" if certificate.counted else "Loss",
        tested=new,
        few=sections.FEW_ROWS,
        sizes=sections.size_curve(model),
        stability=vars(model).get("stability_"),
        choices=choices,
        probabilities=_probabilities(model, X, y, X_test, y_test),
        roc_scene=roc_scene,
        calibration_scene=calibration_scene,
        decision_scene=decision_scene,
        constraints_tested=tested is not None,
        missed=missed,
        policy=sections.policy_values(model, X_test, y_test, evaluated),
        survival=survival_leaves(model),
        pairs=pairs_of_leaves(model),
        others=other_trees(model, alternatives, X),
        lifetimes=lifetimes,
        kind=kind,
        size=_size(certificate),
        rows=amount(rules.support, Summaries.of(rules).rows),
        counted="Rows" if Summaries.of(rules).rows else "Weight",
        classes=rules.classes,
        actions=rules.are_actions,
        curves=rules.are_curves,
        wide=scene.width > _NARROW,
        picture=Markup(render_svg(scene)),
        badge=badge_words(certificate),
        proof=proof_sentences(certificate),
        facts=proof_facts(certificate),
        constraints=[
            _constraint(check, constraint_words(check.name, wanted), None if tested is None else tested[place])
            for place, check in enumerate(certificate.constraints)
        ],
        assured=[f"{constraint_words(each.name, wanted)}: {each.words}." for each in certificate.assured],
        leaves=_leaves(model, X_test, y_test),
        n_leaves=len(rules),
        tradeoff=_tradeoff(model),
        scores=[(s, isinstance(s, Confusion)) for s in scores],
        residual_scene=residual_scene,
        most_classes=MOST_CLASSES,
        used=[f for f in features if f["used"]],
        unused=[f for f in features if not f["used"]],
        n_features=len(model.graph_),
        # What to do about it is for whoever fits the model.
        notes=[note.split("; keep it with ")[0] for note in model.notes_],
        settings=[(name, shorten(repr(value))) for name, value in sorted(model.get_params(deep=False).items())],
        data=Markup(script_json({**page_data(model), "sizes": shown})),
        script=Markup((_TEMPLATES / "report.js").read_text(encoding="utf-8")),
    )


def _picture(scene: Any) -> Markup:
    return Markup(render_svg(scene))


def _size(certificate: Certificate) -> str:
    word = ("leaf", "leaves") if certificate.structure == "tree" else ("rule", "rules")
    size = f"{certificate.leaves} {word[certificate.leaves != 1]}"
    return f"{size}, depth {certificate.depth}" if certificate.structure == "tree" else size


def _constraint(check: ConstraintCheck, words: str, tested: ConstraintCheck | None) -> dict[str, Any]:
    """A line of the table; a value that cannot be measured, and a limit that is none, are a dash."""

    def shown(value: float) -> str:
        return number(value) if math.isfinite(value) else "–"

    return {
        "name": shorten(words),
        "tested": "" if tested is None else shown(tested.value),
        "tested_met": tested is None or tested.met,
        "value": shown(check.value),
        "limit": f"{check.sense} {shown(check.limit)}" if math.isfinite(check.limit) else "none",
        "slack": shown(check.slack),
        "rule": "" if check.rule is None else str(check.rule + 1),
        "met": check.met,
    }


def _leaf_lines(lines: Any, model: Any, *, X_test: Any, y_test: Any) -> str:
    """The lines of the table of leaves, as HTML."""
    return str(lines(_leaves(model, X_test, y_test), model.rules_.classes, X_test is not None, sections.FEW_ROWS))


def _probabilities(model: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> Probabilities | None:
    """Of the test rows where there are any, else of the training rows."""
    if X_test is not None:
        return sections.probabilities(model, "test data", X_test, y_test)
    return None if X is None else sections.probabilities(model, "training data", X, y)


def _leaves(model: Any, X_test: Any, y_test: Any) -> list[dict[str, Any]]:
    rules: RuleSet = model.rules_
    summaries = Summaries.of(rules)
    tested = [(0, "")] * len(rules) if X_test is None else sections.on_test_rows(model, X_test, y_test)
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
            "events": None if rule.survival is None else rule.survival.events,
            "brings": rule.values[rule.label] if rules.are_actions else None,
            "certainty": rule.class_weights[rule.label] / rule.support if rule.class_weights and rule.support else None,
            "deviation": spread_of(rule) if rule.targets is not None else None,
            "content": summaries.words(rule),
            "interval": sections.certainty_interval(rule, summaries),
            "few": summaries.rows and rule.support < sections.FEW_ROWS,
            "tested": tested[i][0],
            "tested_right": tested[i][1],
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
        in_use = _cuts_in_use(level, rules)
        values = [(show_value(feature.unit, cut), i + 1 in in_use) for i, cut in enumerate(cuts)]
    else:
        assert feature.levels is not None
        # Texts that no condition is on may be nobody's business.
        values = [(shorten(show_level(value)), False) for value in feature.levels if used or not isinstance(value, str)]
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
