"""The sections of a model card."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from omtree.constraints.words import constraint_words
from omtree.data.columns import check_labels
from omtree.data.wording import amount, counts_rows, number, shorten, text_of
from omtree.model.expectation import Expectation, in_measure, short, span
from omtree.model.leading import expectation_on, in_training, training_figure, warning
from omtree.model.text import to_text
from omtree.objectives.logrank import LogRank
from omtree.papers.blocks import Block, Bullets, Code, Grid, Paragraph, Picture
from omtree.papers.group_figures import (
    GroupFigures,
    Rate,
    class_figures,
    event_figures,
    groups_of,
    largest_difference,
    number_figures,
)
from omtree.report.probabilities import judge_probabilities
from omtree.report.proof import proof_sentences
from omtree.report.sections import FEW_ROWS

if TYPE_CHECKING:
    from omtree.papers.card import Evidence

#: Columns beyond these many are counted, not listed.
_MOST_COLUMNS = 100


def the_model(model: Any, evidence: Evidence) -> list[Block]:
    """The whole model, as a picture and in words."""
    certificate = model.certificate_
    kind = "leaves" if certificate.structure == "tree" else "rules"
    used = {condition.feature for rule in model.rules_ for condition in rule.conditions}
    names = [model.rules_.features[place].name for place in sorted(used)]
    return [
        Paragraph(
            f"{len(model.rules_)} {kind}, at most {certificate.depth} questions a row; it asks about "
            f"{', '.join(shorten(name, 60) for name in names) or 'nothing'}. This is the whole model."
        ),
        Picture(model.to_svg(), to_text(model)),
    ]


def data(model: Any, evidence: Evidence) -> list[Block]:
    """Where the rows came from, and how they were read."""
    origin, rules = vars(model).get("origin_", {}), model.rules_
    target = vars(model).get("target_name_")
    facts = [
        ["file", origin.get("file", "not known")],
        ["SHA-256", origin.get("sha256", "not known")],
        ["fitted on", origin.get("fitted", "not known")],
        ["target", "not known" if target is None else target],
        ["training rows", amount(rules.support, counts_rows([rule.support for rule in rules]))],
    ]
    if rules.classes:
        totals = np.sum([rule.class_weights for rule in rules], axis=0)
        shares = ", ".join(
            f"{shorten(text_of(label), 40)} {100 * total / totals.sum():.1f} %"
            for label, total in zip(rules.classes, totals, strict=True)
        )
        facts.append(["classes", shares])
    if evidence.test is not None:
        facts += [["test file", evidence.test.name], ["its SHA-256", evidence.test.sha256]]
        facts.append(["test rows", f"{len(evidence.test.y):,}"])
    blocks: list[Block] = [Grid(["", ""], facts)]
    if evidence.training is not None and not evidence.matches:
        blocks.append(Paragraph("The training data given here are not the file the model was fitted to.", True))
    features = {feature.name: feature for feature in rules.features}
    cells = _missing(evidence)
    lines = []
    for reading in model.reading_[:_MOST_COLUMNS]:
        feature = features.get(reading.name)
        if reading.how == "left out":
            kind = "left out"
        else:
            kind = "constant, or left out" if feature is None else (feature.unit or feature.kind)
        values = "" if feature is None else f"{feature.n_values}"
        missing = cells.get(reading.name)
        had = "" if feature is None else ("yes" if feature.has_missing else "none")
        lines.append([reading.name, kind, values, had if missing is None else missing])
    blocks.append(Grid(["column", "kind", "values told apart", "missing in training"], lines, 2))
    if len(model.reading_) > _MOST_COLUMNS:
        blocks.append(Paragraph(f"And {len(model.reading_) - _MOST_COLUMNS} more columns."))
    if model.notes_:
        blocks.append(Bullets([f"{note[:1].upper()}{note[1:]}." for note in model.notes_]))
    blocks.append(
        Paragraph(
            "A missing cell is a value of its own where training had some; a value that a node never saw follows the "
            "branch drawn for it, by default that of most training rows. No row was left out or made up for a missing "
            "cell of a column."
        )
    )
    return blocks


def _missing(evidence: Evidence) -> dict[str, str]:
    """How many cells of each training column are empty, where the rows are at hand."""
    table = evidence.training
    if table is None or not hasattr(table, "columns"):
        return {}
    counts = {name: table[name].null_count for name in map(str, check_labels(table))}
    return {name: f"{count:,} of {len(table[name]):,}" for name, count in counts.items()}


def figures(model: Any, evidence: Evidence) -> list[Block]:
    """How good it is on rows that it was not fitted to."""
    test = evidence.test
    expected: Expectation | None = vars(model).get("expectation_")
    if test is not None:
        expected = expectation_on(model, test.X, test.y, None, f"the {len(test.y):,} rows of {test.name}")
    trained = in_training(model)
    if expected is None:
        return [
            Paragraph(
                f"Nothing is known about new rows: there was no cross-validation and there are no test rows. In "
                f"training, where larger models always do better, the figure is {trained.figure}.",
                True,
            )
        ]
    measure, (value, _, rmse, _) = expected.measure, training_figure(model.rules_)
    # Of log-rank models the score is what is known of the training rows, not the deviance.
    same = model.certificate_.unit != LogRank.unit
    lines = [
        [measure, in_measure(measure, expected.value.value), span(measure, expected.value)],
        [f"{measure} in training", in_measure(measure, value), ""] if same else ["in training", trained.figure, ""],
        [f"{measure} without a model", in_measure(measure, expected.baseline), ""],
    ]
    if expected.rmse is not None and expected.baseline_rmse is not None and rmse is not None:
        lines += [
            ["RMSE", short(expected.rmse.value), f"{short(expected.rmse.low)} to {short(expected.rmse.high)}"],
            ["RMSE in training", short(rmse), ""],
            ["RMSE of the mean", short(expected.baseline_rmse), ""],
        ]
    blocks: list[Block] = [
        Paragraph(f"From {expected.how}; intervals are of 95 %."),
        Grid(["figure", "value", "interval"], lines, 1),
    ]
    said = warning(model, expected)
    if said:
        blocks.append(Paragraph(said, True))
    if test is not None and model.rules_.classes:
        blocks += _by_class(model, test)
    return blocks


def _by_class(model: Any, test: Any) -> list[Block]:
    said, actual = np.asarray(model.predict(test.X)), np.asarray(test.y)
    lines = []
    for label in model.rules_.classes:
        given, has = np.asarray(said == label, bool), np.asarray(actual == label, bool)
        lines.append([text_of(label), f"{int(has.sum()):,}", _rate(Rate.of(given, has)), _rate(Rate.of(has, given))])
    return [Grid(["class", "rows", "found (recall)", "right where given (precision)"], lines, 1)]


def groups(model: Any, evidence: Evidence) -> list[Block]:
    """The same by group."""
    test = evidence.test
    if test is None:
        return []
    columns = dict(test.columns)
    if test.groups is not None:
        columns |= {name: test.groups[name].to_pylist() for name in map(str, check_labels(test.groups))}
    said, actual = np.asarray(model.predict(test.X)), np.asarray(test.y)
    classes = model.rules_.classes
    positive = classes[1] if len(classes) == 2 else None
    blocks: list[Block] = []
    for name, cells in columns.items():
        parts = groups_of(cells)
        if model.rules_.are_curves:
            lines = [
                [each.name, f"{each.rows:,}", f"{each.events:,}", short(each.expected), short(each.ratio)]
                for each in event_figures(parts, said, actual)
            ]
            blocks.append(Grid([name, "rows", "events", "expected", "events / expected"], lines, 1))
            continue
        if not classes:
            lines = [
                [each.name, f"{each.rows:,}", short(each.rmse), f"{short(each.bias)} ± {short(each.margin)}"]
                for each in number_figures(parts, said, actual)
            ]
            blocks.append(Grid([name, "rows", "RMSE", "mean of answer less truth"], lines, 1))
            continue
        found = class_figures(parts, said, actual, positive)
        head = [name, "rows", "accuracy"]
        if positive is not None:
            head += [f"given {text_of(positive)}", "recall", "false alarms"]
        lines = [[each.name, f"{each.rows:,}", *map(_rate, _rates(each))] for each in found]
        spread = [largest_difference(rates) for rates in zip(*map(_rates, found), strict=True)]
        lines.append(["largest difference", "", *("" if math.isnan(each) else _points(each) for each in spread)])
        blocks.append(Grid(head, lines, 1))
    if blocks and classes:
        blocks.append(
            Paragraph("Shares of the test rows, with Wilson's 95 % interval; a group of few rows has a wide one.")
        )
    return blocks


def _rates(found: GroupFigures) -> list[Rate | None]:
    own: list[Rate | None] = [found.accuracy]
    return own if found.selected is None else [*own, found.selected, found.recall, found.false_alarms]


def calibration(model: Any, evidence: Evidence) -> list[Block]:
    """Whether probabilities are what they say."""
    test, classes = evidence.test, model.rules_.classes
    if test is None or len(classes) != 2:
        return []
    positive = classes[1]
    said = model.predict_proba(test.X)[:, model.classes_.tolist().index(positive)]
    found = judge_probabilities(text_of(positive), test.name, said, np.asarray(test.y) == positive)
    if found is None:
        return []
    lines = [
        [f"{100 * band.said:.1f} %", f"{band.rows:,}", f"{100 * band.seen:.1f} %", _interval(band.low, band.high)]
        for band in found.bands
    ]
    return [
        Paragraph(
            f"Of {found.positive}, on the test rows: AUC {found.auc:.3f} (0.5 is chance), Brier score "
            f"{found.brier:.3f}. A tree gives as many probabilities as it has leaves."
        ),
        Grid(["probability given", "rows", "share that came about", "interval"], lines, 1),
    ]


def constraints(model: Any, evidence: Evidence) -> list[Block]:
    """What was asked of the model, in training and on new rows."""
    wanted, trained = vars(model).get("_constraints", ()), model.certificate_.constraints
    if not trained:
        return [Paragraph("The model was fitted without constraints.")]
    test = evidence.test
    tested = None
    named = {name for constraint in wanted for name in constraint.group_columns}
    if test is not None and wanted:
        there = {str(name) for table in (test.X, test.groups) if table is not None for name in check_labels(table)}
        tested = model.audit(test.X, test.y, groups=test.groups) if named <= there else None
    lines = []
    for place, check in enumerate(trained):
        line = [constraint_words(check.name, wanted), f"{check.sense} {_number(check.limit)}", _number(check.value)]
        line.append("yes" if check.met else "NO")
        if tested is not None:
            line += [_number(tested[place].value), "yes" if tested[place].met else "NO"]
        lines.append(line)
    head = ["constraint", "limit", "in training", "met", *(["on test rows", "met there"] if tested is not None else [])]
    blocks: list[Block] = [Grid(head, lines, 2)]
    if test is not None and tested is None:
        blocks.append(Paragraph("On the test rows they cannot be checked: a column of groups is missing there.", True))
    return blocks


def proof(model: Any, evidence: Evidence) -> list[Block]:
    """What is proven, and what no proof is about."""
    return [
        *map(Paragraph, proof_sentences(model.certificate_)),
        Paragraph(
            "No proof is about new rows, about columns that were not in the table, or about cause and effect: that a "
            "question is in the model does not mean that changing its answer changes the outcome."
        ),
    ]


def limits(model: Any, evidence: Evidence) -> list[Block]:
    """What should keep a reader careful, as far as it can be computed."""
    rules, items = model.rules_, []
    if evidence.test is None:
        items.append("There are no test rows: figures on new rows are from cross-validation, or not known.")
    elif len(evidence.test.y) < 100:
        items.append(f"There are only {len(evidence.test.y)} test rows; the intervals are wide.")
    if counts_rows([rule.support for rule in rules]):
        few = [str(place) for place, rule in enumerate(rules, start=1) if rule.support < FEW_ROWS]
        if few:
            items.append(f"Fewer than {FEW_ROWS} training rows decided leaf {', '.join(few)}.")
    else:
        items.append("The training rows had weights; figures in training are weighted.")
    if evidence.test is None or not (evidence.test.columns or evidence.test.groups is not None):
        items.append("Differences between groups of people were not looked at.")
    items.append("Rows from another place or time than the training rows may be answered worse; see the next section.")
    return [Bullets(items)]


def monitoring(model: Any, evidence: Evidence) -> list[Block]:
    """How to see whether it still holds."""
    return [
        Paragraph("Each command says what it found, and its exit code can wake somebody:"),
        Code(
            "omtree predict model.json new.csv --log decisions.jsonl   # every answer, with the model's hash\n"
            "omtree monitor model.json new.csv                         # shift, accuracy by leaf, constraints",
            "console",
        ),
    ]


def reproduce(model: Any, evidence: Evidence) -> list[Block]:
    """How the same model is made again."""
    from omtree import __version__

    name = type(model).__name__
    defaults = type(model)().get_params(deep=False)
    given = {key: value for key, value in model.get_params(deep=False).items() if repr(value) != repr(defaults[key])}
    given["constraints"] = tuple(vars(model).get("_constraints", ()))
    if not given["constraints"]:
        del given["constraints"]
    settings = "".join(f"    {key}={value!r},\n" for key, value in sorted(given.items()))
    lines = [["omtree", __version__], ["SHA-256 of the model's file", evidence.model_hash or "not known"]]
    lines.append(["seconds of the fit", f"{model.certificate_.total_seconds:.1f}"])
    code = (
        "from omtree import *\nfrom omtree.constraints import *\n\n"
        if "constraints" in given
        else "from omtree import *\n\n"
    )
    return [
        Grid(["", ""], lines),
        Code(f"{code}model = {name}(\n{settings})\nmodel.fit(X, y)  # the rows of the data file above", "python"),
        Paragraph(
            "The same rows, settings and version give the same model on any number of threads, unless the time limit "
            "ended the search."
        ),
    ]


def _rate(rate: Rate | None) -> str:
    if rate is None or not rate.rows:
        return "–"
    return f"{100 * rate.value:.1f} % ({_interval(rate.low, rate.high)})"


def _interval(low: float, high: float) -> str:
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def _points(difference: float) -> str:
    return f"{100 * difference:.1f} points"


def _number(value: float) -> str:
    return number(value) if math.isfinite(value) else "–"
