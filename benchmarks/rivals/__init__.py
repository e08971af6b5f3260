"""One adapter per method, found by its name; nothing is imported before it is asked for."""

from __future__ import annotations

from importlib import import_module

from benchmarks.rivals.base import Absent, Fitted, Limits, Rival

#: Where the adapter is, and what its class is called with.
ADAPTERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "tree": ("ours", "Ours", ("tree",)),
    "rules": ("ours", "Ours", ("rules",)),
    "paper": ("ours", "Ours", ("paper",)),
    "paper-ksp": ("ours", "Ours", ("paper-ksp",)),
    "cart": ("cart", "Cart", ()),
    "streed": ("streed", "Streed", ()),
    "gosdt": ("gosdt", "Gosdt", ()),
    "contree": ("contree", "Contree", ()),
    "dl85": ("dl85", "Dl85", ()),
    "chaid": ("chaid", "Chaid", ()),
    "iai": ("iai", "Iai", ()),
    "oct": ("mip.adapters", "Program", ("oct",)),
    "binoct": ("mip.adapters", "Program", ("binoct",)),
    "flowoct": ("mip.adapters", "Program", ("flowoct",)),
    "s1o": ("mip.adapters", "Program", ("s1o",)),
}

#: How a method is called in tables.
TITLES = {
    "tree": "omtree, tree",
    "rules": "omtree, rules",
    "best": "omtree, better of the two",
    "paper": "omtree, the paper's method",
    "paper-ksp": "omtree, the paper's method, its heuristic pricer alone",
    "cart": "CART",
    "streed": "STreeD",
    "gosdt": "GOSDT",
    "contree": "ConTree",
    "dl85": "DL8.5",
    "chaid": "CHAID",
    "iai": "Interpretable AI",
    "oct": "OCT",
    "binoct": "BinOCT",
    "flowoct": "FlowOCT",
    "s1o": "S1O",
}


def find(name: str) -> Rival:
    """The adapter of this name."""
    module, kind, arguments = ADAPTERS[name]
    rival: Rival = getattr(import_module(f"benchmarks.rivals.{module}"), kind)(*arguments)
    return rival


__all__ = ["ADAPTERS", "TITLES", "Absent", "Fitted", "Limits", "Rival", "find"]
