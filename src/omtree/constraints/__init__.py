"""What a model has to respect: on every rule, on the features that meet in one, and over the whole model.

Constraints are small objects that only say what is wanted. `load_toml` and `to_toml` read and write them as text.
"""

from omtree.constraints.answers import RuleFacts
from omtree.constraints.attribute import Exclude, Forbid, Interactions, Once, Order, Requires, Root, Together, UseAtMost
from omtree.constraints.audit import Answers, ConstraintCheck, audit
from omtree.constraints.budget import Budget
from omtree.constraints.compile import (
    BoundSum,
    Compiled,
    compile_constraints,
    group_columns,
    restrict_features,
)
from omtree.constraints.constraint import Constraint, Setting, Shape
from omtree.constraints.curved import MCC, FowlkesMallows
from omtree.constraints.demands import CurvedLimit, MetricLimit, RuleDemands, RuleSum
from omtree.constraints.fairness import (
    ConditionalParity,
    EqualizedOdds,
    EqualOpportunity,
    FairnessBudget,
    PredictiveEquality,
    RuleParity,
    StatisticalParity,
)
from omtree.constraints.force import Force
from omtree.constraints.linear import Linear
from omtree.constraints.monotone import Monotone, monotone_violations
from omtree.constraints.only import Only
from omtree.constraints.path import MaxSupport, MinClassCount, MinConfidence, MinSupport, Path
from omtree.constraints.policy import AnswerCost, AnswerShare, ForbidAnswer
from omtree.constraints.sample import F1, Accuracy, FalsePositiveRate, Precision, Recall, Specificity
from omtree.constraints.samples import GroupColumn, Samples, Strata, read_groups, strata_of
from omtree.constraints.survival import MinEvents
from omtree.constraints.together import check_constraints, check_together
from omtree.constraints.toml import from_tables, load_toml, loads, to_toml

__all__ = [
    "F1",
    "MCC",
    "Accuracy",
    "AnswerCost",
    "AnswerShare",
    "Answers",
    "BoundSum",
    "Budget",
    "Compiled",
    "ConditionalParity",
    "Constraint",
    "ConstraintCheck",
    "CurvedLimit",
    "EqualOpportunity",
    "EqualizedOdds",
    "Exclude",
    "FairnessBudget",
    "FalsePositiveRate",
    "Forbid",
    "ForbidAnswer",
    "Force",
    "FowlkesMallows",
    "GroupColumn",
    "Interactions",
    "Linear",
    "MaxSupport",
    "MetricLimit",
    "MinClassCount",
    "MinConfidence",
    "MinEvents",
    "MinSupport",
    "Monotone",
    "Once",
    "Only",
    "Order",
    "Path",
    "Precision",
    "PredictiveEquality",
    "Recall",
    "Requires",
    "Root",
    "RuleDemands",
    "RuleFacts",
    "RuleParity",
    "RuleSum",
    "Samples",
    "Setting",
    "Shape",
    "Specificity",
    "StatisticalParity",
    "Strata",
    "Together",
    "UseAtMost",
    "audit",
    "check_constraints",
    "check_together",
    "compile_constraints",
    "from_tables",
    "group_columns",
    "load_toml",
    "loads",
    "monotone_violations",
    "read_groups",
    "restrict_features",
    "strata_of",
    "to_toml",
]
