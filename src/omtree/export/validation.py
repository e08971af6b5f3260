"""What a cross-validation said about a model, as JSON values and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from omtree.export.plain import from_plain, listed, number, to_plain, whole
from omtree.export.schema import made
from omtree.model.expectation import Expectation, Figure

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase


#: What is shown of sizes and prices.
_LOSSES = {"mean_train_loss", "mean_test_loss", "se_test_loss"}


def validation_out(model: OptimalTreeBase) -> dict[str, Any] | None:
    """The losses by size and what to expect; None where nothing was held out."""
    if "expectation_" not in vars(model):
        return None
    return {
        "expectation": expectation_out(model.expectation_),
        "by_size": [[size, expectation_out(each)] for size, each in vars(model).get("_expected_by_size", {}).items()],
        "results": {name: to_plain(values) for name, values in vars(model).get("cv_results_", {}).items()},
        **({"leaf_price": model.leaf_price_} if "leaf_price_" in vars(model) else {}),
    }


def validation_in(document: Mapping[str, Any], model: OptimalTreeBase) -> None:
    """Give a model what `validation_out` wrote."""
    model.expectation_ = expectation_in(document["expectation"])
    if "leaf_price" in document:
        model.leaf_price_ = number(document["leaf_price"])
    if document["results"]:
        model.cv_results_ = _results_in(document["results"])
        model._expected_by_size = {whole(size): expectation_in(each) for size, each in listed(document["by_size"])}


def _results_in(document: Mapping[str, Any]) -> dict[str, Any]:
    """The table of sizes or prices: columns of numbers, NaN where there is no such model, all of one length."""
    results = {name: np.array(from_plain(listed(values))) for name, values in document.items()}
    options = {"leaf_price", "mean_leaves"} if "leaf_price" in results else {"leaves"}
    if not results.keys() >= options | _LOSSES or any(values.dtype.kind not in "if" for values in results.values()):
        raise ValueError("the sizes of the cross-validation are not numbers")
    # The last of them has a row for every fold.
    if len({values.shape[-1:] for values in results.values()}) != 1 or results["se_test_loss"].shape[-1:] in ((), (0,)):
        raise ValueError("the sizes of the cross-validation are not a table")
    whole_sizes = "leaves" not in results or results["leaves"].dtype.kind == "i"
    if not whole_sizes or any(results[name].ndim != 1 for name in options | _LOSSES):
        raise ValueError("the sizes of the cross-validation are not whole numbers")
    return results


def expectation_out(expectation: Expectation) -> dict[str, Any]:
    """One expectation."""
    return {
        name: [to_plain(end) for end in value.values()] if isinstance(value, dict) else to_plain(value)
        for name, value in asdict(expectation).items()
    }


def expectation_in(document: Mapping[str, Any]) -> Expectation:
    """The expectation behind what `expectation_out` wrote."""
    values: dict[str, Any] = {
        name: Figure(*map(number, value)) if isinstance(value, list) else from_plain(value)
        for name, value in document.items()
    }
    return made(Expectation, values)
