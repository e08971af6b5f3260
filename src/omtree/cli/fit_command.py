"""``omtree fit``: from a file to a model, shown and saved."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from omtree.cli import terminal
from omtree.cli.fit_rows import FitRequest, ask_for_scan, read_in_memory, rows_of_test, stays_on_disk
from omtree.cli.kinds import column_kinds
from omtree.cli.modelling import check_different, check_writable, estimator_class
from omtree.cli.new_rows import NewRows, check_share, check_test_file, from_file, part
from omtree.cli.option_words import in_options
from omtree.cli.tables import suggest
from omtree.cli.task_columns import check_task
from omtree.data.parsing.reading import Reading
from omtree.data.wording import text_of
from omtree.model.leading import expectation_of_policy, expectation_on
from omtree.model.policy_value import PolicyValue

if TYPE_CHECKING:
    import pyarrow as pa

    from omtree.estimators.base import OptimalTreeBase


def run_fit(request: FitRequest) -> OptimalTreeBase:
    """Fit, show, save; the steps that can fail early come before the fit."""
    for path in (request.out, request.report):
        check_writable(path)
    check_different(
        {"the data": request.data, "--test": request.test, "--out": request.out, "--report": request.report}
    )
    if request.holdout is not None:
        check_share(request.holdout)
        if request.test is not None:
            raise ValueError("--holdout and --test are two ways to try the model on new rows; give one of them.")
    kinds = column_kinds(request.kinds)
    levels = _levels_of_target(kinds, request)
    on_disk = stays_on_disk(request)
    if request.columns is not None:
        check_task(request.task, request.columns, on_disk, request.holdout)
    try:
        asked = ask_for_scan(request, kinds) if on_disk else read_in_memory(request, kinds)
    except ValueError as fault:
        raise ValueError(in_options(str(fault))) from fault
    held_out: NewRows | None = None
    if request.holdout is not None:
        if on_disk:
            raise ValueError("--holdout needs rows in memory; keep a file of rows apart and give it as --test.")
        seed = request.parameters.get("random_state")
        parted = part(
            asked.rows, asked.y, asked.extra, request.holdout, classes=asked.task == "classification", seed=seed
        )
        asked, held_out = replace(asked, rows=parted.rows, y=parted.y, extra=parted.extra), parted.held_out
    if request.test is not None and request.columns is None:
        names = list(asked.rows.columns) if on_disk else asked.rows.column_names
        check_test_file(request.test, request.target, names, request.options)
    # Before the fit, so that a column that is not there is missed at once.
    apart = rows_of_test(request, request.columns, kinds) if request.test and request.columns else None
    model: Any = _make(asked.task, request, asked.kinds, asked.y, levels, on_disk=on_disk)
    terminal_notes = [] if request.quiet else request.notes
    for remark in terminal_notes:
        terminal.note(remark)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with terminal.progress(request.parameters["time_limit"], request.quiet):
                model.fit(asked.rows, asked.y, **asked.extra)
        except ValueError as fault:
            raise ValueError(in_options(str(fault))) from fault
        model.target_name_ = request.target
        model.origin_ = origin_of(request.data)
        if request.out is not None:
            # First of all: whatever happens later, the model is there.
            model.save(request.out, sizes=False)
        if apart is not None and asked.task == "survival":
            where = f"a test on the {apart.rows.num_rows:,} rows of {request.test}"
            held_out = NewRows(apart.rows, apart.y, apart.extra.get("sample_weight"), where)
        elif request.test is not None and apart is None:
            held_out = from_file(model, request.test, request.target, request.options, request.notes)
        evaluated: PolicyValue | None = None
        if apart is not None and asked.task == "policy":
            judged = {name: given for name, given in apart.extra.items() if name != "groups"}
            evaluated = model.evaluate(apart.rows, apart.y, **judged)
            where = f"a test on the {evaluated.rows:,} rows of {request.test}"
            model.expectation_ = expectation_of_policy(model.rules_, evaluated, where)
        if held_out is not None:
            model.expectation_ = expectation_on(model, held_out.X, held_out.y, held_out.weight, held_out.how)
        _keep(model, request)
    if not request.quiet:
        for remark in request.notes[len(terminal_notes) :]:
            terminal.note(remark)
        for remark in model.notes_:
            terminal.note(in_options(remark))
        said = {each.rstrip(".").lower() for each in model.notes_}
        for warning in caught:
            text = str(warning.message).rstrip(".")
            if issubclass(warning.category, UserWarning) and not set(text.lower().split("; column")) & said:
                terminal.note(text)
        print()
        terminal.show_model(model)
        print()
        if on_disk and request.parameters.get("max_leaves") == "auto":
            print("rows on disk are not cross-validated: --leaves sets the size, --test says what to expect of it")
        terminal.show_leads(model)
        terminal.show_certificate(model.certificate_, model.constraints)
        if "stability_" in vars(model):
            print(f"\n{model.stability_}")
        if evaluated is not None:
            print(f"\non {request.test}: {evaluated}")
    in_memory = asked.y is not None and asked.task != "policy"  # what actions bring is in the model
    _finish(model, request, asked.rows if in_memory else None, asked.y if in_memory else None, held_out, evaluated)
    fitted: OptimalTreeBase = model
    return fitted


def origin_of(data: str) -> dict[str, str]:
    """The data file, its hash, and the day, for reports."""
    origin = {"fitted": date.today().isoformat()}
    if data != "-":
        origin["file"] = Path(data).name
        if Path(data).is_file():
            with open(data, "rb") as file:
                origin["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
    return origin


def _keep(model: Any, request: FitRequest) -> None:
    """Save the model with what is known about it now, and with the trees of every size where those are to be had.

    They may have to be searched for, which is left out after a fit that ran out of time or was interrupted. Ctrl-C in
    that search ends only the search.
    """
    if request.out is not None and "expectation_" in vars(model):
        model.save(request.out, sizes=False)
    if "_family" not in vars(model) or (request.out is None and request.report is None):
        return
    try:
        if model.certificate_.status in ("optimal", "gap_reached"):
            with terminal.progress(None, request.quiet):
                if model.loss_by_leaves_.size and request.out is not None:
                    model.save(request.out)
            return
    except KeyboardInterrupt:
        terminal.note("interrupted: the trees of other sizes are left out")
    del model._family  # so that nothing later searches for them


def _finish(
    model: OptimalTreeBase,
    request: FitRequest,
    features: pa.Table | None,
    y: Any,
    held_out: NewRows | None,
    evaluated: PolicyValue | None,
) -> None:
    """New rows, the report, and where the files are."""
    from omtree.cli.use_commands import score_line
    from omtree.constraints.words import missed_sentences
    from omtree.report.sections import tested_constraints

    X_test = y_test = None
    if held_out is not None:
        X_test, y_test = held_out.X, held_out.y
        if not request.quiet:
            where = request.test if request.test is not None else "the rows held out"
            print(f"\non {where}: {score_line(model, X_test, y_test)}")
            tested = tested_constraints(model, X_test, y_test, held_out.groups)
            for sentence in missed_sentences(model.certificate_.constraints, tested, model.constraints):
                terminal.alarm(sentence)
    if request.report is not None:
        model.report(
            request.report,
            X=features,
            y=y,
            X_test=X_test,
            y_test=y_test,
            groups_test=None if held_out is None else held_out.groups,
            title=request.title,
            alternatives=request.alternatives,
            evaluated=evaluated,
        )
    if not request.quiet:
        print()
        if request.out is not None:
            print(f"model   {request.out}")
        if request.report is not None:
            print(f"report  {request.report}")
        if request.out is None and request.report is None:
            print("nothing was saved; add --out model.json or --report report.html")


def _levels_of_target(kinds: dict[str, Any], request: FitRequest) -> list[str] | None:
    """The classes in order, where ``--kind`` says them of the target; the kinds of the others are left."""
    if request.columns is not None or request.target not in kinds:
        return None
    said = kinds.pop(request.target)
    if isinstance(said, str):
        raise ValueError(
            f"--kind {request.target}={said} is about the target; --task says what that is, and "
            f"--kind {request.target}=low,middle,high the order of its classes."
        )
    levels: list[str] = said
    return levels


def _make(
    task: str, request: FitRequest, kinds: Mapping[str, Any], y: Any, levels: list[str] | None, *, on_disk: bool
) -> Any:
    """The estimator, not yet fitted."""
    kind = estimator_class(task)
    parameters = dict(request.parameters)
    if on_disk and parameters.get("max_leaves") == "auto":
        parameters["max_leaves"] = None
    if kinds:
        parameters["feature_kinds"] = dict(kinds)
    if request.constraints is not None:
        parameters["constraints"] = _constraints(request.constraints)
    if not on_disk:
        options = request.options
        day_first = False if request.month_first else None
        parameters["reading"] = Reading(decimal=options.decimal, day_first=day_first, missing=options.missing)
    if request.positive is not None:
        parameters["positive"] = _class_named(request.positive, y)
    if levels is not None:
        parameters["class_order"] = [_class_named(level, y) for level in levels]
    parameters |= _settings(request.settings)
    known = set(kind().get_params())
    unknown = sorted(set(parameters) - known)
    if "positive" in unknown:
        raise ValueError("--positive needs classes; it is not for regression.")
    if "class_order" in unknown:
        raise ValueError(f"--kind {request.target}=... is an order of classes; it is not for regression.")
    if "stability" in unknown:
        raise ValueError("--stability is for classes and numbers; it is not for policies or survival.")
    if "class_weight" in unknown:
        raise ValueError("--balanced needs classes; it is not for regression.")
    if unknown:
        raise ValueError(f"--set {unknown[0]} is no parameter of {kind.__name__}{suggest(unknown[0], known)}.")
    return kind(**parameters)


def _class_named(text: str, y: Any) -> Any:
    """The class of the target that a text names, or the text."""
    known = [] if y is None else np.unique(y).tolist()
    return next((label for label in known if text_of(label) == text), text)


def _settings(options: tuple[str, ...]) -> dict[str, Any]:
    """``--set name=value``, the value as JSON where it is that, else as text.

    >>> _settings(("quantile=0.9", "preset=paper"))
    {'quantile': 0.9, 'preset': 'paper'}
    """
    settings: dict[str, Any] = {}
    for option in options:
        name, sign, value = option.partition("=")
        if not sign or not name:
            raise ValueError(f"--set {option!r} is not NAME=VALUE, such as quantile=0.9.")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    return settings


def _constraints(path: str) -> Any:
    from omtree.constraints import load_toml

    return load_toml(path)
