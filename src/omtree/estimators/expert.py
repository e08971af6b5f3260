"""What an expert asks of a fitted model: the other good trees, and what a wish costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from omtree.constraints import Constraint
    from omtree.estimators.alternatives import Alternatives, TreeCount
    from omtree.estimators.edit import Edit
    from omtree.estimators.refit import Price
    from omtree.fit.workbench import Workbench


class Expert:
    """Questions to a fitted tree that need its training rows."""

    _bench: Workbench | None = None
    _prices: tuple[Price, ...]
    _wishes: tuple[tuple[str, tuple[Constraint, ...]], ...]

    def alternatives(
        self,
        n: int | None = 50,
        within: float | None = 0.02,
        *,
        trivial: bool = False,
        time_limit: float | None = 60.0,
    ) -> Alternatives:
        """The best different trees as fitted models, in the order of their loss, over the thresholds of the fit.

        Two trees are different where their leaves have other training rows. The limits and the constraints of the fit
        hold for all of them, and it is proven that none is left out.

        Parameters
        ----------
        n : int or None
            How many at most; None means all within the margin.
        within : float or None
            How much worse than this model a tree may be: for classes in loss per row, so that 0.02 are two points of
            accuracy; for numbers in parts of the loss of a single answer, two points of R2. None means any.
        trivial : bool
            Whether to list trees in which a split into leaves gains nothing: without it the tree costs no more, under
            all constraints. They are listed without that split anyway.
        time_limit : float or None
            Seconds until what is complete by then is all.

        Returns
        -------
        Alternatives

        Examples
        --------
        >>> from omtree import OptimalTreeClassifier
        >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 5
        >>> model = OptimalTreeClassifier(max_depth=2, max_leaves=3).fit(X, [0, 1, 1, 1] * 5)
        >>> for other in model.alternatives(n=3, within=None):
        ...     print(other.certificate_.value, other.tree_.n_leaves)
        0.0 3
        0.0 3
        5.0 1
        """
        from omtree.estimators.alternatives import alternatives_of

        bench = self._workbench("alternatives")
        return alternatives_of(self, bench, n, within, trivial=trivial, time_limit=time_limit)  # type: ignore[arg-type]

    def count_within(self, margin: float, *, trivial: bool = False, time_limit: float | None = 60.0) -> TreeCount:
        """How many different trees are at most so much worse than this model.

        Parameters
        ----------
        margin : float
            As `within` in `alternatives`.
        trivial, time_limit
            As there.

        Returns
        -------
        TreeCount
            Its number, and whether it is exact; where time or room did not suffice there are at least so many.
        """
        return self.alternatives(None, margin, trivial=trivial, time_limit=time_limit).count_all()

    def edit(self, keep: Literal["path", "all"] = "path") -> Edit:
        """Begin to change the tree: wishes at its nodes, then a refit of the rest, with the price of every wish.

        Parameters
        ----------
        keep : {"path", "all"}
            What stays besides the wishes: the tests on the way to the nodes they name, or all nodes that are neither
            edited nor below one that is.

        Returns
        -------
        Edit
        """
        from omtree.estimators.edit import Edit

        if keep not in ("path", "all"):
            raise ValueError(f"keep={keep!r} is not known; use 'path' or 'all'.")
        return Edit(self, self._workbench("edit"), keep)  # type: ignore[arg-type]

    @property
    def prices_(self) -> tuple[Price, ...]:
        """What each wish and each constraint costs: the model is solved without it, over the same thresholds."""
        from omtree.estimators.refit import prices_of

        known: tuple[Price, ...] | None = vars(self).get("_prices")
        if known is None:
            try:
                bench = self._workbench("prices_")
            except ValueError as error:
                raise AttributeError(str(error)) from None
            known = self._prices = prices_of(self, bench, vars(self)["time_limit"])  # type: ignore[arg-type]
        return known

    def _workbench(self, what: str) -> Workbench:
        """What the model was fitted with, or a complaint in the name of what needs it."""
        check_is_fitted(self, "certificate_")
        bench: Any = vars(self).get("_bench")
        if bench is None:
            raise ValueError(
                f"{what} needs the training rows in memory, which a model that was saved, or fitted to rows elsewhere, "
                "does not have; fit it again."
            )
        if bench.plan.structure != "tree":
            raise ValueError(f"{what} needs a tree; fit with structure='tree'.")
        found: Workbench = bench
        return found
