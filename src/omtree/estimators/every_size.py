"""Smaller models of the same family as a fitted one."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from omtree.data.table import FloatArray
from omtree.fit.search_space import smaller_space
from omtree.model.certificate import Certificate
from omtree.model.expectation import Expectation
from omtree.model.rules import RuleSet
from omtree.model.sizes import TreeFamily
from omtree.model.tree import Tree

if TYPE_CHECKING:
    from omtree.fit.workbench import Workbench


class EverySize:
    """The trees of all sizes that a fit gives."""

    certificate_: Certificate
    expectation_: Expectation
    rules_: RuleSet
    tree_: Tree | None
    max_leaves: int | str | None
    leaf_price: float | str
    _bench: Workbench | None
    _expected_by_size: Mapping[int, Expectation]
    _family: TreeFamily

    @property
    def loss_by_leaves_(self) -> FloatArray:
        """The best loss with at most 1, 2, ... leaves.

        Where the fit was proven over all cut points, that is so of the largest size; smaller ones are the best over the
        cuts that its search compared, as the certificate of `with_leaves` says.

        Of trees of any depth with a `leaf_price` it is the loss of the best tree for some price: a size that is the
        best for none has the loss of the next smaller one that is.
        """
        family: TreeFamily | None = vars(self).get("_family")
        if family is None:
            raise AttributeError(
                "loss_by_leaves_ needs a tree whose loss adds up over leaves, without constraints on the whole model, "
                "and rows that fit into memory."
            )
        return np.array(family.losses)

    def with_leaves(self, leaves: int) -> Self:
        """The best tree with at most this many leaves, as a fitted model; no new fit is needed.

        Pickling a model finds the trees of all sizes first, since the training rows are not pickled.

        Parameters
        ----------
        leaves : int
            From 1 to the length of ``loss_by_leaves_``.

        Returns
        -------
        a copy of this model
        """
        check_is_fitted(self, "certificate_")
        family: TreeFamily | None = vars(self).get("_family")
        if family is None:
            raise ValueError(
                "with_leaves needs a model that was fitted with structure='tree', a loss that adds up over leaves, no "
                "constraints over the whole model, and rows that fit into memory."
            )
        if not isinstance(leaves, (int, np.integer)) or isinstance(leaves, bool) or not 1 <= leaves <= len(family):
            raise ValueError(f"leaves={leaves!r} is not possible; use a whole number from 1 to {len(family)}.")
        if not np.isfinite(self.loss_by_leaves_[leaves - 1]):
            raise ValueError(f"No tree with at most {leaves} leaves meets the constraints; use more leaves.")
        tree = family.tree(leaves)
        value = float(self.loss_by_leaves_[leaves - 1])
        # A bound for larger trees holds for smaller ones as well, and they pay for fewer leaves.
        bound = family.bound(leaves, self.certificate_.bound - self.certificate_.leaf_price * leaves)
        status = self.certificate_.status
        if value <= bound:
            status = "optimal"
        elif status in ("optimal", "gap_reached"):
            # Smaller trees over the cuts of a proven one had no search of their own, whatever the time.
            status = "stopped" if self.certificate_.leaf_price or self.certificate_.cuts == "all" else "time_limit"
        known, on_grid = self.certificate_, 0
        if known.cuts == "all" and known.n_cuts and value > known.value:
            # The family was chosen from some cuts; the proof over all of them is one for the largest size.
            on_grid = known.n_cuts
            known = replace(known, cuts="some", all_cuts_bound=known.bound)
        model = copy.copy(self)
        model.max_leaves, model.leaf_price = leaves, 0.0
        for name in ("expectation_", "leaf_price_"):
            model.__dict__.pop(name, None)
        if leaves in vars(self).get("_expected_by_size", {}):
            model.expectation_ = self._expected_by_size[leaves]
        model.tree_, model.rules_ = tree, tree.rules
        model._bench = None if self._bench is None else self._bench.with_leaves(leaves)
        model.certificate_ = replace(
            known,
            status=status,
            value=value,
            bound=min(bound, value),
            leaf_price=0.0,
            leaves=tree.n_leaves,
            depth=tree.depth,
            search_space=smaller_space(known.search_space, leaves, on_grid),
        )
        return model
