"""The settings of the paper's method, for users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Paper:
    """The method of the AAAI-23 paper: column generation with a heuristic pricer, then a program over what it found.

    To be given as ``preset=Paper(...)``; ``preset="paper"`` has the settings of the paper's experiments and two of its
    proposals: it starts from CART's rules, and asks the exact pricer at the end. Two steps are not the paper's, and
    can be switched off: `trees` and `around`. ``n_jobs`` divides the search for paths among threads, and
    ``feature_order="importance"`` arranges the graph by importance, as the paper proposes.

    Parameters
    ----------
    k : int, default=1000
        Partial paths kept at each node of the feature graph, and most rules taken from one round.
    max_rounds : int, default=40
        Most rounds of pricing.
    max_rules : int, default=10_000
        Most rules that are kept: beyond it, those of largest reduced cost are forgotten.
    exact_last : bool, default=True
        Whether the exact pricer is asked, as the paper proposes for proofs: from the second round on where a table is
        small for its depth, otherwise where the heuristic finds no more rules. The linear program is then solved over
        all rules, if rounds, rules and time suffice.
    warm_start : bool, default=True
        Whether to start from the rules of greedy trees; if not, from the single rule for all rows.
    trees : bool, default=True
        Whether a warm start has the rules of the best trees, too, that are found in a tenth of the time.
    around : bool, default=True
        Whether rules around the best model are looked at, too, after the rounds: parts of it are exchanged for better
        ones as long as that is possible, or as the rounds took.
    relaxation : {"fast", "full"}, default="fast"
        Whether rows and columns enter the linear program only where they matter, or all of them at once. Both have the
        same optimum.

    Examples
    --------
    >>> Paper(k=100).max_rounds
    40
    >>> Paper(k=0)
    Traceback (most recent call last):
    ...
    ValueError: k=0 is not possible in Paper; use a whole number of at least 1.
    """

    k: int = 1000
    max_rounds: int = 40
    max_rules: int = 10_000
    exact_last: bool = True
    warm_start: bool = True
    trees: bool = True
    around: bool = True
    relaxation: Literal["fast", "full"] = "fast"

    def __post_init__(self) -> None:
        for name in ("k", "max_rounds", "max_rules"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name}={value!r} is not possible in Paper; use a whole number of at least 1.")
        if self.relaxation not in ("fast", "full"):
            raise ValueError(f"relaxation={self.relaxation!r} is not known in Paper; use 'fast' or 'full'.")
