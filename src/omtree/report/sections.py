"""Parts of the report that go beyond one model on its training rows: other sizes, test rows, what the model is from."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
from markupsafe import Markup

from omtree.constraints import ConstraintCheck, group_columns
from omtree.data.columns import check_labels
from omtree.data.wording import amount, number, shorten, text_of
from omtree.fit.size_choice import most_leaves_chosen
from omtree.model.expectation import Figure, in_measure, short
from omtree.model.intervals import wilson
from omtree.model.policy_value import PolicyValue
from omtree.model.rules import Rule
from omtree.model.tree import Tree
from omtree.report.curves import size_scene
from omtree.report.page_data import page_data
from omtree.report.probabilities import Probabilities, judge_probabilities
from omtree.report.summary import Summaries
from omtree.report.svg import model_scene, render_svg
from omtree.report.words import answer, branch_words, percent
from omtree.sources.lifetimes import read_lifetimes
from omtree.sources.target import check_rewards

#: A leaf that fewer training rows decided is marked.
FEW_ROWS = 10
#: Beyond these many sizes, or leaves of one, other sizes are not drawn.
_MOST_SIZES, _MOST_LEAVES = 16, 64


def origin_facts(model: Any) -> list[str]:
    """Where the model is from, each fact in a few words."""
    from omtree import __version__

    origin = vars(model).get("origin_", {})
    facts = []
    if origin.get("file"):
        facts.append(f"data {origin['file']}")
    if origin.get("sha256"):
        facts.append(f"SHA-256 {origin['sha256'][:16]}…")
    if origin.get("fitted"):
        facts.append(f"fitted {origin['fitted']}")
    return [*facts, f"report of {date.today().isoformat()}", f"omtree {__version__}"]


def certainty_interval(rule: Rule, summaries: Summaries) -> str:
    """Wilson's interval for the share of a leaf's answer, where weights are numbers of rows."""
    if not rule.class_weights or not summaries.rows or rule.support <= 0:
        return ""
    low, high = wilson(rule.class_weights[rule.label] / rule.support, rule.support)
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def on_test_rows(model: Any, X: Any, y: Any) -> list[tuple[int, str]]:
    """Per leaf how many test rows it answers for, and how well: share right, root mean square, or mean reward."""
    owner, rules = model.apply(X), model.rules_
    rows = np.bincount(owner, minlength=len(rules))
    actual = np.asarray(y)
    if rules.are_curves:
        events = read_lifetimes(y, None, None, None)[1]
        seen = np.bincount(owner, weights=events, minlength=len(rules))
        return [(int(n), f"{int(found)} events") for n, found in zip(rows, seen, strict=True)]
    if rules.are_actions:
        said = np.array([rule.label for rule in rules])[owner]
        brought = check_rewards(y, len(owner), rules.classes)[np.arange(len(owner)), said]
        sums = np.bincount(owner, weights=brought, minlength=len(rules))
        return [(int(n), short(float(total / n)) if n else "") for n, total in zip(rows, sums, strict=True)]
    if rules.classes:
        right = np.asarray(model.predict(X) == actual, dtype=float)
        hits = np.bincount(owner, weights=right, minlength=len(rules))
        return [(int(n), percent(hit / n) if n else "") for n, hit in zip(rows, hits, strict=True)]
    squares = np.bincount(owner, weights=(model.predict(X) - actual.astype(float)) ** 2, minlength=len(rules))
    return [(int(n), short(float(np.sqrt(s / n))) if n else "") for n, s in zip(rows, squares, strict=True)]


def on_lifetimes(model: Any, name: str, X: Any, y: Any) -> str:
    """How well a survival tree orders rows, and fits their times, in a sentence."""
    times, events, _ = read_lifetimes(y, None, None, None)
    index, brier = model.score(X, y), model.brier_score(X, y)
    return (
        f"On the {name} ({len(times):,} rows, {int(events.sum()):,} events): concordance {index:.3f} (0.5 is chance), "
        f"integrated Brier score {brier:.3f} (0.25 is a coin)."
    )


def policy_values(model: Any, X: Any, y: Any, evaluated: PolicyValue | None = None) -> list[dict[str, Any]]:
    """What a policy brings beside simpler ones, on the rows of the fit and on test rows; nothing for other models."""
    if not model.rules_.are_actions:
        return []
    values = [value for value in (vars(model).get("value_"),) if value is not None]
    if X is not None:
        values.insert(0, model.evaluate(X, rewards=y))
    if evaluated is not None:
        values.insert(0, evaluated)
    found = []
    for value in values:
        lines = [("This policy", value.policy, None)]
        lines += [
            (f"All {shorten(text_of(action), 40)}", figure, value.gain[f"all {text_of(action)}"])
            for action, figure in value.single.items()
        ]
        if value.history is not None:
            lines.append(("What was done", value.history, value.gain["history"]))
        found.append(
            {
                "how": f"{value.rows:,} rows: {value.how}",
                "lines": [
                    (name, _figure_words(figure), "" if gain is None else _figure_words(gain))
                    for name, figure, gain in lines
                ],
                "shares": ", ".join(f"{shorten(text_of(a), 40)} {percent(share)}" for a, share in value.shares.items()),
            }
        )
    return found


def _figure_words(figure: Figure) -> str:
    return f"{short(figure.value)} ({short(figure.low)} to {short(figure.high)})"


def probabilities(model: Any, name: str, X: Any, y: Any) -> Probabilities | None:
    """How well the shares of the positive class serve as probabilities; None where there are not two classes."""
    classes = model.rules_.classes
    if len(classes) != 2 or not hasattr(model, "predict_proba"):
        return None
    positive = classes[1]
    column = model.classes_.tolist().index(positive)
    said = model.predict_proba(X)[:, column]
    return judge_probabilities(shorten(text_of(positive), 40), name, said, np.asarray(y) == positive)


def size_curve(model: Any, **drawn: Any) -> dict[str, Any] | None:
    """The losses of the cross-validation by size, or by the size that each price comes to, for `size_scene`."""
    results = vars(model).get("cv_results_")
    if results is None or len(results["mean_test_loss"]) < 2:
        return None
    known = ~np.isnan(results["mean_test_loss"])
    priced = "leaf_price" in results
    sizes, training, held_out, errors = (
        results[name][known].tolist()
        for name in ("mean_leaves" if priced else "leaves", "mean_train_loss", "mean_test_loss", "se_test_loss")
    )
    errors = [0.0 if error != error else error for error in errors]
    leaves = len(model.rules_)
    most = most_leaves_chosen(model)
    marked = float(most or leaves)
    rule = "of least loss" if vars(model).get("selection") == "best" else "within one standard error of the least loss"
    size = f"{leaves} {'leaf' if leaves == 1 else 'leaves'}"
    sentence = "Mean loss by size, in training and on rows held out"
    if most is not None:
        sentence += f"; the one {rule} on those was chosen: {most} {'leaf' if most == 1 else 'leaves'}"
        sentence += f", and the best model with at most so many has {leaves}" if leaves < most else ""
    sentence += "."
    if priced:
        sentence = "Mean loss in training and on rows held out by the leaves that a price of a leaf comes to on average"
        if "leaf_price_" in vars(model):
            price = model.leaf_price_
            marked = sizes[int(np.argmin(np.abs(results["leaf_price"][known] - price)))]
            sentence += f"; the price {rule} on those was chosen: {number(price)}, which gives {size} on all rows"
        sentence += "."
    return {"scene": size_scene(sizes, training, held_out, errors, marked, **drawn), "sentence": sentence}


def other_sizes(model: Any, lines: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The sizes to choose from, and for each but the model's own what the page shows then.

    Parameters
    ----------
    model : fitted model
    lines : callable
        The lines of the table of leaves for a model, as HTML.
    """
    if vars(model).get("_family") is None or model.tree_ is None:
        return [], {}
    losses = model.loss_by_leaves_
    if len(losses) > _MOST_SIZES or len(model.rules_) > _MOST_LEAVES:
        return [], {}
    choices, shown = [], {}
    seen: set[int] = set()
    for size in range(1, len(losses) + 1):
        if not np.isfinite(losses[size - 1]):
            continue
        other = model.with_leaves(size)
        # A size without a smaller loss has the tree of a smaller size.
        if len(other.rules_) in seen or len(other.rules_) > _MOST_LEAVES:
            continue
        seen.add(len(other.rules_))
        own = len(other.rules_) == len(model.rules_)
        if own:
            # What was held out was for the size that was chosen.
            other = model.with_leaves(most_leaves_chosen(model) or size)
        choices.append({"size": len(other.rules_), "words": _size_words(other), "chosen": own})
        if not own:
            picture = render_svg(model_scene(other))
            shown[str(len(other.rules_))] = {**page_data(other), "picture": picture, "lines": lines(other)}
    return choices, shown


def _size_words(model: Any) -> str:
    certificate = model.certificate_
    size = len(model.rules_)
    words = f"{size} {'leaf' if size == 1 else 'leaves'}: "
    if certificate.is_squared:
        words += f"RMSE {number(certificate.root_mean(certificate.loss))} in training"
    else:
        words += f"{number(certificate.loss)} {certificate.unit_of(certificate.loss)} in training"
    expected = vars(model).get("expectation_")
    if expected is not None:
        words += f", {in_measure(expected.measure, expected.value.value)} {expected.measure} on rows held out"
    return f"{words}."


def outline(tree: Tree) -> Markup:
    """The tree as nested lists, for narrow screens."""
    rules, summaries = tree.rules, Summaries.of(tree.rules)

    def item(index: int) -> Markup:
        node = tree.nodes[index]
        condition = node.condition
        if condition is None:
            words = "All rows"
        else:
            feature = rules.features[condition.feature]
            words = f"{shorten(feature.name, 60)}: {branch_words(feature, condition.codes)}"
        text = Markup("{}").format(words)
        if node.rule is not None:
            rule = rules[node.rule]
            said = answer(rule.prediction, rules.classes)
            text += Markup(' → <span class="says">{}</span> <span class="soft">#{} · {}</span>').format(
                said, node.rule + 1, summaries.short(rule)
            )
            return Markup("<li>{}</li>").format(text)
        below = Markup("").join(item(child) for child in node.children)
        rows = amount(node.support, summaries.rows)
        return Markup('<li>{} <span class="soft">{}</span><ul>{}</ul></li>').format(text, rows, below)

    return Markup("<ul>{}</ul>").format(item(0))


def tested_constraints(model: Any, X: Any, y: Any, groups: Any) -> tuple[ConstraintCheck, ...] | None:
    """The constraints on test rows; None where there are none, or the columns of their groups are not at hand."""
    constraints = vars(model).get("_constraints", ())
    if not constraints or not model.certificate_.constraints:
        return None
    if groups is None:
        wanted = set(group_columns(constraints))
        there = set(map(str, check_labels(X))) if wanted and hasattr(X, "columns") else set()
        if wanted - there:
            return None
    return tuple(model.audit(X, y, groups=groups))
