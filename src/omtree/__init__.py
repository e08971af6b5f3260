"""Provably optimal multiway-split decision trees and rule sets, with constraints and a certificate."""

from omtree.certificate import Certificate
from omtree.errors import CertificateError, InfeasibleError
from omtree.estimators import OptimalTreeClassifier
from omtree.graph import FeatureGraph
from omtree.rules import Rule, RuleSet
from omtree.show import to_text
from omtree.show.saving import load
from omtree.tree import Tree

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "CertificateError",
    "FeatureGraph",
    "InfeasibleError",
    "OptimalTreeClassifier",
    "Rule",
    "RuleSet",
    "Tree",
    "load",
    "to_text",
]
