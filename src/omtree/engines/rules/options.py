"""How the column generation engine works; none of it changes what an optimum is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from omtree.engines.rules.preset import Paper

Pricing = Literal["auto", "ksp", "exact"]


@dataclass(frozen=True)
class Options:
    """Switches and limits of the engine.

    Attributes
    ----------
    method : {"exact", "paper"}
        Whether to look for the optimum over all rules, or over those that the paper's method generates.
    pricing : {"auto", "ksp", "exact"}
        Which pricer looks for rules: the K-shortest-path heuristic, the exact one, or the heuristic while it finds
        rules on large graphs and the exact one to finish. With ``"ksp"`` alone nothing is proven.
    k_best : int
        The heuristic's K: partial paths kept at each node, and most rules taken from one round.
    batch : int
        Most rules taken from one exact round.
    max_iterations, max_columns : int or None
        Ends of the generation phase; None means no limit. With the paper's method `max_columns` is how many rules are
        kept, and ends nothing.
    row_pace : int
        How fast coverage rows enter the LP, as a multiple of the usual number; 0 means all at once.
    tables, stabilise, warm_start, trees, drop_columns, improve, branching : bool
        Accelerations that can be switched off one by one; `trees` says whether a warm start has the best trees, too.
    proof : bool
        Whether to close the gap after the generation phase by enumeration and branching.
    gap : float
        Relative gap at which to stop.
    n_jobs : int
        Threads of the pricers.
    seed : int
        Seed of every random choice.
    """

    method: Literal["exact", "paper"] = "exact"
    pricing: Pricing = "auto"
    k_best: int = 200
    batch: int = 1500
    max_iterations: int | None = None
    max_columns: int | None = None
    row_pace: int = 1
    tables: bool = True
    stabilise: bool = True
    warm_start: bool = True
    trees: bool = True
    drop_columns: bool = True
    improve: bool = True
    branching: bool = True
    proof: bool = True
    gap: float = 0.0
    n_jobs: int = 1
    seed: int = 0

    def reached(self, iterations: int, columns: int) -> bool:
        """Whether the generation phase is at one of its ends."""
        too_long = self.max_iterations is not None and iterations >= self.max_iterations
        too_many = self.method == "exact" and self.max_columns is not None and columns >= self.max_columns
        return too_long or too_many

    @classmethod
    def paper(cls, settings: Paper | None = None, *, gap: float = 0.0, n_jobs: int = 1, seed: int = 0) -> Options:
        """Those of the paper's method."""
        settings = settings or Paper()
        fast = settings.relaxation == "fast"
        return cls(
            method="paper",
            pricing="auto" if settings.exact_last else "ksp",
            k_best=settings.k,
            max_iterations=settings.max_rounds,
            max_columns=settings.max_rules,
            row_pace=1 if fast else 0,
            tables=False,
            stabilise=fast,
            warm_start=settings.warm_start,
            trees=settings.trees,
            drop_columns=fast,
            improve=settings.around,
            proof=False,
            gap=gap,
            n_jobs=n_jobs,
            seed=seed,
        )
