"""``omtree fit`` as a person sees it: its many options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    pass

from omtree.cli.app import Delimiter, Encoding, FitData, Missing, app, file_options


@app.command()
def fit(
    data: FitData,
    target: Annotated[
        list[str] | None, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", "-d", help="Most conditions in one rule; 3, or any with a --leaf-price.")
    ] = None,
    leaves: Annotated[
        str | None,
        typer.Option("--leaves", "-l", metavar="N", help="Most rules; auto, the usual: chosen by cross-validation."),
    ] = None,
    leaf_price: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="What one more leaf must save, as a share of all rows; auto chooses it."),
    ] = None,
    cv: Annotated[
        int | None, typer.Option(metavar="N", help="Folds of the cross-validation; 5 where the size is chosen.")
    ] = None,
    holdout: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Hold out this share of the rows, and try the model on them.")
    ] = None,
    stability: Annotated[
        int | None,
        typer.Option(metavar="N", help="Fit so many resamples of the rows as well, and say what they have in common."),
    ] = None,
    test: Annotated[str | None, typer.Option(metavar="FILE", help="Rows to try the fitted model on.")] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", metavar="FILE", help="Save the model (JSON).")] = None,
    report: Annotated[str | None, typer.Option(metavar="FILE", help="Write an HTML report.")] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="The heading of the report.")] = "",
    alternatives: Annotated[int, typer.Option(min=0, help="So many other good trees in the report.")] = 0,
    min_leaf: Annotated[float, typer.Option(help="Fewest rows of a rule: a share below 1, or a number.")] = 0.01,
    structure: Annotated[
        Literal["tree", "rules"], typer.Option(help="A tree, or disjoint rules: those can be better, and take longer.")
    ] = "tree",
    task: Annotated[
        Literal["auto", "classification", "regression", "policy", "survival"],
        typer.Option(help="What the target is; auto: numbers with fractions or over 20 values are quantities."),
    ] = "auto",
    treatment: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --task policy: the action that was taken.")
    ] = None,
    outcome: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --task policy: what came of it; more is better.")
    ] = None,
    propensity: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --task policy: the chance of the action, if known.")
    ] = None,
    rewards: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="With --task policy, in their place: what an action brings; one each."),
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --task survival: time to the event or the last look.")
    ] = None,
    event: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --task survival: whether the event was seen.")
    ] = None,
    entry: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --task survival: from when on a row was seen.")
    ] = None,
    objective: Annotated[str | None, typer.Option(help="What to minimise, by name, such as error.")] = None,
    constraints: Annotated[
        str | None, typer.Option(metavar="FILE", help="What the model has to respect, in a TOML file.")
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds until the best model known is taken; 0: no limit.")] = 60.0,
    gap: Annotated[float, typer.Option(help="Stop when this close to the optimum, as a share.")] = 0.0,
    bins: Annotated[int, typer.Option(help="About how many bins a numeric column has.")] = 8,
    binning: Annotated[
        Literal["adaptive", "quantile", "supervised", "exact"], typer.Option(help="Where numbers may be cut.")
    ] = "adaptive",
    categories: Annotated[
        Literal["groups", "values"], typer.Option(help="Whether a condition may name several categories.")
    ] = "groups",
    splits: Annotated[Literal["multiway", "binary"], typer.Option(help="Children of a tree's node.")] = "multiway",
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=KIND", help="numeric, nominal, ordinal, or levels in order: size=S,M,L."),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out; may be repeated.")
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column for constraints on groups only, not for conditions."),
    ] = None,
    weight: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column with the weight of a row.")] = None,
    balanced: Annotated[bool, typer.Option("--balanced", help="Give every class the same total weight.")] = False,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other parameter of the estimator, such as quantile=0.9."),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads; -1: all. The model is the same.")] = -1,
    memory_limit: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Most memory, such as 2GB: rows stay on disk, as those of large folders do."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of what is random in the search.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but faults.")] = False,
    delimiter: Delimiter = None,
    missing: Missing = None,
    encoding: Encoding = None,
    decimal: Annotated[
        Literal[".", ","] | None, typer.Option(help="The sign before fractions; found by itself by default.")
    ] = None,
    month_first: Annotated[bool, typer.Option("--month-first", help="3/4/2024 is the fourth of March.")] = False,
    positive: Annotated[
        str | None, typer.Option(metavar="CLASS", help="The class that F1, recall and colours are about.")
    ] = None,
) -> None:
    """Fit a model to a table, show it, and save it.

    The number of leaves is chosen by cross-validation, which also says what to expect on new rows; --leaves 8 sets it.
    Numbers and dates in a text file are read as what they are, also with decimal commas, and it is said how; codes with
    leading zeros stay text, columns that number or name the rows are left out. Ctrl-C ends the fit and keeps the best
    model found so far.

    Example: omtree fit patients.csv --target outcome --depth 3 --out model.json
    """
    from omtree.cli.fit_command import run_fit
    from omtree.cli.fit_rows import FitRequest
    from omtree.cli.model_size import size_parameters
    from omtree.cli.task_columns import TaskColumns

    named = {"treatment": treatment, "outcome": outcome, "propensity": propensity, "time": time, "event": event}
    columns = TaskColumns.of(task, {**named, "entry": entry}, rewards or ())
    if columns is not None and target is not None:
        raise ValueError(f"--target is not for --task {task}; its columns have options of their own.")
    if columns is None and target is None:
        raise typer.BadParameter("--target is missing; name the column to predict.")
    if target is not None and len(target) > 1:
        raise typer.BadParameter(
            f"--target names one column and is given {len(target)} times; several targets at once are fitted in "
            "Python, with a y of several columns."
        )
    run_fit(
        FitRequest(
            data=data,
            target=target[0] if target else (columns.target if columns is not None else ""),
            task=task,
            columns=columns,
            parameters={
                **size_parameters(depth, leaves, leaf_price),
                "cv": cv,
                "min_samples_leaf": int(min_leaf) if min_leaf >= 1 else min_leaf,
                "structure": structure,
                "time_limit": time_limit or None,
                "gap": gap,
                "n_bins": bins,
                "binning": binning,
                "categories": categories,
                "splits": splits,
                "n_jobs": jobs,
                "random_state": seed,
                **({"objective": objective} if objective is not None else {}),
                **({"class_weight": "balanced"} if balanced else {}),
                **({"stability": stability} if stability is not None else {}),
            },
            constraints=constraints,
            kinds=tuple(kind or ()),
            settings=tuple(setting or ()),
            drop=tuple(drop or ()),
            groups=tuple(groups or ()),
            weight=weight,
            memory_limit=memory_limit,
            test=test,
            holdout=holdout,
            out=out,
            report=report,
            title=title,
            alternatives=alternatives,
            quiet=quiet,
            options=file_options(delimiter, missing, encoding, decimal),
            month_first=month_first,
            positive=positive,
        )
    )
