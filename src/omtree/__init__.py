"""Provably optimal multiway-split decision trees and rule sets, with constraints and a certificate."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omtree.data.parsing.reading import Reading as Reading
    from omtree.engines.rules.preset import Paper as Paper
    from omtree.errors import CertificateError as CertificateError
    from omtree.errors import InfeasibleError as InfeasibleError
    from omtree.estimators.classifier import OptimalTreeClassifier as OptimalTreeClassifier
    from omtree.estimators.policy import OptimalPolicyTree as OptimalPolicyTree
    from omtree.estimators.regressor import OptimalTreeRegressor as OptimalTreeRegressor
    from omtree.estimators.survival import OptimalSurvivalTree as OptimalSurvivalTree
    from omtree.export.saving import load as load
    from omtree.model.certificate import Certificate as Certificate
    from omtree.model.difference import diff as diff
    from omtree.model.rules import Rule as Rule
    from omtree.model.rules import RuleSet as RuleSet
    from omtree.model.text import to_text as to_text
    from omtree.model.tree import Tree as Tree
    from omtree.problem.graph import FeatureGraph as FeatureGraph
    from omtree.sources.disk.scan import scan as scan

__version__ = "0.1.0"

#: Where each public name lives; it is imported when it is first asked for, so that the command line starts at once.
_HOMES = {
    "Certificate": "model.certificate",
    "CertificateError": "errors",
    "FeatureGraph": "problem.graph",
    "InfeasibleError": "errors",
    "OptimalPolicyTree": "estimators.policy",
    "OptimalSurvivalTree": "estimators.survival",
    "OptimalTreeClassifier": "estimators.classifier",
    "OptimalTreeRegressor": "estimators.regressor",
    "Paper": "engines.rules.preset",
    "Reading": "data.parsing.reading",
    "Rule": "model.rules",
    "RuleSet": "model.rules",
    "Tree": "model.tree",
    "diff": "model.difference",
    "load": "export.saving",
    "scan": "sources.disk.scan",
    "to_text": "model.text",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
