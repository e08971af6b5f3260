"""What a model has to respect."""

from omtree.constraints.base import Constraint

__all__ = ["Constraint"]
