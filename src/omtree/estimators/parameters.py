"""The parameters of the estimators: names, defaults, checks and documentation, in one place.

An estimator declares its parameters as class attributes made by `parameter`, its own and those it inherits from
`FitParameters`; `estimator` makes the constructor and the documentation out of them.
"""

from __future__ import annotations

import inspect
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar, dataclass_transform

import numpy as np

from omtree.constraints import Constraint
from omtree.data.binning import Binning
from omtree.data.parsing.reading import Reading
from omtree.engines.rules.preset import Paper

_INTEGERS = (int, np.integer)
#: Says what a value should have been, or nothing where it is fine.
Check = Callable[[Any], str]
#: Where the parameters go in the documentation of an estimator.
PLACE = "    {parameters}\n"
_WIDTH = 116

Estimator = TypeVar("Estimator", bound=type)


@dataclass(frozen=True)
class Parameter:
    """What an estimator can be told.

    Attributes
    ----------
    default : Any
    kind : str
        What it may be, in words.
    text : str
        What it does.
    check : callable or None
        Says what a value should have been.
    choices : tuple
        All values there are, where these are few.
    """

    default: Any
    kind: str
    text: str
    check: Check | None = None
    choices: tuple[Any, ...] = ()

    def complaint(self, name: str, value: Any) -> str:
        """What is wrong with a value, in a sentence; nothing where it is fine."""
        if self.choices:
            if any(value is choice or (isinstance(value, str) and value == choice) for choice in self.choices):
                return ""
            texts = [repr(choice) for choice in self.choices]
            return f"{name}={value!r} is not known; use {', '.join(texts[:-1])} or {texts[-1]}."
        wanted = self.check(value) if self.check is not None else ""
        return f"{name}={value!r} is not possible; use {wanted}." if wanted else ""

    def documentation(self, name: str) -> str:
        """The lines about it in the documentation of an estimator."""
        kind = self.kind or f"{{{', '.join(_quoted(choice) for choice in self.choices)}}}"
        lines = textwrap.wrap(self.text, _WIDTH - 8, break_on_hyphens=False)
        head = f"    {name} : {kind}, default={_quoted(self.default)}"
        return "\n".join([head, *(f"        {line}" for line in lines)])


def parameter(default: Any, kind: str, text: str, check: Check | None = None, *, choices: tuple[Any, ...] = ()) -> Any:
    """Declare a parameter: a class attribute of an estimator."""
    return Parameter(default, kind, text, check, choices)


@cache
def parameters_of(kind: type) -> Mapping[str, Parameter]:
    """The parameters that a class declares and inherits, in their order."""
    found: dict[str, Parameter] = {}
    for base in reversed(kind.__mro__):
        found.update({name: value for name, value in vars(base).items() if isinstance(value, Parameter)})
    return found


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
def estimator(kind: Estimator) -> Estimator:
    """A class with a constructor that takes its parameters, and documentation of them."""
    known = parameters_of(kind)
    signature = inspect.Signature(
        [
            inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
            *(
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=declared.default)
                for name, declared in known.items()
            ),
        ]
    )

    def __init__(self: Any, **given: Any) -> None:
        if not given.keys() <= known.keys():
            signature.bind(self, **given)  # complains about names that are not known
        for name, declared in known.items():
            setattr(self, name, given.get(name, declared.default))

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{kind.__qualname__}.__init__"
    kind.__init__ = __init__  # type: ignore[misc]
    listed = "\n".join(declared.documentation(name) for name, declared in known.items())
    kind.__doc__ = (kind.__doc__ or "").replace(PLACE, f"{listed}\n")
    return kind


def check_parameters(kind: type, values: Mapping[str, Any]) -> None:
    """Complain about the first parameter whose value makes no sense, whatever the data.

    Examples
    --------
    >>> check_parameters(FitParameters, {"max_depth": 0})
    Traceback (most recent call last):
    ...
    ValueError: max_depth=0 is not possible; use None or a whole number of at least 1.
    """
    for name, declared in parameters_of(kind).items():
        if name in values:
            complaint = declared.complaint(name, values[name])
            if complaint:
                raise ValueError(complaint)


def least_support(min_samples_leaf: float, weight: float) -> float:
    """The least weight of a rule: a whole number is a weight, a fraction is a share of all the weight.

    Examples
    --------
    >>> least_support(5, 200.0), least_support(0.01, 200.0)
    (5.0, 2.0)
    """
    if not isinstance(min_samples_leaf, _INTEGERS):
        return float(min_samples_leaf) * weight
    if min_samples_leaf > weight:
        raise ValueError(
            f"min_samples_leaf={min_samples_leaf!r} is above the weight of all rows, {weight:g}; use a smaller one."
        )
    return float(min_samples_leaf)


def most_leaves(max_leaves: int | None, max_depth: int | None, n_samples: int) -> int:
    """The most rules of a model: ``2**max_depth`` unless given, and never more than rows."""
    if max_leaves is None:
        return n_samples if max_depth is None or max_depth > 60 else min(2**max_depth, n_samples)
    if max_leaves > n_samples:
        raise ValueError(f"max_leaves={max_leaves!r} is more than the {n_samples} rows of the data; use fewer leaves.")
    return int(max_leaves)


def is_whole(value: Any, least: int) -> bool:
    """Whether a value is a whole number of at least so much."""
    return isinstance(value, _INTEGERS) and not isinstance(value, bool) and int(value) >= least


def is_number(value: Any) -> bool:
    """Whether a value is a number."""
    numbers = (*_INTEGERS, float, np.floating)
    return isinstance(value, numbers) and not isinstance(value, bool) and not math.isnan(value)


def whole(least: int, *, none: bool = False) -> Check:
    """A check for whole numbers of at least so much, and None if that is allowed."""

    def check(value: Any) -> str:
        if (none and value is None) or is_whole(value, least):
            return ""
        return f"{'None or ' if none else ''}a whole number of at least {least}"

    return check


def fits(fine: Callable[[Any], bool], wanted: str) -> Check:
    """A check that names what is wanted where a value is not fine."""
    return lambda value: "" if fine(value) else wanted


def _is_support(value: Any) -> bool:
    return is_whole(value, 1) or (is_number(value) and not isinstance(value, _INTEGERS) and 0 < value <= 1)


def _are_leaves(value: Any) -> bool:
    return value is None or is_whole(value, 1) or (isinstance(value, str) and value == "auto")


def _is_price(value: Any) -> bool:
    return (is_number(value) and 0 <= value < 1) or (isinstance(value, str) and value == "auto")


def _are_folds(value: Any) -> bool:
    fine = value is None or is_whole(value, 2)
    return fine or (not isinstance(value, str) and (hasattr(value, "split") or isinstance(value, Iterable)))


def _are_constraints(value: Any) -> bool:
    return isinstance(value, Iterable) and all(isinstance(item, Constraint) for item in value)


def _are_jobs(value: Any) -> bool:
    return value is None or (isinstance(value, _INTEGERS) and not isinstance(value, bool) and value != 0)


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


class FitParameters:
    """The parameters of a fit, whatever is predicted."""

    max_depth: int | None = parameter(
        3,
        "int or None",
        "Most conditions in one rule; None sets no limit, where `max_leaves` or `leaf_price` does.",
        whole(1, none=True),
    )
    max_leaves: int | Literal["auto"] | None = parameter(
        None,
        'int, "auto" or None',
        'Most rules in the model; None means ``2**max_depth``. With "auto" the number up to that with the least loss '
        "on rows held out, found by cross-validation; each fold is one search, which gives the best trees of all "
        "sizes.",
        fits(_are_leaves, "None, 'auto' or a whole number of at least 1"),
    )
    leaf_price: float | Literal["auto"] = parameter(
        0.0,
        'float or "auto"',
        "Trees only: what one more leaf must save, as a share of the loss of a model that is wrong about every row (of "
        "one that predicts the mean everywhere, for a regressor). The tree of least loss and price of its leaves is "
        "sought within the other limits on its size; without those (``max_depth=None``) among all trees. With "
        '"auto" the price with the least loss on rows held out, found by cross-validation as with ``max_leaves``.',
        fits(_is_price, "'auto' or a fraction of at least 0 and below 1"),
    )
    min_samples_leaf: float = parameter(
        0.01,
        "int or float",
        "Least sample weight in one rule: a whole number is a weight, a fraction is a share of all the weight.",
        fits(_is_support, "a whole number of at least 1 (rows) or a fraction above 0 and at most 1 (a share)"),
    )
    structure: Literal["rules", "tree"] = parameter(
        "tree",
        "",
        "A multiway tree, or a set of disjoint rules: those can have a lower loss, and take longer.",
        choices=("tree", "rules"),
    )
    constraints: Sequence[Constraint] = parameter(
        (),
        "sequence of Constraint",
        "What rules and the whole model have to respect; see `omtree.constraints`.",
        fits(_are_constraints, "a sequence of constraint objects"),
    )
    n_bins: int = parameter(
        8,
        "int",
        "About how many bins a numeric column has; one with fewer distinct values keeps them all.",
        fits(lambda value: is_whole(value, 2) and value <= 250, "a whole number from 2 to 250"),
    )
    categories: Literal["groups", "values"] = parameter(
        "groups",
        "",
        'Whether a condition on a nominal column may name several of its values, or one only. With "values" a node has '
        "a child for each value; where it may have two only, one is for a value and one for all others.",
        choices=("groups", "values"),
    )
    feature_kinds: Mapping[str, str] | None = parameter(
        None,
        "dict or None",
        '``{column: "numeric" | "ordinal" | "nominal"}`` where the type of a column does not say it.',
        fits(lambda value: value is None or isinstance(value, Mapping), "None or a dict from columns to kinds"),
    )
    feature_order: Sequence[str] | str | None = parameter(
        None,
        'None, list of str or "importance"',
        "Order of the features in the graph: that of the columns, one of your own (columns not named follow), or by "
        "importance in a quick model.",
        fits(
            lambda value: value is None or isinstance(value, Iterable), "None, 'importance' or a list of column names"
        ),
    )
    time_limit: float | None = parameter(
        60.0,
        "float or None",
        "Seconds until the best model known is returned; None means no limit.",
        fits(lambda value: value is None or (is_number(value) and value > 0), "a positive number of seconds, or None"),
    )
    gap: float = parameter(
        0.0,
        "float",
        "Stop as soon as ``(value - bound) / value`` is this small.",
        fits(lambda value: is_number(value) and 0 <= value < 1, "a fraction of at least 0 and below 1"),
    )
    preset: Literal["paper"] | Paper | None = parameter(
        None,
        'None, "paper" or Paper',
        'How rules are found. With "paper", by the paper\'s method and settings: K-shortest paths with K = 1000, at '
        "most 40 rounds and 10,000 rules, started from CART's rules, the exact pricer last, then the best model over "
        "what was generated; fixed quantile bins in place of adaptive ones. ``omtree.Paper`` has its settings.",
        fits(
            lambda value: value is None or isinstance(value, Paper) or (isinstance(value, str) and value == "paper"),
            "None, 'paper' or an omtree.Paper",
        ),
    )
    n_jobs: int | None = parameter(
        None,
        "int or None",
        "Threads; None means 1 and -1 all of them. The model does not depend on it.",
        fits(_are_jobs, "None, a number of threads, or -1 for all of them"),
    )
    random_state: int | np.random.RandomState | None = parameter(
        None,
        "int, RandomState instance or None",
        "Seed of what is random in the search; None is a fixed seed too, so that equal input gives equal models.",
    )
    verbose: int = parameter(0, "int", "1 prints a table of the progress.")
    splits: Literal["multiway", "binary"] = parameter(
        "multiway",
        "",
        "Trees only: whether a node may have more than two children.",
        choices=("multiway", "binary"),
    )
    max_children: int | None = parameter(
        None, "int or None", "Trees only: most children of one node.", whole(2, none=True)
    )
    binning: Binning | Literal["adaptive"] = parameter(
        "adaptive",
        "",
        'Where numeric columns may be cut: into `n_bins` bins of equal weight ("quantile") or where the label changes '
        'most ("supervised", which takes half of the time limit at most and then looks at some of the rows only); '
        'between any two values ("exact"). "adaptive" starts with quantiles and cuts finer around '
        'the thresholds of the best tree, as long as that gives a better one. With "exact" a column may have any '
        "number of values where trees are sought for errors or squared loss without constraints, binary ones, or for "
        "errors multiway ones of at most 8 leaves over columns in order without missing cells; 254 values otherwise.",
        choices=("adaptive", "quantile", "supervised", "exact"),
    )
    round_cuts: bool = parameter(
        True,
        "",
        "Whether numbers are cut at the roundest number between two training values, which changes nothing for these, "
        "or in the middle.",
        choices=(True, False),
    )
    cache_mb: float = parameter(
        1024,
        "float",
        "Trees only: most memory for solved subproblems.",
        fits(lambda value: is_number(value) and value > 0, "a positive number of megabytes"),
    )
    cv: Any = parameter(
        None,
        "int, splitter, iterable or None",
        "Rows to be held out in turn: a number of folds (shuffled, with all classes in each), a splitter of sklearn, "
        'or pairs of row numbers (train, test). None means 5 where a size or a price is "auto", and no '
        "cross-validation else; with a number of leaves it says what to expect on new rows.",
        fits(_are_folds, "None, a number of folds of at least 2, a splitter, or pairs of row numbers (train, test)"),
    )
    selection: Literal["best", "one_se"] = parameter(
        "best",
        "",
        'Where ``max_leaves`` or ``leaf_price`` is "auto": the size or price of least mean loss, or the smallest size '
        "(the highest price) within a standard error of it.",
        choices=("best", "one_se"),
    )
    confidence_rows: float = parameter(
        0.3,
        "float",
        "With constraints that have a `confidence`: the share of the rows that is kept apart to test them; the model "
        "is fitted to the others.",
        fits(lambda value: is_number(value) and 0 < value < 1, "a fraction above 0 and below 1"),
    )
    stability: int | None = parameter(
        None,
        "int or None",
        "So many resamples of the training rows are fitted as well, each within `time_limit`: ``stability_`` says how "
        "often each column is tested first, and how many answers change. Needs rows in memory.",
        whole(2, none=True),
    )
    reading: Reading | None = parameter(
        None,
        "Reading or None",
        "What is known about texts in the table: decimal sign, order of dates, words for missing cells; the rest is "
        "found out, see ``reading_``.",
        fits(lambda value: value is None or isinstance(value, Reading), "None or an omtree.Reading"),
    )
