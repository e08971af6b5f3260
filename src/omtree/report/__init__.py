"""Fitted models for people to read."""

from omtree.report.text import to_text

__all__ = ["to_text"]
