"""How large a model may be, as the command line says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omtree.data.wording import number

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase

#: The depth where none is said.
_DEPTH = 3
#: How the smallest model is chosen that is hardly worse than the best.
_WITHIN = "is within one standard error of the best"


def size_parameters(depth: int | None, leaves: str | None, leaf_price: str | None) -> dict[str, Any]:
    """The parameters of an estimator: the number of leaves is chosen by cross-validation, unless something is said.

    A price that is given needs no limits on the size.

    Examples
    --------
    >>> size_parameters(None, None, None), size_parameters(None, None, "auto")["max_depth"]
    ({'max_depth': 3, 'max_leaves': 'auto', 'leaf_price': 0.0}, 3)
    >>> size_parameters(None, None, "0.01")
    {'max_depth': None, 'max_leaves': None, 'leaf_price': 0.01}
    """
    price = 0.0 if leaf_price is None else _number(leaf_price)
    priced = price != 0.0
    return {
        "max_depth": _DEPTH if depth is None and (not priced or price == "auto") else depth,
        "max_leaves": _whole(leaves) if leaves is not None else None if priced else "auto",
        "leaf_price": price,
    }


def choice_words(model: OptimalTreeBase) -> str:
    """How the size was chosen, where it was."""
    parameters, results = vars(model), vars(model).get("cv_results_")
    if results is None:
        return ""
    from omtree.fit.size_choice import most_leaves_chosen

    best = parameters["selection"] == "best"
    if "leaf_price_" in parameters:
        does = "does best" if best else _WITHIN
        tried = f"of {len(results['leaf_price'])} prices, {number(model.leaf_price_)} {does} on rows held out"
        return f"price of a leaf chosen by cross-validation: {tried}; --leaf-price sets it"
    most = most_leaves_chosen(model)
    if most is None:
        return ""
    word = "leaves" if model.certificate_.structure == "tree" else "rules"
    does = _WITHIN if not best else "does best" if most == 1 else "do best"
    tried = f"of 1 to {results['leaves'][-1]} {word}, {most} {does} on rows held out"
    if len(model.rules_) < most:
        tried += f", and the best model with at most so many has {len(model.rules_)}"
    return f"size chosen by cross-validation: {tried}; --leaves sets it"


def _whole(text: str) -> int | str:
    """A number of leaves, or what was said in its place."""
    return int(text) if text.isascii() and text.isdigit() else text


def _number(text: str) -> float | str:
    """A price, or what was said in its place."""
    try:
        return float(text)
    except ValueError:
        return text
