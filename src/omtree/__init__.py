"""Provably optimal multiway-split decision trees and rule sets, with constraints and a certificate."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omtree.certificate import Certificate as Certificate
    from omtree.classifier import OptimalTreeClassifier as OptimalTreeClassifier
    from omtree.disk.scan import scan as scan
    from omtree.errors import CertificateError as CertificateError
    from omtree.errors import InfeasibleError as InfeasibleError
    from omtree.graph import FeatureGraph as FeatureGraph
    from omtree.regressor import OptimalTreeRegressor as OptimalTreeRegressor
    from omtree.rules import Rule as Rule
    from omtree.rules import RuleSet as RuleSet
    from omtree.show import to_text as to_text
    from omtree.show.saving import load as load
    from omtree.tree import Tree as Tree

__version__ = "0.1.0"

#: Where each public name lives; it is imported when it is first asked for, so that the command line starts at once.
_HOMES = {
    "Certificate": "certificate",
    "CertificateError": "errors",
    "FeatureGraph": "graph",
    "InfeasibleError": "errors",
    "OptimalTreeClassifier": "classifier",
    "OptimalTreeRegressor": "regressor",
    "Rule": "rules",
    "RuleSet": "rules",
    "Tree": "tree",
    "load": "show.saving",
    "scan": "disk.scan",
    "to_text": "show",
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
