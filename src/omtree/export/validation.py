"""What a cross-validation said about a model, as JSON values and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from omtree.export.plain import from_plain, to_plain
from omtree.model.expectation import Expectation, Figure

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase


def validation_out(model: OptimalTreeBase) -> dict[str, Any] | None:
    """The losses by size and what to expect; None where nothing was held out."""
    if "expectation_" not in vars(model):
        return None
    return {
        "expectation": expectation_out(model.expectation_),
        "by_size": [[size, expectation_out(each)] for size, each in vars(model).get("_expected_by_size", {}).items()],
        "results": {name: to_plain(values) for name, values in vars(model).get("cv_results_", {}).items()},
    }


def validation_in(document: Mapping[str, Any], model: OptimalTreeBase) -> None:
    """Give a model what `validation_out` wrote."""
    model.expectation_ = expectation_in(document["expectation"])
    if document["results"]:
        model.cv_results_ = {str(name): np.array(from_plain(values)) for name, values in document["results"].items()}
        model._expected_by_size = {int(size): expectation_in(each) for size, each in document["by_size"]}


def expectation_out(expectation: Expectation) -> dict[str, Any]:
    """One expectation."""
    return {
        name: [to_plain(end) for end in value.values()] if isinstance(value, dict) else to_plain(value)
        for name, value in asdict(expectation).items()
    }


def expectation_in(document: Mapping[str, Any]) -> Expectation:
    """The expectation behind what `expectation_out` wrote."""
    values: dict[str, Any] = {
        name: Figure(*map(from_plain, value)) if isinstance(value, list) else from_plain(value)
        for name, value in document.items()
    }
    return Expectation(**values)
